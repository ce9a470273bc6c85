"""`QueuedInputs`: the queued inputs of this process. It owns the task of each input until its run has started.

An input is queued while another run is active on its thread. Its task does not depend on the request. Rules:
- Nothing is lost silently: an input that is refused, fails or is given up is logged, even without a reader.
- An input that does not need its reader runs even if the reader has left.
- The feeds of the thread wake when an input is no longer queued, because they may have waited for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from ...errors import NotRunError, RequestError, ServerEndsError, log_context
from ...events.encoded import Batches
from ...events.relay import Relayed, relaying
from ..store.active_run import ThreadKey

_Made = TypeVar("_Made")

_log = logging.getLogger(__name__)

_NOT_RUN: Final = "This input was queued, and did not run: the server is shutting down. Send it again."


class AgentKey(NamedTuple):
    """An agent whose runs are found. `agent`: its name, or its graph. `namespace`: the namespace of its threads."""

    agent: Hashable
    namespace: str


@dataclass(slots=True)
class _Queued:
    """A queued input. `label`: its name in log lines. `needs_reader`: whether it is given up when its reader leaves."""

    agent: Hashable
    thread: ThreadKey
    label: str
    needs_reader: bool


class QueuedInputs:
    """The inputs of one event loop that wait for the end of another run. `wake`: wakes the feeds of a thread."""

    def __init__(self, wake: Callable[[ThreadKey], None]) -> None:
        self._wake = wake
        self._queued: dict[asyncio.Task[Any], _Queued] = {}

    def own(
        self,
        work: Coroutine[Any, Any, _Made],
        *,
        agent: Hashable,
        thread: ThreadKey,
        run_id: str,
        needs_reader: bool = False,
    ) -> asyncio.Task[_Made]:
        """Makes a task of `work`, which waits for the end of another run and then starts the run of the input.
        `needs_reader`: whether the task is also cancelled when its client leaves."""
        task = asyncio.get_running_loop().create_task(work)
        self._queued[task] = _Queued(agent, thread, log_context(agent, thread.thread_id, run_id), needs_reader)
        task.add_done_callback(self._disown)
        return task

    @property
    def tasks(self) -> list[asyncio.Task[Any]]:
        """The tasks of all queued inputs."""
        return list(self._queued)

    @property
    def threads(self) -> set[ThreadKey]:
        """The threads that have queued inputs."""
        return {queued.thread for queued in self._queued.values()}

    def on(self, thread: ThreadKey) -> int:
        """Returns the number of queued inputs of a thread."""
        return sum(queued.thread == thread for queued in self._queued.values())

    def of(self, agent: AgentKey | None) -> list[asyncio.Task[Any]]:
        """Returns the tasks of one agent's inputs."""
        return [task for task, queued in self._queued.items() if (queued.agent, queued.thread.namespace) == agent]

    @relaying
    async def batches(self, task: asyncio.Task[Any]) -> Relayed:
        """Yields the events for the client of an input, from its turn on. `task`: returns them, or None if there are
        none. Raises `NotRunError` if the input does not run: after an error, which is logged, or because the server
        ends."""
        try:
            batches: Batches | None = await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled() or _is_cancelled():
                self._reader_left(task)
                raise
            raise NotRunError(ServerEndsError(_NOT_RUN)) from None
        except Exception as error:
            raise NotRunError(error) from error
        if batches is not None:
            yield batches

    def _reader_left(self, task: asyncio.Task[Any]) -> None:
        queued = self._queued.get(task)
        if queued is not None and queued.needs_reader:
            task.cancel()

    def outlive_readers(self, agent: AgentKey | None) -> None:
        """Lets the inputs of one agent run even if their clients have left."""
        for task in self.of(agent):
            self._queued[task].needs_reader = False

    def give_up(self, tasks: list[asyncio.Task[Any]]) -> list[asyncio.Task[Any]]:
        """Cancels these inputs: they do not run, and their readers get a terminal event. Returns their tasks."""
        for task in tasks:
            task.cancel()
            _log.warning("A queued input does not run: its server has ended (%s).", self._queued[task].label)
        return tasks

    def _disown(self, task: asyncio.Task[Any]) -> None:
        queued = self._queued.pop(task)
        self._wake(queued.thread)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, RequestError):
            _log.warning("A queued input was refused (%s): %s", queued.label, error)
        elif error is not None:
            _log.error("A queued input could not be run (%s).", queued.label, exc_info=error)


def _is_cancelled() -> bool:
    """Returns whether the running task is cancelled, rather than the task that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
