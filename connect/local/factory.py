"""Graphs that are made for each request. `GraphFactory` calls the function that makes them. `MadeGraph` is one of them,
with its context manager, which is left when the graph's run has ended.

A function is called as LangGraph's server calls the functions of a `langgraph.json`
(https://docs.langchain.com/langsmith/graph-rebuild). It may be synchronous or asynchronous, or return a synchronous or
an asynchronous context manager. What it gets depends on its parameters:

| parameter | argument |
|---|---|
| one annotated with `ServerRuntime` (`langgraph_sdk.runtime`) | the user, the store, the context, and the purpose |
| `user` | the user, as `authenticate` returned it; None without one |
| any other, if there is one | the config, with the thread's id and the user in `configurable` |

It never gets the HTTP request, since another process must be able to call it.

All graphs of an agent have the same checkpointer and the same store: those of the first graph. If the first graph has
none, it gets those that were passed to the agent.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from typing import Any, Final, Literal

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from ...translator import Options
from ..access import USER
from ..default_options import options_for
from .checkpointers import Graph, check_saver, with_threads

GraphFunction = Callable[..., Any]
"""A function that makes a graph; see the module `local.factory`."""

Purpose = Literal["threads.create_run", "threads.read", "assistants.read"]
"""What a graph is made for, in the words of LangGraph's server: to run it, to read a thread with it, or for its
schemas."""

_Kind = Literal["config", "user", "runtime"]

_IS_RUN: Final = "__is_for_execution__"
"""The key of `configurable` by which LangGraph's server says whether the graph is going to be run."""
_LEAVE_WITHIN: Final = 5.0
"""Seconds that context managers have at the end of a server."""

_UNNAMED: Final = "LangGraph"
"""The name of a graph that was given none."""

_log = logging.getLogger(__name__)


class UnusableGraphError(TypeError):
    """A function returned something other than a graph that can be run."""


class MadeGraph:
    """A graph that was made for one request. At the end of a `with` block it is left, unless a run has taken it.
    `left`: the future for which its context manager waits, if it has one."""

    def __init__(self, graph: Graph, left: asyncio.Future[BaseException | None] | None = None) -> None:
        self.graph = graph
        self.is_taken = False
        """Whether a run has taken the graph, and will leave it."""
        self._left = left

    def __enter__(self) -> MadeGraph:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.is_taken:
            self.leave()

    @property
    def is_open(self) -> bool:
        """Whether it has a context manager that has not been left."""
        return self._left is not None and not self._left.done()

    def leave(self, error: BaseException | None = None) -> None:
        """Leaves the context manager in the background. Does nothing the second time. `error`: the exception that ended
        the run, which the context manager gets as if it were around the run."""
        if self._left is not None and not self._left.done():
            self._left.set_result(error)


class GraphFactory:
    """The function of one agent, and what all of its graphs have in common.

    `checkpointer`, `store`: for graphs that have none. `agent`: the name of graphs that have none. Raises `TypeError`
    if `function` can't be called as a function that makes graphs.
    """

    def __init__(
        self,
        function: GraphFunction,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
        agent: str | None = None,
    ) -> None:
        self.name = str(getattr(function, "__name__", None) or type(function).__name__)
        self.template: Graph | None = None
        """The first graph, whose schemas, options and channels stand for those of all. None if no graph has been made
        yet."""
        self._function = function
        self._signature, self._kinds = _parameters_of(function, self.name)
        self._checkpointer, self._store, self._agent = checkpointer, store, agent
        self._options: Options | None = None
        self._held: MadeGraph | None = None
        """The first graph, if its context manager keeps the checkpointer or the store of the agent open."""
        self._open: set[asyncio.Task[None]] = set()

    @property
    def options(self) -> Options:
        """The options that show the output schema of the first graph; if there is none yet, only the conversation."""
        if self.template is None:
            return Options(state_include=frozenset())
        if self._options is None:
            self._options = options_for(self.template)
        return self._options

    async def prepare(self, config: Mapping[str, Any], user: Any, label: str) -> None:
        """Makes the first graph, if none has been made. Raises what the function raises. `label`: for the log."""
        template = self.template
        if template is not None:
            return
        made = await self.make("assistants.read", config, user, label)
        template = self.template
        if template is not None:  # another request was faster
            made.leave()
            return
        self.template, self._options = made.graph, None
        if made.is_open and (self._checkpointer, self._store) != (made.graph.checkpointer, made.graph.store):
            self._held = made
        else:
            made.leave()

    async def read(self, config: Mapping[str, Any], user: Any, label: str) -> Graph:
        """Makes a graph with which a thread is read. Its context manager is left at once, since no node runs. Raises
        what the function raises."""
        made = await self.make("threads.read", config, user, label)
        made.leave()
        return made.graph

    async def make(
        self, purpose: Purpose, config: Mapping[str, Any], user: Any, label: str, context: Any = None
    ) -> MadeGraph:
        """Makes a graph for one request, which the caller must leave. Raises what the function raises, and `TypeError`
        if it does not return a graph. `context`: the runtime context of the run. `label`: for the log."""
        returned = self._call(purpose, config, user, context)
        if hasattr(returned, "__aenter__") or hasattr(returned, "__enter__"):
            return await self._enter(returned, label)
        return MadeGraph(self._complete(await returned if inspect.isawaitable(returned) else returned))

    async def aclose(self) -> None:
        """Waits a little for the context managers of runs that have ended, and cancels those that do not end."""
        if self._held is not None:
            self._held.leave()
            self._held = self.template = None
        loop = asyncio.get_running_loop()
        leaving = [task for task in self._open if task.get_loop() is loop]
        if leaving:
            _, late = await asyncio.wait(leaving, timeout=_LEAVE_WITHIN)
            for task in late:
                _log.error("A context manager of %s does not end, and is cancelled.", self.name)
                task.cancel()

    def _call(self, purpose: Purpose, config: Mapping[str, Any], user: Any, context: Any) -> Any:
        configured: RunnableConfig = ensure_config(RunnableConfig(**config))  # type: ignore[typeddict-item]
        is_run = purpose == "threads.create_run"
        configured["configurable"] = {**configured.get("configurable", {}), _IS_RUN: is_run}
        values: dict[_Kind, Callable[[], Any]] = {
            "config": lambda: configured,
            "user": lambda: user,
            "runtime": lambda: self._runtime(purpose, configured["configurable"].get(USER), context),
        }
        bound = self._signature.bind_partial()
        bound.arguments.update({name: values[kind]() for name, kind in self._kinds.items()})
        return self._function(*bound.args, **bound.kwargs)

    def _runtime(self, purpose: Purpose, user: Any, context: Any) -> Any:
        """Returns a `ServerRuntime` as LangGraph's server makes it. Its two classes have no public names."""
        from langgraph_sdk import runtime  # older versions have no `runtime`, and then no function asks for one

        store: Any = self._store if self.template is None else self.template.store
        if purpose == "threads.create_run":
            return runtime._ExecutionRuntime(access_context=purpose, user=user, store=store, context=context)
        return runtime._ReadRuntime(access_context=purpose, user=user, store=store)

    def _complete(self, made: Any) -> Graph:
        """Returns the graph with the agent's checkpointer and store. `made`: what the function made."""
        graph = made.compile() if isinstance(made, StateGraph) else made
        if not isinstance(graph, Pregel):
            raise UnusableGraphError(f"{self.name} returned {type(graph).__name__}: expected a graph")
        if self._agent is not None and graph.name == _UNNAMED:
            graph = graph.copy(update={"name": self._agent})
        if self.template is None:
            try:
                check_saver(graph)
            except TypeError as error:
                raise UnusableGraphError(str(error)) from None
            return with_threads(graph, self._checkpointer, self._store)
        ours = {"checkpointer": self.template.checkpointer, "store": self.template.store}
        return graph if all(getattr(graph, name) is value for name, value in ours.items()) else graph.copy(update=ours)

    async def _enter(self, manager: Any, label: str) -> MadeGraph:
        """Returns the graph of a context manager. A task of its own enters and leaves the context manager, since some
        can be left only in the task that entered them, and this one outlives the request."""
        loop, context = asyncio.get_running_loop(), copy_context()
        entered: asyncio.Future[Any] = loop.create_future()
        left: asyncio.Future[BaseException | None] = loop.create_future()
        task = loop.create_task(_hold(manager, entered, left, label), name=f"graph of {self.name}", context=context)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        try:
            made = await entered
        except asyncio.CancelledError:
            task.cancel()
            raise
        _set_variables(context)
        try:
            return MadeGraph(self._complete(made), left)
        except BaseException as error:
            left.set_result(error)
            raise


def is_function(value: object) -> bool:
    """Returns whether a value may be a function that makes graphs: it is callable, and not a graph, a model or a tool.
    A class counts as one if its objects are context managers."""
    if not callable(value) or isinstance(value, Runnable):
        return False
    return not isinstance(value, type) or hasattr(value, "__aenter__") or hasattr(value, "__enter__")


def _parameters_of(function: GraphFunction, name: str) -> tuple[inspect.Signature, dict[str, _Kind]]:
    """Returns the signature of a function, and the kind of argument that each of its parameters gets. Raises
    `TypeError`."""
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        kind = "asynccontextmanager" if inspect.isasyncgenfunction(function) else "contextmanager"
        raise TypeError(f"{name} yields its graph: expected @{kind} (of contextlib) above it")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise TypeError(f"expected a function that makes a graph, got {name}") from None
    kinds: dict[str, _Kind] = {}
    others = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if _is_of_request(parameter.annotation):
            raise TypeError(
                f"{name} takes a request, {parameter.name}: expected at most a config, a user and a ServerRuntime. "
                "What it needs from the request goes into the config: Agent(..., intake=function_of_the_request)"
            )
        if "ServerRuntime" in str(parameter.annotation):
            kinds[parameter.name] = "runtime"
        elif parameter.name == "user":
            kinds[parameter.name] = "user"
        else:
            others.append(parameter)
    required = [parameter for parameter in others if parameter.default is parameter.empty]
    if len(required) > 1:
        names = ", ".join(parameter.name for parameter in required)
        raise TypeError(f"{name} takes {names}: expected at most a config, a user and a ServerRuntime")
    if not required and len(others) > 1:
        others = [parameter for parameter in others if parameter.name == "config"]
    return signature, {**kinds, **dict.fromkeys((parameter.name for parameter in required or others), "config")}


def _is_of_request(annotation: Any) -> bool:
    """Returns whether a parameter is meant for an HTTP request. The classes of servers are not imported here."""
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] == "Request"
    bases = annotation.__mro__ if isinstance(annotation, type) else ()
    return any(base.__module__ == "starlette.requests" for base in bases)


async def _hold(
    manager: Any, entered: asyncio.Future[Any], left: asyncio.Future[BaseException | None], label: str
) -> None:
    """Enters a context manager, and leaves it when `left` is done."""
    error: BaseException | None = None
    try:
        async with _asynchronous(manager) as made:
            if entered.done():  # the request was cancelled
                return
            entered.set_result(made)
            error = await left
            if error is not None:
                raise error
    except BaseException as raised:
        if not entered.done() and not isinstance(raised, asyncio.CancelledError):
            entered.set_exception(raised)
        elif isinstance(raised, asyncio.CancelledError) and raised is not error:
            entered.cancel()
            raise
        elif error is None or not _is_only(raised, error):
            _log.error("Leaving the context manager of a graph raised (%s).", label, exc_info=raised)


@asynccontextmanager
async def _asynchronous(manager: Any) -> AsyncIterator[Any]:
    if hasattr(manager, "__aenter__"):
        async with manager as made:
            yield made
    else:
        with manager as made:
            yield made


def _is_only(raised: BaseException, error: BaseException) -> bool:
    """Returns whether an exception is this error, or a group of nothing else, as a task group raises it."""
    if isinstance(raised, BaseExceptionGroup):
        return all(_is_only(inner, error) for inner in raised.exceptions)
    return raised is error


def _set_variables(context: Context) -> None:
    """Sets the context variables that a context manager has set, so that the nodes of its graph see them, as if the
    context manager were around the run."""
    for variable, value in context.items():
        if variable.get(None) is not value:
            variable.set(value)
