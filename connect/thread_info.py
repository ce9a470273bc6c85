"""The threads of a backend, for lists and inspectors: `Threads`, and the values that it returns. No I/O."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from langchain_core.messages import HumanMessage, convert_to_messages

from .errors import ThreadNotFoundError

ThreadStatus = Literal["idle", "running", "waiting", "failed", "unreadable"]
"""`running`: a run is active or queued. `unreadable`: the state of the thread can't be read, and nothing runs on it. It
can still be deleted. The others say how the last run ended: `waiting` at an interrupt or a breakpoint, `failed`, or
`idle`. A thread is also `idle` after a cancelled run."""

FinishedStatus = Literal["running", "stopping", "finished", "interrupted", "failed", "cancelled", "unknown"]
"""The status of a run, as in a list of runs. `unknown`: nothing is left that says how it ended."""

TITLE: Final = "agui_title"
"""The metadata key of a thread's title."""
ARCHIVED: Final = "agui_archived"
"""The metadata key whose value is true for an archived thread."""
RUN_ID: Final = "agui_run_id"
"""The key of a run's metadata with the id that its client gave it, because platforms make run ids of their own."""
LIMIT: Final = 20
"""The number of threads, or checkpoints, in one answer, if no limit is passed."""
_OPENING: Final = 60
"""Characters of a thread's opening, at most."""
MOST: Final = 100
"""The number of threads, or checkpoints, in one answer, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadInfo:
    """A thread as a list shows it.

    - `thread_id`: its id.
    - `updated_at`: when its newest checkpoint was made. On a platform: when the server last changed it.
    - `created_at`: when its first checkpoint was made, or when the server created it. None if that is not known.
    - `status`: see `ThreadStatus`.
    - `metadata`: JSON values by name. They come from the starts of its runs, and from `Threads.update`.
    - `agent`: the agent or the graph that the thread belongs to. None if nothing names one.
    - `opening`: the first words of its user. None if they are not known.
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
        """Whether the metadata `agui_archived` says that it is archived. Lists for people leave out archived
        threads."""
        return self.metadata.get(ARCHIVED) is True

    @property
    def title(self) -> str | None:
        """Its title: the metadata `agui_title`, or else the `opening`."""
        title = self.metadata.get(TITLE)
        return title if isinstance(title, str) and title else self.opening


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Some threads, the newest first. `next`: the `after` for the call that returns the next page; None if this page is
    the last. A page may have fewer threads than its limit, or even no threads, and still not be the last."""

    threads: Sequence[ThreadInfo]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointTask:
    """What a node does, or did, directly after a checkpoint.

    - `node`: the name of the node.
    - `interrupts`: the interrupts at which it waits, or has waited: LangGraph's objects, or their JSON from a platform.
    - `error`: the error that it raised, as the checkpointer or the platform keeps it. None if it raised no error.
    """

    node: str
    interrupts: Sequence[Any] = ()
    error: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One checkpoint of a thread.

    - `id`, `parent_id`: its id, and the id of the checkpoint that it follows. The first checkpoint follows None.
    - `created_at`: when it was made, as the checkpointer says (ISO 8601). None if the checkpointer does not say.
    - `values`: the values of the graph's channels, which are its state, as the graph keeps them.
    - `next`: the nodes that run next. Empty after the end of a run.
    - `tasks`: the same nodes, with the interrupts at which they wait and the errors with which they failed.
    - `run_id`: the id of the run that made it, as the checkpointer or the platform knows it.
    - `metadata`: LangGraph's (`source`, `step`), and those with which its run was started.
    """

    id: str
    values: Mapping[str, Any]
    parent_id: str | None = None
    created_at: str | None = None
    next: Sequence[str] = ()
    tasks: Sequence[CheckpointTask] = ()
    metadata: Mapping[str, Any]

    @property
    def run_id(self) -> str | None:
        """The id of the run that made it."""
        return self.metadata.get("run_id")

    @property
    def client_run_id(self) -> str | None:
        """The id under which that run is emitted: its client's, or else `run_id`."""
        return self.metadata.get(RUN_ID) or self.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run as a list shows it.

    - `run_id`: its id.
    - `status`: `running` or `stopping`, or how it ended.
    - `started_at`, `ended_at`: when it began and ended, as far as that is known.
    - `events`: the number of its events, if they are kept.
    - `size`: the size of its events where they are kept, in bytes; 0 if they are not kept.
    """

    run_id: str
    status: FinishedStatus
    started_at: datetime | None = None
    ended_at: datetime | None = None
    events: int | None = None
    size: int = 0

    @property
    def is_kept(self) -> bool:
        """Whether its events are kept. The events of any other run are made of its checkpoints."""
        return self.size > 0


class Threads(Protocol):
    """The threads of a graph of this process, or of a server's assistant. `threads(source)` returns them.

    A thread of another agent or user counts as one that does not exist. Every method raises

    - `InvalidThreadIdError` for an invalid id,
    - `ValueError` for a limit that is not from 1 to 100, and for an `after` that is not the `next` of a page,
    - `UnreadableError` if a checkpointer or a store raises,
    - `PlatformError` and `ConnectionLost` if a platform refuses a request, or can't be reached.
    """

    async def search(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        status: ThreadStatus | None = None,
        text: str | None = None,
        limit: int = LIMIT,
        after: str | None = None,
    ) -> ThreadPage:
        """Returns threads, the newest first.

        - `metadata`: only threads that have all of these values.
        - `status`: only threads with this status.
        - `text`: only threads that have each word of this text in their title or id, in upper or lower case. A page may
          be short or empty and not be the last, because a limited number of threads is searched for each page.
        - `limit`: the number of threads, at most.
        - `after`: the `next` of the page before; None begins with the newest thread.
        """

    async def get(self, thread_id: str) -> ThreadInfo | None:
        """Returns one thread; None if no thread has this id."""

    async def update(self, thread_id: str, metadata: Mapping[str, Any]) -> ThreadInfo:
        """Writes metadata of a thread, which are JSON values by name, and returns the thread. Other names keep their
        values.

        Raises `ValueError` for metadata that decide who may use the thread, or which list has it: `agui_agent`,
        `graph_id`, `assistant_id`, and the keys of the user's filter (see `access`). Raises `ThreadNotFoundError`.
        Raises `NotSupportedError` for a graph of this process that has no store, since the metadata are kept there.
        """

    async def delete(self, thread_id: str) -> None:
        """Deletes a thread with all its checkpoints. Raises `ThreadNotFoundError`, and `RunConflictError` while a run
        is active. If a deletion fails because something did not answer, it can be repeated."""

    async def runs(self, thread_id: str, *, limit: int = LIMIT) -> Sequence[RunInfo]:
        """Returns the runs of a thread, the newest first: those that the run store keeps, or that the server lists, and
        those that made the newest checkpoints. `limit`: the number of runs, at most. Raises `ThreadNotFoundError`."""

    async def history(self, thread_id: str, *, limit: int = LIMIT, before: str | None = None) -> Sequence[Checkpoint]:
        """Returns checkpoints of a thread, the newest first; an empty list for an unknown thread. `limit`: the number
        of checkpoints, at most. `before`: the id of a checkpoint; only older ones are returned."""


def opening_of(messages: Any) -> str | None:
    """Returns the first words of the first user message, at most 60 characters on one line; None if there is no such
    message. `messages`: in any form that LangChain accepts."""
    try:
        converted = convert_to_messages(messages if isinstance(messages, list) else [messages])
        users = (message for message in converted if isinstance(message, HumanMessage) and message.text.strip())
        first = next(users, None)
    except Exception:  # a graph's input may have something else under this name, and a list must not depend on it
        return None
    if first is None:
        return None
    line = " ".join(first.text.split())
    return line if len(line) <= _OPENING else (line[:_OPENING].rpartition(" ")[0] or line[: _OPENING - 1]) + "\u2026"


def matches(info: ThreadInfo, text: str | None) -> bool:
    """Returns whether a thread has each word of a text in its title or id, in upper or lower case. If the text is None,
    every thread matches."""
    named = f"{info.title or ''} {info.thread_id}".casefold()
    return text is None or all(word in named for word in text.casefold().split())


def checked_limit(limit: int) -> int:
    """Returns the limit. Raises `ValueError` if it is not from 1 to 100."""
    if not 1 <= limit <= MOST:
        raise ValueError(f"limit: expected a number from 1 to {MOST}, got {limit!r}")
    return limit


async def existing_thread(threads: Threads, thread_id: str) -> ThreadInfo:
    """Returns one thread. Raises `ThreadNotFoundError` if no thread has this id."""
    info = await threads.get(thread_id)
    if info is None:
        raise ThreadNotFoundError
    return info


async def first_checkpoints(checkpoints: AsyncGenerator[Checkpoint, None], limit: int) -> list[Checkpoint]:
    """Returns the first of these checkpoints, at most `limit`, without reading the rest."""
    first: list[Checkpoint] = []
    async with aclosing(checkpoints):
        async for checkpoint in checkpoints:
            first.append(checkpoint)
            if len(first) == limit:
                break
    return first
