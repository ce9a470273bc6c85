"""Tracks the items that an event stream has opened and not yet closed (`OpenItems`), and makes the events that turn one
set of open items into another.

The table `_ITEMS` lists the events that open and close items. This module also finds the items that a reader of the
same run is missing. `catch_up.py` decides the order of all catch-up events. What closes the items of a run before its
terminal event is `Procedures._close` in `procedures.py`; this module only makes the events for what is left.

The rules follow the client's verifier
(https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/verify/verify.ts):

- Open text messages, tool calls, reasoning spans and reasoning messages are identified by their id, separately for each
  kind. An open step is identified by its owner (a subagent's run id, or `None`) and its name. A subagent is identified
  by its run id, and can be started only once in a run.
- The start and the end of a run close all items. Subagents that have ended are remembered until the next run starts.
- Snapshots do not contain subagents. So all subagents of a live run are started again for a reader. This includes the
  subagents that have ended, because later events may name them as parents.
- If a subagent ended while the reader was away, it is closed for the reader with its original END event, if that event
  is known. Any other item is closed with a new END event, because the original ones are not kept.
- A START event that is emitted again has no metadata, because the message already contains newer metadata. A repeated
  `TOOL_CALL_START` contains the tool call's current name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..wire import events
from ..wire.events import Event
from .message_store import MessageStore

LOST = "lost"
"""The error code that ends a run or a subagent for a reader if the original END event is not available."""
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
"""For each event type, a tuple of three values: the `OpenItems` field that holds the item, the event field that
contains the item's key, and whether the event is added to that field (True) or removes the item from it (False). The
field `ended` contains the end events of subagents, so these events are added too."""
_CONTINUES = {
    "TEXT_MESSAGE_CONTENT": ("texts", "messageId"),
    "TOOL_CALL_ARGS": ("calls", "toolCallId"),
    "REASONING_MESSAGE_CONTENT": ("reasonings", "messageId"),
}
"""For each event type, the `OpenItems` field in which the item must be open, and the event field that contains the
item's key."""
_FIELDS = tuple(dict.fromkeys(name for name, _, _ in _ITEMS.values()))
_ENDS = {kind: row[:2] for kind, row in _ITEMS.items() if not row[2]}
_CLOSED_WITH_RUN = tuple(dict.fromkeys(name for name, _ in _ENDS.values()))
"""The fields whose items the start and the end of a run close. Subagents are remembered until the next run."""


@dataclass(slots=True)
class OpenItems:
    """The items that are open at one point in a stream. Each dict except `ended` maps an item's key to the event that
    opened the item, in the order of opening.

    `run_id`: the id of the live run, or `None` between runs.
    `texts`: text messages by message id.
    `calls`: tool calls by tool call id.
    `spans`: reasoning spans by message id.
    `reasonings`: reasoning messages by message id.
    `steps`: steps by owner (a subagent's run id, or `None` for the run itself) and name.
    `started`: all subagents that the run has started so far, by run id.
    `ended`: the subagents that have ended, by run id, with the events that ended them.
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
        """The open subagents, by run id."""
        return {key: event for key, event in self.started.items() if key not in self.ended}

    @property
    def is_empty(self) -> bool:
        """Whether no item is open."""
        return not (self.has_messages or self.steps or len(self.ended) < len(self.started))

    @property
    def has_messages(self) -> bool:
        """Whether a message, a tool call, a reasoning span or a reasoning message is open."""
        return bool(self.texts or self.calls or self.reasonings or self.spans)

    def accepts(self, event: Event) -> bool:
        """Whether the client's verifier accepts a well-formed event during the live run. This check ignores the owners
        of items."""
        kind = event["type"]
        row = _ITEMS.get(kind)
        if row is not None:
            name, id_field, adds = row
            if name == "ended":
                return event[id_field] in self.started and event[id_field] not in self.ended
            key = _step(event) if name == "steps" else event[id_field]
            return (key in getattr(self, name)) is not adds
        if (continues := _CONTINUES.get(kind)) is not None:
            name, id_field = continues
            return event[id_field] in getattr(self, name)
        return kind != "RUN_FINISHED" or self.is_empty

    def apply(self, event: Event) -> None:
        """Applies one well-formed event. Events that neither open nor close an item are ignored."""
        kind = event["type"]
        row = _ITEMS.get(kind)
        if row is not None:
            name, id_field, adds = row
            items = getattr(self, name)
            key = _step(event) if name == "steps" else event[id_field]
            if adds:
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
        """Returns an independent copy. Events that are applied to one of the two do not affect the other."""
        twin = OpenItems(self.run_id)
        for name in _FIELDS:
            setattr(twin, name, dict(getattr(self, name)))
        return twin

    def closings(self, now: OpenItems | None = None) -> list[Event]:
        """Returns the events that close the items that are open here but not in `now`. Without `now`, all items are
        closed.

        A subagent is closed here only if it was never started in `now`. For all other subagents, `subagent_events`
        returns the end events.
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
        """Returns the START events of the open messages and tool calls that are not open for the reader."""
        kinds = ((self.reasonings, reader.reasonings), (self.texts, reader.texts), (self.calls, reader.calls))
        return [event for items, known in kinds for key, event in items.items() if key not in known]

    def subagent_events(self, reader: OpenItems) -> list[Event]:
        """Returns the subagent events that the reader is missing. All starts, in their original order, precede the
        ends.

        If the run has ended (`run_id` is None), the result contains only the end events of subagents that are still
        open for the reader.
        """
        starts = [event for key, event in self.started.items() if key not in reader.started] if self.run_id else []
        known = {*reader.started, *(event["subagentRunId"] for event in starts)}
        return starts + [event for key, event in self.ended.items() if key in known and key not in reader.ended]

    def _close_all(self) -> None:
        for name in _CLOSED_WITH_RUN:
            setattr(self, name, {})


def _step(event: Event) -> tuple[str | None, str]:
    return event.get("subagentRunId"), event["stepName"]


def _owner_field(event: Event) -> Event:
    return {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}


# --- open items and their messages ------------------------------------------------------------------------------------


def is_stored(store: MessageStore, opening: Event) -> bool:
    """Whether the store contains the message or tool call that a START event opened."""
    if opening["type"] == "TOOL_CALL_START":
        return opening["toolCallId"] in store.calls
    return opening["messageId"] in store.entries


def reopened(store: MessageStore, opening: Event) -> Event:
    """Converts a START event to the form in which it is emitted again. For a tool call, the name and the parent message
    are taken from the store."""
    event = without_fields(opening)
    indexed = store.calls.get(opening["toolCallId"]) if opening["type"] == "TOOL_CALL_START" else None
    if indexed is not None:
        entry, call = indexed
        event |= {"toolCallName": call.wire["function"]["name"], "parentMessageId": entry.id}
    return event


def without_fields(event: Event, *names: str) -> Event:
    """Copies an event without `metadata`, `rawEvent` and the fields in `names`."""
    return {name: value for name, value in event.items() if name not in ("metadata", "rawEvent", *names)}


def without_open(whole: Iterable[Event], reader: OpenItems, now: OpenItems) -> Iterator[Event]:
    """Yields the events of complete messages, without the START of an item that is already open for the reader, and
    without the END of an item that stays open."""
    for event in whole:
        row = _ITEMS.get(event["type"])
        if row is None or event[row[1]] not in getattr(reader if row[2] else now, row[0]):
            yield event


def owners(store: MessageStore, now: OpenItems) -> Iterator[tuple[str, str | None]]:
    """Yields the id of each message with an open item, paired with the item's owner. A message with several open items
    is yielded several times, with tool calls first, so the owner of its text or reasoning is yielded last."""
    for call_id, event in now.calls.items():
        indexed = store.calls.get(call_id)
        if indexed is not None:
            yield indexed[0].id, event.get("subagentRunId")
    for items in (now.spans, now.reasonings, now.texts):
        for message_id, event in items.items():
            yield message_id, event.get("subagentRunId")
