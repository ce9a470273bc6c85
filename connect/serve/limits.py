"""Limits what is accepted, and what runs at the same time: `Limits`, and `Capacity`, which counts runs and readers.
Bodies are counted in `bodies`, and queued inputs by the backend."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Final

from .. import metrics
from ..backend import Backend
from .errors import full, too_much
from .files import file_limit, reserved

MOST_READERS: Final = 10_000
"""The most readers of one process, if `Limits.readers` is None."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an app accepts at most. Raises `ValueError` for a limit that is not a positive number.

    `body`: Bytes of a request's body, or of a WebSocket's frame.
    `values`: Values in a body's JSON, counted as its commas and opening brackets, including those inside texts. Parsing
        a body stops the event loop: for about 20 ms with as many values as the default. An attachment is one text, so
        it counts as one value.
    `body_timeout`: Seconds within which a request's whole body has to arrive. Otherwise it is refused (408).
    `bodies`: Bodies that are read at the same time. If there are more, the one that has been read for the longest time
        is refused (503).
    `bodies_size`: Bytes of all bodies that are read at the same time. If there are more, the same happens.
    `messages`: Messages of an input.
    `depth`: Levels to which a body's JSON may be nested, and the JSON in its texts: arguments of calls, answers.
    `runs`: Runs at the same time: those of this process, and those of a platform that have a reader here. A thread with
        queued inputs counts as one run.
    `runs_per_user`: Runs at the same time that one user has started, by the user's identity (see `access.identity_of`).
        An input for a thread that already has a run does not count. None: no limit. Requests without a user, and users
        without an identity, count as one user.
    `queue`: Inputs that wait for their turn on one thread of this process (`Intake(busy="queue")`).
    `readers`: Readers at the same time: event streams (including those of runs), open WebSockets, and other answers of
        more than 64 KB while they are sent. None: the number of files that the process may open (`ulimit -n`), less an
        eighth of it or 64, whichever is more, and 10,000 at most.
    `readers_per_user`: Readers of one user at the same time. Users are counted as for `runs_per_user`.
    `send_timeout`: Seconds within which a reader of a stream or an answer has to take the next 64 KB, and the reader of
        a WebSocket anything at all. After that, its connection is dropped. The run continues.
    `stop_timeout`: Seconds within which a run that a request stops has to end. After that, the answer is 202, and the
        run ends when its synchronous functions have returned.
    `ready_timeout`: Seconds within which each checkpointer and each platform has to answer a probe of `/ready`.
    """

    body: int = 8_000_000
    values: int = 100_000
    body_timeout: float = 10.0
    bodies: int = 1_000
    bodies_size: int = 64_000_000
    messages: int = 10_000
    depth: int = 100
    runs: int = 1_000
    runs_per_user: int | None = None
    queue: int = 10
    readers: int | None = None
    readers_per_user: int | None = None
    send_timeout: float = 30.0
    stop_timeout: float = 10.0
    ready_timeout: float = 2.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("timeout"):
                if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
                    raise ValueError(f"{field.name}: expected a number of seconds above 0, got {value!r}")
            elif value is None and (field.name == "readers" or field.name.endswith("per_user")):
                continue
            elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{field.name}: expected a whole number above 0, got {value!r}")


class Capacity:
    """Counts readers and runs, and enforces their limits. `sources`: the backends whose runs are counted."""

    def __init__(self, limits: Limits, sources: Iterable[Backend]) -> None:
        self._limits = limits
        self._sources = tuple(sources)
        self._most_readers = _most_readers(limits.readers)
        self.readers = 0
        """How many readers there are."""
        self.starting = 0
        """How many runs are about to start, including those of a platform that have a reader."""
        self._readers_by_user: Counter[Hashable] = Counter()
        self._starting_by_user: Counter[Hashable] = Counter()

    @contextmanager
    def reader(self, user: Hashable) -> Iterator[None]:
        """Reserves a place for one reader of a user within the block. Raises `Refusal` if there is no place."""
        if self.readers >= self._most_readers:
            raise full("too_many_readers", "Too many open streams. Retry later.")
        if _is_reached(self._limits.readers_per_user, self._readers_by_user[user]):
            raise too_much("too_many_readers", "You have too many open streams. Retry later.")
        self.readers += 1
        metrics.reader_active(1)
        with _counted(self._readers_by_user, user):
            try:
                yield
            finally:
                self.readers -= 1
                metrics.reader_active(-1)

    @contextmanager
    def run(self, user: Hashable, source: Backend, thread_id: str) -> Iterator[None]:
        """Reserves a place for a user's run that is to start, or has a reader, within the block. Raises `Refusal` if
        there is no place. `source` is the backend of the thread. Other backends may have a thread with the same id."""
        scopes = {source.runs for source in self._sources if source.runs is not None}
        if self.starting + sum(runs.busy for runs in scopes) >= self._limits.runs:
            raise too_much("too_many_runs", "Too many concurrent runs. Retry later.")
        if self._limits.runs_per_user is not None:
            same = source.run_on(thread_id)
            count = sum(run.user == user and run is not same for runs in scopes for run in runs.active)
            if _is_reached(self._limits.runs_per_user, self._starting_by_user[user] + count):
                raise too_much("too_many_runs", "You have too many concurrent runs. Retry later.")
        self.starting += 1
        with _counted(self._starting_by_user, user):
            try:
                yield
            finally:
                self.starting -= 1


def _most_readers(readers: int | None) -> int:
    """Returns how many readers are allowed. `readers` is `Limits.readers`. Logs a warning if it exceeds what the limit
    on files allows."""
    limit = file_limit()
    safe = MOST_READERS if limit is None else max(1, limit - reserved(limit))
    if readers is None:
        return min(safe, MOST_READERS)
    if limit is not None and readers > safe:
        _log.warning(
            "Limits.readers is %d, and this process may open %d files (ulimit -n): above %d readers, connections may "
            "be refused, and whatever else opens files may fail. Raise the limit on files, or lower readers.",
            readers,
            limit,
            safe,
        )
    return readers


def _is_reached(limit: int | None, count: int) -> bool:
    return limit is not None and count >= limit


@contextmanager
def _counted(counts: Counter[Hashable], user: Hashable) -> Iterator[None]:
    """Counts one more for a user within the block."""
    counts[user] += 1
    try:
        yield
    finally:
        counts[user] -= 1
        if not counts[user]:
            del counts[user]
