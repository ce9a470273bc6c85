"""Checkpointers: whether a graph has one, whether it can be used here, and what it raises.
Never what is in one."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from ..errors import StoreUnavailableError, UnreadableError

Graph = Pregel[Any, Any, Any, Any]
"""A compiled graph."""

_ASKED: Final = ("aget_tuple", "alist", "aput", "aput_writes")
"""What a run in an event loop asks a checkpointer for."""

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


def with_threads(graph: Graph, saver: BaseCheckpointSaver[Any], store: BaseStore | None) -> Graph:
    """The graph, with this checkpointer and this store where it has none of its own. The graph that is given stays as
    it is."""
    update: dict[str, Any] = {}
    if graph.checkpointer is not False and not isinstance(graph.checkpointer, BaseCheckpointSaver):
        update["checkpointer"] = saver
    if graph.store is None and store is not None:
        update["store"] = store
    return graph.copy(update=update) if update else graph


@contextmanager
def reading(label: str) -> Iterator[None]:
    """What is raised within is the checkpointer's: it is logged, and raised as `UnreadableError`; but for what the run
    store raises. `label`: the agent, the thread and the run, for the log."""
    try:
        yield
    except StoreUnavailableError:
        raise
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
