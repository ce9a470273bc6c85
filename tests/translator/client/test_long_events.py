"""An event too large for a frame leaves the real client with the same when it is split."""

from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import Any

import orjson
import pytest
from langchain_core.messages import AIMessageChunk, HumanMessage
from langgraph.types import Interrupt
from langgraph_agui.translator import Translator
from langgraph_agui.translator.client.long_snapshots import framed
from langgraph_agui.translator.client.view import ClientView
from langgraph_agui.translator.wire.frame_limit import MAX_FRAME
from langgraph_agui.translator.wire.sse import encode

from tests.agui_client import AguiClient

Event = dict[str, Any]
STARTED: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
BIG = "w" * 5_000_000


def snapshot(*messages: Event) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def call(arguments: str) -> Event:
    return {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}


def message(role: str, content: Any = BIG, **more: Any) -> Event:
    return {"id": role, "role": role, "content": content, **more}


CONVERSATION = [
    message("user"),
    message("reasoning"),
    message("assistant", "hi", toolCalls=[call(BIG)]),
    message("tool", toolCallId="c"),
    message("system", "short", subagentRunId="s"),
]
EXACT: dict[str, Event] = {
    "state of 20 MB in one channel": {"type": "STATE_SNAPSHOT", "snapshot": {"a": {"b": [BIG] * 4}, "c/~": 1}},
    "state that is a list": {"type": "STATE_SNAPSHOT", "snapshot": [[BIG], [BIG, BIG], {"": BIG}]},
    "state of many small parts": {
        "type": "STATE_SNAPSHOT",
        "snapshot": {"many": [{"number": at, "text": "é" * 40} for at in range(80_000)]},
    },
    "state below __proto__": {"type": "STATE_SNAPSHOT", "snapshot": {"a": BIG, "__proto__": {"b": BIG}}},
    "delta": {
        "type": "STATE_DELTA",
        "delta": [{"op": "add", "path": "/k", "value": [BIG] * 4}, {"op": "add", "path": "/l", "value": 1}],
    },
    "delta of many": {
        "type": "STATE_DELTA",
        "delta": [{"op": "add", "path": f"/{at}", "value": "x" * 999} for at in range(9_000)],
    },
    "activity": {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "t", "content": {"a": [BIG] * 4}},
    "messages": snapshot(*CONVERSATION),
}


def played(client: AguiClient, events: Sequence[Event], large: Event) -> tuple[Any, ClientView]:
    view = ClientView([], {})
    for event in (*events, large):
        view.apply(event)
    frames = b"".join(encode(event) for event in (STARTED, *events, *framed(large), FINISHED))
    return client.play(frames=frames, split=1 << 20), view


@pytest.mark.parametrize("name", EXACT)
def test_the_client_ends_with_the_same(agui_client: AguiClient, name: str) -> None:
    answer, view = played(agui_client, [], EXACT[name])
    assert answer.accepted
    assert (answer.state, answer.messages) == (view.state, view.messages)


@pytest.mark.parametrize("name", EXACT)
def test_no_frame_is_larger_than_the_limit(name: str) -> None:
    assert max(len(encode(event)) for event in framed(EXACT[name])) <= MAX_FRAME


@pytest.mark.parametrize("name", EXACT)
def test_the_event_is_not_changed(name: str) -> None:
    before = deepcopy(EXACT[name])
    framed(EXACT[name])
    assert EXACT[name] == before


def test_the_real_client_refuses_what_is_not_framed(agui_client: AguiClient) -> None:
    frames = b"".join(encode(event) for event in (STARTED, EXACT["state of 20 MB in one channel"], FINISHED))
    assert agui_client.play(frames=frames, split=1 << 20).error is not None


@pytest.mark.parametrize(
    ("kind", "opening"),
    [
        ("TEXT_MESSAGE_CONTENT", {"type": "TEXT_MESSAGE_START", "messageId": "m"}),
        ("TOOL_CALL_ARGS", {"type": "TOOL_CALL_START", "toolCallId": "m", "toolCallName": "f"}),
        ("REASONING_MESSAGE_CONTENT", {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"}),
    ],
)
def test_a_long_delta_is_several(kind: str, opening: Event) -> None:
    field = "toolCallId" if kind == "TOOL_CALL_ARGS" else "messageId"
    large: Event = {"type": kind, field: "m", "delta": "é\0\U0001f600" * 1_000_000, "metadata": {"once": 1}}
    parts = framed(large)
    assert "".join(event["delta"] for event in parts) == large["delta"]
    assert max(len(encode(event)) for event in parts) <= MAX_FRAME
    assert [event for event in parts if "metadata" in event] == parts[:1]


@pytest.mark.parametrize("first", [["open"], ["open", "c"]])
def test_what_is_open_stays_in_the_snapshot_and_grows(agui_client: AguiClient, first: Collection[str]) -> None:
    large = snapshot(*CONVERSATION, {"id": "open", "role": "assistant", "content": "so far"})
    opening = [{"type": "TEXT_MESSAGE_START", "messageId": "open"}]
    rest = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "open", "delta": "!"}]
    rest.append({"type": "TEXT_MESSAGE_END", "messageId": "open"})
    answer = agui_client.play([STARTED, *opening, *framed(large, first), *rest, FINISHED], split=1 << 20)
    assert answer.accepted
    expected = [*large["messages"][:-1], large["messages"][-1] | {"content": "so far!"}]
    assert sorted(answer.messages, key=lambda one: str(one["id"])) == sorted(expected, key=lambda one: str(one["id"]))


def test_a_snapshot_with_an_open_message_is_split_around_it(agui_client: AguiClient) -> None:
    """The longest text of the snapshot is the open one; a second START for it would be refused."""
    metadata = {"langgraph_node": "say", "langgraph_checkpoint_ns": "say:1", "ls_model_type": "chat"}
    asked, waits = HumanMessage("v" * 4_000_000, id="asked"), [Interrupt(value="Which?", id="i")]
    run = Translator("t", "r")
    played = run.start()
    for text in (BIG, "!"):
        played += run.feed(("messages", (AIMessageChunk(content=text, id="m"), metadata)))
        if text == BIG:
            played += run.feed(("values", {"messages": [asked], "__interrupt__": waits}))
            assert list(run.view.open.texts) == ["m"]
    answer = agui_client.play([*played, *run.finish()], split=1 << 20)
    assert answer.accepted
    assert {one["id"]: one["content"] for one in answer.messages} == {"asked": asked.content, "m": BIG + "!"}


def test_more_messages_than_fit_come_one_by_one() -> None:
    large = snapshot(*({"id": f"m{at}", "role": "user", "content": "w" * 200} for at in range(40_000)))
    view = ClientView([], {})
    for event in framed(large):
        assert len(encode(event)) <= MAX_FRAME
        view.apply(event)
    assert view.messages == large["messages"]


def _picture(number: int) -> Event:
    source = {"type": "data", "mimeType": "image/png", "value": "A" * 3_000_000}
    return {"id": f"u{number}", "role": "user", "content": [{"type": "image", "source": source}]}


TRUNCATED: dict[str, Event] = {
    "a string longer than a frame": {"type": "STATE_SNAPSHOT", "snapshot": {"a": "é\0" * 3_000_000, "b": 1}},
    "tool result": {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": BIG * 2},
    "custom": {"type": "CUSTOM", "name": "n", "value": [BIG, 1, {"a": BIG}]},
    "pictures": snapshot(*map(_picture, range(4))),
    "error": {"type": "RUN_ERROR", "message": BIG * 2},
    "metadata": {"type": "STEP_STARTED", "stepName": "s", "metadata": {"a": BIG * 2}},
    "result": {
        "type": "RUN_FINISHED",
        "threadId": "t",
        "runId": "r",
        "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "metadata": {"value": BIG * 2}}]},
        "result": {"a": BIG, "b": list(range(1_000_000))},
    },
}


@pytest.mark.parametrize("name", TRUNCATED)
def test_what_no_event_can_add_to_is_truncated_with_a_mark(agui_client: AguiClient, name: str) -> None:
    parts = framed(TRUNCATED[name])
    frames = [encode(event) for event in parts]
    assert max(map(len, frames)) <= MAX_FRAME
    assert any(b"<truncated" in frame for frame in frames)
    steps = [{"type": "STEP_FINISHED", "stepName": "s"}] if name == "metadata" else []
    end = [FINISHED] if parts[0]["type"] not in ("RUN_ERROR", "RUN_FINISHED") else []
    assert agui_client.play([STARTED, *parts, *steps, *end], split=1 << 20).accepted


def test_what_is_small_beside_the_truncated_stays() -> None:
    (event,) = framed(TRUNCATED["result"])
    assert event["outcome"]["interrupts"][0]["id"] == "i"
    assert orjson.dumps(event).count(b"<truncated") == 3


@pytest.mark.parametrize("event", [STARTED, snapshot(message("user", "hi")), {"type": "STEP_STARTED", "stepName": "s"}])
def test_a_small_event_is_itself(event: Event) -> None:
    (parts,) = framed(event)
    assert parts is event
