"""Graphs imported and built: from a `Target` to a compiled graph with a checkpointer. Never how they are served.

What a variable may be, as LangGraph's own server takes it:

- a compiled graph; or a `StateGraph`, which is compiled here;
- a function that makes one, with no argument or with a config; synchronous, asynchronous, or a context manager.

LangGraph's server calls such a function for each run; here it is called once, with an empty config, and a context
manager is left when the server ends. A graph is given a checkpointer and a store where it has none, in a copy: the
object of the module stays as it is. One that was compiled with a checkpointer keeps it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

from langchain_core.runnables.config import ensure_config
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from ...local.backend import Local
from ...local.checkpointers import with_threads
from ..errors import Failure, Misuse, brief, place
from .checkpointers import Threads
from .project import Project
from .targets import Target

Graph = Pregel[Any, Any, Any, Any]

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
    """The graph that a variable is or makes. `lifetime`: what is entered for it is left with this.

    Raises `Failure` with what it is instead, or how it failed.
    """
    made = found
    if callable(found) and not isinstance(found, Pregel | StateGraph):
        try:
            made = await _entered(_called(target, found), lifetime)
        except (Exception, SystemExit) as error:
            if isinstance(error, Failure):
                raise
            raise Failure(f"{target.written} raised {brief(error)}{place(error, Path.cwd())}") from error
    try:
        graph = made.compile() if isinstance(made, StateGraph) else made
    except Exception as error:  # a graph that is not whole
        raise Failure(f"{target.written} can't be compiled: {brief(error)}") from error
    if not isinstance(graph, Pregel):
        raise _no_graph(target, graph)
    return _kept(graph, target.name, threads)


def source_of(target: Target, graph: Graph) -> Local:
    """A graph as the agent of its target. Raises `Failure` for one that can be none."""
    try:
        return Local(graph, agent=target.name)
    except TypeError as error:
        raise Failure(f"{target.written}: {error}") from error


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


def _called(target: Target, factory: Callable[..., Any]) -> Any:
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except ValueError:  # a type of Python's own
        raise _no_graph(target, factory) from None
    if len(parameters) > 1 or any("ServerRuntime" in str(each.annotation) for each in parameters):
        raise Failure(
            f"{target.written}: only LangGraph's own server has what this function takes "
            f"({', '.join(each.name for each in parameters)}); expected no argument, or a config"
        )
    return factory(**{each.name: ensure_config() for each in parameters})


async def _entered(made: Any, lifetime: AsyncExitStack) -> Any:
    if hasattr(made, "__aenter__"):
        return await lifetime.enter_async_context(made)
    if hasattr(made, "__enter__"):
        return lifetime.enter_context(made)
    return await made if inspect.isawaitable(made) else made


def _kept(graph: Graph, name: str, threads: Threads) -> Graph:
    """A copy of the graph that keeps its threads; the name of one without is the agent's, as on LangGraph's server."""
    found = with_threads(graph, threads.checkpointer, threads.store)
    return found.copy(update={"name": name}) if found.name == _UNNAMED else found
