"""What an assistant gives besides text: media as activities, citations as metadata, its provider's tools as calls."""

from copy import deepcopy
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import Options, Translator

from tests.support.streams.adapters import adapter_turn
from tests.support.streams.event_lines import Event, Translated, is_subsequence, run_fixture, run_turn


async def test_media_are_activities_with_ids_of_their_message() -> None:
    assert (await run_turn("media_from_assistant")).lines == [
        *("lc_run--#1 begins", "lc_run--#1: A picture: "),
        *("lc_run--#1-media-0 shows media", "lc_run--#1-media-1 shows media", "lc_run--#1-media-2 shows media"),
        "lc_run--#1 ends",
    ]


async def test_media_are_content_parts_by_data_url_and_file() -> None:
    sources = [event["content"]["source"]["type"] for event in activities(await run_turn("media_from_assistant"))]
    assert sources == ["data", "url", "file"]


async def test_media_are_not_emitted_again_in_the_next_turn() -> None:
    _, second = await run_fixture("media_from_assistant")
    assert activities(second) == []


@pytest.mark.parametrize(
    ("fixture", "url"),
    [("citations_anthropic", "https://example.org/cats"), ("citations_standard", "https://example.org/dogs")],
)
async def test_citations_come_once_in_the_end_of_their_message(fixture: str, url: str) -> None:
    ends = (await run_turn(fixture)).kinds("TEXT_MESSAGE_END")
    assert [[one["url"] for one in event["metadata"]["citations"]] for event in ends] == [[url]]


SERVER_TOOLS = {
    "server_tool_anthropic": ("srvtoolu_1", "web_search", '{"query": "cats"}'),
    "server_tool_standard": ("srv_1", "code", '{"code":"1+1"}'),
}


@pytest.mark.parametrize("fixture", SERVER_TOOLS)
async def test_a_tool_the_provider_runs_is_a_call_with_its_result_before_the_answer(fixture: str) -> None:
    call_id, name, args = SERVER_TOOLS[fixture]
    lines = (await run_turn(fixture)).lines
    assert lines[:3] == [f"{call_id} calls {name} in lc_run--#1", f"{call_id}: {args}", f"{call_id} ends"]
    assert lines[3].startswith(f"lc_run--#1-result-{call_id} answers {call_id}: ")
    assert lines[4] == "lc_run--#1 begins"


@pytest.mark.parametrize("fixture", SERVER_TOOLS)
async def test_a_tool_the_provider_runs_needs_no_snapshot(fixture: str) -> None:
    assert [run.kinds("MESSAGES_SNAPSHOT") for run in await run_fixture(fixture)] == [[], []]


@pytest.mark.parametrize("fixture", SERVER_TOOLS)
async def test_results_of_provider_run_tools_can_be_left_out(fixture: str) -> None:
    got = await run_turn(fixture, Options(tool_results=False))
    assert got.kinds("TOOL_CALL_RESULT") == []
    assert got.kinds("MESSAGES_SNAPSHOT") == []


async def test_a_hidden_provider_run_tool_has_neither_call_nor_result() -> None:
    got = await run_turn("server_tool_anthropic", Options(hidden_tools=frozenset({"web_search"})))
    assert got.lines == ["lc_run--#1 begins", "lc_run--#1: I searched for cats.", "lc_run--#1 ends"]


@pytest.mark.parametrize("name", ["openai-responses-server-tools", "anthropic-search", "anthropic-search-standard"])
async def test_what_a_real_adapter_streams_of_its_providers_tools_needs_no_snapshot(name: str) -> None:
    got = await adapter_turn(name)
    assert got.kinds("MESSAGES_SNAPSHOT") == []
    assert got.kinds("TOOL_CALL_RESULT") != []


async def test_a_real_search_is_emitted_at_its_place_in_the_text() -> None:
    assert is_subsequence(
        [
            "lc_run--#1: I'll look.",
            *(
                "srvtoolu_1 calls web_search in lc_run--#1",
                'srvtoolu_1: {"query": "Paris population"}',
                "srvtoolu_1 ends",
            ),
            "lc_run--#1: Paris has 2.1 million people.",
        ],
        (await adapter_turn("anthropic-search")).lines,
    )


async def test_media_and_citations_are_emitted_as_they_were_when_fed() -> None:
    image = {"type": "image", "base64": "AAAA", "mime_type": "image/png", "index": 1}
    text: dict[str, Any] = {"type": "text", "text": "Dogs", "index": 0}
    text["annotations"] = [{"type": "citation", "url": "https://example.org", "title": "Dogs"}]
    untouched, changed = streamed_events([text, image], change=False), streamed_events([text, image], change=True)
    assert untouched == changed


def streamed_events(blocks: list[dict[str, Any]], *, change: bool) -> list[Event]:
    """A message in two chunks; the blocks of the first are changed before the second comes."""
    blocks = deepcopy(blocks)
    metadata = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
    run = Translator("thread-1", "run-1")
    first: list[str | dict[str, Any]] = [*blocks]
    got = run.start() + run.feed(("messages", (AIMessageChunk(content=first, id="m"), metadata)))
    if change:
        blocks[0]["annotations"][0]["url"] = blocks[1]["base64"] = "changed"
    got += run.feed(("messages", (AIMessageChunk(content="", id="m", chunk_position="last"), metadata)))
    return got + run.view.messages + run.finish()


def activities(got: Translated) -> list[Event]:
    return got.kinds("ACTIVITY_SNAPSHOT")
