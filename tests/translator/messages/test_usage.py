"""Token usage on the terminal event: each model call once, summed per provider and model, hidden ones too."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph_agui.translator import (
    Cancelled,
    Failed,
    Finished,
    Lost,
    Options,
)
from langgraph_agui.translator.endings import Ending
from langgraph_agui.translator.messages.usage import Usage

from fixtures.recordings import recordings
from tests.support.streams.event_lines import run_fixture
from tests.support.streams.translator_runs import run_parts

_TASK = {"langgraph_node": "talk", "langgraph_checkpoint_ns": "talk:1"}


def _counted(spent: int, said: int, **details: Any) -> dict[str, Any]:
    return {"input_tokens": spent, "output_tokens": said, "total_tokens": spent + said, **details}


def _chunk(
    usage: Any = None, text: str = "", *, model: str = "m-1", provider: str = "p", run: str = "1", **more: Any
) -> Any:
    chunk = AIMessageChunk(content=text, id=f"lc_run--{run}", usage_metadata=usage, **more)
    return ("messages", (chunk, {**_TASK, "ls_provider": provider, "ls_model_name": "m-1"}))


def _usage(*parts: Any, ending: Ending | None = None, options: Options | None = None) -> Any:
    return run_parts(parts, ending, options).events[-1].get("usage")


async def test_a_streamed_call_is_counted_once() -> None:
    (telling,) = await run_fixture("plain_text")
    (item,) = telling.events[-1]["usage"]
    assert (item["inputTokens"], item["outputTokens"], item["totalTokens"]) == (10, 5, 15)


async def test_a_call_that_did_not_stream_is_counted_once() -> None:
    (telling,) = await run_fixture("whole_model")
    (item,) = telling.events[-1]["usage"]
    assert (item["inputTokens"], item["outputTokens"], item["totalTokens"]) == (10, 5, 15)


async def test_calls_of_two_models_are_counted_apart() -> None:
    (telling,) = await run_fixture("two_models")
    assert {item["model"]: item["totalTokens"] for item in telling.events[-1]["usage"]} == {"small-1": 7, "large-1": 11}


@pytest.mark.parametrize("name", ["router_not_saved", "tool_calls_model", "emit_messages_off"])
async def test_calls_that_nobody_hears_are_counted(name: str) -> None:
    heard = (await run_fixture(name))[-1]
    everything = (await run_fixture(name, Options(visibility={"*": "stream"})))[-1]
    assert heard.events[-1]["usage"] == everything.events[-1]["usage"]


@pytest.mark.parametrize("hidden", ["attributed", "inline", "hidden"])
async def test_subagents_are_counted_however_they_are_shown(hidden: Any) -> None:
    (telling,) = await run_fixture("subagent", Options(subagents=hidden))
    (shown,) = await run_fixture("subagent")
    assert telling.events[-1]["usage"] == shown.events[-1]["usage"]


def test_calls_of_one_model_add_up() -> None:
    assert _usage(_chunk(_counted(1, 2)), _chunk(_counted(10, 20), run="2")) == [
        {"provider": "p", "model": "m-1", "inputTokens": 11, "outputTokens": 22, "totalTokens": 33}
    ]


def test_one_model_of_two_providers_is_two_items() -> None:
    usage = _usage(_chunk(_counted(1, 2)), _chunk(_counted(1, 2), run="2", provider="q"))
    assert [item["provider"] for item in usage] == ["p", "q"]


def test_usage_that_comes_as_differences_adds_up_to_the_whole() -> None:
    parts = [_chunk(_counted(7, 1), "a"), _chunk(_counted(0, 2), "b"), _chunk(_counted(0, 3), "c")]
    assert _usage(*parts)[0] == {
        "provider": "p",
        "model": "m-1",
        "inputTokens": 7,
        "outputTokens": 6,
        "totalTokens": 13,
    }


def test_a_difference_below_zero_lowers_the_sum() -> None:
    assert (
        _usage(_chunk(_counted(7, 5)), _chunk({"input_tokens": 0, "output_tokens": -2, "total_tokens": -2}))[0][
            "outputTokens"
        ]
        == 3
    )


def test_details_are_told() -> None:
    details = {"input_token_details": {"cache_read": 4, "cache_creation": 1}, "output_token_details": {"reasoning": 2}}
    assert _usage(_chunk(_counted(7, 5, **details)))[0] == {
        "provider": "p",
        "model": "m-1",
        "inputTokens": 7,
        "outputTokens": 5,
        "totalTokens": 12,
        "cachedInputTokens": 4,
        "cacheWriteInputTokens": 1,
        "reasoningTokens": 2,
    }


def test_the_message_names_the_model_where_the_metadata_does_not() -> None:
    message = AIMessage(
        "Hi", id="a", usage_metadata=_counted(1, 2), response_metadata={"model_name": "m-2", "model_provider": "q"}
    )
    (item,) = _usage(("messages", (message, _TASK)))
    assert (item["provider"], item["model"]) == ("q", "m-2")


def test_a_copy_is_not_counted_again() -> None:
    streamed = [_chunk(None, "Hi"), _chunk(_counted(1, 2), chunk_position="last")]
    copy = ("messages", (AIMessage("Hi", id="renamed", usage_metadata=_counted(1, 2)), _TASK))
    assert _usage(*streamed, copy)[0]["totalTokens"] == 3


def test_a_message_that_values_carry_is_not_counted_again() -> None:
    streamed = _chunk(_counted(1, 2), "Hi", chunk_position="last")
    stored = AIMessage("Hi", id="lc_run--1", usage_metadata=_counted(1, 2))
    assert _usage(("values", {"messages": []}), streamed, ("values", {"messages": [stored]}))[0]["totalTokens"] == 3


async def test_a_resumed_run_counts_only_its_own_calls() -> None:
    first, second = await run_fixture("interrupts_in_parallel", known=False)
    assert [item["totalTokens"] for item in first.events[-1]["usage"]] == [15]
    assert [item["totalTokens"] for item in second.events[-1]["usage"]] == [15]


ENDINGS: dict[str, Ending] = {
    "finished": Finished(),
    "interrupted": Finished(interrupts=[{"id": "i1", "value": "?"}]),
    "failed": Failed(ValueError("bad")),
    "cancelled": Cancelled(),
    "lost": Lost("gone"),
}


@pytest.mark.parametrize("version", ["1.0", None])
@pytest.mark.parametrize("ending", ENDINGS)
def test_usage_is_on_every_terminal_event(ending: str, version: str | None) -> None:
    usage = _usage(_chunk(_counted(1, 2)), ending=ENDINGS[ending], options=Options(protocol_version=version))
    assert usage[0]["totalTokens"] == 3


def test_a_run_without_calls_has_no_usage() -> None:
    assert _usage(("values", {"n": 1})) is None


@pytest.mark.parametrize(
    "usage", [{"input_tokens": float("nan")}, {"input_tokens": "many"}, "much", {"input_tokens": 2**60}]
)
def test_counts_that_are_none_are_left_out(usage: Any) -> None:
    part = ["messages", [{"type": "AIMessageChunk", "id": "lc_run--1", "content": "", "usage_metadata": usage}, _TASK]]
    assert _usage(part) is None


@pytest.mark.parametrize("name", ["plain_text", "gathered_calls", "parallel_nodes", "agent_parallel_tools"])
def test_a_platforms_accumulated_messages_are_counted_once(name: str) -> None:
    totals = [
        sum(item["totalTokens"] for item in run_parts(recording.parts).events[-1]["usage"])
        for recording in recordings("platform-messages", "platform", fixture=name)
    ]
    assert len(totals) == 2
    assert len(set(totals)) == 1


COUNTED: list[tuple[tuple[Any, Any, Any], list[dict[str, Any]]]] = [
    (
        ({"input_tokens": 1}, {"ls_provider": "p", "ls_model_name": "m"}, None),
        [{"provider": "p", "model": "m", "inputTokens": 1}],
    ),
    (
        ({"input_tokens": 1}, {}, {"model_provider": "p", "model_name": "m"}),
        [{"provider": "p", "model": "m", "inputTokens": 1}],
    ),
    (({"input_tokens": 1}, {}, {"model": "m"}), [{"model": "m", "inputTokens": 1}]),
    (({"input_tokens": 1}, {"ls_provider": 7}, "model"), [{"inputTokens": 1}]),
    (({"input_tokens": "1", "output_tokens": float("nan"), "total_tokens": 2.0**60}, {}, {}), []),
    (
        ({"input_tokens": -1, "output_token_details": {"reasoning": 2}, "input_token_details": 7}, {}, {}),
        [{"inputTokens": 0, "reasoningTokens": 2}],
    ),
    ((7, {}, {}), []),
]


@pytest.mark.parametrize(("given", "totals"), COUNTED)
def test_token_usage_is_counted_as_far_as_it_can_be(given: Any, totals: list[dict[str, Any]]) -> None:
    usage = Usage()
    usage.add(*given)
    assert usage.totals() == totals
