"""What a client is told that joins a stream late, or again: the prelude and the resync.

Here: which events, in which order, bring a client to where a view is. Never here: the view itself, how an event becomes
several when it is too large (`frames`), and when to join or drop a backlog.

Rules:
- A stream opens nothing by snapshots: whatever is open is opened again, by the same id, after the snapshot that holds
  the half-streamed message. The client appends to what it holds; so the tail goes on where the snapshot ends.
- What is open and held by nobody (a messages snapshot dropped it) is opened before the snapshot, which drops it again.
- An opening event told again carries no metadata into a message, which has newer; a call keeps the name it has now.
- The verifier lets nobody go on with another's message. It takes owners from the snapshot, so there a message belongs
  to whoever has opened it (or a call in it).
- Subagents have no snapshot. Those of a live run are told again, ended ones too: the tail may name them as parents.
- What the view does not know is not told.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import events
from .frames import bounded
from .opened import Open
from .reducer_snapshot import telling_of_activities

if TYPE_CHECKING:
    from .view import ClientView

__all__ = ["LOST", "prelude", "resync"]

Event = dict[str, Any]

LOST = "lost"
"""The code of the error that ends, for a reader, a run whose end it can no longer be told."""
_NOT_SEEN = "How this ended was not seen."


def prelude(view: "ClientView") -> list[Event]:
    """What somebody is told who opens a new stream now.

    The run's start, snapshots, and what is open; of a run that has ended, its end in place of the latter. `[]` if the
    view has seen no run.
    """
    if view.thread_id is None or view.run_id is None:
        return []
    started = events.run_started(view.thread_id, view.run_id, view.version, view.parent_run_id)
    return [started, *_brought(view, Open(run_id=view.run_id))]


def resync(view: "ClientView", reader: Open) -> list[Event]:
    """What a reader is told whose backlog is dropped, and that has `reader` open.

    Inside the view's run: closings of what has ended, snapshots, what the reader has not opened yet, and the end if the
    run has ended. Inside another run: that run's end as lost, then the prelude. Between runs: the prelude.
    """
    if view.run_id is None:
        return []
    if reader.run_id is None:
        return prelude(view)
    if reader.run_id != view.run_id:
        return [*_closed(reader, Open()), events.run_error(_NOT_SEEN, LOST), *prelude(view)]
    return [*_closed(reader, view.open), *_brought(view, reader)]


def _brought(view: "ClientView", reader: Open) -> list[Event]:
    """Snapshots, what is open in the view and not for the reader, and the end of a run that has ended."""
    now = view.open
    openings = _openings(now, reader)
    unheld = [event for event in openings if view.knows_messages and not _held(view, event)]
    told = [_unmarked(event, "parentMessageId") for event in unheld]
    if view.knows_state:
        told += bounded(events.state_snapshot(view.state))
        if view.base is not view.state:
            told.append(events.state_snapshot(view.base))
    if view.knows_messages:
        told += bounded(_messages_snapshot(view, now), _message_ids(view, now))
    told += _subagents(now, reader, live=view.live)
    told += [event for key, event in now.steps.items() if key not in reader.steps]
    told += [event for key, event in now.spans.items() if key not in reader.spans]
    told += [_again(view, event) for event in openings if event not in unheld]
    if view.terminal is not None:
        told.append(view.terminal)
    return told


# --- closing ----------------------------------------------------------------------------------------------------------


def _closed(reader: Open, now: Open) -> list[Event]:
    """Closings of what the reader has open and `now` has not; subagents that ended get their own end later."""
    kinds: tuple[tuple[str, str, Mapping[str, Event], Mapping[str, Event]], ...] = (
        ("TEXT_MESSAGE_END", "messageId", reader.texts, now.texts),
        ("TOOL_CALL_END", "toolCallId", reader.calls, now.calls),
        ("REASONING_MESSAGE_END", "messageId", reader.reasonings, now.reasonings),
        ("REASONING_END", "messageId", reader.spans, now.spans),
    )
    closed: list[Event] = [
        {"type": kind, name: key, **_tag(event)}
        for kind, name, opened, still in kinds
        for key, event in opened.items()
        if key not in still
    ]
    closed += [events.step_finished(name, owner) for owner, name in reader.steps if (owner, name) not in now.steps]
    closed += [
        {"type": "SUBAGENT_ERROR", "subagentRunId": name, "message": _NOT_SEEN, "code": LOST}
        for name in reader.subagents
        if name not in now.started
    ]
    return closed


def _subagents(now: Open, reader: Open, *, live: bool) -> list[Event]:
    """Starts the reader lacks, in their order, then the ends it lacks; of an ended run only the ends it waits for."""
    missing = [event for name, event in now.started.items() if name not in reader.started] if live else []
    known = {*reader.started, *(event["subagentRunId"] for event in missing)}
    ends = [event for name, event in now.ended.items() if name in known and name not in reader.ended]
    return missing + ends


# --- opening ----------------------------------------------------------------------------------------------------------


def _openings(now: Open, reader: Open) -> list[Event]:
    """The events that opened messages and calls which the reader has not open."""
    kinds = ((now.reasonings, reader.reasonings), (now.texts, reader.texts), (now.calls, reader.calls))
    return [event for opened, had in kinds for key, event in opened.items() if key not in had]


def _held(view: "ClientView", opening: Event) -> bool:
    if opening["type"] == "TOOL_CALL_START":
        return view.call_owner(opening["toolCallId"]) is not None
    return view.has(opening["messageId"])


def _again(view: "ClientView", opening: Event) -> Event:
    """An opening event as it is told once more, of something the view holds (or whose messages nobody knows)."""
    told = _unmarked(opening)
    if opening["type"] == "TOOL_CALL_START":
        call_id = opening["toolCallId"]
        call, owner = view.call(call_id), view.call_owner(call_id)
        if call is not None and owner is not None:
            told |= {"toolCallName": call["function"]["name"], "parentMessageId": owner}
    return told


def _unmarked(event: Event, *names: str) -> Event:
    return {name: value for name, value in event.items() if name not in ("metadata", "rawEvent", *names)}


def _tag(event: Event) -> Event:
    return {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}


# --- snapshots --------------------------------------------------------------------------------------------------------


def _messages_snapshot(view: "ClientView", now: Open) -> Event:
    messages = view.messages
    for message_id, owner in _owners(view, now):
        position = view.position(message_id)
        if position is not None and messages[position].get("subagentRunId") != owner:
            messages[position] = {**messages[position], "subagentRunId": owner}
    # A patch can leave an activity with no object for content; no client would read a snapshot with that in it.
    messages = [each for each in messages if each["role"] != "activity" or isinstance(each.get("content"), dict)]
    return telling_of_activities(events.messages_snapshot(messages), view.version, known=view.knows_activities)


def _owners(view: "ClientView", now: Open) -> Iterable[tuple[str, str]]:
    """Messages and the subagents that have them open; who opened a message itself comes last, and wins."""
    for call_id, event in now.calls.items():
        owner = view.call_owner(call_id)
        if owner is not None and "subagentRunId" in event:
            yield owner, event["subagentRunId"]
    for opened in (now.spans, now.reasonings, now.texts):
        for message_id, event in opened.items():
            if "subagentRunId" in event:
                yield message_id, event["subagentRunId"]


def _message_ids(view: "ClientView", now: Open) -> set[str]:
    """The messages to which more will be added."""
    owners = (view.call_owner(call_id) for call_id in now.calls)
    return {*now.texts, *now.reasonings, *(owner for owner in owners if owner is not None)}
