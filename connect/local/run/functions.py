"""Finds the synchronous functions of a run that are still running. They run in threads, and cancelling the run does not
stop them.

LangGraph and LangChain call a synchronous node or tool in the event loop's default executor, in a copy of the calling
task's context, as `asyncio.to_thread` does. When that task is cancelled, it ends at once, and the function continues.
No public interface shows which functions are running. The frames of the executor in the running threads show it; they
are read here and never changed. A function that an executor calls without a copy of the context is not found.
"""

from __future__ import annotations

import sys
from concurrent.futures import Future, thread
from contextvars import Context, ContextVar, copy_context
from types import FrameType
from typing import Any, Final

_run: ContextVar[object] = ContextVar("langgraph_agui_run")
_EXECUTING: Final = getattr(getattr(getattr(thread, "_WorkItem", None), "run", None), "__code__", None)
"""The code that executes a function in a thread; None if Python has another name for it, and no function is found."""


def context_for(mark: object) -> Context:
    """Returns a copy of the current context in which `mark` identifies the run, also in copies of that context."""
    context = copy_context()
    context.run(_run.set, mark)
    return context


def running_functions(mark: object) -> list[Future[Any]]:
    """Returns the functions that threads are executing in a context of the run that `mark` identifies."""
    functions: list[Future[Any]] = []
    for top in sys._current_frames().values():
        frame: FrameType | None = top
        while frame is not None:
            if frame.f_code is _EXECUTING and (item := frame.f_locals.get("self")) is not None:
                context = getattr(getattr(_function(item), "func", None), "__self__", None)
                if isinstance(context, Context) and context.get(_run) is mark and not item.future.done():
                    functions.append(item.future)
            frame = frame.f_back
    return functions


def _function(item: Any) -> Any:
    """Returns the function that a work item calls, which is in its `task` since Python 3.14."""
    return item.fn if hasattr(item, "fn") else item.task[0]
