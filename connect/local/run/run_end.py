"""`EndHook` calls the user's hook `after_run`, with the summary of a run that has ended.

The hook is called when the thread is free. An exception that it raises is logged, and changes nothing else. If it is
asynchronous, its tasks are owned here until they return, or until the runs are closed.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable

from .run import Run
from .summary import RunSummary

AfterRun = Callable[[RunSummary], Awaitable[None] | None]

_log = logging.getLogger(__name__)


class EndHook:
    """Calls the hook of one `Runs`. `hook`: None calls nothing."""

    def __init__(self, hook: AfterRun | None) -> None:
        self._hook = hook
        self._calls: dict[asyncio.Future[None], str] = {}
        """Asynchronous calls that have not returned, each with the label of its run."""

    def call(self, run: Run) -> None:
        """Calls the hook for a run that has ended, without waiting for it. Never raises."""
        if self._hook is None:
            return
        try:
            result = self._hook(run.summary)
            if inspect.isawaitable(result):
                task = asyncio.ensure_future(result)
                self._calls[task] = run.label
                task.add_done_callback(self._returned)
        except Exception:
            _log.exception("after_run raised (%s).", run.label)

    async def aclose(self, wait: float) -> None:
        """Waits up to `wait` seconds for asynchronous calls, then cancels them."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=wait)
            for call in list(self._calls):
                call.cancel()

    def _returned(self, task: asyncio.Future[None]) -> None:
        label = self._calls.pop(task)
        if task.cancelled():
            _log.error("after_run was cancelled: the runs were closed (%s).", label)
        elif (error := task.exception()) is not None:
            _log.error("after_run raised (%s).", label, exc_info=error)
