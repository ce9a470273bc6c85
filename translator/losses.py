"""What a run does not emit: what could not be translated, which is a loss, and what a rule leaves out. Each has a log
line; the terminal event has the number of losses.

Rules:

1. A message, a state channel or an event that cannot be translated is a loss. A message or a channel counts once,
   however often the graph sends it again.
2. A content block that cannot be read is logged, but it is not a loss. The same is true of a value inside a message, a
   channel or an event. Blocks are logged once for each message, values once for each class.
3. An exception that no rule expects costs what was being translated when it was raised, and nothing else: `guard`
   encloses that. Every such exception counts as a loss and is logged as an error.
4. What a rule leaves out is not a loss. `drop` logs it once, at the level DEBUG, with its `Reason`. Everything that is
   not emitted passes through `drop`, except what the client already has or gets with the next values.
5. Every log line names the thread and the run. A value that cannot be read is a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any

from .jsonable.to_json import to_json

_log = logging.getLogger(__name__)
_LONGEST = 200
"""Characters of an id or a name in a log line."""


class Reason(Enum):
    """Why something is not emitted."""

    HIDDEN = "the model call is not visible (`messages/visibility.py`)"
    STRUCTURED = "the answer of the model call is structured output, which is shown only where the graph saves it"
    MARKED = "the metadata of the model call says so (`emit-messages`, `emit-tool-calls`)"
    IN_TOOL = "it happens inside a tool"
    SUBAGENT = "the option `subagents` hides it"
    OPTION = "an option leaves it out (`reasoning`, `tool_results`, `hidden_tools`, or one that is about the state)"
    NOT_DISPLAYED = "clients do not display it: a system message, a middleware's, a function's, a removal"
    NO_ID = "it has no id; the graph's values have one for it, if they have it"
    NO_NAME = "it has no name"
    ID_TAKEN = "the client already has a call with its id; the next snapshot has both"
    NO_CALL = "its call was not emitted"
    COPY = "its task has already streamed the same content under another id"
    OTHER_AGENT = "another agent's message has its id, and the client lets no agent open what another opened"
    ON_CLIENT = "the client has a message with its id that it cannot be made to drop"
    SUPERSEDED = "another model call streams a message with the same id"
    STORED = "a checkpoint that was read during the stream has the message whole"
    RECONCILED = "its superstep has ended, and the beginning of the message has been reconciled"
    OLDER = "newer values are known (`checkpoint/values.py`)"
    FAILED = "the run had failed"


class Losses:
    """The losses of one run. `len()` is their number."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._names = (thread_id, run_id)
        self._lost: set[str] = set()
        self._warned: set[str] = set()
        self._dropped: set[tuple[str, str]] = set()
        self._has_faults = False

    def __len__(self) -> int:
        return len(self._lost)

    def message(self, message_id: Any, error: BaseException) -> None:
        """A message cannot be read; `message_id` names it, or its position in its list."""
        self._add(f"The message {_named(message_id)}", error, logging.WARNING)

    def channel(self, name: Any, error: BaseException) -> None:
        """A state channel cannot be read."""
        self._add(f"The state channel {_named(name)}", error, logging.WARNING)

    def fault(self, what: str, error: BaseException) -> None:
        """Translating `what` raised an exception that no rule foresees."""
        self._has_faults = True
        self._add(f"{what} ({len(self) + 1})", error, logging.ERROR)

    def guard(self, what: str) -> Guard:
        """Encloses the translation of `what`: if it raises, `what` is lost, and the caller continues after the block.
        Events that a generator yielded before it raised are kept."""
        return Guard(self, what)

    def refused(self, event: Mapping[str, Any]) -> None:
        """An event is not emitted, because the client would refuse it, and with it the rest of the stream. It belongs
        to an item whose beginning or end was lost; without such a loss, it is the translator's fault."""
        what = f"An event {event['type']} that the client would refuse"
        if self._has_faults:
            _log.debug("%s is not emitted (thread %r, run %r).", what, *self._names)
        else:
            self.fault(what, RuntimeError("it does not follow from the events before it"))

    def block(self, view: Mapping[str, Any], error: BaseException) -> None:
        """A content block of the message with these fields cannot be read; the rest of the message is emitted."""
        self.warn(f"A content block of the message {_named(view.get('id'))} is left out of the events", error)

    def drop(self, what: str, name: str | None, reason: Reason) -> None:
        """A rule leaves something out, or the rest of it. `what` is its kind and `name` its id or name; without a name,
        every one is logged."""
        if not _log.isEnabledFor(logging.DEBUG):  # a rule may leave out something with every chunk
            return
        if name is None or (what, name) not in self._dropped:
            self._dropped.add((what, name or ""))
            called = what if name is None else f"{what} {_named(name)}"
            _log.debug("The %s is not emitted: %s (thread %r, run %r).", called, reason.value, *self._names)

    def warn(self, what: str, error: BaseException | None = None) -> None:
        """Logs, once, what is not itself a loss but may explain why something is missing."""
        if what not in self._warned:
            self._warned.add(what)
            _log.warning("%s (thread %r, run %r).", what, *self._names, exc_info=error)

    def note(self, what: str) -> None:
        """Logs, once and at the level INFO, what a rule did that may surprise someone. It is not a loss."""
        if what not in self._warned:
            self._warned.add(what)
            _log.info("%s (thread %r, run %r).", what, *self._names)

    def illegal_move(self, what: str) -> None:
        """The ledger was asked for a move that is not in its tables; it changed nothing."""
        _log.error("%s is not a legal move (thread %r, run %r).", what, *self._names)

    def _add(self, what: str, error: BaseException, level: int) -> None:
        if what not in self._lost:
            self._lost.add(what)
            line = "%s is left out of the events of thread %r, run %r."
            _log.log(level, line, what, *self._names, exc_info=error)


class Guard:
    """A block in which an exception is a loss (`Losses.guard`)."""

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
    """How a log line shows an id or a name, which may be of any type."""
    return repr(to_json(value))[:_LONGEST]
