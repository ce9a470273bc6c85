"""Tool results: each told once, when it comes, under the checkpoint's id, in its place, no larger than the limit."""

from typing import Any

import orjson
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph_agui.connect.testing import text, tool_call
from langgraph_agui.translator import ClientView, Options, client_contents, encode
from langgraph_agui.translator.wire.events import messages_snapshot, run_finished, run_started
from langgraph_agui.translator.wire.older_clients import for_client_version

from fixtures import Fixture
from fixtures.fixture import says
from fixtures.graphs.history import chain
from fixtures.graphs.speech import said, speaker
from fixtures.graphs.toolbox import agent
from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS, WITHOUT_SUBAGENTS, AguiClient
from tests.support.streams.event_lines import Event, Translated, run_fixture, run_made, run_turn

WITH_RESULTS = [
    "agent_one_tool",
    "agent_parallel_tools",
    "agent_two_rounds",
    "agent_whole_model",
    "agent_bad_args",
    "agent_unknown_tool",
    "stock_tool_node",
    "tool_error_handled",
    "tool_writes_state",
    "tool_gives_picture",
    "structured_by_tool",
]


@pytest.mark.parametrize("fixture", WITH_RESULTS)
async def test_every_result_is_told_once_under_the_id_of_the_checkpoint(fixture: str) -> None:
    told = await run_turn(fixture)
    stored = {message.id: message.tool_call_id for message in told.values["messages"] if message.type == "tool"}
    assert {event["messageId"]: event["toolCallId"] for event in results(told)} == stored
    assert len(results(told)) == len(stored)


@pytest.mark.parametrize("fixture", WITH_RESULTS)
async def test_the_client_ends_in_the_order_of_the_checkpoint_without_a_snapshot(fixture: str) -> None:
    told = await run_turn(fixture)
    assert told.kinds("MESSAGES_SNAPSHOT") == []
    assert [message["role"] for message in told.view.messages] == [role(one) for one in told.values["messages"]]


async def test_a_result_stands_between_its_call_and_the_answer_in_every_turn() -> None:
    _, second = await run_fixture("stock_tool_node")
    assert [message["role"] for message in second.view.messages] == [
        *("user", "assistant", "tool", "tool", "assistant"),
        *("user", "assistant"),
    ]


async def test_a_result_is_told_before_the_next_model_speaks() -> None:
    lines = (await run_turn("agent_one_tool")).lines
    assert lines.index("#2 answers call_add: 3") < lines.index("lc_run--#3 begins")


@pytest.mark.parametrize("fixture", ["tool_error_handled", "agent_unknown_tool", "args_empty"])
async def test_the_result_of_a_tool_that_failed_says_why_live_and_in_a_snapshot(
    fixture: str, agui_client: AguiClient
) -> None:
    told = await run_turn(fixture)
    (event,) = results(told)
    assert event["metadata"] == {"status": "error", "error": event["content"]}
    stream = [
        run_started("t", "r", None),
        messages_snapshot(client_contents(told.values)[0]),
        run_finished("t", "r", {"type": "success"}),
    ]
    for version in (*VERSIONS, WITHOUT_SUBAGENTS):
        answer = agui_client.play(stream, version=version)
        (result,) = [message for message in answer.messages if message["role"] == "tool"]
        metadata = None if version == WITHOUT_SUBAGENTS else event["metadata"]  # whose messages have none
        assert (result["error"], result.get("metadata"), answer.warnings) == (event["content"], metadata, [])


async def test_a_client_that_followed_a_failed_tool_needs_no_snapshot_for_its_error() -> None:
    assert (await run_turn("tool_error_handled")).kinds("MESSAGES_SNAPSHOT") == []


async def test_a_tool_that_succeeded_is_not_marked() -> None:
    assert ["metadata" in event for event in results(await run_turn("agent_one_tool"))] == [False]


async def test_a_result_beyond_the_limit_is_cut_and_its_size_told() -> None:
    told = await run_turn("tool_gives_60_kb")
    [event] = results(told)
    whole = told.values["messages"][2].content
    assert event["content"] == whole[:50_000]
    assert event["metadata"] == {"truncated": True, "size": len(whole)}


async def test_a_result_is_cut_where_the_option_says() -> None:
    [event] = results(await run_turn("tool_gives_60_kb", Options(result_limit=10)))
    assert event["content"] == "All that i"


async def test_without_a_limit_a_result_is_whole() -> None:
    [event] = results(await run_turn("tool_gives_60_kb", Options(result_limit=None)))
    assert len(event["content"]) > 60_000
    assert "metadata" not in event


async def test_an_artifact_is_not_told() -> None:
    told = await run_turn("tool_gives_artifact")
    assert b"metres" not in b"".join(map(encode, told.events))


async def test_a_picture_from_a_tool_is_a_content_part() -> None:
    [event] = results(await run_turn("tool_gives_picture"))
    assert [part["type"] for part in event["content"]] == ["text", "image"]


async def test_a_client_without_a_version_gets_a_picture_as_text() -> None:
    [event] = results(await run_turn("tool_gives_picture", Options(protocol_version=None)))
    assert isinstance(event["content"], str)


async def test_a_picture_from_a_tool_can_be_made_text_after_it_was_told() -> None:
    """For readers of an older version in a run that is told once for all."""
    telling = await run_turn("tool_gives_picture")
    [event] = results(telling)
    [snapshot] = [event for event in telling.view.catch_up() if event["type"] == "MESSAGES_SNAPSHOT"]
    as_text = orjson.dumps(event["content"]).decode()
    told, told_snapshot = for_client_version(event, None), for_client_version(snapshot, None)
    assert told is not None
    assert told_snapshot is not None
    assert told["content"] == as_text
    assert [message["content"] for message in told_snapshot["messages"] if message["role"] == "tool"] == [as_text]


async def test_results_can_be_left_out() -> None:
    told = await run_turn("agent_parallel_tools", Options(tool_results=False))
    assert results(told) == []
    assert [message["role"] for message in told.view.messages] == ["user", "assistant", "assistant"]


LARGE = "x" * 34_000


@tool
async def dump() -> str:
    """Gives 34 KB."""
    return LARGE


def dumping(*more: Any) -> Fixture:
    turns = [
        tool_call("dump", {}, "c1") + end("tool_calls"),
        tool_call("dump", {}, "c2") + end("tool_calls"),
        text("Done."),
    ]
    return Fixture("dumping", agent([dump], *turns), (says("dump"),))


async def test_a_34_kb_result_is_on_the_wire_once() -> None:
    told = await run_turn(dumping())
    wire = b"".join(map(encode, told.events))
    assert wire.count(LARGE.encode()) == 2  # of two results, one each


async def test_a_34_kb_result_is_on_the_wire_twice_where_a_snapshot_follows() -> None:
    async def give(state: Any) -> Any:
        made = {"name": "dump", "args": {}, "id": "c1", "type": "tool_call"}
        return {"messages": [AIMessage("", id="a1", tool_calls=[made]), ToolMessage(LARGE, tool_call_id="c1", id="t1")]}

    async def copied(state: Any) -> Any:
        return {"messages": [AIMessage((await said("Copied.").ainvoke("go")).text, id="kept-1")]}

    told = await run_turn(Fixture("copied", chain(give=give, copy=copied, after=speaker(said("Done."))), (says("go"),)))
    wire = b"".join(map(encode, told.events))
    assert len(told.kinds("MESSAGES_SNAPSHOT")) == 1
    assert wire.count(LARGE.encode()) == 2


async def test_a_result_of_a_call_that_two_messages_have_is_left_to_the_snapshot() -> None:
    """An event would put it behind the first of the two."""
    _, second = await run_fixture("agent_repeated_call_ids")
    assert results(second) == []
    assert [message["role"] for message in second.view.messages] == [
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant", "tool", "assistant"),
    ]


async def test_a_result_for_a_call_nobody_holds_is_told_where_the_graph_has_it() -> None:
    user, answer = HumanMessage("hi", id="u"), AIMessage("Done.", id="a")
    result = ToolMessage("r", tool_call_id="nobodys", id="t")
    view = ClientView([{"id": "u", "role": "user", "content": "hi"}], {})
    told = run_made(
        [
            ("values", {"messages": [user]}),
            ("messages", (result, {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1"})),
            ("values", {"messages": [user, result, answer]}),
        ],
        view=view,
    )
    assert told.lines == ["t answers nobodys: r", "a begins", "a: Done.", "a ends"]


async def test_a_result_that_is_no_text_is_compact_json() -> None:
    message = ToolMessage([{"rows": [1, 2]}], tool_call_id="c", id="t")
    told = run_made([("messages", (message, {"langgraph_node": "tools", "langgraph_checkpoint_ns": "tools:1"}))])
    [event] = results(told)
    assert orjson.loads(event["content"]) == [{"rows": [1, 2]}]


async def test_a_run_that_fails_leaves_the_results_that_came() -> None:
    told = await run_turn("tool_raises")
    assert [event["content"] for event in results(told)] == ["3"]
    assert told.events[-1]["type"] == "RUN_ERROR"


def results(told: Translated) -> list[Event]:
    return told.kinds("TOOL_CALL_RESULT")


def role(message: Any) -> str:
    kind = str(message.type)
    return {"human": "user", "ai": "assistant"}.get(kind, kind)
