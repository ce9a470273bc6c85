"""What could not be translated of one run: a log line for each loss, and their number for the terminal event.

Rules:

1. What a client does not get counts as a loss: a message, a state channel, an event. It counts once, however often the
   graph sends it again.
2. A content block, or a value in a message, a channel or an event, that cannot be read is logged and is no loss. Blocks
   are logged once for each message, values once for each class.
3. A log line names the thread and the run. Values that cannot be read are warnings; what no module foresaw is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from .jsonable.to_json import to_json

_log = logging.getLogger(__name__)
_LONGEST = 200
"""Characters of an id or a name in a log line."""
_Made = TypeVar("_Made")
Event = dict[str, Any]


class Losses:
    """The losses of one run. `len()` is their number."""

    def __init__(self, thread_id: str, run_id: str) -> None:
        self._names = (thread_id, run_id)
        self._lost: set[str] = set()
        self._warned: set[str] = set()

    def __len__(self) -> int:
        return len(self._lost)

    def message(self, message_id: Any, error: BaseException) -> None:
        """A message cannot be read; `message_id` names it, or its position in its list."""
        self._add(f"The message {_named(message_id)}", error, logging.WARNING)

    def channel(self, name: Any, error: BaseException) -> None:
        """A state channel cannot be read."""
        self._add(f"The state channel {_named(name)}", error, logging.WARNING)

    def unforeseen(self, what: str, error: BaseException) -> None:
        """Translating `what` raised an exception that no rule foresees."""
        self._add(what, error, logging.ERROR)

    def last_resort(self, what: str, error: BaseException) -> None:
        """As `unforeseen`, for what comes again and again in a run (a part, say): numbered, so that each counts."""
        self.unforeseen(f"{what} ({len(self) + 1})", error)

    def block(self, view: Mapping[str, Any], error: BaseException) -> None:
        """A content block of the message with these fields cannot be read; the rest of the message is emitted."""
        self.warn(f"A content block of the message {_named(view.get('id'))} is left out of the events", error)

    def suppressed(self, name: Any, reason: str) -> None:
        """No more of a message is emitted, by a rule: no loss. At the level DEBUG."""
        _log.debug("No more of the message %r is emitted: %s (thread %r, run %r).", name, reason, *self._names)

    def warn(self, what: str, error: BaseException | None = None) -> None:
        """Logs, once, what is no loss by itself but may explain that something is missing."""
        if what not in self._warned:
            self._warned.add(what)
            _log.warning("%s (thread %r, run %r).", what, *self._names, exc_info=error)

    def illegal_move(self, what: str) -> None:
        """The ledger was asked for a move that its tables do not have; nothing was changed."""
        _log.error("%s is no legal move (thread %r, run %r).", what, *self._names)

    def attempt(self, what: str, act: Callable[..., _Made], *args: Any, otherwise: _Made) -> _Made:
        """The result of `act`, or `otherwise` if it raises: then `what` is lost, and the caller continues."""
        try:
            return act(*args)
        except Exception as error:
            self.unforeseen(what, error)
            return otherwise

    def attempted(
        self, what: str, act: Callable[..., Iterator[Event] | list[Event] | Event | None], *args: Any
    ) -> Iterator[Event]:
        """The events that `act` gives. If it raises, `what` is lost, and the caller continues; the events given before
        count."""
        try:
            made = act(*args)
            if isinstance(made, dict):
                yield made
            elif made is not None:
                yield from made
        except Exception as error:
            self.unforeseen(what, error)

    def _add(self, what: str, error: BaseException, level: int) -> None:
        if what not in self._lost:
            self._lost.add(what)
            line = "%s is left out of the events of thread %r, run %r."
            _log.log(level, line, what, *self._names, exc_info=error)


def _named(value: Any) -> str:
    """What a log line calls an id or a name, which may be of any type."""
    return repr(to_json(value))[:_LONGEST]
