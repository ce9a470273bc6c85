"""How much is accepted, and how much runs at once: `Limits`, and `Capacity`, which counts runs and readers. Bodies are
counted in `bodies`, queued inputs by the backend."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from ..backend import Backend
from .errors import too_much


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an app accepts at most. Raises `ValueError` for what is no positive number.

    `body`: Bytes of a request's body.
    `body_timeout`: Seconds in which a request's body has to arrive whole; then it is refused (408).
    `bodies`: Bodies that are read at once. If there are more, the one that has been read for the longest is refused
        (503).
    `bodies_size`: Bytes of all the bodies that are read at once. If there are more, the same happens.
    `messages`: Messages of an input.
    `depth`: How deep a body's JSON may be nested.
    `runs`: Runs at once: those of this process, and those of a platform that have a reader here. A thread with queued
        inputs counts as one.
    `runs_per_user`: Of those, runs that one user has started, by the user's identity (see `access.identity_of`). An
        input for a thread that has a run is not one more. None: no limit. Requests without a user, and users without an
        identity, count as one user.
    `queue`: Inputs that wait for their turn on one thread of this process (`Intake(busy="queue")`).
    `readers`: Event streams at once, those of runs included.
    `readers_per_user`: Of those, streams of one user; as `runs_per_user`.
    `send_timeout`: Seconds in which a reader has to take what it is sent; then its connection is dropped. The run
        continues.
    `stop_timeout`: Seconds in which a run that a request stops has to end; then the answer is 202, and the run ends
        when its synchronous functions have returned.
    `ready_timeout`: Seconds in which each checkpointer and each platform has to answer when `/ready` asks it.
    """

    body: int = 16_000_000
    body_timeout: float = 10.0
    bodies: int = 1_000
    bodies_size: int = 64_000_000
    messages: int = 10_000
    depth: int = 100
    runs: int = 1_000
    runs_per_user: int | None = None
    queue: int = 10
    readers: int = 10_000
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
            elif value is None and field.name.endswith("per_user"):
                continue
            elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{field.name}: expected a whole number above 0, got {value!r}")


class Capacity:
    """Counts open streams and runs against the limits. `sources`: those whose runs are counted."""

    def __init__(self, limits: Limits, sources: Iterable[Backend]) -> None:
        self._limits = limits
        self._sources = tuple(sources)
        self.readers = 0
        """Event streams that are open."""
        self.starting = 0
        """Runs that are about to start, and those of a platform that have a reader."""
        self._readers_by_user: Counter[Hashable] = Counter()
        self._starting_by_user: Counter[Hashable] = Counter()

    @contextmanager
    def reader(self, user: Hashable) -> Iterator[None]:
        """A place for one stream of a user; raises `Refusal` if there is none."""
        if self.readers >= self._limits.readers:
            raise too_much("too_many_readers", "Too many open streams. Retry later.")
        if _is_reached(self._limits.readers_per_user, self._readers_by_user[user]):
            raise too_much("too_many_readers", "You have too many open streams. Retry later.")
        self.readers += 1
        with _counted(self._readers_by_user, user):
            try:
                yield
            finally:
                self.readers -= 1

    @contextmanager
    def run(self, user: Hashable, source: Backend, thread_id: str) -> Iterator[None]:
        """A place for a run of a user that is to start, or has a reader; raises `Refusal` if there is none.
        `source`: the backend of the thread. Other backends may have threads of the same id."""
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


def _is_reached(limit: int | None, count: int) -> bool:
    return limit is not None and count >= limit


@contextmanager
def _counted(counts: Counter[Hashable], user: Hashable) -> Iterator[None]:
    """One more of a user."""
    counts[user] += 1
    try:
        yield
    finally:
        counts[user] -= 1
        if not counts[user]:
            del counts[user]
