"""Inputs of a newer version of AG-UI: what is unknown is skipped and logged, and nothing else is lost."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import pytest
from ag_ui.core import ContentPart, Message, RunAgentInput, UserMessage
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect import InvalidInputError, Local, run
from langgraph_agui.connect.inputs.unknown import read_input
from langgraph_agui.connect.local.checkpoints.outcome import pending
from langgraph_agui.connect.serve import Agent, agui_app
from pydantic import BaseModel

from tests.support.servers.serving import served
from tests.support.streams.chats import Graph

IMAGE = {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}
HISTORY: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "content": "Paint a house."},
    {"id": "m2", "role": "critic", "content": "Too red.", "score": 2},
    {
        "id": "m3",
        "role": "assistant",
        "content": "Here.",
        "toolCalls": [
            {"id": "c1", "type": "function", "function": {"name": "paint", "arguments": "{}"}},
            {"id": "c2", "type": "gesture", "gesture": "wave"},
        ],
    },
    {"id": "m4", "role": "tool", "toolCallId": "c1", "content": [{"type": "mesh", "faces": 9}]},
    {"id": "m5", "role": "user", "content": [{"type": "mesh", "faces": 12}]},
    {
        "id": "m6",
        "role": "user",
        "content": [
            {"type": "text", "text": "Like this?"},
            {"type": "mesh", "faces": 12},
            {**IMAGE, "source": {"type": "memory", "value": "x"}},
            IMAGE,
        ],
    },
]
KINDS = ("role 'critic'", "tool call 'gesture'", "content part 'mesh'", "source 'memory'")


class Critic(BaseModel):
    id: str
    role: Literal["critic"]
    content: str


class Mesh(BaseModel):
    type: Literal["mesh"]
    faces: int


class NewerUser(UserMessage):
    content: str | list[ContentPart | Mesh]  # type: ignore[assignment]


class NewerInput(RunAgentInput):
    """An input as the library of a newer version of AG-UI reads it."""

    messages: list[NewerUser | Critic | Message]  # type: ignore[assignment]


def answering() -> Graph:
    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("Yes.", id=f"answer-{len(state['messages'])}")]}

    return StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())


def asking() -> Graph:
    """A graph with two interrupts at once."""

    def first(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"first: {interrupt('first')}", id="first")]}

    def second(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"second: {interrupt('second')}", id="second")]}

    graph = StateGraph(MessagesState).add_node(first).add_node(second)
    return graph.add_edge(START, "first").add_edge(START, "second").compile(InMemorySaver())


def sent(run_id: str, messages: Sequence[Any], **more: Any) -> dict[str, Any]:
    fields = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
    return {**fields, "threadId": "t", "runId": run_id, "messages": list(messages), **more}


async def post(graph: Graph, given: dict[str, Any]) -> list[str]:
    """The types of the events that the server answers with."""
    app = agui_app({"painter": Agent(source=Local(graph, agent="painter"))})
    async with served(app) as server, server.client() as client:
        answer = await client.post("/painter", json=given)
        assert answer.status_code == 200, answer.text
        return [line.split('"')[3] for line in answer.text.splitlines() if line.startswith("data: ")]


async def types(events: AsyncIterator[Any]) -> list[str]:
    return [event.type.value async for event in events]


async def run_json(graph: Graph, given: dict[str, Any]) -> list[str]:
    return await types(run(Local(graph, agent="painter"), given))


async def messages_of(graph: Graph) -> list[AnyMessage]:
    return list((await graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"])


@pytest.mark.parametrize("started", [post, run_json])
async def test_what_is_unknown_is_skipped_and_nothing_else(started: Any, caplog: pytest.LogCaptureFixture) -> None:
    graph = answering()
    assert (await started(graph, sent("r1", HISTORY)))[-1] == "RUN_FINISHED"
    stored = await messages_of(graph)
    assert [message.id for message in stored] == ["m1", "m3", "m4", "m6", "answer-4"]
    assert [call["id"] for call in stored[1].tool_calls] == ["c1"]  # type: ignore[union-attr]
    assert stored[3].content[0] == {"type": "text", "text": "Like this?"}
    assert len(stored[3].content) == 2
    (line,) = [record.getMessage() for record in caplog.records if "skipped" in record.getMessage()]
    assert all(kind in line for kind in KINDS)
    assert "agent 'painter', thread 't', run 'r1'" in line
    assert "Too red" not in line
    # The next input has the same unknown items, and is no edit of any message.
    more = [
        {"id": "answer-4", "role": "assistant", "content": "Yes."},
        {"id": "m7", "role": "user", "content": "Go on."},
    ]
    await started(graph, sent("r2", [*HISTORY, *more]))
    assert [message.id for message in await messages_of(graph)][3:] == ["m6", "answer-4", "m7", "answer-6"]


async def test_objects_of_a_newer_library_are_read_as_their_json(caplog: pytest.LogCaptureFixture) -> None:
    graph = answering()
    last = {"id": "m6", "role": "user", "content": [{"type": "mesh", "faces": 1}, {"type": "text", "text": "So?"}]}
    given = NewerInput.model_validate(sent("r1", [HISTORY[0], HISTORY[1], HISTORY[4], last]))
    assert (await types(run(graph, given)))[-1] == "RUN_FINISHED"
    assert [message.id for message in await messages_of(graph)] == ["m1", "m6", "answer-2"]
    (line,) = [record.getMessage() for record in caplog.records if "skipped" in record.getMessage()]
    assert "role 'critic', content part 'mesh' (agent 'LangGraph', thread 't', run 'r1')" in line


@pytest.mark.parametrize("started", [post, run_json])
async def test_an_answer_of_an_unknown_kind_leaves_its_interrupt_pending(
    started: Any, caplog: pytest.LogCaptureFixture
) -> None:
    graph = asking()
    await started(graph, sent("r1", [{"id": "m1", "role": "user", "content": "hi"}]))
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    ids = {each.value: each.id for each in state.interrupts}
    entries = [
        {"interruptId": ids["first"], "status": "deferred", "until": "tomorrow"},
        {"interruptId": ids["second"], "status": "resolved", "payload": "yes"},
    ]
    assert (await started(graph, sent("r2", [], resume=entries)))[-1] == "RUN_FINISHED"
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [each.value for each in pending(state)] == ["first"]
    assert "resume status 'deferred' (agent 'painter', thread 't', run 'r2')" in caplog.text
    await started(graph, sent("r3", [], resume=[{**entries[0], "status": "resolved", "payload": "no"}]))
    assert {message.content for message in await messages_of(graph)} >= {"first: no", "second: yes"}


MESH = {"id": "m9", "role": "user", "content": [{"type": "mesh", "faces": 12}]}


@pytest.mark.parametrize(
    ("messages", "what"),
    [
        ([HISTORY[1]], "messages: expected at least one of a known kind, got role 'critic'"),
        ([HISTORY[1], MESH], "messages: expected at least one of a known kind, got role 'critic', content part 'mesh'"),
        ([HISTORY[0], MESH], "messages[1]: expected content of a known kind, got content part 'mesh'"),
    ],
)
async def test_a_run_of_which_nothing_is_known_is_refused(messages: list[Any], what: str) -> None:
    graph = answering()
    with pytest.raises(InvalidInputError, match=re.escape(what)):
        run(Local(graph), sent("r1", messages))
    app = agui_app({"painter": Local(graph)})
    async with served(app) as server, server.client() as client:
        answer = await client.post("/painter", json=sent("r1", messages))
        assert (answer.status_code, answer.json()) == (422, {"error": "invalid_input", "message": what})
        for path in ("/painter/connect", "/agent/painter/connect"):  # the client may show what it likes
            assert (await client.post(path, json=sent("r1", messages))).status_code == 200
    assert await types(run(Local(graph), sent("r2", [HISTORY[0], HISTORY[1]])))  # only unknown roles go before it
    assert [message.id for message in await messages_of(graph)] == ["m1", "answer-1"]


def test_an_input_without_anything_unknown_is_the_same_object() -> None:
    given = RunAgentInput.model_validate(sent("r", HISTORY[:1], resume=[{"interruptId": "i", "status": "resolved"}]))
    assert read_input(given, None) is given


def test_a_binary_part_of_an_older_client_is_read_as_the_part_of_its_mime_type() -> None:
    parts = [
        {"type": "binary", "mimeType": "image/png", "data": "AA=="},
        {"type": "binary", "mimeType": "audio/wav", "url": "https://example.org/a.wav"},
        {"type": "binary", "mimeType": "application/pdf", "data": "AA==", "filename": "a.pdf"},
        {"type": "binary", "mimeType": "image/png", "id": "stored-elsewhere"},
    ]
    message = {"id": "m1", "role": "user", "content": parts}
    given = {"threadId": "t", "runId": "r", "messages": [message], "state": {}, "tools": [], "context": []}
    content = read_input({**given, "forwardedProps": {}}, "agent").messages[0].content
    assert isinstance(content, list)
    assert [part.model_dump(exclude_none=True, by_alias=True) for part in content] == [
        {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}},
        {"type": "audio", "source": {"type": "url", "value": "https://example.org/a.wav", "mimeType": "audio/wav"}},
        {"type": "document", "source": {"type": "data", "value": "AA==", "mimeType": "application/pdf"}},
    ]
