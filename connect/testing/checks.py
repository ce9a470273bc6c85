"""Checks a stream of events (`check_stream`), and what the client has at its end (`assert_ends_as`).

A stream is checked event by event: whether a client accepts the event (`grammar.py`), what the client displays on the
way, and whether `jsonpatch` applies every delta as the client does. Pure: nothing is run here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jsonpatch
from ag_ui.core import BaseEvent
from langgraph.types import StateSnapshot

from ...translator import ClientView, Options, same_json
from .expected import Wire, comparable, expected, unattributed
from .grammar import Event, Grammar

Events = Iterable[BaseEvent | Mapping[str, Any]]
"""The events of one stream, as models or dictionaries."""
Items = dict[tuple[str, str], str]
"""What a client displays: contents of messages by ("message", id), and arguments of calls by ("call", id)."""


def check_stream(events: Events, *, before: ClientView | None = None, may_remove: bool = False) -> ClientView:
    """Checks the events of one stream, and returns what the client has after them.

    Each event must be one that `@ag-ui/client` accepts at this point without a warning, and the last run must have
    ended. A tool result must not precede its call, and a message must not start twice. Nothing that is displayed may
    disappear, or change except by growing. `may_remove=True` allows that, for graphs that remove or rewrite messages
    (`RemoveMessage`, a summary) or do not save what a model has streamed.

    `before` is what the client had before the stream, by default nothing. It is not changed. Raises `AssertionError`
    with the index of an event and what is wrong with it.

    Example:
        view = check_stream(await record(graph, "Hi!"))
        assert view.messages[-1]["content"] == "Hello there."
        assert view.state == {}
    """
    view = _client(before)
    grammar = Grammar(view)
    wires = [_wire(event) for event in events]
    kinds = [wire.get("type") for wire in wires]
    displayed_before: Items | None = None
    started, answered = set[Any](), set[str]()
    for index, (kind, event) in enumerate(zip(kinds, wires, strict=True)):
        for sentence in grammar.mistakes(event):
            raise AssertionError(f"event {index}, {kind}: {sentence}. It is {event}")
        if kind in ("TEXT_MESSAGE_START", "TOOL_CALL_START"):
            key = kind, event.get("toolCallId") or event["messageId"]
            if key in started:
                raise AssertionError(f"event {index}, {kind}: a second START of {key[1]}")
            if key[1] in answered:
                raise AssertionError(f"event {index}, {kind}: a result of {key[1]} came before its call")
            started.add(key)
        elif kind == "TOOL_CALL_RESULT" and view.call(event["toolCallId"]) is None:
            answered.add(event["toolCallId"])
        elif kind in ("RUN_STARTED", "MESSAGES_SNAPSHOT"):
            started.clear()
        if kind == "MESSAGES_SNAPSHOT" and displayed_before is None:
            displayed_before = displayed(view.messages)
        patched = jsonpatch.apply_patch(view.state, event["delta"]) if kind == "STATE_DELTA" else view.state
        view.apply(event)
        if kind == "STATE_DELTA" and not same_json(patched, view.state):
            raise AssertionError(f"event {index}, {kind}: jsonpatch gives {patched}, and a client has {view.state}")
        if displayed_before is not None and kinds[index + 1 : index + 2] != ["MESSAGES_SNAPSHOT"]:
            for sentence in () if may_remove else _losses(displayed_before, displayed(view.messages)):
                raise AssertionError(f"event {index}, {kind}: {sentence}")
            displayed_before = None
    if view.live:
        raise AssertionError(f"event {len(wires) - 1}, {kinds[-1]}: the stream ends here, but the run has not ended")
    return view


def assert_ends_as(
    events: Events,
    state: StateSnapshot | Any,
    options: Options | None = None,
    *,
    before: ClientView | None = None,
) -> None:
    """Asserts that a stream ends in success or at an interrupt, and that its client then has what the thread has.

    `state` is the result of `await graph.aget_state(config, subgraphs=True)`, or only its values. `options` are those
    of the stream. By default every channel counts, as with `Options()`; a local graph is served with
    `options_for(graph)`. `before` is what the client had before the stream, by default nothing.

    The messages must have the same order, ids and content, the calls the same arguments (as JSON), and the state must
    be the same. The client may also have what subagents have emitted, reasoning and activities that are not stored, at
    an interrupt the messages of the waiting step, and any message of a graph without a messages channel. Raises
    `AssertionError` with the differences.

    Example:
        config = {"configurable": {"thread_id": "1"}}
        assert_ends_as(await record(graph, "Hi!", config), await graph.aget_state(config))
    """
    options, view, emitted = options or Options(), _client(before), set[str]()
    for event in map(_wire, events):
        view.apply(event)
        emitted.update(event[name] for name in ("messageId", "toolCallId") if name in event)
    kind = (view.outcome or {"type": "error"})["type"]
    if kind not in ("success", "interrupt"):
        raise AssertionError(f"the run did not end well: {view.terminal or 'it has not ended'}")
    values = state.values if isinstance(state, StateSnapshot) else state
    waiting = _waiting_messages(state, options) if isinstance(state, StateSnapshot) else ()
    target = expected(values, options, waiting=waiting)
    ids = {message["id"] for message in target.messages}
    has_all = options.history == "mirror" and isinstance(values, Mapping) and options.messages_key in values
    messages = [
        message
        for message in unattributed(view.messages)
        if message["id"] in ids
        or (
            (has_all and message["role"] not in ("reasoning", "activity"))
            and not (kind == "interrupt" and message["id"] in emitted)
        )
    ]
    differences = [*_differing_messages(messages, target.messages)]
    if options.state not in ("none", "initial") and values is not None and not same_json(view.state, target.state):
        differences.append(f"the client has the state {view.state}, and the thread {target.state}")
    if differences:
        raise AssertionError("; ".join(differences))


def differences(one: ClientView, other: ClientView, *, may_have_more: bool = False) -> list[str]:
    """Returns the differences between the messages and states of two clients of a thread, as sentences. Messages are
    compared as in `comparable`. With `may_have_more`, the first client may have messages that are not stored:
    reasoning, activities, and messages of subagents."""
    stored = {message["id"] for message in other.messages}
    messages = [
        message
        for message in one.messages
        if not may_have_more
        or message["id"] in stored
        or not (message["role"] in ("reasoning", "activity") or "subagentRunId" in message)
    ]
    sentences = [*_differing_messages(messages, other.messages, "one client", "the other")]
    if not same_json(one.state, other.state):
        sentences.append(f"one client has the state {one.state}, and the other {other.state}")
    return sentences


def displayed(messages: Iterable[Wire]) -> Items:
    """Returns what a client displays of these messages. The content of an activity is not compared."""
    items: Items = {}
    for message in messages:
        content = "" if message["role"] == "activity" else message.get("content") or ""
        items["message", message["id"]] = content if isinstance(content, str) else json.dumps(content)
        for call in message.get("toolCalls") or ():
            items["call", call["id"]] = call["function"]["arguments"]
    return items


def is_same_text(text: str, other: str) -> bool:
    """Whether two texts are equal, or contain equal JSON."""
    if text == other:
        return True
    try:
        return bool(json.loads(text or "{}") == json.loads(other or "{}"))
    except ValueError:
        return False


def _losses(before: Items, after: Items) -> Iterator[str]:
    """Describes what is no longer displayed. A message may be stored under another id than it was streamed with."""
    new = [(key[0], text) for key, text in after.items() if key not in before]
    for key, text in before.items():
        if key not in after:
            if text and not any(kind == key[0] and (is_same_text(text, t) or t.startswith(text)) for kind, t in new):
                yield f"the {key[0]} {key[1]} vanishes, which displayed {text!r}"
        elif not after[key].startswith(text) and not (key[0] == "call" and is_same_text(text, after[key])):
            yield f"the {key[0]} {key[1]} displayed {text!r}, and now {after[key]!r}"


def _client(before: ClientView | None) -> ClientView:
    return ClientView([], {}) if before is None else ClientView(before.messages, before.state, before.version)


def _wire(event: BaseEvent | Mapping[str, Any]) -> Event:
    return event.model_dump(by_alias=True, mode="json") if isinstance(event, BaseEvent) else dict(event)


def _waiting_messages(state: StateSnapshot, options: Options) -> Iterator[Wire]:
    """Yields the messages of subgraphs that have started and not ended, at every depth."""
    for inner in [task.state for task in state.tasks if isinstance(task.state, StateSnapshot)]:
        yield from (wire for wire in expected(inner.values, options).messages if wire["role"] != "user")
        yield from _waiting_messages(inner, options)


def _differing_messages(
    messages: Sequence[Wire], target: Sequence[Wire], client: str = "the client", other: str = "the thread"
) -> Iterator[str]:
    if comparable(messages) == comparable(target):
        return
    by_id = {message["id"]: message for message in messages}
    for message in target:
        own = by_id.pop(message["id"], None)
        if own is None:
            yield f"{client} has no message {message['id']}; {other} has {message}"
        elif comparable([own]) != comparable([message]):
            yield f"the message {message['id']} of {client} is {own}, and that of {other} {message}"
    yield from (f"{client} has a message that {other} does not have: {message}" for message in by_id.values())
    yield f"the order of {client} is {[m['id'] for m in messages]}, that of {other} {[m['id'] for m in target]}"
