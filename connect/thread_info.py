"""The threads of a backend, for lists and inspectors: `Threads`, and the values that it gives. No I/O."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from langchain_core.messages import HumanMessage, convert_to_messages

from .errors import ThreadNotFoundError

ThreadStatus = Literal["idle", "running", "waiting", "failed", "unreadable"]
"""`running`: a run is active or queued. `unreadable`: the state of the thread can't be read, and nothing runs on it; it
can be deleted. The others say how the last run ended: `waiting` at an interrupt or a breakpoint, `failed`, or `idle`,
which it also is after a cancelled run."""

TITLE: Final = "agui_title"
"""The metadata key of a thread's title."""
ARCHIVED: Final = "agui_archived"
"""The metadata key of a thread that is archived: true."""
LIMIT: Final = 20
"""Threads, or checkpoints, of one answer when no limit is given."""
_OPENING: Final = 60
"""Characters of a thread's opening."""
MOST: Final = 100
"""Threads, or checkpoints, of one answer at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadInfo:
    """What a list shows of a thread.

    - `thread_id`: its id.
    - `updated_at`: when its newest checkpoint was made; of a platform, when the server changed it last.
    - `created_at`: when its first checkpoint was made, or the server created it; None where that is not known.
    - `status`: see `ThreadStatus`.
    - `metadata`: JSON values by name: what its runs were started with, and what `Threads.update` has written.
    - `agent`: the agent or the graph that it belongs to, None where nothing names one.
    - `opening`: the first words that its user wrote, None where that is not known.
    """

    thread_id: str
    updated_at: datetime
    status: ThreadStatus
    metadata: Mapping[str, Any]
    agent: str | None = None
    created_at: datetime | None = None
    opening: str | None = None

    @property
    def is_archived(self) -> bool:
        """Whether it is archived: the metadata `agui_archived`. Lists for people leave it out."""
        return self.metadata.get(ARCHIVED) is True

    @property
    def title(self) -> str | None:
        """Its title: the metadata `agui_title`; `opening` without one."""
        title = self.metadata.get(TITLE)
        return title if isinstance(title, str) and title else self.opening


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Some threads, the newest first. `next`: the `after` of the call that gives the following ones; None if there are
    none. A page may have fewer threads than its limit, also none, and still a next one."""

    threads: Sequence[ThreadInfo]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One checkpoint of a thread.

    - `id`, `parent_id`: its id, and that of the checkpoint it was made from; None for a first one.
    - `created_at`: when it was made, as the checkpointer says it (ISO 8601); None where it does not.
    - `values`: the channels of the graph: its state, as the graph keeps it.
    - `next`: the nodes that run next; none after the end of a run.
    - `run_id`: the run that made it, by the checkpointer's or the platform's id.
    - `metadata`: LangGraph's (`source`, `step`), and what its run was started with.
    """

    id: str
    values: Mapping[str, Any]
    parent_id: str | None = None
    created_at: str | None = None
    next: Sequence[str] = ()
    metadata: Mapping[str, Any]

    @property
    def run_id(self) -> str | None:
        """The run that made it."""
        return self.metadata.get("run_id")


class Threads(Protocol):
    """The threads of a graph of this process, or of a server's assistant; `threads(source)` gives them.

    A thread of another agent or user does not exist. Every method raises `InvalidThreadIdError` for an invalid id,
    `ValueError` for a limit that is not from 1 to 100 and for an `after` that is no `next`, `UnreadableError` for what
    a checkpointer or a store raises, `PlatformError` and `ConnectionLost` for what a platform answers.
    """

    async def search(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        status: ThreadStatus | None = None,
        limit: int = LIMIT,
        after: str | None = None,
    ) -> ThreadPage:
        """Threads, the newest first. `metadata`: only those that have all of these values. `status`: only those of
        this status. `limit`: at most this many. `after`: the `next` of the page before."""

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """One thread; None if there is none of this id."""

    async def update(self, thread_id: str, metadata: Mapping[str, Any]) -> ThreadInfo:
        """Writes metadata (JSON values by name) of a thread; names that are not given stay. Raises `ValueError` for
        metadata that decide who may use the thread, or in which list it is: `agui_agent`, `graph_id`, `assistant_id`,
        and the keys of the user's filter (see `access`).

        Raises `ThreadNotFoundError`, and `NotSupportedError` for a graph of this process without a store, which is
        where the metadata are kept.
        """

    async def delete(self, thread_id: str) -> None:
        """Deletes a thread with all its checkpoints. Raises `ThreadNotFoundError`, and `RunConflictError` while it is
        running. If it raises because something did not answer, the thread can be deleted again."""

    async def history(self, thread_id: str, *, limit: int = LIMIT, before: str | None = None) -> Sequence[Checkpoint]:
        """Checkpoints of a thread, the newest first. `before`: only those older than this checkpoint, by its id. None
        for a thread that is unknown."""


def opening_of(messages: Any) -> str | None:
    """The first words of the first user message, at most 60 characters of one line; None without one. `messages`: in
    any form in which LangChain takes messages."""
    try:
        given = messages if isinstance(messages, list) else [messages]
        users = (each for each in convert_to_messages(given) if isinstance(each, HumanMessage) and each.text.strip())
        first = next(users, None)
    except (
        Exception
    ):  # what a graph's input has under this name need not be messages, and the list does not depend on it
        return None
    if first is None:
        return None
    line = " ".join(first.text.split())
    return line if len(line) <= _OPENING else (line[:_OPENING].rpartition(" ")[0] or line[: _OPENING - 1]) + "\u2026"


def checked_limit(limit: int) -> int:
    """The limit; raises `ValueError` for one that is not from 1 to 100."""
    if not 1 <= limit <= MOST:
        raise ValueError(f"limit: expected a number from 1 to {MOST}, got {limit!r}")
    return limit


async def known(threads: Threads, thread_id: str) -> ThreadInfo:
    """One thread; raises `ThreadNotFoundError` if there is none of this id."""
    info = await threads.get(thread_id)
    if info is None:
        raise ThreadNotFoundError
    return info


async def first_checkpoints(checkpoints: AsyncGenerator[Checkpoint, None], limit: int) -> list[Checkpoint]:
    """The first checkpoints of these, at most `limit`; the rest is not read."""
    found: list[Checkpoint] = []
    async with aclosing(checkpoints):
        async for checkpoint in checkpoints:
            found.append(checkpoint)
            if len(found) == limit:
                break
    return found
