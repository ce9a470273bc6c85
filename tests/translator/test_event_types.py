"""Every event type of AG-UI is known wherever CONTRIBUTING ("Add an event type") says that it has to be.

A type that a new version of `ag_ui.core` brings fails here until `EVENT_TYPES` has a row for it. Each column of a row
is compared with what the code does.
"""

import re
from fnmatch import fnmatchcase
from inspect import getmembers, getsource, isfunction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ag_ui.core import EventType
from langgraph_agui.translator import ClientView, encode, events, for_client_version
from langgraph_agui.translator.client.chunks import CHUNKS, expand
from langgraph_agui.translator.client.open_items import OpenItems
from langgraph_agui.translator.client.reducer import REDUCES
from langgraph_agui.translator.wire.frame_limit import MAX_FRAME, framed

Event = dict[str, Any]
DOCS = Path(__file__).parents[2] / "docs/reference/events.md"


class Row(NamedTuple):
    """What each table has of a type."""

    made_by: str | None
    """The constructor in `wire/events.py`; None: nothing here emits it."""
    changes: str
    """What of a client it changes (`client/reducer.py`, `client/contents.py`): messages, state, run, nothing."""
    items: str
    """What it opens (`+`) or closes (`-`) (`client/open_items.py`)."""
    too_large: str
    """What becomes of one that is too large for a frame (`wire/frame_limit.py`): several, truncated, or small: it has
    ids and names alone."""
    older: str
    """What a client that declares no version gets (`wire/older_clients.py`): same, other (some are converted), owned
    (none that belongs to a subagent), none."""
    ends_chunks: str
    """Which messages that stream by chunks it ends (`client/chunks.py`): own (its agent's), all, no; chunk: it is
    one."""
    late: str
    """What a late joiner gets of it (`client/catch_up.py`): again, or only what it has changed: in a snapshot."""


# type: made by, changes, items, too large, older clients, ends chunks, a late joiner
EVENT_TYPES = {
    "RUN_STARTED": Row("run_started", "messages run", "-all", "truncated", "same", "all", "again"),
    "RUN_FINISHED": Row("run_finished", "run", "-all", "truncated", "other", "all", "again"),
    "RUN_ERROR": Row("run_error", "run", "-all", "truncated", "same", "all", "again"),
    "STEP_STARTED": Row("step_started", "nothing", "+steps", "small", "owned", "own", "again"),
    "STEP_FINISHED": Row("step_finished", "nothing", "-steps", "small", "owned", "own", "snapshot"),
    "TEXT_MESSAGE_START": Row("text_start", "messages", "+texts", "small", "same", "own", "again"),
    "TEXT_MESSAGE_CONTENT": Row("text_content", "messages", "", "several", "same", "own", "snapshot"),
    "TEXT_MESSAGE_END": Row("text_end", "messages", "-texts", "small", "same", "own", "snapshot"),
    "TEXT_MESSAGE_CHUNK": Row(None, "messages", "+texts", "truncated", "same", "chunk", "snapshot"),
    "TOOL_CALL_START": Row("tool_start", "messages", "+calls", "small", "same", "own", "again"),
    "TOOL_CALL_ARGS": Row("tool_args", "messages", "", "several", "same", "own", "snapshot"),
    "TOOL_CALL_END": Row("tool_end", "messages", "-calls", "small", "same", "own", "snapshot"),
    "TOOL_CALL_CHUNK": Row(None, "messages", "+calls", "truncated", "same", "chunk", "snapshot"),
    "TOOL_CALL_RESULT": Row("tool_result", "messages", "", "truncated", "other", "own", "snapshot"),
    "REASONING_START": Row("reasoning_start", "nothing", "+spans", "small", "same", "own", "again"),
    "REASONING_MESSAGE_START": Row("reasoning_start", "messages", "+reasonings", "small", "same", "own", "again"),
    "REASONING_MESSAGE_CONTENT": Row("reasoning_content", "messages", "", "several", "same", "own", "snapshot"),
    "REASONING_MESSAGE_END": Row("reasoning_end", "messages", "-reasonings", "small", "same", "own", "snapshot"),
    "REASONING_MESSAGE_CHUNK": Row(None, "messages", "+reasonings", "truncated", "same", "chunk", "snapshot"),
    "REASONING_END": Row("reasoning_end", "nothing", "-spans", "small", "same", "own", "snapshot"),
    "REASONING_ENCRYPTED_VALUE": Row("reasoning_encrypted", "messages", "", "truncated", "same", "no", "snapshot"),
    "ACTIVITY_SNAPSHOT": Row("activity_snapshot", "messages", "", "truncated", "same", "no", "snapshot"),
    "ACTIVITY_DELTA": Row("activity_delta", "messages", "", "several", "same", "no", "snapshot"),
    "MESSAGES_SNAPSHOT": Row("messages_snapshot", "messages", "", "truncated", "other", "all", "again"),
    "STATE_SNAPSHOT": Row("state_snapshot", "state", "", "several", "same", "own", "again"),
    "STATE_DELTA": Row("state_delta", "state", "", "several", "same", "own", "snapshot"),
    "CUSTOM": Row("custom", "nothing", "", "truncated", "same", "own", "snapshot"),
    "RAW": Row("raw", "nothing", "", "truncated", "same", "no", "snapshot"),
    "SUBAGENT_STARTED": Row("subagent_started", "nothing", "+started", "truncated", "none", "no", "again"),
    "SUBAGENT_FINISHED": Row("subagent_finished", "nothing", "+ended", "truncated", "none", "own", "again"),
    "SUBAGENT_ERROR": Row("subagent_error", "nothing", "+ended", "truncated", "none", "own", "again"),
}
EVENTS: dict[str, Event] = {
    "RUN_STARTED": {"threadId": "t", "runId": "r", "input": {"threadId": "t", "runId": "r", "messages": [
        {"id": "u", "role": "user", "content": "x"}]}},
    "RUN_FINISHED": {"threadId": "t", "runId": "r"},
    "RUN_ERROR": {"message": "x"},
    "STEP_STARTED": {"stepName": "n"},
    "STEP_FINISHED": {"stepName": "n"},
    "TEXT_MESSAGE_START": {"messageId": "new", "role": "assistant"},
    "TEXT_MESSAGE_CONTENT": {"messageId": "known", "delta": "x"},
    "TEXT_MESSAGE_END": {"messageId": "new", "metadata": {"k": 1}},
    "TEXT_MESSAGE_CHUNK": {"messageId": "new", "delta": "x"},
    "TOOL_CALL_START": {"toolCallId": "new", "toolCallName": "f"},
    "TOOL_CALL_ARGS": {"toolCallId": "call", "delta": "x"},
    "TOOL_CALL_END": {"toolCallId": "new", "metadata": {"k": 1}},
    "TOOL_CALL_CHUNK": {"toolCallId": "new", "toolCallName": "f", "delta": "x"},
    "TOOL_CALL_RESULT": {"messageId": "result", "toolCallId": "call", "content": "x"},
    "REASONING_START": {"messageId": "r"},
    "REASONING_MESSAGE_START": {"messageId": "r", "role": "reasoning"},
    "REASONING_MESSAGE_CONTENT": {"messageId": "known", "delta": "x"},
    "REASONING_MESSAGE_END": {"messageId": "r", "metadata": {"k": 1}},
    "REASONING_MESSAGE_CHUNK": {"messageId": "r", "delta": "x"},
    "REASONING_END": {"messageId": "r"},
    "REASONING_ENCRYPTED_VALUE": {"subtype": "message", "entityId": "known", "encryptedValue": "x"},
    "ACTIVITY_SNAPSHOT": {"messageId": "card", "activityType": "card", "content": {"n": 2}},
    "ACTIVITY_DELTA": {"messageId": "card", "activityType": "card", "patch": [
        {"op": "add", "path": "/n", "value": 2}]},
    "MESSAGES_SNAPSHOT": {"messages": [{"id": "other", "role": "user", "content": "x"}]},
    "STATE_SNAPSHOT": {"snapshot": {"n": 1}},
    "STATE_DELTA": {"delta": [{"op": "add", "path": "/n", "value": 2}]},
    "CUSTOM": {"name": "n", "value": 1},
    "RAW": {"event": 1},
    "SUBAGENT_STARTED": {"subagentRunId": "s", "name": "n"},
    "SUBAGENT_FINISHED": {"subagentRunId": "s"},
    "SUBAGENT_ERROR": {"subagentRunId": "s", "message": "x"},
}  # fmt: skip
"""An event of each type, for a client that has `KNOWN`."""
KNOWN: list[Event] = [
    {"id": "known", "role": "assistant", "content": "", "toolCalls": [
        {"id": "call", "type": "function", "function": {"name": "f", "arguments": ""}}]},
    {"id": "new", "role": "assistant", "content": "", "toolCalls": [
        {"id": "new", "type": "function", "function": {"name": "g", "arguments": ""}}]},
    {"id": "r", "role": "reasoning", "content": ""},
    {"id": "card", "role": "activity", "activityType": "card", "content": {"n": 1}},
]  # fmt: skip
LARGE = "x" * (MAX_FRAME // 2 + 1)
PATCH = [{"op": "add", "path": f"/{name}", "value": LARGE} for name in "ab"]
TOO_LARGE: dict[str, Event] = {
    "STATE_SNAPSHOT": {"snapshot": {"a": LARGE, "b": LARGE}},
    "STATE_DELTA": {"delta": PATCH},
    "ACTIVITY_DELTA": {"patch": PATCH},
    "MESSAGES_SNAPSHOT": {"messages": [{"id": name, "role": "user", "content": LARGE} for name in "ab"]},
}


def event_of(kind: str) -> Event:
    """The event of a type; one that opens something opens what the client does not have."""
    return {"type": kind, **EVENTS[kind]}


def test_every_event_type_of_the_protocol_has_a_row() -> None:
    assert EVENT_TYPES.keys() == {kind.value for kind in EventType}, 'see "Add an event type" in CONTRIBUTING.md'


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_a_type_is_made_where_its_row_says(kind: str) -> None:
    sources = {name: getsource(made) for name, made in getmembers(events, isfunction) if not name.startswith("_")}
    makers = {name for name, source in sources.items() if f'"type": "{kind}"' in source}
    made_by = EVENT_TYPES[kind].made_by
    assert makers - {"call_encrypted"} == ({made_by} if made_by else set())
    if made_by is not None:
        assert any(fnmatchcase(kind, token) for token in documented()), f"{DOCS.name} does not say what becomes {kind}"


def documented() -> list[str]:
    """The event types in the documentation, also as it shortens them: `A_START/END`, `B_*`."""
    tokens: list[str] = []
    for token in re.findall(r"`([A-Z_*/]+)`", DOCS.read_text(encoding="utf-8")):
        first, *others = token.split("/")
        tokens += [first, *(f"{first.rpartition('_')[0]}_{other}" for other in others)]
    return tokens


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_a_type_changes_of_a_client_what_its_row_says(kind: str) -> None:
    row = EVENT_TYPES[kind]
    view = ClientView(KNOWN[::3] if "+" in row.items else KNOWN, {})  # what is opened is new to the client
    before = view.copy()
    view.apply(event_of(kind))
    changes = ["messages"] * (view.messages != before.messages) + ["state"] * (view.state != before.state)
    changes += ["run"] * ((view.run_id, view.terminal) != (before.run_id, before.terminal))
    assert " ".join(changes) == row.changes.replace("nothing", "")
    assert (kind in REDUCES) == ("messages" in row.changes and kind not in CHUNKS)


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_a_type_opens_and_closes_what_its_row_says(kind: str) -> None:
    row, event = EVENT_TYPES[kind], event_of(kind)
    fields = ("texts", "calls", "spans", "reasonings", "steps", "started", "ended")
    opened = OpenItems()
    for one in expand(event, {}):
        opened.apply(one)
    assert "".join(f"+{name}" for name in fields if getattr(opened, name)) == (row.items if "+" in row.items else "")
    full = OpenItems("r", **{name: {} for name in fields})
    for other in EVENT_TYPES:
        if "+" in EVENT_TYPES[other].items and other not in CHUNKS:
            full.apply(event_of(other))
    before = full.copy()
    full.apply(event)
    closed = [name for name in fields[:5] if getattr(before, name) and not getattr(full, name)]
    assert "".join(f"-{name}" for name in closed) == {"-all": "-texts-calls-spans-reasonings-steps"}.get(
        row.items, row.items if "-" in row.items else ""
    )


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_a_type_that_is_too_large_becomes_what_its_row_says(kind: str) -> None:
    row, event = EVENT_TYPES[kind], event_of(kind)
    if row.too_large == "small":
        event.pop("metadata", None)
        assert framed(event, MAX_FRAME * 2) == [event]
        return
    is_text = row.too_large == "several" and "delta" in event and kind not in TOO_LARGE
    event |= TOO_LARGE.get(kind) or ({"delta": LARGE * 2} if is_text else {"metadata": {"k": LARGE * 2}})
    frames = framed(event)
    assert (len(frames) > 1) == (row.too_large == "several")
    assert all(len(encode(frame)) <= MAX_FRAME for frame in frames)


CONVERTED: dict[str, Event] = {
    "RUN_FINISHED": {"outcome": {"type": "cancelled"}},
    "TOOL_CALL_RESULT": {"content": [{"type": "text", "text": "x"}]},
    "MESSAGES_SNAPSHOT": {
        "messages": [{"id": "t", "role": "tool", "toolCallId": "c", "content": [{"type": "text", "text": "x"}]}]
    },
}


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_an_older_client_gets_of_a_type_what_its_row_says(kind: str) -> None:
    row, event = EVENT_TYPES[kind], event_of(kind)
    own, owned = for_client_version(event, None), for_client_version({**event, "subagentRunId": "s"}, None)
    assert own == (None if row.older == "none" else event)
    assert (owned is None) == (row.older in ("none", "owned"))
    assert (kind in CONVERTED) == (row.older == "other")
    if row.older == "other":
        other = event | CONVERTED[kind]
        assert for_client_version(other, None) not in (None, other)


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_a_type_ends_the_chunks_that_its_row_says(kind: str) -> None:
    row, event = EVENT_TYPES[kind], event_of(kind) | {"subagentRunId": "s"}
    starts = {owner: {"type": "TEXT_MESSAGE_START", "messageId": f"m-{owner}"} for owner in (None, "s")}
    assert (kind in CHUNKS) == (row.ends_chunks == "chunk")
    if kind not in CHUNKS:
        ended = [one["messageId"] for one in expand(event, dict(starts))[:-1]]
        assert ended == {"all": ["m-None", "m-s"], "own": ["m-s"], "no": []}[row.ends_chunks]


def test_a_late_joiner_gets_the_types_whose_rows_say_so() -> None:
    """At every cut of a stream with all types: what is emitted to a reader with nothing, and to one that was behind."""
    opens = [kind for kind, row in EVENT_TYPES.items() if "+" in row.items and kind not in CHUNKS]
    rest = [kind for kind in EVENT_TYPES if kind not in opens and not kind.startswith("RUN_") and kind not in CHUNKS]
    emitted: set[str] = set()
    for end in ("RUN_FINISHED", "RUN_ERROR"):
        view = ClientView(KNOWN, {})
        for kind in ("RUN_STARTED", *opens, *rest, end):
            view.apply(event_of(kind))
            emitted.update(event["type"] for event in view.catch_up())
    assert emitted == {kind for kind, row in EVENT_TYPES.items() if row.late == "again"}
