"""`QueuedInputs`: the queued inputs of this process. It owns the task of each input until its run has started.

An input is queued while another run is active on its thread. Its task does not depend on the request. Rules:
- Nothing is lost silently: an input that is refused, fails or is given up is logged, even without a reader.
- An input that does not need its reader runs even if the reader has left.
- If the run before an input is handed over to another process, the input follows it, if that process can run it. It
  is stored with the run then, until the run ends. So if that process loses the run too, for example because it is
  frozen, the input follows the run again, and does not run there as well.
- The feeds of the thread wake when an input is no longer queued, because they may have waited for it.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable, Coroutine, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from ... import metrics
from ...errors import NotRunError, RequestError, ServerEndsError, log_context
from ...events.encoded import Batches
from ...events.relay import Relayed, relaying
from ..store.active_run import ThreadKey
from .run_input import NotJsonError

_Made = TypeVar("_Made")
AsJson = Callable[[], dict[str, Any]]
"""Returns a queued input as JSON. Raises `NotJsonError`."""

_log = logging.getLogger(__name__)

_NOT_RUN: Final = "This input was queued, and did not run: the server is shutting down. Send it again."
_FOLLOWS: Final = "This server is shutting down. The input keeps its place in the queue: connect to it again."


class AgentKey(NamedTuple):
    """An agent whose runs are found. `agent`: its name, or its graph. `namespace`: the namespace of its threads."""

    agent: Hashable
    namespace: str


@dataclass(slots=True)
class _Queued:
    """A queued input. `label`: its name in log lines. `needs_reader`: whether it is given up when its reader leaves.
    `as_json`, `came_with`: see `QueuedInputs.own`."""

    agent: Hashable
    thread: ThreadKey
    label: str
    needs_reader: bool
    as_json: AsJson | None
    came_with: object


class QueuedInputs:
    """The inputs of one event loop that wait for the end of another run. `wake`: wakes the feeds of a thread."""

    def __init__(self, wake: Callable[[ThreadKey], None]) -> None:
        self._wake = wake
        self._queued: dict[asyncio.Task[Any], _Queued] = {}
        self._handed_over: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()

    def own(
        self,
        work: Coroutine[Any, Any, _Made],
        *,
        agent: Hashable,
        thread: ThreadKey,
        run_id: str,
        needs_reader: bool = False,
        as_json: AsJson | None = None,
        came_with: object = None,
    ) -> asyncio.Task[_Made]:
        """Makes a task of `work`, which waits for the end of another run and then starts the run of the input.

        - `needs_reader`: whether the task is also cancelled when its client leaves.
        - `as_json`: returns the input as another process can submit it; see `run_input.queued_input`. None if no other
          process can.
        - `came_with`: the run that the input has followed to this process; None if it has arrived here.
        """
        task = asyncio.get_running_loop().create_task(work)
        label = log_context(agent, thread.thread_id, run_id)
        metrics.input_queued(1)
        self._queued[task] = _Queued(agent, thread, label, needs_reader, as_json, came_with)
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
        none. Raises `NotRunError` if the input does not run here: after an error, which is logged, or because the
        server ends."""
        try:
            batches: Batches | None = await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled() or _is_cancelled():
                self._reader_left(task)
                raise
            raise NotRunError(ServerEndsError(_FOLLOWS if task in self._handed_over else _NOT_RUN)) from None
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
            if task not in self._handed_over:
                task.cancel()
                _log.warning("A queued input does not run: its server has ended (%s).", self._queued[task].label)
        return tasks

    def hand_over(self, thread: ThreadKey, agent: Hashable) -> list[dict[str, Any]]:
        """Cancels the inputs of an agent on a thread that another process can run, and returns them in the order in
        which they have arrived. Their readers are told that they keep their place."""
        queued_inputs = []
        for task, queued in self._queued.items():
            if (queued.thread, queued.agent) != (thread, agent) or queued.as_json is None:
                continue
            if task.done() or task.cancelling():
                continue
            with suppress(NotJsonError):
                queued_inputs.append(queued.as_json())
                self._leave(task)
        return queued_inputs

    def give_way(self, run: object) -> None:
        """Cancels the inputs that came with a run which this process has lost. Whoever continues the run has them."""
        for task, queued in self._queued.items():
            if queued.came_with is run and not (task.done() or task.cancelling()):
                self._leave(task)

    def _leave(self, task: asyncio.Task[Any]) -> None:
        self._handed_over.add(task)
        task.cancel()
        _log.warning("A queued input follows its run to another process (%s).", self._queued[task].label)

    def _disown(self, task: asyncio.Task[Any]) -> None:
        queued = self._queued.pop(task)
        metrics.input_queued(-1)
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
