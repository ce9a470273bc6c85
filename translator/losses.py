"""Counts and logs the items that cannot be translated, which are called losses. Also logs the items that a rule leaves
out, which are not losses.

Rules:

1. A message, a state channel or an event that cannot be translated is a loss. A message or a channel counts only once,
   however often the graph sends it.
2. A content block that cannot be read is logged, but does not count as a loss. The same applies to a value inside a
   message, a channel or an event. Unreadable blocks are logged once for each message, and unreadable values once for
   each class.
3. If an unexpected exception occurs, only the item that was being translated is left out, because each item is
   translated inside a `guard`. Every such exception counts as a loss and is logged as an error.
4. If a rule leaves an item out, the item is passed to `drop`, which logs it once, at the level DEBUG, with a `Reason`.
   This is not necessary if the client already has the item or receives it with the next values.
5. Every log line names the thread and the run.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any

from .jsonable.to_json import to_json

_log = logging.getLogger(__name__)
_LONGEST = 200
"""The maximum number of characters of an id or a name in a log line."""


class Reason(Enum):
    """The reasons why an item is not emitted. `Losses.drop` appends the value to its log line."""

    HIDDEN = "the model call is not visible (`messages/visibility.py`)"
    STRUCTURED = "the answer of the model call is structured output, which is displayed only if the graph saves it"
    MARKED = "the metadata of the model call hides it (`emit-messages`, `emit-tool-calls`)"
    IN_TOOL = "it was produced inside a tool"
    SUBAGENT = "the option `subagents` hides it"
    OPTION = "an option excludes it (`reasoning`, `tool_results`, `hidden_tools`, or an option for the state)"
    NOT_DISPLAYED = "clients display neither removals nor the messages of the system, a middleware or a function"
    NO_ID = "it has no id yet; if the graph stores it, the values contain it with an id"
    NO_NAME = "it has no name"
    ID_TAKEN = "the client already has a tool call with the same id; the next snapshot contains both"
    NO_CALL = "its tool call was not emitted"
    COPY = "its task has already streamed the same content under another id"
    OTHER_AGENT = "another agent's message has the same id, and the client does not let a different agent open it"
    ON_CLIENT = "the client already has a message with the same id, and no snapshot can remove that message"
    SUPERSEDED = "another model call is streaming a message with the same id"
    STORED = "a checkpoint that was read during the stream contains the complete message"
    RECONCILED = "its superstep has ended, and the beginning of the message has been compared with the stored messages"
    OLDER = "newer values are known (`checkpoint/values.py`)"
    UNKNOWN_BLOCK = "its type is unknown; `content/read_blocks.py` reads content blocks"
    UNKNOWN_CLIENT = "it may be older than the run, and it is unknown whether the client has it"
    FAILED = "the run had already failed"


class Losses:
    """The losses of one run. `len()` returns their number."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._names = (thread_id, run_id)
        self._lost: set[str] = set()
        self._warned: set[str] = set()
        self._dropped: set[tuple[str, str]] = set()
        self._has_faults = False

    def __len__(self) -> int:
        return len(self._lost)

    def message(self, message_id: Any, error: BaseException) -> None:
        """Counts a message that cannot be read. `message_id`: the id of the message, or its position in the list."""
        self._add(f"The message {_named(message_id)}", error, logging.WARNING)

    def channel(self, name: Any, error: BaseException) -> None:
        """Counts a state channel that cannot be read."""
        self._add(f"The state channel {_named(name)}", error, logging.WARNING)

    def fault(self, what: str, error: BaseException) -> None:
        """Counts an unexpected exception. `what`: a description of the item that was being translated."""
        self._has_faults = True
        self._add(f"{what} ({len(self) + 1})", error, logging.ERROR)

    def guard(self, what: str) -> Guard:
        """Returns a context manager for the translation of one item, which `what` describes. If an exception occurs in
        the block, it is counted as a loss, and execution continues after the block. The events that were yielded before
        the exception are still emitted."""
        return Guard(self, what)

    def refused(self, event: Mapping[str, Any]) -> None:
        """Handles an event that is not emitted because the client would refuse it and all later events. If an
        unexpected exception has occurred before, the event usually belongs to an item whose beginning or end is
        missing, so it is only logged. If not, the event indicates a bug in the translator, and counts as a loss."""
        what = f"An event {event['type']} that the client would refuse"
        if self._has_faults:
            _log.debug("%s is not emitted (thread %r, run %r).", what, *self._names)
        else:
            self.fault(what, RuntimeError("it does not fit the events before it"))

    def block(self, fields: Mapping[str, Any], error: BaseException) -> None:
        """Logs a content block that cannot be read. The rest of the message is emitted. `fields`: the fields of the
        message."""
        self.warn(f"A content block of the message {_named(fields.get('id'))} is left out of the events", error)

    def drop(self, what: str, name: str | None, reason: Reason) -> None:
        """Logs that a rule leaves out an item, or the rest of an item. `what`: the kind of item. `name`: its id or
        name. An item without a name is logged each time."""
        if not _log.isEnabledFor(logging.DEBUG):  # this may be called for every chunk
            return
        if name is None or (what, name) not in self._dropped:
            self._dropped.add((what, name or ""))
            called = what if name is None else f"{what} {_named(name)}"
            _log.debug("The %s is not emitted: %s (thread %r, run %r).", called, reason.value, *self._names)

    def warn(self, what: str, error: BaseException | None = None) -> None:
        """Logs a warning about something that does not count as a loss but may explain why an item is missing. The same
        warning is logged only once."""
        if what not in self._warned:
            self._warned.add(what)
            _log.warning("%s (thread %r, run %r).", what, *self._names, exc_info=error)

    def note(self, what: str) -> None:
        """Logs, at the level INFO, that a rule had an effect that may surprise users. The same text is logged only
        once."""
        if what not in self._warned:
            self._warned.add(what)
            _log.info("%s (thread %r, run %r).", what, *self._names)

    def _add(self, what: str, error: BaseException, level: int) -> None:
        if what not in self._lost:
            self._lost.add(what)
            line = "%s is left out of the events of thread %r, run %r."
            _log.log(level, line, what, *self._names, exc_info=error)


class Guard:
    """The context manager that `Losses.guard` returns."""

    __slots__ = ("_losses", "_what", "raised")

    def __init__(self, losses: Losses, what: str) -> None:
        self._losses = losses
        self._what = what
        self.raised = False

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):
            self.raised = True
            self._losses.fault(self._what, error)
        return self.raised


def _named(value: Any) -> str:
    """Returns an id or a name, which may be of any type, as text for a log line."""
    return repr(to_json(value))[:_LONGEST]
