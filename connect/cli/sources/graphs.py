"""Graphs imported and built: from a `Target` to a compiled graph with a checkpointer. Never how they are served.

What a variable may be, as LangGraph's own server takes it:

- a compiled graph; or a `StateGraph`, which is compiled here;
- a function that makes one: see `local.factory`. What is served calls it for each run, as LangGraph's server does
  (`source_of`); every other command has one run, or one thread, and calls it once (`built`), without a thread and a
  user, and leaves a context manager at its end.

A graph is given a checkpointer and a store where it has none, in a copy: the object of the module stays as it is. One
that was compiled with a checkpointer keeps it.
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
from ..errors import Failure, Misuse, brief, place
from .checkpointers import Threads
from .project import Project
from .targets import Target

Graph = Pregel[Any, Any, Any, Any]

_log = logging.getLogger(__name__)

_UNNAMED = "LangGraph"
"""The name of a graph that was given none."""


def imported(project: Project, target: Target) -> Any:
    """The variable that a target names. Raises `Misuse` if there is none, `Failure` if its module can't be imported."""
    try:
        module = _from_file(project.folder, target) if target.is_file else importlib.import_module(target.home)
    except Misuse:
        raise
    except (Exception, SystemExit) as error:  # whatever a module does when it is imported
        if isinstance(error, ModuleNotFoundError) and not target.is_file and _is_part(error.name, target.home):
            raise Misuse(f"{target.written}: there is no module {error.name}") from error
        raise Failure(f"{target.written} can't be imported: {brief(error)}{place(error, project.folder)}") from error
    try:
        return getattr(module, target.attribute)
    except AttributeError:
        raise Misuse(f"{target.written}: {target.home} has no {target.attribute!r}{_others(module)}") from None


async def built(target: Target, found: Any, threads: Threads, lifetime: AsyncExitStack) -> Graph:
    """The graph that a variable is, or makes when it is called once. `lifetime`: what is entered for it is left with
    this.

    Raises `Failure` with what it is instead, or how it failed.
    """
    if not is_function(found):
        return _kept(_compiled(target, found), target.name, threads)
    factory = _factory(target, found)
    try:
        made = await factory.make("threads.create_run", {}, None, target.written)
    except (Exception, SystemExit) as error:
        raise _failure_of(target, error) from error
    lifetime.push_async_callback(factory.aclose)
    lifetime.callback(made.leave)
    return _kept(made.graph, target.name, threads)


def source_of(target: Target, graph: Graph) -> Local:
    """A graph as the agent of its target. Raises `Failure` for one that can be none."""
    try:
        return Local(graph, agent=target.name)
    except TypeError as error:
        raise Failure(f"{target.written}: {error}") from error


async def served_source(target: Target, found: Any, threads: Threads) -> Local:
    """A variable as the agent that is served: a function is called for each run. Its first graph is made at once, if it
    can be; it may need a user, so what it raises is the app's to log. Raises `Failure` for what can be no agent."""
    if not is_function(found):
        return source_of(target, _kept(_compiled(target, found), target.name, threads))
    _factory(target, found)
    source = Local(found, agent=target.name, checkpointer=threads.checkpointer, store=threads.store)
    try:
        await source.prepare_first()
    except (UnusableGraphError, SystemExit) as error:
        raise _failure_of(target, error) from error
    except Exception as error:
        _log.debug("%s", _failure_of(target, error))
    return source


def _failure_of(target: Target, error: BaseException) -> Failure:
    """How the function of a target failed."""
    if isinstance(error, UnusableGraphError):
        return Failure(f"{target.written}: {error}")
    return Failure(f"{target.written} raised {brief(error)}{place(error, Path.cwd())}")


def _factory(target: Target, found: Any) -> GraphFactory:
    try:
        return GraphFactory(found)
    except TypeError as error:
        raise Failure(f"{target.written}: {error}") from error


def _compiled(target: Target, found: Any) -> Graph:
    try:
        graph = found.compile() if isinstance(found, StateGraph) else found
    except Exception as error:  # a graph that is not whole
        raise Failure(f"{target.written} can't be compiled: {brief(error)}") from error
    if not isinstance(graph, Pregel):
        raise _no_graph(target, graph)
    return graph


def _no_graph(target: Target, found: Any) -> Failure:
    got = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
    return Failure(f"{target.written}: expected a graph, or a function that makes one, got {got}")


def _from_file(folder: Path, target: Target) -> ModuleType:
    path = (folder / target.home).resolve()
    if not path.is_file():
        raise Misuse(f"{target.written}: there is no file {path}")
    name = re.sub(r"\W", "_", target.home.removesuffix(".py"))
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known  # two graphs of one file
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Misuse(f"{target.written}: {path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: what it defines finds its module by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_part(name: str | None, home: str) -> bool:
    """Whether the module that was not found is the target's, not one that it imports."""
    return name is not None and (home == name or home.startswith(f"{name}."))


def _others(module: ModuleType) -> str:
    graphs = [name for name, value in vars(module).items() if isinstance(value, Pregel | StateGraph)]
    return f"; it has {', '.join(graphs)}" if graphs else ""


def _kept(graph: Graph, name: str, threads: Threads) -> Graph:
    """A copy of the graph that keeps its threads; the name of one without is the agent's, as on LangGraph's server."""
    found = with_threads(graph, threads.checkpointer, threads.store)
    return found.copy(update={"name": name}) if found.name == _UNNAMED else found
