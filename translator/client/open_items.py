"""What an event stream has opened and not closed: `OpenItems`, and the events that open or close the difference.

The table of the events that open and close an item is here, and what of it a reader of the same run is missing. The
order of all events of a catch-up is in `catch_up`.

Rules, which are those of the client's verifier
(https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/verify/verify.ts):
- Text messages, tool calls, reasoning spans and reasoning messages are open by id, each kind by itself. A step is open
  by its owner (a subagent's run id, or `None`) and its name. A subagent is open by its run id, once in a run.
- The start of a run opens nothing and closes everything; so does its end. Subagents that have ended are remembered
  until the next run starts.
- No snapshot has subagents. For a reader, those of a live run are started again, including those that have ended, since
  later events may name them as parents.
- An item that a reader has open, and that ended while it was away, is closed in the way it ended, if that is known.
- A START that is emitted again has no metadata: the message has newer. A tool call has the name that it has now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..wire import events
from ..wire.events import Event
from .message_store import MessageStore

LOST = "lost"
"""The code of the error that ends a run or a subagent for a reader that can no longer get its real end."""
NOT_SEEN = "How this ended was not seen."

_ITEMS = {
    "TEXT_MESSAGE_START": ("texts", "messageId", True),
    "TEXT_MESSAGE_END": ("texts", "messageId", False),
    "TOOL_CALL_START": ("calls", "toolCallId", True),
    "TOOL_CALL_END": ("calls", "toolCallId", False),
    "REASONING_MESSAGE_START": ("reasonings", "messageId", True),
    "REASONING_MESSAGE_END": ("reasonings", "messageId", False),
    "REASONING_START": ("spans", "messageId", True),
    "REASONING_END": ("spans", "messageId", False),
    "STEP_STARTED": ("steps", "stepName", True),
    "STEP_FINISHED": ("steps", "stepName", False),
    "SUBAGENT_STARTED": ("started", "subagentRunId", True),
    "SUBAGENT_FINISHED": ("ended", "subagentRunId", True),
    "SUBAGENT_ERROR": ("ended", "subagentRunId", True),
}
"""By event type: the field of `OpenItems`, the event's field with the key, and whether the event is put there (True) or
removes the one that is there."""
_CONTINUES = {
    "TEXT_MESSAGE_CONTENT": ("texts", "messageId"),
    "TOOL_CALL_ARGS": ("calls", "toolCallId"),
    "REASONING_MESSAGE_CONTENT": ("reasonings", "messageId"),
}
"""By event type: the field of `OpenItems` in which the item must be open, and the event's field with the key."""
_FIELDS = tuple(dict.fromkeys(name for name, _, _ in _ITEMS.values()))
_ENDS = {kind: row[:2] for kind, row in _ITEMS.items() if not row[2]}


@dataclass(slots=True)
class OpenItems:
    """What is open at one moment of a stream: by key of an item, the event that opened it, in the order of opening.

    `run_id`: the live run; `None` between runs.
    `texts`: text messages by message id.
    `calls`: tool calls by tool call id.
    `spans`: reasoning spans by message id.
    `reasonings`: reasoning messages by message id.
    `steps`: steps by owner (a subagent's run id, `None` for the run itself) and name.
    `started`: all subagents of the run so far, by their run id.
    `ended`: those of them that have ended, with the events that ended them.
    """

    run_id: str | None = None
    texts: dict[str, Event] = field(default_factory=dict)
    calls: dict[str, Event] = field(default_factory=dict)
    spans: dict[str, Event] = field(default_factory=dict)
    reasonings: dict[str, Event] = field(default_factory=dict)
    steps: dict[tuple[str | None, str], Event] = field(default_factory=dict)
    started: dict[str, Event] = field(default_factory=dict)
    ended: dict[str, Event] = field(default_factory=dict)

    @property
    def subagents(self) -> dict[str, Event]:
        """The subagents that are open, by their run id."""
        return {key: event for key, event in self.started.items() if key not in self.ended}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is open."""
        return not (self.has_messages or self.steps or len(self.ended) < len(self.started))

    @property
    def has_messages(self) -> bool:
        """Whether a message, a tool call or reasoning is open."""
        return bool(self.texts or self.calls or self.reasonings or self.spans)

    def accepts(self, event: Event) -> bool:
        """Whether the client's verifier lets a well-formed event of the live run pass (owners are not compared)."""
        kind = event["type"]
        row = _ITEMS.get(kind)
        if row is not None:
            name, id_field, opens = row
            key = _key(event, name, id_field)
            if name == "ended":
                return key in self.started and key not in self.ended
            return (key in getattr(self, name)) is not opens
        if (continues := _CONTINUES.get(kind)) is not None:
            name, id_field = continues
            return event[id_field] in getattr(self, name)
        return kind != "RUN_FINISHED" or self.is_empty

    def apply(self, event: Event) -> None:
        """Applies one well-formed event. Events that neither open nor close an item are ignored."""
        kind = event["type"]
        row = _ITEMS.get(kind)
        if row is not None:
            name, id_field, opens = row
            items = getattr(self, name)
            key = _key(event, name, id_field)
            if opens:
                items[key] = event
            else:
                items.pop(key, None)
        elif kind == "RUN_STARTED":
            self._close_all()
            self.started, self.ended = {}, {}
            self.run_id = event["runId"]
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            self._close_all()
            self.started = {key: started for key, started in self.started.items() if key in self.ended}
            self.run_id = None

    def copy(self) -> OpenItems:
        """An independent copy: later events change only one of the two."""
        twin = OpenItems(self.run_id)
        for name in _FIELDS:
            setattr(twin, name, dict(getattr(self, name)))
        return twin

    def closings(self, now: OpenItems | None = None) -> list[Event]:
        """The events that close what is open here and not in `now`; without `now`, everything.

        Of subagents, only those that `now` has never started are closed: `subagent_events` has the ends of the others.
        """
        now = now or OpenItems()
        closings: list[Event] = [
            {"type": kind, id_field: key, **_owner_field(event)}
            for kind, (name, id_field) in _ENDS.items()
            if name != "steps"
            for key, event in getattr(self, name).items()
            if key not in getattr(now, name)
        ]
        closings += [events.step_finished(name, owner) for owner, name in self.steps if (owner, name) not in now.steps]
        closings += [events.subagent_error(key, NOT_SEEN, LOST) for key in self.subagents if key not in now.started]
        return closings

    def missing(self, reader: OpenItems) -> list[Event]:
        """The events that opened the messages and tool calls that the reader does not have open."""
        kinds = ((self.reasonings, reader.reasonings), (self.texts, reader.texts), (self.calls, reader.calls))
        return [event for items, known in kinds for key, event in items.items() if key not in known]

    def subagent_events(self, reader: OpenItems) -> list[Event]:
        """The starts of subagents that the reader is missing, in their order, then the ends that it is missing.

        Of a run that has ended (no `run_id`), only the ends of subagents that the reader has open.
        """
        starts = [event for key, event in self.started.items() if key not in reader.started] if self.run_id else []
        known = {*reader.started, *(event["subagentRunId"] for event in starts)}
        return starts + [event for key, event in self.ended.items() if key in known and key not in reader.ended]

    def _close_all(self) -> None:
        self.texts, self.calls, self.spans, self.reasonings, self.steps = {}, {}, {}, {}, {}


def _key(event: Event, name: str, id_field: str) -> Any:
    return (event.get("subagentRunId"), event[id_field]) if name == "steps" else event[id_field]


def _owner_field(event: Event) -> Event:
    return {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}


# --- open items and their messages ------------------------------------------------------------------------------------


def is_stored(store: MessageStore, opening: Event) -> bool:
    """Whether the store has the message or the tool call that a START event opened."""
    if opening["type"] == "TOOL_CALL_START":
        return opening["toolCallId"] in store.calls
    return opening["messageId"] in store.entries


def reopened(store: MessageStore, opening: Event) -> Event:
    """A START event as it is emitted again: for a tool call, with the name and the message that the store has for
    it."""
    event = without_fields(opening)
    indexed = store.calls.get(opening["toolCallId"]) if opening["type"] == "TOOL_CALL_START" else None
    if indexed is not None:
        entry, call = indexed
        event |= {"toolCallName": call.wire["function"]["name"], "parentMessageId": entry.id}
    return event


def without_fields(event: Event, *names: str) -> Event:
    """An event without `metadata`, `rawEvent` and these fields."""
    return {name: value for name, value in event.items() if name not in ("metadata", "rawEvent", *names)}


def without_open(whole: Iterable[Event], reader: OpenItems, now: OpenItems) -> Iterator[Event]:
    """Events of whole messages, without the STARTs of what the reader has open and the ENDs of what stays open."""
    for event in whole:
        row = _ITEMS.get(event["type"])
        if row is None or event[row[1]] not in getattr(reader if row[2] else now, row[0]):
            yield event


def owners(store: MessageStore, now: OpenItems) -> Iterator[tuple[str, str | None]]:
    """The messages that have open items, each with the owner of the item. The owner of a message's text comes after the
    owners of its tool calls."""
    for call_id, event in now.calls.items():
        indexed = store.calls.get(call_id)
        if indexed is not None:
            yield indexed[0].id, event.get("subagentRunId")
    for items in (now.spans, now.reasonings, now.texts):
        for message_id, event in items.items():
            yield message_id, event.get("subagentRunId")
