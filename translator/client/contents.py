"""What an AG-UI client has after the events it got, as a value: `ClientContents`.

It holds messages, state, the run and what is open, and answers questions about them. `reducer` says what an event does
to messages, `apply_patch` applies patches, `chunks` expands chunks, `catch_up` says what a reader is missing.

Rules:
- After the same events, `messages` and `state` are those of `@ag-ui/client`: of 1.0.0 if `version` is set, of 0.0.59
  (the last version that declares none) if it is `None`.
- Unknown is not empty. Messages and state that nobody has described are unknown until a snapshot brings them.
- Nothing that is passed in is changed, and nothing that is handed out changes later. So both may share structure with
  events.
- An event costs as much as what it changes. The three events that come with every token append a delta.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
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
from .snapshots import complete_activity_types


class ClientContents:
    """The messages and the state of one client, its run, and what is open on its stream."""

    __slots__ = {  # noqa: RUF023 (in the order in which they are explained)
        "version": "The protocol version that the client declares; `None` for 0.0.59.",
        "knows_messages": "Whether all of the client's messages are known: from the caller or from a snapshot.",
        "knows_state": "Whether the client's state is known: from the caller or from a snapshot.",
        "knows_activities": "Whether all activities of the client are known: only from a messages snapshot.",
        "thread_id": "The thread of the last run; `None` before any.",
        "run_id": "The last run, live or ended; `None` before any.",
        "parent_run_id": "The parent run of the last run; `None` if its `RUN_STARTED` named none.",
        "trace_id": "The trace of the last run, from the metadata of its `RUN_STARTED`; `None` if that names none.",
        "run_has_snapshot": "Whether a `STATE_SNAPSHOT` came since the last `RUN_STARTED`.",
        "store": "The messages with their indexes; only events change them.",
        "state": "The state, plain JSON. It must not be changed; later events do not change it either.",
        "base": "The state that the next delta applies to: `state`, except after a falsy state in 0.0.59.",
        "terminal": "The event that ended the last run; `None` in a live run and before any.",
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
        """What the client is known to have: `None` is unknown, `[]` and `{}` are empty.

        `messages`: wire dicts or `ag_ui.core` models.
        `state`: plain JSON.
        `version`: the protocol version that the client declares; None: it declares none.
        `open_items`: what is open on its stream.

        No argument is changed here, and none may be changed by the caller afterwards. Raises `ValueError` for a message
        without an id or a role.
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
        """Applies one event of any producer, a wire dict or a model. Never raises: what is not an event of the protocol
        would end a client's stream, and is ignored."""
        try:
            fields = event.model_dump(by_alias=True, warnings=False) if isinstance(event, BaseModel) else event
            wire = _wire(to_model(fields))
        except (ValueError, TypeError, RecursionError):
            return
        for expanded in expand(wire, self._by_chunks):
            self.apply_emitted(expanded)

    def accepts(self, event: Event) -> bool:
        """Whether the client takes this event of the protocol now: what it continues or ends is open, and what it
        begins is not."""
        return self._open.accepts(event)

    def apply_emitted(self, event: Event) -> None:
        """Applies a wire event without the checks of `apply`: it must be an event of the protocol, and not a chunk. If
        it raises, what is open has not changed."""
        kind = event["type"]
        if (reduce := REDUCES.get(kind)) is not None:
            reduce(self.store, event)
        if kind == "STATE_SNAPSHOT":
            self.run_has_snapshot = True
            self._set_state(event["snapshot"])
        elif kind == "STATE_DELTA" and self.knows_state:  # else it is not known whether the client can apply it
            with suppress(RefusedError):
                self._set_state(apply_patch(self.base, event["delta"]))
        elif kind == "MESSAGES_SNAPSHOT":
            self.knows_messages = True
            if complete_activity_types(event, is_legacy=self.store.is_legacy) is None:
                self.knows_activities = True
        elif kind == "RUN_STARTED":
            self.thread_id, self.run_id, self.parent_run_id = (
                event["threadId"],
                event["runId"],
                event.get("parentRunId"),
            )
            trace_id = (event.get("metadata") or {}).get("traceId")
            self.trace_id = trace_id if isinstance(trace_id, str) else None
            self.terminal = None
            self.run_has_snapshot = False
        elif kind in ("RUN_FINISHED", "RUN_ERROR"):
            self.terminal = event
        self._open.apply(event)

    # --- messages and state ---------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, wire dicts in the client's order. The list is a new one, the dicts must not be changed."""
        return self.store.read()

    @property
    def order(self) -> list[str]:
        """The ids of the messages, in the client's order."""
        return self.store.ids

    def has(self, message_id: str) -> bool:
        """Whether the client has a message with this id."""
        return message_id in self.store.entries

    def message(self, message_id: str) -> dict[str, Any] | None:
        """The (first) message with this id."""
        entry = self.store.entries.get(message_id)
        return None if entry is None else entry.read()

    def message_of_call(self, tool_call_id: str) -> str | None:
        """The id of the (first) message with this tool call."""
        indexed = self.store.calls.get(tool_call_id)
        return None if indexed is None else indexed[0].id

    def call(self, tool_call_id: str) -> dict[str, Any] | None:
        """The (first) tool call with this id, as it is in its message."""
        indexed = self.store.calls.get(tool_call_id)
        return None if indexed is None else indexed[1].read()

    def share(self, message: Event) -> None:
        """Keeps this dict in place of the equal one that the view has of the message: one copy in memory is enough."""
        entry = self.store.entries.get(message["id"])
        if entry is not None and entry.message is not message and same_json(entry.read(), message):
            entry.message = message

    # --- the run --------------------------------------------------------------------------------------------------

    @property
    def open(self) -> OpenItems:
        """What is open now. A copy: later events do not change it."""
        return self._open.copy()

    @property
    def open_texts(self) -> Container[str]:
        """The ids of the text messages that are open now."""
        return self._open.texts

    @property
    def open_calls(self) -> Container[str]:
        """The ids of the tool calls that are open now."""
        return self._open.calls

    @property
    def open_spans(self) -> Container[str]:
        """The message ids of the reasoning spans that are open now."""
        return self._open.spans

    @property
    def has_open_items(self) -> bool:
        """Whether anything is open now."""
        return not self._open.is_empty

    @property
    def has_open_messages(self) -> bool:
        """Whether a message, a tool call or reasoning is open now."""
        return self._open.has_messages

    @property
    def live(self) -> bool:
        """Whether a run has started and has not ended."""
        return self._open.run_id is not None

    @property
    def outcome(self) -> dict[str, Any] | None:
        """The outcome of the finished run (success if it named none); `None` in a live run and after an error."""
        if self.terminal is None or self.terminal["type"] != "RUN_FINISHED":
            return None
        outcome: dict[str, Any] = self.terminal.get("outcome", {"type": "success"})
        return outcome

    def copy(self) -> Self:
        """An independent copy: later events change only one of the two."""
        twin = copy(self)
        twin.store, twin._open, twin._by_chunks = self.store.copy(), self._open.copy(), dict(self._by_chunks)
        return twin

    def _set_state(self, state: Any) -> None:
        self.knows_state = True
        self.base = state
        # 0.0.59 applies later deltas to a falsy state, but goes on showing the state before it
        if not self.store.is_legacy or state or isinstance(state, (dict, list)):
            self.state = state


def _message(value: Mapping[str, Any] | BaseModel) -> dict[str, Any]:
    message = _wire(value) if isinstance(value, BaseModel) else value if isinstance(value, dict) else dict(value)
    for name in ("id", "role"):
        if not isinstance(message.get(name), str):
            kind = f"whose {name} is a {type(message[name]).__name__}" if name in message else f"without {name}"
            raise ValueError(f"expected a message with an id and a role, both strings; got one {kind}")
    return message


def _wire(model: BaseModel) -> dict[str, Any]:
    """A model as its wire dict, without the fields that its type does not declare: a client of protocol 1.0 strips
    them."""
    wire: dict[str, Any] = orjson.loads(model.model_dump_json(by_alias=True, exclude=set(model.model_extra or ())))
    return wire
