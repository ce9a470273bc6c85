"""Checkpointers: whether a graph has one, whether it can be used here, and what it raises.
Never what is in one."""

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

from ..errors import GraphNotMadeError, OtherProcessError, StoreUnavailableError, UnreadableError

Graph = Pregel[Any, Any, Any, Any]
"""A compiled graph."""

_ASKED: Final = ("aget_tuple", "alist", "aput", "aput_writes")
"""What a run in an event loop asks a checkpointer for."""

READ_TIMEOUT: Final = 10.0
"""Seconds in which a checkpointer or a store has to answer: long threads on slow disks do."""

_Answer = TypeVar("_Answer")

_log = logging.getLogger(__name__)


def has_checkpointer(graph: Graph) -> bool:
    """Whether the graph keeps its threads by itself."""
    return isinstance(graph.checkpointer, BaseCheckpointSaver)


def check_saver(graph: Graph) -> None:
    """Raises `TypeError` for a checkpointer that is synchronous: every run and every read of a thread would fail.

    Such a class has at least one of the asynchronous methods from `BaseCheckpointSaver`, where they only raise.
    """
    kind = type(graph.checkpointer)
    if not issubclass(kind, BaseCheckpointSaver):
        return
    missing = [name for name in _ASKED if getattr(kind, name) is getattr(BaseCheckpointSaver, name)]
    if missing:
        raise TypeError(
            f"the graph's checkpointer, a {kind.__name__}, is synchronous (it has no {missing[0]}): "
            f"compile the graph with {_asynchronous(kind)}"
        )


def with_threads(graph: Graph, saver: BaseCheckpointSaver[Any] | None, store: BaseStore | None) -> Graph:
    """The graph, with this checkpointer and this store where it has none of its own. The graph that is given stays as
    it is."""
    update: dict[str, Any] = {}
    if saver is not None and graph.checkpointer is not False and not has_checkpointer(graph):
        update["checkpointer"] = saver
    if graph.store is None and store is not None:
        update["store"] = store
    return graph.copy(update=update) if update else graph


async def answered(call: Coroutine[Any, Any, _Answer], seconds: float = READ_TIMEOUT) -> _Answer:
    """The result of a call of a checkpointer or a store. Raises what the call raises, and `SilentError` after so many
    seconds. The call is cancelled then, but not waited for: on a connection whose server is silent it may never end."""
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait([task], timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            _left.add(task)
            task.add_done_callback(_ended)
    if task in _left:
        raise SilentError(seconds)
    return task.result()


_left: set[asyncio.Future[Any]] = set()
"""Cancelled calls that have not ended; the event loop keeps tasks by weak references only."""


def _ended(call: asyncio.Future[Any]) -> None:
    _left.discard(call)
    if not call.cancelled():
        call.exception()  # else asyncio logs it as never retrieved


class SilentError(Exception):
    """A checkpointer, or a store, did not answer in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")


@contextmanager
def reading(label: str) -> Iterator[None]:
    """Logs what a checkpointer raises in the block, and raises it as `UnreadableError`; errors of the run store, of the
    process lock and of a function that makes the graph pass. `label`: the agent, the thread and the run, for the
    log."""
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
    """The asynchronous class beside a synchronous one, by the names that LangGraph's packages give them."""
    for each in kind.__mro__:
        for module in (f"{each.__module__}.aio", each.__module__):
            name = f"Async{each.__name__}"
            try:
                if hasattr(importlib.import_module(module), name):
                    return f"{name} (of {module})"
            except ImportError:
                continue
    return "an asynchronous one, such as AsyncSqliteSaver or AsyncPostgresSaver"
