"""Tracks the contents of an AG-UI client as events are applied.

`ClientContents` contains the client's messages, state, run and open items, with methods to query them. `reducer.py`
changes messages, `apply_patch.py` applies patches, `chunks.py` expands chunks, and `catch_up.py` finds the contents
that a reader is missing.

Rules:

- After the same events, `messages` and `state` equal those of `@ag-ui/client`. The reference is 1.0.0 if `version` is
  set. If `version` is `None`, the reference is 0.0.59, the last release that declares no protocol version.
- Unknown is not the same as empty. If the caller does not pass the messages or the state, they are unknown until a
  snapshot arrives.
- Arguments are never changed, and returned values do not change later. So both may share parts with events.
- The cost of applying an event depends on how much it changes. The three event types that occur for every token only
  append a delta.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from copy import copy
from typing import Any, Self

import orjson
from ag_ui.core import BaseEvent
from pydantic import BaseModel

from ..jsonable.same_json import same_json
from ..wire.events import Event
from ..wire.sse import to_model
from .apply_patch import RefusedError, apply_patch
from .chunks import OpenByChunks, expand
from .message_store import MessageStore
from .open_items import OpenItems
from .reducer import REDUCES
from .snapshot_rules import complete_activity_types


class ClientContents:
    """The messages and the state of one client, its last run, and the items that are open on its stream."""

    __slots__ = {  # noqa: RUF023 (the order of the explanations)
        "version": "The protocol version that the client declares; `None` for 0.0.59.",
        "knows_messages": "Whether all of the client's messages are known, from the caller or from a snapshot.",
        "knows_state": "Whether the client's state is known, from the caller or from a snapshot.",
        "knows_activities": "Whether all of the client's activities are known, which requires a messages snapshot.",
        "thread_id": "The thread id of the last run; `None` before the first run.",
        "run_id": "The id of the last run, live or ended; `None` before the first run.",
        "parent_run_id": "The id of the last run's parent run; `None` if the `RUN_STARTED` event named no parent.",
        "trace_id": "The trace id from the metadata of the last `RUN_STARTED`; `None` if the event had none.",
        "run_has_snapshot": "Whether a `STATE_SNAPSHOT` has been applied since the last `RUN_STARTED`.",
        "store": "The messages with their indexes. Only events change them.",
        "state": "The state as plain JSON. Callers must not modify it. Events replace the value without modifying it.",
        "base": "The state to which the next delta is applied. Equal to `state`, except after a falsy state in 0.0.59.",
        "terminal": "The event that ended the last run; `None` in a live run and before the first run.",
        "_open": "",
        "_by_chunks": "",
    }

    def __init__(
        self,
        messages: Iterable[Mapping[str, Any] | BaseModel] | None = None,
        state: Any = None,
        version: str | None = "1.0",
        *,
        open_items: OpenItems | None = None,
    ) -> None:
        """Sets the known contents of the client. `None` means unknown, and `[]` or `{}` means empty.

        `messages`: wire dicts or `ag_ui.core` models.
        `state`: plain JSON.
        `version`: the protocol version that the client declares, or None if it declares none.
        `open_items`: the items that are open on the client's stream.

        No argument is changed here, and the caller must not change any argument afterwards. Raises `ValueError` for a
        message without an id or a role.
        """
        self.version = version
        self.store = MessageStore(map(_message, messages or ()), is_legacy=version is None)
        self._open = OpenItems() if open_items is None else open_items.copy()
        self._by_chunks: OpenByChunks = {}
        self.terminal: Event | None = None
        self.base = self.state = state
        self.knows_messages = messages is not None
        self.knows_state = state is not None
        self.knows_activities = False
        self.thread_id: str | None = None
        self.run_id: str | None = None
        self.parent_run_id: str | None = None
        self.trace_id: str | None = None
        self.run_has_snapshot = False

    def apply(self, event: Event | BaseEvent) -> None:
        """Applies one event from any producer, as a wire dict or a model. Never raises an exception. A value that is
        not a valid AG-UI event is ignored, because such a value would end the stream of a real client."""
        try:
            fields = event.model_dump(by_alias=True, warnings=False) if isinstance(event, BaseModel) else event
            wire = _wire(to_model(fields))
        except (ValueError, TypeError, RecursionError):
            return
        for expanded in expand(wire, self._by_chunks):
            self.apply_emitted(expanded)

    def accepts(self, event: Event) -> bool:
        """Whether the client accepts this valid AG-UI event now. If the event continues or ends an item, that item must
        be open. If the event begins an item, that item must not be open."""
        return self._open.accepts(event)

    def apply_emitted(self, event: Event) -> None:
        """Applies a wire event without checking it. The event must be a valid AG-UI event and must not be a chunk. If
        this method raises an exception, the open items have not changed."""
        kind = event["type"]
        if (reduce := REDUCES.get(kind)) is not None:
            reduce(self.store, event)
        if (record := _RECORDS.get(kind)) is not None:
            record(self, event)
        self._open.apply(event)

    def _state_snapshot(self, event: Event) -> None:
        self.run_has_snapshot = True
        self._set_state(event["snapshot"])

    def _state_delta(self, event: Event) -> None:
        if self.knows_state:  # the delta may not fit an unknown state
            with suppress(RefusedError):
                self._set_state(apply_patch(self.base, event["delta"]))

    def _messages_snapshot(self, event: Event) -> None:
        self.knows_messages = True
        if complete_activity_types(event, is_legacy=self.store.is_legacy) is None:
            self.knows_activities = True

    def _run_started(self, event: Event) -> None:
        self.thread_id, self.run_id, self.parent_run_id = event["threadId"], event["runId"], event.get("parentRunId")
        trace_id = (event.get("metadata") or {}).get("traceId")
        self.trace_id = trace_id if isinstance(trace_id, str) else None
        self.terminal = None
        self.run_has_snapshot = False

    def _run_ended(self, event: Event) -> None:
        self.terminal = event

    # --- messages and state ---------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as wire dicts, in the client's order. Each access returns a new list, but its dicts are shared
        and must not be modified."""
        return self.store.read()

    @property
    def order(self) -> list[str]:
        """The message ids, in the client's order."""
        return self.store.ids

    def has(self, message_id: str) -> bool:
        """Whether the client has a message with this id."""
        return message_id in self.store.entries

    def message(self, message_id: str) -> dict[str, Any] | None:
        """The first message with this id, or None if no message has this id."""
        entry = self.store.entries.get(message_id)
        return None if entry is None else entry.read()

    def message_of_call(self, tool_call_id: str) -> str | None:
        """The id of the first message that contains this tool call, or None if no message contains it."""
        indexed = self.store.calls.get(tool_call_id)
        return None if indexed is None else indexed[0].id

    def call(self, tool_call_id: str) -> dict[str, Any] | None:
        """The wire dict of the first tool call with this id, or None if no tool call has this id."""
        indexed = self.store.calls.get(tool_call_id)
        return None if indexed is None else indexed[1].read()

    def share(self, message: Event) -> None:
        """Replaces the stored copy of a message with this dict if the two are equal, so that only one copy stays in
        memory."""
        entry = self.store.entries.get(message["id"])
        if entry is not None and entry.message is not message and same_json(entry.read(), message):
            entry.message = message

    # --- the run --------------------------------------------------------------------------------------------------

    @property
    def open(self) -> OpenItems:
        """A copy of the open items. Later events do not change this copy."""
        return self._open.copy()

    @property
    def open_texts(self) -> Container[str]:
        """The ids of the open text messages."""
        return self._open.texts

    @property
    def open_calls(self) -> Container[str]:
        """The ids of the open tool calls."""
        return self._open.calls

    @property
    def open_spans(self) -> Container[str]:
        """The message ids of the open reasoning spans."""
        return self._open.spans

    @property
    def has_open_items(self) -> bool:
        """Whether any item is open."""
        return not self._open.is_empty

    @property
    def has_open_messages(self) -> bool:
        """Whether a message, a tool call, a reasoning span or a reasoning message is open."""
        return self._open.has_messages

    @property
    def live(self) -> bool:
        """Whether a run has started and has not ended."""
        return self._open.run_id is not None

    @property
    def outcome(self) -> dict[str, Any] | None:
        """The outcome of the last run, or None while the run is live, after an error, and before the first run. A
        `RUN_FINISHED` event without an outcome means success."""
        if self.terminal is None or self.terminal["type"] != "RUN_FINISHED":
            return None
        outcome: dict[str, Any] = self.terminal.get("outcome", {"type": "success"})
        return outcome

    def copy(self) -> Self:
        """Returns an independent copy. Events that are applied to one of the two do not affect the other."""
        twin = copy(self)
        twin.store, twin._open, twin._by_chunks = self.store.copy(), self._open.copy(), dict(self._by_chunks)
        return twin

    def _set_state(self, state: Any) -> None:
        self.knows_state = True
        self.base = state
        # 0.0.59 applies later deltas to a falsy state but keeps displaying the previous state
        if not self.store.is_legacy or state or isinstance(state, (dict, list)):
            self.state = state


_RECORDS: Mapping[str, Callable[[ClientContents, Event], None]] = {
    "STATE_SNAPSHOT": ClientContents._state_snapshot,
    "STATE_DELTA": ClientContents._state_delta,
    "MESSAGES_SNAPSHOT": ClientContents._messages_snapshot,
    "RUN_STARTED": ClientContents._run_started,
    "RUN_FINISHED": ClientContents._run_ended,
    "RUN_ERROR": ClientContents._run_ended,
}
"""For each event type, the method that records what such an event changes in addition to the messages and the open
items."""


def _message(value: Mapping[str, Any] | BaseModel) -> dict[str, Any]:
    message = value if isinstance(value, dict) else _wire(value) if isinstance(value, BaseModel) else dict(value)
    for name in ("id", "role"):
        if not isinstance(message.get(name), str):
            kind = f"whose {name} is a {type(message[name]).__name__}" if name in message else f"without {name}"
            raise ValueError(f"expected a message with an id and a role, both strings; got one {kind}")
    return message


def _wire(model: BaseModel) -> dict[str, Any]:
    """Converts a model to its wire dict. Fields that the model's type does not declare are left out, because clients of
    protocol 1.0 remove them."""
    wire: dict[str, Any] = orjson.loads(model.model_dump_json(by_alias=True, exclude=set(model.model_extra or ())))
    return wire
