"""Imports and builds graphs: makes a compiled graph with a checkpointer from a `Target`. How graphs are served is
decided elsewhere.

A target may name any variable that LangGraph's own server accepts:

- A compiled graph, or a `StateGraph`, which is compiled here.
- A function that makes a graph; see `local.factory`. `serve` calls it for each run, as LangGraph's server does
  (`served_source`). Every other command has a single run or thread, so it calls the function once (`build`), without a
  thread or a user, and leaves the context manager that it may return at the end of the command.

A graph without a checkpointer or a store gets them in a copy, and the module's own object is not changed. A graph that
was compiled with a checkpointer keeps it.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import re
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from ...local.backend import Local
from ...local.checkpointers import with_threads
from ...local.factory import GraphFactory, UnusableGraphError, is_function
from ..errors import Failure, Misuse, brief, location
from .checkpointers import Threads
from .project import Project
from .targets import Target

Graph = Pregel[Any, Any, Any, Any]

_log = logging.getLogger(__name__)

_UNNAMED = "LangGraph"
"""LangGraph's name for a graph that was compiled without a name."""


def import_target(project: Project, target: Target) -> Any:
    """Imports the variable that a target names. Raises `Misuse` if it does not exist, and `Failure` if its module can't
    be imported."""
    try:
        module = _from_file(project.folder, target) if target.is_file else importlib.import_module(target.home)
    except Misuse:
        raise
    except (Exception, SystemExit) as error:  # a module may raise anything when it is imported
        if isinstance(error, ModuleNotFoundError) and not target.is_file and _is_part(error.name, target.home):
            raise Misuse(f"{target.written}: the module {error.name} does not exist") from error
        where = location(error, project.folder)
        raise Failure(f"{target.written} can't be imported: {brief(error)}{where}") from error
    try:
        return getattr(module, target.attribute)
    except AttributeError:
        raise Misuse(f"{target.written}: {target.home} has no {target.attribute!r}{_list_graphs(module)}") from None


async def build(target: Target, variable: Any, threads: Threads, lifetime: AsyncExitStack) -> Graph:
    """Returns the graph that a variable contains, or that it makes when it is called once. Context managers that are
    entered for the graph are left with `lifetime`.

    Raises `Failure` if the variable is something else, or if making the graph fails.
    """
    if not is_function(variable):
        return _with_threads(_compile(target, variable), target.name, threads)
    factory = _factory(target, variable)
    try:
        made = await factory.make("threads.create_run", {}, None, target.written)
    except (Exception, SystemExit) as error:
        raise _failure_of(target, error) from error
    lifetime.push_async_callback(factory.aclose)
    lifetime.callback(made.leave)
    return _with_threads(made.graph, target.name, threads)


def source_of(target: Target, graph: Graph) -> Local:
    """Returns a graph as the agent that its target names. Raises `Failure` if the graph can't be an agent."""
    try:
        return Local(graph, agent=target.name)
    except TypeError as error:
        raise Failure(f"{target.written}: {error}") from error


async def served_source(target: Target, variable: Any, threads: Threads) -> Local:
    """Returns a variable as the agent to serve. A function is called for each run, and here once, if possible. That
    first call may fail because it lacks a user, so its exception is only logged; the app logs those of later calls.
    Raises `Failure` if the variable can't be an agent."""
    if not is_function(variable):
        return source_of(target, _with_threads(_compile(target, variable), target.name, threads))
    _factory(target, variable)
    source = Local(variable, agent=target.name, checkpointer=threads.checkpointer, store=threads.store)
    try:
        await source.prepare_first()
    except (UnusableGraphError, SystemExit) as error:
        raise _failure_of(target, error) from error
    except Exception as error:
        _log.debug("%s", _failure_of(target, error))
    return source


def _failure_of(target: Target, error: BaseException) -> Failure:
    """Returns the error for a target whose function failed."""
    if isinstance(error, UnusableGraphError):
        return Failure(f"{target.written}: {error}")
    return Failure(f"{target.written} raised {brief(error)}{location(error, Path.cwd())}")


def _factory(target: Target, function: Any) -> GraphFactory:
    try:
        return GraphFactory(function)
    except TypeError as error:
        raise Failure(f"{target.written}: {error}") from error


def _compile(target: Target, variable: Any) -> Graph:
    try:
        graph = variable.compile() if isinstance(variable, StateGraph) else variable
    except Exception as error:  # an incomplete graph
        raise Failure(f"{target.written} can't be compiled: {brief(error)}") from error
    if not isinstance(graph, Pregel):
        kind = f"the class {graph.__name__}" if isinstance(graph, type) else type(graph).__name__
        raise Failure(f"{target.written}: expected a graph, or a function that makes one, got {kind}")
    return graph


def _from_file(folder: Path, target: Target) -> ModuleType:
    path = (folder / target.home).resolve()
    if not path.is_file():
        raise Misuse(f"{target.written}: the file {path} does not exist")
    name = re.sub(r"\W", "_", target.home.removesuffix(".py"))
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded  # another graph of the same file
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Misuse(f"{target.written}: {path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it is executed, because its classes look up their module by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_part(name: str | None, home: str) -> bool:
    """Whether the module that was not found is the target or one of its parents, and not a module that it imports."""
    return name is not None and (home == name or home.startswith(f"{name}."))


def _list_graphs(module: ModuleType) -> str:
    graphs = [name for name, value in vars(module).items() if isinstance(value, Pregel | StateGraph)]
    return f"; it has {', '.join(graphs)}" if graphs else ""


def _with_threads(graph: Graph, name: str, threads: Threads) -> Graph:
    """Returns a copy of the graph that keeps its threads. A graph without a name is named after the agent, as on
    LangGraph's server."""
    copy = with_threads(graph, threads.checkpointer, threads.store)
    return copy.copy(update={"name": name}) if copy.name == _UNNAMED else copy
