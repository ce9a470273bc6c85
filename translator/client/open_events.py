"""What a reader has open against what a view has: the events that close and open the difference. Pure functions.

Never here: messages and state, and the order in which a reader is told all that it lacks (`prelude`).

Rules:
- An opening event told again carries no metadata into a message, which has newer; a call keeps the name it has now.
- Subagents have no snapshot. Those of a live run are told again, ended ones too: the tail may name them as parents.
- What has ended unseen is closed as it ended, if that is known.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..wire import events
from .open_items import Open

if TYPE_CHECKING:
    from .view import ClientView

__all__ = ["LOST", "NOT_SEEN", "again", "closed", "fitting", "is_held", "missing", "owners", "subagents", "unmarked"]

Event = dict[str, Any]

LOST = "lost"
"""The code of the error that ends, for a reader, a run whose end it can no longer be told."""
NOT_SEEN = "How this ended was not seen."

_KINDS = (
    ("TEXT_MESSAGE", "messageId", "texts"),
    ("TOOL_CALL", "toolCallId", "calls"),
    ("REASONING_MESSAGE", "messageId", "reasonings"),
    ("REASONING", "messageId", "spans"),
)
"""What is open by an id: the kind of its events, where they have the id, and the field of `Open`."""
_STARTS = {f"{kind}_START": (name, field) for kind, name, field in _KINDS}
_ENDS = {f"{kind}_END": (name, field) for kind, name, field in _KINDS}


# --- closing ----------------------------------------------------------------------------------------------------------


def closed(reader: Open, now: Open) -> list[Event]:
    """Closings of what the reader has open and `now` has not; subagents that ended get their own end later."""
    told: list[Event] = [
        {"type": kind, name: key, **_tag(event)}
        for kind, (name, field) in _ENDS.items()
        for key, event in getattr(reader, field).items()
        if key not in getattr(now, field)
    ]
    told += [events.step_finished(name, owner) for owner, name in reader.steps if (owner, name) not in now.steps]
    told += [
        {"type": "SUBAGENT_ERROR", "subagentRunId": name, "message": NOT_SEEN, "code": LOST}
        for name in reader.subagents
        if name not in now.started
    ]
    return told


def subagents(now: Open, reader: Open, *, live: bool) -> list[Event]:
    """Starts the reader lacks, in their order, then the ends it lacks; of an ended run only the ends it waits for."""
    lacked = [event for name, event in now.started.items() if name not in reader.started] if live else []
    known = {*reader.started, *(event["subagentRunId"] for event in lacked)}
    ends = [event for name, event in now.ended.items() if name in known and name not in reader.ended]
    return lacked + ends


# --- opening ----------------------------------------------------------------------------------------------------------


def missing(now: Open, reader: Open) -> list[Event]:
    """The events that opened messages and calls which the reader has not open."""
    kinds = ((now.reasonings, reader.reasonings), (now.texts, reader.texts), (now.calls, reader.calls))
    return [event for opened, had in kinds for key, event in opened.items() if key not in had]


def is_held(view: "ClientView", opening: Event) -> bool:
    """Whether the view holds what an event opened."""
    if opening["type"] == "TOOL_CALL_START":
        return view.call_owner(opening["toolCallId"]) is not None
    return view.has(opening["messageId"])


def again(view: "ClientView", opening: Event) -> Event:
    """An opening event as it is told once more, of something the view holds (or whose messages nobody knows)."""
    told = unmarked(opening)
    if opening["type"] == "TOOL_CALL_START":
        call_id = opening["toolCallId"]
        call, owner = view.call(call_id), view.call_owner(call_id)
        if call is not None and owner is not None:
            told |= {"toolCallName": call["function"]["name"], "parentMessageId": owner}
    return told


def unmarked(event: Event, *names: str) -> Event:
    """An event without metadata, the event it was made from, and these fields."""
    return {name: value for name, value in event.items() if name not in ("metadata", "rawEvent", *names)}


def fitting(told: Iterable[Event], reader: Open, now: Open) -> Iterator[Event]:
    """Events that tell whole messages, without starts of what the reader has open and ends of what is to stay open."""
    for event in told:
        named = _STARTS.get(event["type"]) or _ENDS.get(event["type"])
        opened = reader if event["type"] in _STARTS else now
        if named is None or event[named[0]] not in getattr(opened, named[1]):
            yield event


# --- owners -----------------------------------------------------------------------------------------------------------


def owners(view: "ClientView", now: Open) -> Iterator[tuple[str, str | None]]:
    """Messages and who has them open; who opened a message itself comes after who opened a call in it."""
    for call_id, event in now.calls.items():
        owner = view.call_owner(call_id)
        if owner is not None:
            yield owner, event.get("subagentRunId")
    for opened in (now.spans, now.reasonings, now.texts):
        for message_id, event in opened.items():
            yield message_id, event.get("subagentRunId")


def _tag(event: Event) -> Event:
    return {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}
