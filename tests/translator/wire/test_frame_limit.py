"""An event too large for a frame is split or truncated: the real client takes it, and what is truncated says so."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk, HumanMessage
from langgraph.types import Interrupt
from langgraph_agui.translator import ClientView, Translator
from langgraph_agui.translator.wire.frame_limit import MAX_FRAME, framed, truncated
from langgraph_agui.translator.wire.sse import encode

from tests.support.clients.agui_client import AguiClient
from tests.support.random.examples import examples
from tests.support.sweeps import SWEEP

pytestmark = pytest.mark.early

Event = dict[str, Any]
STARTED: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
MB = "w" * 1_000_000


def differences(left: Any, value: Any, path: str = "") -> Iterator[str]:
    """The paths of what was truncated, after a check: it keeps its kind and has a mark with its size, and what is left
    of it is its beginning. A truncated message also says so in its metadata."""
    if left == value:
        return
    mark = f"<truncated: {len(orjson.dumps(value)):,} bytes>"
    yield path
    assert type(left) is type(value), path
    if isinstance(value, str):
        assert left.endswith(mark), path
        assert value.startswith(left.removesuffix(mark)), path
        return
    if isinstance(value, dict):
        if left.get("metadata", {}).get("truncated"):
            size = len(orjson.dumps(value))
            value = {**value, "metadata": {**value.get("metadata", {}), "truncated": True, "size": size}}
        kept = {name: each for name, each in left.items() if (name, each) != ("<truncated>", mark)}
        assert kept.keys() < value.keys() if len(kept) < len(left) else kept.keys() == value.keys(), path
        pairs = [(name, kept[name], value[name]) for name in value if name in kept]
    else:
        kept = left[:-1] if left[-1] in (mark, {"type": "text", "text": mark}) else left
        assert len(kept) == len(value) or left is not kept, path
        pairs = [(name, *pair) for name, pair in enumerate(zip(kept, value, strict=False))]
    for name, mine, its in pairs:
        yield from differences(mine, its, f"{path}/{name}")


# --- events -----------------------------------------------------------------------------------------------------------


def snapshot(*messages: Event) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def message(role: str, content: Any, **more: Any) -> Event:
    return {"id": role, "role": role, "content": content, **more}


def call(name: str, arguments: str) -> Event:
    return {"id": name, "type": "function", "function": {"name": "f", "arguments": arguments}}


def picture(number: int) -> Event:
    source = {"type": "data", "mimeType": "image/png", "value": "A" * 3_000_000}
    parts = [{"type": "image", "source": source}, {"type": "text", "text": "Look."}]
    return {"id": f"u{number}", "role": "user", "content": parts}


def open_before(event: Event) -> tuple[list[Event], list[Event]]:
    """What must come before an event and after it."""
    closed: dict[str, tuple[list[Event], list[Event]]] = {
        "TEXT_MESSAGE_CONTENT": (
            [{"type": "TEXT_MESSAGE_START", "messageId": "m"}],
            [{"type": "TEXT_MESSAGE_END", "messageId": "m"}],
        ),
        "TOOL_CALL_ARGS": (
            [{"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}],
            [{"type": "TOOL_CALL_END", "toolCallId": "c"}],
        ),
        "REASONING_MESSAGE_CONTENT": (
            [{"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"}],
            [{"type": "REASONING_MESSAGE_END", "messageId": "m"}],
        ),
        "STEP_STARTED": ([], [{"type": "STEP_FINISHED", "stepName": "s"}]),
        "ACTIVITY_DELTA": (
            [{"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "t", "content": {}}],
            [],
        ),
    }
    before, after = closed.get(event["type"], ([], []))
    is_end = event["type"] in ("RUN_ERROR", "RUN_FINISHED")
    return [STARTED, *before], after if is_end else [*after, FINISHED]


LARGE: dict[str, tuple[Event, list[str]]] = {
    "channels of 20 MB in all": (
        {"type": "STATE_SNAPSHOT", "snapshot": {**{f"{at}~/é": [MB] * 4 for at in range(5)}, "small": 1}},
        [],
    ),
    "a channel of 9 MB": (
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": MB * 5, "b": {"c": MB * 9, "d": MB * 3}, "e": 1}},
        ["", "/b", "/b/c"],
    ),
    "a channel of many small values": (
        {
            "type": "STATE_SNAPSHOT",
            "snapshot": {"many": [{"number": at, "é": "é" * 40} for at in range(90_000)], "b": 1},
        },
        ["", "/many"],
    ),
    "a state that is no object": ({"type": "STATE_SNAPSHOT", "snapshot": [MB, MB * 9, MB]}, ["", "/1"]),
    "a patch of many operations": (
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": f"/{at}", "value": "x" * 999} for at in range(10_000)]},
        [],
    ),
    "a patch with a large value": (
        {
            "type": "STATE_DELTA",
            "delta": [{"op": "add", "path": f"/{name}", "value": value} for name, value in (("k", [MB] * 9), ("l", 1))],
        },
        ["", "/k", "/k/0", "/k/1"],
    ),
    "a text": ({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "é\0\U0001f600" * 700_000}, []),
    "arguments": ({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": MB * 9}, []),
    "reasoning": ({"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": MB * 9}, []),
    "an activity": (
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "t", "content": {"a": MB * 9, "b": [MB]}},
        ["", "/0", "/0/content", "/0/content/a"],
    ),
    "a patch of an activity": (
        {
            "type": "ACTIVITY_DELTA",
            "messageId": "a",
            "activityType": "t",
            "patch": [{"op": "add", "path": f"/{at}", "value": MB} for at in range(12)],
        },
        [],
    ),
    "messages, longest first": (
        snapshot(
            message("user", MB * 2),
            message("reasoning", MB),
            message("assistant", "hi", toolCalls=[call("c", MB * 6), call("d", "{}")], metadata={"k": 1}),
            message("tool", MB, toolCallId="c"),
            {"id": "a", "role": "activity", "activityType": "t", "content": {"x": MB}},
        ),
        ["", "/2", "/2/toolCalls", "/2/toolCalls/0", "/2/toolCalls/0/function", "/2/toolCalls/0/function/arguments"],
    ),
    "pictures": (
        snapshot(*map(picture, range(3))),
        ["", "/0", "/0/content", "/0/content/0", "/0/content/0/source", "/0/content/0/source/value"],
    ),
}
"""An event, and the paths in the client's state or messages of what is truncated."""
ALIKE = {
    "a channel of 9 MB",
    "a channel of many small values",
    "a state that is no object",
    "a patch with a large value",
    "reasoning",
    "tool result",
    "result",
}
"""Events of a type that the real client is given with another one, here or in `OTHERS`."""


def seen_after(*events: Event) -> ClientView:
    view = ClientView([], {})
    for event in events:
        view.apply_emitted(event)
    return view


def assert_client_agrees(client: AguiClient, event: Event) -> None:
    """The real client takes the event when it is framed, and then has what its view has."""
    before, after = open_before(event)
    events = framed(event)
    answer = client.play(frames=b"".join(map(encode, (*before, *events, *after))), split=1 << 20)
    assert answer.accepted
    view = seen_after(*before, *events)
    assert (answer.state, answer.messages) == (view.state, view.messages)


def test_a_client_has_all_but_what_is_marked() -> None:
    for name, (event, paths) in LARGE.items():
        unchanged, events = deepcopy(event), framed(event)
        assert (name, max(len(encode(each)) for each in events) <= MAX_FRAME) == (name, True)
        before, _ = open_before(event)
        view, whole = seen_after(*before, *events), seen_after(*before, event)
        found = [*differences(view.state, whole.state), *differences(view.messages, whole.messages)]
        assert (name, found) == (name, paths)
        assert event == unchanged


@pytest.mark.parametrize("name", [pytest.param(name, marks=SWEEP) if name in ALIKE else name for name in LARGE])
def test_the_real_client_has_what_its_view_has(agui_client: AguiClient, name: str) -> None:
    assert_client_agrees(agui_client, LARGE[name][0])


def test_a_delta_loses_nothing() -> None:
    for name in ("a text", "arguments", "reasoning"):
        event, _ = LARGE[name]
        assert "".join(each["delta"] for each in framed(event)) == event["delta"]


OTHERS: dict[str, tuple[Event, list[str]]] = {
    "tool result": (
        {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": MB * 9},
        ["", "/content"],
    ),
    "result in parts": (
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": "t",
            "toolCallId": "c",
            "content": [{"type": "text", "text": f"{at:0200}"} for at in range(40_000)],
        },
        ["", "/content"],
    ),
    "custom": ({"type": "CUSTOM", "name": "n", "value": [MB * 9, 1, {"a": MB}]}, ["", "/value", "/value/0"]),
    "error": ({"type": "RUN_ERROR", "message": MB * 9}, ["", "/message"]),
    "metadata": (
        {"type": "STEP_STARTED", "stepName": "s", "metadata": {"a": MB * 9}},
        ["", "/metadata", "/metadata/a"],
    ),
    "result": (
        {**FINISHED, "result": {"a": MB, "b": [10**15 + at for at in range(500_000)]}},
        ["", "/result", "/result/b"],
    ),
    "question": (
        {
            **FINISHED,
            "outcome": {
                "type": "interrupt",
                "interrupts": [{"id": "i", "reason": "x", "metadata": {"rows": [{"row": "w" * 120}] * 70_000}}],
            },
        },
        ["", *(f"/outcome{rest}" for rest in ("", "/interrupts", "/interrupts/0", "/interrupts/0/metadata",
                                              "/interrupts/0/metadata/rows"))],
    ),
}  # fmt: skip
"""Other events, and the paths in them of what is truncated."""


def test_any_other_event_is_truncated_with_a_mark() -> None:
    for name, (event, paths) in OTHERS.items():
        (frame,) = framed(event)
        assert (name, len(encode(frame)) <= MAX_FRAME) == (name, True)
        assert (name, list(differences(frame, event))) == (name, paths)


@pytest.mark.parametrize("name", [pytest.param(name, marks=SWEEP) if name in ALIKE else name for name in OTHERS])
def test_the_real_client_takes_any_other_event(agui_client: AguiClient, name: str) -> None:
    assert_client_agrees(agui_client, OTHERS[name][0])


def test_the_real_client_refuses_what_is_not_framed(agui_client: AguiClient) -> None:
    frames = b"".join(encode(event) for event in (STARTED, LARGE["channels of 20 MB in all"][0], FINISHED))
    assert agui_client.play(frames=frames, split=1 << 20).error is not None


@pytest.mark.parametrize("count", [28_000, 60_000])
def test_of_more_messages_than_fit_the_last_ones_stay(count: int) -> None:
    """As many as fit with their beginnings are all there."""
    large = snapshot(*({"id": f"m{at}", "role": "user", "content": "w" * 250} for at in range(count)))
    (frame,) = framed(large)
    assert len(encode(frame)) <= MAX_FRAME
    ids, stay = ([each["id"] for each in event["messages"]] for event in (large, frame))
    assert stay == ids[-len(stay) :]
    assert (len(stay) == count) == (count == 28_000)
    assert len(stay) > 28_000 - 1


def test_a_message_that_is_open_in_a_truncated_snapshot_grows(agui_client: AguiClient) -> None:
    metadata = {"langgraph_node": "say", "langgraph_checkpoint_ns": "say:1", "ls_model_type": "chat"}
    asked, waits = HumanMessage(MB * 4, id="asked"), [Interrupt(value="Which?", id="i")]
    run = Translator("t", "r")
    emitted = run.start()
    for text in (MB * 5, "!"):
        emitted += run.feed(("messages", (AIMessageChunk(content=text, id="m"), metadata)))
        if text != "!":
            emitted += run.feed(("values", {"messages": [asked], "__interrupt__": waits}))
            assert list(run.view.open.texts) == ["m"]
    answer = agui_client.play([*emitted, *run.finish()], split=1 << 20)
    assert (answer.accepted, answer.messages) == (True, run.view.messages)
    contents = {each["id"]: each["content"] for each in answer.messages}
    assert contents["asked"] == asked.content
    assert contents["m"].endswith("w<truncated: 5,000,002 bytes>!")


@pytest.mark.parametrize(
    "event", [STARTED, snapshot(message("user", "hi")), {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": MB}]
)
def test_a_small_event_is_itself(event: Event) -> None:
    (frame,) = framed(event)
    assert frame is event


# --- values -----------------------------------------------------------------------------------------------------------

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(0, 9) | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=40), inner, max_size=9),
)


def test_of_many_small_members_as_many_stay_as_there_is_room_for() -> None:
    for value in ({f"key-{at:06}": at for at in range(9_000)}, [f"{at:06}" for at in range(9_000)]):
        assert 0.98 < len(orjson.dumps(truncated(value, 50_000))) / 50_000 <= 1


@settings(max_examples=examples(200))
@given(VALUES, st.integers(300, 2_000))
def test_what_is_left_of_a_value_has_room_and_is_marked(value: Any, room: int) -> None:
    left = truncated(value, room)
    assert len(orjson.dumps(left)) <= room
    assert bool(list(differences(left, value))) == (len(orjson.dumps(value)) > room)
