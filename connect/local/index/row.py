"""A row of the index, `IndexRow`, and the one that a list is for, `Reader`. Values without I/O."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from ...access import owner_of
from ...thread_info import ThreadStatus

_GREGORIAN: Final = datetime(1582, 10, 15, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Head:
    """A thread's newest checkpoint, which tells whether the thread has changed.

    - `checkpoint_id`: its id.
    - `writes`: the number of its tasks' writes, including interrupts and errors.
    - `first_id`: the id of the thread's first checkpoint; None if it is not known.
    """

    checkpoint_id: str
    writes: int
    first_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """What a thread's first checkpoint says, which never changes.

    - `id`: the checkpoint's id.
    - `created_at`: when it was made (ISO 8601); None if no run made it.
    - `opening`: the first words of the thread's user.
    - `metadata`: those that the run left in it.
    """

    id: str | None = None
    created_at: str | None = None
    opening: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """A thread as an agent's list shows it.

    - `head`: the newest checkpoint when the thread was read. If the thread has a newer one now, or if this one has more
      writes, the row is old.
    - `status`: None if the thread belongs to another agent. Then only its owner is read.
    - `access`: the metadata that decide who may use the thread (see `connect.access`).
    - `metadata`: all metadata, which are shown and searched.
    - `written`: those metadata that `Threads.update` has written.
    - `edition`: how often the row was written. A row replaces only the edition that was read.
    """

    thread_id: str
    head: Head
    first: First
    access: Mapping[str, Any]
    status: ThreadStatus | None = None
    updated_at: str | None = None
    opening: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, Any] = field(default_factory=dict)
    edition: int = 0

    @property
    def owner(self) -> str | None:
        """The agent that owns the thread."""
        return owner_of(self.access)

    def is_of(self, head: Head) -> bool:
        """Returns whether the thread is as it was when the row was made."""
        is_same = self.head.checkpoint_id == head.checkpoint_id
        return is_same and self.head.writes == head.writes and self.status is not None


@dataclass(frozen=True, slots=True)
class Reader:
    """The agent and the user that a list is for.

    - `agent`: the name under which the agent's rows are kept. Each agent reads threads with its own graph.
    - `owners`: the agents whose threads it may use, as well as threads without an owner. None allows all threads.
    - `where`: the metadata that a thread must have to be the user's; see `Access.equal`.
    """

    agent: str
    owners: frozenset[str] | None = None
    where: tuple[tuple[str, Any], ...] = ()

    def may_have(self, row: IndexRow) -> bool:
        """Returns whether the thread may be on the list."""
        return self.may_get(row) and all(name in row.access for name, _ in self.where)

    def may_get(self, row: IndexRow) -> bool:
        """Returns whether the thread may be on the list now or later. A run may add metadata that the thread lacks, but
        those that it has never change."""
        if self.owners is not None and row.owner is not None and row.owner not in self.owners:
            return False
        return all(row.access.get(name, value) == value for name, value in self.where)


def comparable(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Returns those metadata that every database compares as Python does. The others are compared only in Python."""

    def compares(value: Any) -> bool:
        if isinstance(value, str):
            return value.isprintable()
        return isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53)

    return tuple((name, value) for name, value in values.items() if compares(name) and compares(value))


def to_json(value: Any) -> str:
    """Returns metadata as JSON that every database accepts, without null characters, lone surrogates and infinite
    numbers."""
    return json.dumps(_clean(value), ensure_ascii=False)


def _clean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_text(str(name)): _clean(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else _text(str(value))


def _text(text: str) -> str:
    return text.replace("\0", "").encode(errors="replace").decode()


def time_of(checkpoint_id: str) -> datetime:
    """Returns the time at which a checkpoint was made, from its id (a UUID of version 6)."""
    digits = UUID(checkpoint_id).hex
    ticks = int(digits[:12] + digits[13:16], 16)
    return _GREGORIAN + timedelta(microseconds=ticks // 10)
