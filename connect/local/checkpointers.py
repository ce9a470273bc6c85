"""Checks the checkpointer of a graph, limits the time of its answers, and converts its errors. What a checkpointer
contains does not matter here."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from .. import metrics
from ..errors import GraphNotMadeError, OtherProcessError, StoreUnavailableError, UnreadableError

Graph = Pregel[Any, Any, Any, Any]
"""A compiled graph."""

_METHODS: Final = ("aget_tuple", "alist", "aput", "aput_writes")
"""The methods of a checkpointer that a run in an event loop calls."""

READ_TIMEOUT: Final = 10.0
"""Seconds within which a checkpointer or a store must answer. This is enough for long threads on slow disks."""

_Answer = TypeVar("_Answer")

_log = logging.getLogger(__name__)


def has_checkpointer(graph: Graph) -> bool:
    """Returns whether the graph has a checkpointer, which keeps its threads."""
    return isinstance(graph.checkpointer, BaseCheckpointSaver)


def check_saver(graph: Graph) -> None:
    """Raises `TypeError` if the checkpointer is synchronous, since every run and every read of a thread would fail.

    Such a class inherits at least one asynchronous method of `BaseCheckpointSaver`, where these methods only raise.
    """
    kind = type(graph.checkpointer)
    if not issubclass(kind, BaseCheckpointSaver):
        return
    missing = [name for name in _METHODS if getattr(kind, name) is getattr(BaseCheckpointSaver, name)]
    if missing:
        raise TypeError(
            f"the graph's checkpointer, a {kind.__name__}, is synchronous (it has no {missing[0]}): "
            f"compile the graph with {_asynchronous(kind)}"
        )


def with_threads(graph: Graph, saver: BaseCheckpointSaver[Any] | None, store: BaseStore | None) -> Graph:
    """Returns the graph with this checkpointer and this store, where it has none of its own. The graph that is passed
    in stays as it is."""
    update: dict[str, Any] = {}
    if saver is not None and graph.checkpointer is not False and not has_checkpointer(graph):
        update["checkpointer"] = saver
    if graph.store is None and store is not None:
        update["store"] = store
    return graph.copy(update=update) if update else graph


async def wait_for_answer(call: Coroutine[Any, Any, _Answer], seconds: float = READ_TIMEOUT) -> _Answer:
    """Returns the result of a call to a checkpointer or a store. Raises what the call raises, and `SilentError` if it
    takes longer than `seconds`. In that case the call is cancelled, but its end is not awaited: on a connection whose
    server is silent, the call may never end."""
    task, started = asyncio.ensure_future(call), metrics.clock()
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            _abandoned.add(task)
            task.add_done_callback(_forget)
    error = SilentError(seconds) if task in _abandoned else None if task.cancelled() else task.exception()
    metrics.read_ended(metrics.clock() - started, error)
    if error is not None:
        raise error
    return task.result()


_abandoned: set[asyncio.Future[Any]] = set()
"""Cancelled calls that have not ended. The event loop itself keeps only weak references to tasks."""


def _forget(call: asyncio.Future[Any]) -> None:
    _abandoned.discard(call)
    if not call.cancelled():
        call.exception()  # otherwise asyncio logs that it was never retrieved


class SilentError(Exception):
    """A checkpointer, or a store, did not answer in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")


@contextmanager
def reading(label: str) -> Iterator[None]:
    """Logs what a checkpointer raises in the block, and raises it as `UnreadableError`. Errors of the run store, of the
    process lock, and of a function that makes graphs are raised as they are. `label`: the agent, the thread and the
    run, for the log."""
    try:
        yield
    except (StoreUnavailableError, OtherProcessError, GraphNotMadeError):
        raise
    except SilentError as error:
        _log.error("The checkpointer does not answer: %s (%s).", error, label)
        raise UnreadableError(error) from error
    except Exception as error:  # whatever a checkpointer raises
        _log.exception("The checkpointer raised (%s).", label)
        raise UnreadableError(error) from error


def _asynchronous(kind: type) -> str:
    """Names the asynchronous class that corresponds to a synchronous one. LangGraph's packages put `Async` before its
    name."""
    for base in kind.__mro__:
        for module in (f"{base.__module__}.aio", base.__module__):
            name = f"Async{base.__name__}"
            try:
                if hasattr(importlib.import_module(module), name):
                    return f"{name} (of {module})"
            except ImportError:
                continue
    return "an asynchronous one, such as AsyncSqliteSaver or AsyncPostgresSaver"
