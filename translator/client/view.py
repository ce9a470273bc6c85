"""What an AG-UI client holds, as a value: `ClientView`.

Here: the one object that has messages, state, the run and what is open, and answers for them.
Never here: what an event does to messages (`reducer_messages`), JSON Patch (`patched`), or what to tell a client
(`prelude`), which this only calls.

Rules:
- After the same events, `messages` and `state` are what `@ag-ui/client` holds: 1.0.0 for a `version`, 0.0.59 (the last
  one that names none) for `None`. `*_CHUNK` events are not the reducer's: the client expands them before it, and
  nothing here emits them; they are passed over.
- Unknown is not empty. A view of a client whose messages or state nobody told knows so, until a snapshot tells them.
- Nothing handed in is changed and nothing handed out changes, so both may share structure with events.
- The cost of an event is that of its change; the three events that come per token cost one append.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from ag_ui.core import BaseEvent
from pydantic import BaseModel

from . import catch_up
from .apply_patch import RefusedError, patched
from .event_fields import readable
from .message_store import MessageStore
from .open_items import OpenItems
from .reducer import APPENDS, REDUCES, append_text
from .snapshots import activities_told_whole

__all__ = ["ClientView"]

Event = dict[str, Any]


class ClientView:
    """The messages and the state one client holds, the run it is in, and what is open in it."""

    __slots__ = (
        "_held",
        "_old",
        "_open",
        "_shown",
        "_state",
        "_terminal",
        "knows_activities",
        "knows_messages",
        "knows_state",
        "parent_run_id",
        "pending_interrupts",
        "run_has_snapshot",
        "run_id",
        "thread_id",
        "version",
    )

    def __init__(
        self,
        messages: Iterable[Mapping[str, Any] | BaseModel] | None = None,
        state: Any = None,
        version: str | None = "1.0",
    ) -> None:
        """Takes what the client is known to hold: `None` is unknown, `[]` and `{}` are empty.

        `messages` are wire dicts or `ag_ui.core` models, `state` plain JSON, `version` the protocol version the client
        declares. Nothing given is changed; it must not change afterwards either. Raises `ValueError` for a message
        without an id or a role.
        """
        self.version = version
        self._old = version is None
        self._held = MessageStore(map(_message, messages or ()))
        self._open = OpenItems()
        self._terminal: Event | None = None
        self._state = self._shown = state
        self.knows_messages = messages is not None
        self.knows_state = state is not None
        self.knows_activities = False
        self.thread_id: str | None = None
        self.run_id: str | None = None
        self.parent_run_id: str | None = None
        self.pending_interrupts: list[dict[str, Any]] = []
        self.run_has_snapshot = False
        """Whether a `STATE_SNAPSHOT` came since the last `RUN_STARTED`."""

    def apply(self, event: Event | BaseEvent) -> None:
        """Applies one event, a wire dict or a model. Never raises: what a client ignores or dies of is passed over."""
        try:
            append = APPENDS.get(event["type"])  # type: ignore[index]
        except (KeyError, TypeError):
            append = None
        if append is not None:
            append(self._held, event, self._old)  # type: ignore[arg-type]
        elif isinstance(event, dict):
            self._apply(event)
        else:
            self.apply(_wire(event))

    def append_text(self, event: Event) -> None:
        """Applies a TEXT_MESSAGE_CONTENT; what `apply` does, for who knows that it is one."""
        append_text(self._held, event, self._old)

    # --- what the client holds ------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, wire dicts in the client's order. Made on each read; the dicts must not be changed."""
        return self._held.read()

    @property
    def state(self) -> Any:
        """The state, plain JSON. Must not be changed; later events leave this value as it is."""
        return self._shown

    @property
    def base(self) -> Any:
        """The state the next delta applies to: `state`, unless an older client shows the one before a falsy one."""
        return self._state

    @property
    def order(self) -> list[str]:
        """The ids of the messages, in the client's order."""
        return [entry.id for entry in self._held.order]

    def has(self, message_id: str) -> bool:
        """Whether the client holds a message with this id."""
        return message_id in self._held.entries

    def message(self, message_id: str) -> dict[str, Any] | None:
        """The (first) message with this id."""
        entry = self._held.entries.get(message_id)
        return None if entry is None else entry.read()

    def position(self, message_id: str) -> int | None:
        """Where the (first) message with this id stands."""
        entry = self._held.entries.get(message_id)
        return None if entry is None else entry.position

    def call_owner(self, tool_call_id: str) -> str | None:
        """The id of the message that holds this tool call."""
        found = self._held.calls.get(tool_call_id)
        return None if found is None else found[0].id

    def call(self, tool_call_id: str) -> dict[str, Any] | None:
        """The (first) tool call with this id, as its message carries it."""
        found = self._held.calls.get(tool_call_id)
        return None if found is None else found[1].read()

    # --- the run --------------------------------------------------------------------------------------------------

    @property
    def open(self) -> OpenItems:
        """What is open now; a copy, which later events leave as it is."""
        return self._open.copy()

    @property
    def live(self) -> bool:
        """Whether a run has started and not ended."""
        return self._open.run_id is not None

    @property
    def terminal(self) -> Event | None:
        """The event that ended the last run; `None` while one is going on and before any."""
        return self._terminal

    @property
    def outcome(self) -> dict[str, Any] | None:
        """The outcome of the finished run (success where it named none); `None` while live and after an error."""
        if self._terminal is None or self._terminal["type"] != "RUN_FINISHED":
            return None
        outcome: dict[str, Any] = self._terminal.get("outcome", {"type": "success"})
        return outcome

    # --- telling others -------------------------------------------------------------------------------------------

    def catch_up(self, held: "ClientView") -> list[Event]:
        """The events that bring a reader to this view: its messages, its state, what is open, and of an ended run its
        end. What is told is what the reader lacks; what this view does not know is not told.

        `held`: what the reader is known to hold and to have open on its stream; it is not changed. In no live run, the
        reader is told the run's start first; in another live run, that its end is lost, and then the start. `[]` if
        the view has seen no run. A view that does not know the client's messages knows those that streamed in it.
        """
        is_merged = held.knows_messages and not self.knows_messages
        return catch_up.catch_up(self._on_top_of(held) if is_merged else self, held)

    def prelude(self) -> list[Event]:
        """What somebody is told of whom nothing is known, and who opens a new stream now."""
        return self.catch_up(ClientView(version=self.version))

    def resync(self, reader: OpenItems) -> list[Event]:
        """What a reader inside a stream is told in place of its backlog, of whom only what is open is known."""
        held = ClientView(version=self.version)
        held._open = reader.copy()
        return self.catch_up(held)

    def copy(self) -> "ClientView":
        """The same view, going its own way from here."""
        twin = ClientView(version=self.version)
        for name in ClientView.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._held = self._held.copy()
        twin._open = self._open.copy()
        return twin

    def _on_top_of(self, held: "ClientView") -> "ClientView":
        """A copy of this view with the messages of `held` added; those that streamed here replace theirs."""
        known = held.messages
        before = {message["id"] for message in known}
        merged = [self.message(message["id"]) or message for message in known]
        twin = self.copy()
        twin._held = MessageStore([*merged, *(message for message in self.messages if message["id"] not in before)])
        twin.knows_messages = True
        return twin

    # --- one event ------------------------------------------------------------------------------------------------

    def _apply(self, event: Event) -> None:
        if not readable(event):
            return
        kind = event["type"]
        reduce = REDUCES.get(kind)
        if reduce is not None:
            reduce(self._held, event, self._old)
        self._open.apply(event)
        if kind == "STATE_SNAPSHOT":
            self.run_has_snapshot = True
            self._set_state(event["snapshot"])
        elif kind == "STATE_DELTA":
            self._patch_state(event["delta"])
        elif kind == "MESSAGES_SNAPSHOT":
            self.knows_messages = True
            if activities_told_whole(event, self._old) is None:
                self.knows_activities = True
        elif kind == "RUN_STARTED":
            self.thread_id, self.run_id = event["threadId"], event["runId"]
            self.parent_run_id = event.get("parentRunId")
            self._terminal = None
            self.run_has_snapshot = False
        elif kind == "RUN_FINISHED":
            outcome = event.get("outcome", {})
            self.pending_interrupts = outcome["interrupts"] if outcome.get("type") == "interrupt" else []
            self._terminal = event
        elif kind == "RUN_ERROR":
            self._terminal = event

    def _patch_state(self, delta: list[Any]) -> None:
        if not self.knows_state:
            return  # the client may or may not have been able to apply it
        try:
            self._set_state(patched(self._state, delta))
        except RefusedError:
            return

    def _set_state(self, state: Any) -> None:
        self.knows_state = True
        self._state = state
        # 0.0.59 applies further deltas to a falsy state but shows its user the one before
        if not self._old or state or isinstance(state, (dict, list)):
            self._shown = state


def _message(value: Any) -> dict[str, Any]:
    wire = _wire(value)
    for name in ("id", "role"):
        if not isinstance(wire.get(name), str):
            kind = f"whose {name} is a {type(wire[name]).__name__}" if name in wire else f"without {name}"
            raise ValueError(f"expected a message with an id and a role, both strings; got one {kind}")
    return wire


def _wire(value: Any) -> dict[str, Any]:
    """A model as its wire dict, without fields that its type does not declare: a client of protocol 1.0 does not take
    them back. A mapping as it is."""
    if isinstance(value, BaseModel):
        undeclared = set(value.model_extra or ())
        text = value.model_dump_json(by_alias=True, exclude_none=True, exclude=undeclared)
        wire: dict[str, Any] = orjson.loads(text)
        return wire
    return value if isinstance(value, dict) else dict(value)
