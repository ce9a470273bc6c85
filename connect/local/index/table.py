"""The interface of a table that stores the rows of an index, `ThreadTable`, and a page's query, `Selection`. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...thread_info import ThreadStatus
from .row import Head, IndexRow, Reader


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that a page asks for, the newest first.

    - `limit`: the number of rows, at most.
    - `before`, `floor`: ids of checkpoints. Selects only rows whose checkpoint is older than `before`, and not older
      than `floor`.
    - `statuses`: selects only rows with one of these statuses.
    - `metadata`: selects only rows with these metadata, if the table is shared.
    """

    limit: int
    before: str | None = None
    floor: str | None = None
    statuses: Collection[ThreadStatus] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class ThreadTable(Protocol):
    """The rows of one checkpointer's threads, compared with the checkpointer. Every method raises what the checkpointer
    raises."""

    is_shared: bool
    """Whether other processes write the same rows."""

    async def token(self) -> Hashable:
        """Returns a value that changes with each write to the checkpointer; None if there is no such value."""

    async def changed(
        self, reader: Reader, running: Collection[str], before: str | None, limit: int
    ) -> tuple[Sequence[tuple[str, str]], str | None]:
        """Returns the threads of a reader that have no row or an outdated one, the newest first, at most `limit`: their
        ids, and those of their newest checkpoints. Also returns the id of the checkpoint down to which the threads were
        compared; None if all were.

        - `running`: the ids of threads that have a run of this process.
        - `before`: the id of a checkpoint; only threads with an older one are compared."""

    async def page(self, reader: Reader, selection: Selection) -> Sequence[tuple[IndexRow, Head | None]]:
        """Returns rows of a reader, each with the thread's newest checkpoint (None if it has none). The caller must
        check each row again, because not all conditions can be checked here."""

    async def row(self, agent: str, thread_id: str) -> tuple[IndexRow | None, Head | None]:
        """Returns one row, and the thread's newest checkpoint."""

    async def count(self, agent: str) -> int:
        """Returns the number of rows of an agent."""

    async def put(self, agent: str, row: IndexRow, old: IndexRow | None) -> bool:
        """Replaces the old row, unless it has changed. Returns whether the row was written."""

    async def remove(self, thread_id: str) -> None:
        """Removes all rows of a thread."""
