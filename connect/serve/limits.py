"""How much is taken, and how much goes on at once: `Limits`, and `Places`, which counts. Never what is done there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from ..runs import Runs
from ..sources import Local, Source
from .refusals import too_much


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an app takes at most. Raises `ValueError` for what is no positive number."""

    body: int = 16_000_000
    """Bytes of a request's body."""
    messages: int = 10_000
    """Messages of an input."""
    depth: int = 100
    """How deep a body's JSON may be nested."""
    runs: int = 1_000
    """Runs at once: those that go on in this process or wait there for their turn, and those of a platform that are
    told here."""
    readers: int = 10_000
    """Event streams at once, those of runs included."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{field.name}: expected a whole number above 0, got {value!r}")


class Places:
    """The places that are taken of those that there are. `sources`: those whose runs are counted."""

    def __init__(self, limits: Limits, sources: Iterable[Source]) -> None:
        self._limits = limits
        self._locals = [source for source in sources if isinstance(source, Local)]
        self.readers = 0
        """Event streams that are open."""
        self.told = 0
        """Runs that are about to start, and those of a platform that are told."""

    @contextmanager
    def reader(self) -> Iterator[None]:
        """A place for one stream; raises `Refusal` if there is none."""
        if self.readers >= self._limits.readers:
            raise too_much("too_many_readers", "Too many streams are open on this server: come again.")
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1

    @contextmanager
    def run(self) -> Iterator[None]:
        """A place for a run that is to start, or is told; raises `Refusal` if there is none."""
        if self.told + self._of_this_process() >= self._limits.runs:
            raise too_much("too_many_runs", "Too many runs are going on on this server: come again.")
        self.told += 1
        try:
            yield
        finally:
            self.told -= 1

    def _of_this_process(self) -> int:
        registries: set[Runs] = {source.runs for source in self._locals}
        return sum(runs.running + len(runs.owned) for runs in registries)
