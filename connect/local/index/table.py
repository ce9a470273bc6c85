"""What stores the rows of an index: the protocol `ThreadTable`, and what a page asks it for, a `Selection`. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...thread_info import ThreadStatus
from .row import Head, IndexRow, Reader


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows a page asks for, the newest first.

    - `limit`: how many at most.
    - `before`, `floor`: only rows with an older checkpoint than the first, and not older than the second.
    - `statuses`: only rows with one of these.
    - `metadata`: only rows with these, if the rows are shared.
    """

    limit: int
    before: str | None = None
    floor: str | None = None
    statuses: Collection[ThreadStatus] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class ThreadTable(Protocol):
    """The rows of one checkpointer's threads, compared with what the checkpointer has. Every method raises what it
    raises."""

    is_shared: bool
    """Whether other processes write the same rows."""

    async def token(self) -> Hashable:
        """A value that changes whenever anything is written to the checkpointer; None where that is not known."""

    async def changed(
        self, reader: Reader, running: Collection[str], before: str | None, limit: int
    ) -> tuple[Sequence[tuple[str, str]], str | None]:
        """The threads of a reader that have no row or an old one, the newest first, at most `limit`: their ids, and
        those of their newest checkpoints; and the checkpoint down to which it looked (None: it looked at all).
        `running`: ids of threads that have a run of this process. `before`: only threads with an older checkpoint than
        this one."""

    async def page(self, reader: Reader, wanted: Selection) -> Sequence[tuple[IndexRow, Head | None]]:
        """Rows of a reader, each with the thread's newest checkpoint now (None: it has none). The caller has to check
        each row again: not all conditions can be checked here."""

    async def row(self, agent: str, thread_id: str) -> tuple[IndexRow | None, Head | None]:
        """One row, and the thread's newest checkpoint now."""

    async def count(self, agent: str) -> int:
        """How many rows an agent has."""

    async def put(self, agent: str, row: IndexRow, old: IndexRow | None) -> bool:
        """Writes a row in place of the old one. Returns whether that was still the one."""

    async def remove(self, thread_id: str) -> None:
        """Removes all rows of a thread."""
