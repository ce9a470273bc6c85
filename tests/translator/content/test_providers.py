"""Real adapters on canned HTTP, streamed through a graph: their chunks have what their stored message has."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing.expected import comparable
from langgraph_agui.translator.content.blocks import Text, ToolCallBlock
from langgraph_agui.translator.content.read_blocks import arguments_delta, finish_reason, read_content, text_delta
from langgraph_agui.translator.convert.to_agui import to_agui, to_agui_messages
from langgraph_agui.translator.convert.to_langchain import to_langchain_messages
from langgraph_agui.translator.options import Options
from langgraph_agui.translator.parts.message import fields_of

from fixtures.providers import provider_models
from tests.support.streams.streamed_messages import streamed_messages

MODELS = provider_models()
WHOLE = Options(result_limit=None)
EVERY = pytest.mark.parametrize("name", MODELS)

Streamed = tuple[list[AIMessageChunk], AIMessage]
_streamed: dict[str, Streamed] = {}


async def streamed(name: str) -> Streamed:
    """The chunks and the stored message of one answer of the model; each model is run once."""
    if name not in _streamed:
        _streamed[name] = await run(name)
    return _streamed[name]


async def run(name: str) -> Streamed:
    """Stream one answer of the model through a graph of one node."""
    with MODELS[name]() as model:

        async def node(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"])]}

        graph: Any = StateGraph(MessagesState).add_node("model", node).add_edge(START, "model").compile()
        chunks: list[AIMessageChunk] = []
        stored: AIMessage | None = None
        modes = ["messages", "updates", "values", "custom"]
        async for mode, data in graph.astream({"messages": [("user", "hi")]}, stream_mode=modes):
            if mode == "messages":
                chunks.append(data[0])
            elif mode == "values":
                stored = data["messages"][-1]
        assert stored is not None
        return chunks, stored


@EVERY
async def test_a_text_delta_is_all_that_its_chunk_brings(name: str) -> None:
    chunks, _ = await streamed(name)
    for view in [*map(fields_of, chunks), *map(as_json, chunks)]:
        if delta := text_delta(view):
            assert read_content(view) == [Text(delta)]
            assert finish_reason(view) is None


@EVERY
async def test_a_delta_of_arguments_is_all_that_its_chunk_brings(name: str) -> None:
    chunks, _ = await streamed(name)
    for view in [*map(fields_of, chunks), *map(as_json, chunks)]:
        for index in {each["index"] for each in view.get("tool_call_chunks", ())}:
            if delta := arguments_delta(view, index):
                assert read_content(view) == [ToolCallBlock(index, None, None, delta)]
                assert finish_reason(view) is None


def facts_of_messages(messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The same facts, of the wire messages of the stored message."""
    facts: dict[str, Any] = {"reasoning": [], "results": [], "media": []}
    for message in messages:
        if message["role"] == "reasoning":
            facts["reasoning"].append((message["id"], message["content"], message.get("encryptedValue", "")))
        elif message["role"] == "activity":
            facts["media"].append(message["content"])
        elif message["role"] == "tool":
            failed = message.get("metadata", {}).get("status") == "error"
            facts["results"].append((message["toolCallId"], message["content"], failed))
        else:
            metadata = message.get("metadata", {})
            facts |= {
                "text": message.get("content", ""),
                "calls": [
                    (
                        call["id"],
                        call["function"]["name"],
                        json.loads(call["function"]["arguments"]),
                        call.get("encryptedValue"),
                    )
                    for call in message.get("toolCalls", [])
                ],
                "signature": message.get("encryptedValue"),
                "finish": metadata.get("finishReason"),
                "citations": metadata.get("citations", []),
            }
    return facts


async def facts(name: str) -> dict[str, Any]:
    _, stored = await streamed(name)
    return facts_of_messages(to_agui(stored, 0, WHOLE))


def as_json(message: Any) -> Any:
    return json.loads(json.dumps(message.model_dump(), default=str))


@EVERY
@pytest.mark.parametrize("form", ["objects", "json"])
async def test_a_stream_gives_the_messages_of_the_stored_one(name: str, form: str) -> None:
    """Streaming and converting read the same blocks with different code: ids, order and content are the same."""
    chunks, stored = await streamed(name)
    as_given = [as_json(each) if form == "json" else each for each in (*chunks, stored)]
    got = streamed_messages(as_given[:-1])
    view = dict(fields_of(as_given[-1]))
    if name.endswith("-v0"):  # the id comes after the message has begun
        view["id"] = next(message["id"] for message in got if message["role"] == "assistant")
    assert comparable(got) == comparable(to_agui(view, 0, WHOLE))


@EVERY
async def test_a_stored_message_is_the_same_as_an_ag_ui_message_and_back(name: str) -> None:
    _, stored = await streamed(name)
    (back,) = to_langchain_messages(to_agui_messages([stored]))
    assert to_agui(back, 0, WHOLE) == to_agui(stored, 0, WHOLE)
    assert isinstance(back, AIMessage)
    assert (back.content, back.additional_kwargs) == (stored.content, stored.additional_kwargs)
    assert (back.tool_calls, back.invalid_tool_calls) == (stored.tool_calls, stored.invalid_tool_calls)


@EVERY
async def test_no_stored_message_is_empty_of_everything(name: str) -> None:
    got = await facts(name)
    assert got["text"] or got["calls"]


@pytest.mark.parametrize("version", ["", "-v1", "-v0"])
async def test_a_responses_item_is_one_reasoning_message_with_its_own_id(version: str) -> None:
    got = await facts(f"openai-responses-reasoning{version}")
    assert got["reasoning"] == [("rs_1", "**One**\n\nFirst.\n\n**Two**\n\nSecond.", "")]


@pytest.mark.parametrize("version", ["", "-v1"])
async def test_encrypted_reasoning_of_responses_is_kept_item_by_item(version: str) -> None:
    got = await facts(f"openai-responses-encrypted{version}")
    assert got["reasoning"] == [("rs_1", "Think.", "ZW5jLTE="), ("rs_2", "", "ZW5jLTI=")]


@pytest.mark.parametrize("version", ["", "-v1", "-v0"])
async def test_a_reasoning_item_without_content_is_not_visible(version: str) -> None:
    assert (await facts(f"openai-responses-silent{version}"))["reasoning"] == []


@pytest.mark.parametrize("version", ["", "-v1", "-v0"])
async def test_a_refusal_is_text_and_marked(version: str) -> None:
    got = await facts(f"openai-responses-refusal{version}")
    assert (got["text"], got["finish"]) == ("I can't help with that.", "refusal")


@pytest.mark.parametrize(
    "name", ["openai-chat-cut-short", "openai-responses-cut-short", "anthropic-text", "google-cut-short"]
)
async def test_an_answer_that_stopped_early_is_marked_the_same_for_every_provider(name: str) -> None:
    assert (await facts(name))["finish"] == "length"


@pytest.mark.parametrize("name", ["anthropic-thinking", "anthropic-thinking-standard"])
async def test_thinking_keeps_its_signature_and_redacted_blocks(name: str) -> None:
    got = (await facts(name))["reasoning"]
    assert [(text, value) for _, text, value in got] == [("First this.", "c2lnLTE="), ("", "cmVkYWN0ZWQ=")]


async def test_thinking_between_texts_is_several_reasoning_messages() -> None:
    got = (await facts("anthropic-interleaved"))["reasoning"]
    assert [(text, value) for _, text, value in got] == [("One.", "c2lnLTE="), ("Two.", "c2lnLTI=")]


@pytest.mark.parametrize("name", ["anthropic-search", "anthropic-search-standard"])
async def test_a_search_by_the_provider_is_a_call_with_its_result(name: str) -> None:
    got = await facts(name)
    assert got["calls"] == [("srvtoolu_1", "web_search", {"query": "Paris population"}, None)]
    assert [call_id for call_id, _, _ in got["results"]] == ["srvtoolu_1"]


@pytest.mark.parametrize("name", ["anthropic-search", "openai-responses-server-tools", "google-grounded"])
async def test_citations_have_one_form_for_every_provider(name: str) -> None:
    (citation,) = (await facts(name))["citations"]
    assert citation["type"] == "citation"
    assert citation["url"].startswith("https://example.org/")


@pytest.mark.parametrize("name", ["openai-responses-server-tools", "openai-responses-server-tools-v1", "google-image"])
async def test_an_image_is_media_as_agui_has_it(name: str) -> None:
    (part,) = (await facts(name))["media"]
    assert (part["type"], part["source"]["type"], part["source"]["mimeType"]) == ("image", "data", "image/png")


async def test_thought_signatures_of_calls_are_at_the_call() -> None:
    got = await facts("google-calls")
    assert [signature for _, _, _, signature in got["calls"]] == ["c2lnLWE=", None]


async def test_a_message_id_of_the_stored_message_is_used_for_the_answer() -> None:
    _, stored = await streamed("openai-responses-reasoning")
    assert to_agui(stored, 0, WHOLE)[-1]["id"] == "resp_1"
