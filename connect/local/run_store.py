"""The runs of this process: `start()`, and `Runs`, the registry that owns them and finds them. Never what a run says.

What is kept, and for how long:

- A live run: until it ends. Its view, its task and its graph are kept with it.
- An ended run of a graph with a checkpointer: how it ended (`LastRun`, a few words), until the thread's next run
  ends, or `remembered` other threads' have. The checkpoint has the rest, but cannot tell a run that was cancelled, or
  killed, from one at a breakpoint.
- An ended run of a graph without one: as it is, for nobody else knows what it said; until the thread's next run, for
  `linger` seconds, or until `lingering` others have ended.

All of it is of one event loop, and changes only in its turns; there are no locks.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Coroutine, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from ...translator import PROTOCOL_VERSION, STREAM_MODES, ClientView, Ending, Failed, Options, Translator, error_event
from ..errors import (
    InvalidIdError,
    InvalidInputError,
    RunConflictError,
    ThreadNotFoundError,
    checked_run_id,
    checked_thread_id,
    log_context,
)
from ..inputs.intake import OnDisconnect
from ..run_outcome import Subgraph
from ..shown import options_for
from .checkpointers import check_saver, has_checkpointer, place_of
from .configs import graph_config
from .owners import MARK, Owners
from .run import Run
from .starts import Starts
from .turns import Lines

Graph = Pregel[Any, Any, Any, Any]
_Key = tuple[Hashable, str]
_Made = TypeVar("_Made")

_log = logging.getLogger(__name__)


class RunNotFoundError(LookupError):
    """There is no such run to do something with; the message says what was looked for."""


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the last run of a thread ended that ran in this process."""

    run_id: str
    started_at: datetime
    ending: Ending
    is_interrupted: bool
    is_stopped: bool
    """Whether it stopped at a static breakpoint."""


class _Queued(NamedTuple):
    """The agent and the thread of a queued input."""

    agent: Hashable
    key: _Key


class Runs:
    """The runs of one event loop, by checkpointer and thread id; without a checkpointer, by agent.

    `linger`: seconds for which an ended run of a graph without a checkpointer can still be read. `lingering`: how many
    such runs at most. `remembered`: of how many threads it is known how their last run ended.
    Close it with `aclose()` or as a context; that cancels what runs.
    """

    def __init__(self, *, linger: float = 60.0, lingering: int = 100, remembered: int = 1_000) -> None:
        self._linger = linger
        self._most_lingering = lingering
        self._most_remembered = remembered
        self._live: dict[_Key, Run] = {}
        self._lingering: OrderedDict[_Key, tuple[Run, asyncio.TimerHandle]] = OrderedDict()
        self._remembered: OrderedDict[_Key, LastRun] = OrderedDict()
        self._starts: weakref.WeakKeyDictionary[Starts, _Key] = weakref.WeakKeyDictionary()
        self.owned: dict[asyncio.Task[Any], _Queued] = {}
        """Inputs that are to run when another run has ended, with their agent and thread."""
        self.lines = Lines()
        self.owners = Owners()

    async def __aenter__(self) -> Runs:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.aclose()

    def start(
        self,
        graph: Graph,
        input: Any,  # noqa: A002 - the name LangGraph gives it
        config: Mapping[str, Any] | None = None,
        *,
        run_id: str | None = None,
        options: Options | None = None,
        view: ClientView | None = None,
        agent: str | None = None,
        on_disconnect: OnDisconnect = "continue",
        context: Any = None,
        parent_run_id: str | None = None,
        waiting: Iterable[Subgraph] = (),
    ) -> Run:
        """Starts a run that goes on whoever reads it; see `start`. `parent_run_id`: as `RUN_STARTED` tells it.
        `waiting`: the subgraphs that it goes on in."""
        if not isinstance(graph, Pregel):
            raise TypeError(f"start: expected a compiled graph, got {type(graph).__name__}")
        check_saver(graph)
        if on_disconnect not in get_args(OnDisconnect):
            raise ValueError(f"on_disconnect: expected 'continue' or 'cancel', got {on_disconnect!r}")
        configured = _configured(graph, config, run_id)
        thread_id, run_id = configured["configurable"]["thread_id"], configured["configurable"]["run_id"]
        key = (place_of(graph, agent), thread_id)
        if key in self._live:
            raise RunConflictError(f"thread {thread_id!r} has a run that is running, {self._live[key].run_id!r}")
        options = replace(options or options_for(graph), protocol_version=PROTOCOL_VERSION)
        if agent is not None:
            owner = self.owners.note(key, agent)
            configured["metadata"] = {**(configured.get("metadata") or {}), MARK: owner}
        translator = Translator(thread_id, run_id, options, _seed(graph, options, view), parent_run_id=parent_run_id)
        parts = graph.astream(input, configured, context=context, stream_mode=STREAM_MODES, subgraphs=True)
        named, keeps = agent_of(graph, agent), has_checkpointer(graph)
        run = Run(parts, translator, named, on_disconnect, has_checkpointer=keeps, over=self._over)
        for subgraph in waiting:
            translator.apply_checkpoint(subgraph.values, subgraph.ns)
        self._forget(key)
        self._live[key] = run
        for starts in [starts for starts, wanted in self._starts.items() if wanted == key]:
            starts.started(run)
        return run

    def find(self, place: Hashable, thread_id: str) -> Run | None:
        """The run that is running on a thread, or that lingers; `place`: as `place_of`, or the graph, or the name of
        the run's agent."""
        key = self._key(place, thread_id)
        lingering = self._lingering.get(key)
        return self._live.get(key) or (None if lingering is None else lingering[0])

    def last(self, place: Hashable, thread_id: str) -> LastRun | None:
        """How the last run of this process on a thread ended, if its graph has a checkpointer."""
        return self._remembered.get(self._key(place, thread_id))

    def starts(self, place: Hashable, thread_id: str) -> Starts:
        """The runs that start on a thread from now on."""
        starts = Starts()
        self._starts[starts] = self._key(place, thread_id)
        return starts

    def going(self, place: Hashable, thread_id: str) -> Run | None:
        """The run that is running on a thread."""
        return self._live.get(self._key(place, thread_id))

    def _key(self, place: Hashable, thread_id: str) -> _Key:
        if isinstance(place, Pregel):
            place = place_of(place, None)
        elif isinstance(place, str):
            live = (key for key, run in self._live.items() if key[1] == thread_id and run.agent == place)
            return next(live, (place, thread_id))
        return place, thread_id

    @property
    def running(self) -> int:
        """How many runs are running."""
        return len(self._live)

    @property
    def busy(self) -> int:
        """How many threads have a run, or inputs that are queued for one."""
        return len({*self._live, *(queued.key for queued in self.owned.values())})

    def queued(self, place: Hashable, thread_id: str) -> int:
        """How many inputs of a thread wait for another run's end."""
        return sum(queued.key == (place, thread_id) for queued in self.owned.values())

    async def stop(self, agent: Hashable, place: Hashable) -> None:
        """Cancels what runs of one agent, and what is queued, and waits for its end. `place`: as `place_of`."""
        while True:
            queued = self.stop_queued(agent, place)
            found = [run for key, run in self._live.items() if (run.agent, key[0]) == (agent, place)]
            if not (queued or found):
                return
            await asyncio.gather(*queued, return_exceptions=True)
            await asyncio.gather(*(run.cancel() for run in found))

    def stop_queued(self, agent: Hashable, place: Hashable) -> list[asyncio.Task[Any]]:
        """Cancels what is queued of one agent: it does not run, and its readers get a terminal event."""
        found = [task for task, each in self.owned.items() if (each.agent, each.key[0]) == (agent, place)]
        for task in found:
            task.cancel()
        return found

    def own(
        self, work: Coroutine[Any, Any, _Made], *, agent: Hashable, place: Hashable, thread_id: str, run_id: str
    ) -> asyncio.Task[_Made]:
        """Does work that belongs to no request (an input that waits for another run's end): it goes on if nobody waits
        for it, and is cancelled with the registry. What it raises is logged, also where no reader gets it."""
        task = asyncio.get_running_loop().create_task(work)
        self.owned[task] = _Queued(agent, (place, thread_id))
        task.add_done_callback(lambda task: self._disown(task, log_context(agent, thread_id, run_id)))
        return task

    async def aclose(self) -> None:
        """Cancels what runs and waits for its end; forgets what lingers; ends all `starts`."""
        for starts in list(self._starts):
            starts.close()
        for task in list(self.owned):
            task.cancel()
        await asyncio.gather(*self.owned, return_exceptions=True)
        while self._live:  # one may start meanwhile
            await asyncio.gather(*(run.cancel() for run in self._live.values()))
        for key in list(self._lingering):
            self._forget(key)

    def _disown(self, task: asyncio.Task[Any], place: str) -> None:
        del self.owned[task]
        error = None if task.cancelled() else task.exception()
        if isinstance(error, InvalidIdError | InvalidInputError | RunConflictError | ThreadNotFoundError):
            _log.warning("A queued input was refused (%s): %s", place, error)
        elif error is not None:
            _log.error("A queued input could not be run (%s).", place, exc_info=error)

    def _over(self, run: Run, ending: Ending) -> None:
        key = next(key for key, each in self._live.items() if each is run)
        del self._live[key]
        if run.has_checkpointer:
            if not run.is_untranslated:
                self._remember(key, run, ending)
        else:
            timer = asyncio.get_running_loop().call_later(self._linger, self._forget, key)
            self._lingering[key] = (run, timer)
            if len(self._lingering) > self._most_lingering:
                self._forget(next(iter(self._lingering)))

    def _remember(self, key: _Key, run: Run, ending: Ending) -> None:
        is_interrupted = run.status == "interrupted"
        self._remembered[key] = LastRun(run.run_id, run.started_at, _brief(ending), is_interrupted, run.is_stopped)
        self._remembered.move_to_end(key)
        if len(self._remembered) > self._most_remembered:
            self._remembered.popitem(last=False)

    def _forget(self, key: _Key) -> None:
        lingering = self._lingering.pop(key, None)
        if lingering is not None:
            lingering[1].cancel()


_defaults: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Runs] = weakref.WeakKeyDictionary()


def default_runs() -> Runs:
    """The registry that is used where none is given: the event loop's. Raises `RuntimeError` outside of one."""
    loop = asyncio.get_running_loop()
    if loop not in _defaults:
        for ended in [each for each in _defaults if each.is_closed()]:
            del _defaults[ended]  # what lingers in a registry holds its loop
        _defaults[loop] = Runs()
    return _defaults[loop]


def start(
    graph: Graph,
    input: Any,  # noqa: A002 - the name LangGraph gives it
    config: Mapping[str, Any] | None = None,
    *,
    run_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    runs: Runs | None = None,
    agent: str | None = None,
    on_disconnect: OnDisconnect = "continue",
    context: Any = None,
) -> Run:
    """Starts a run of a compiled graph in this process and event loop; `connect` finds it, and any number read it.

    `input`, `config`, `context`: what `graph.astream` takes. The thread is `config["configurable"]["thread_id"]`; only
    a graph without a checkpointer may do without. `run_id`: None takes the `run_id` of the config, or makes one; it is
    put into `configurable`, so that checkpoints carry it. `options`: None shows the channels of the graph's output
    schema; they are those of all readers, except for the protocol version, which is each reader's. `view`: what the
    client that asked is known to hold. `runs`: the registry; None is the default one. `agent`: the name under which the
    run is found; None is the graph object itself. `on_disconnect`: what becomes of the run when its last reader goes
    away.

    Raises `RunConflictError` if a run is running on the thread, `ValueError` for a config without the thread id it
    needs or with an id that can be none (as `connect` refuses it), `TypeError` for what is no compiled graph or has a
    synchronous checkpointer,
    `RuntimeError` outside of an event loop. What the graph raises becomes the run's end, never an exception here.
    """
    return (default_runs() if runs is None else runs).start(
        graph,
        input,
        config,
        run_id=run_id,
        options=options,
        view=view,
        agent=agent,
        on_disconnect=on_disconnect,
        context=context,
    )


def agent_of(graph: Graph, agent: str | None) -> Hashable:
    """What runs of a graph are found by, beside their thread: the name, or the graph itself."""
    return graph if agent is None else agent


def _configured(graph: Graph, config: Mapping[str, Any] | None, run_id: str | None) -> RunnableConfig:
    """The config with the thread id and the run id of the run in it."""
    given = dict(config or {})
    configurable = dict(given.get("configurable") or {})
    thread_id = configurable.get("thread_id")
    if thread_id is None or thread_id == "":
        if has_checkpointer(graph):
            raise ValueError('expected config={"configurable": {"thread_id": ...}}: the graph has a checkpointer')
        thread_id = uuid.uuid4()
    thread_id = checked_thread_id(str(thread_id), in_url=False)
    wanted = run_id if run_id is not None else configurable.get("run_id") or given.get("run_id") or uuid.uuid4()
    ids = {"thread_id": thread_id, "run_id": checked_run_id(str(wanted), in_url=False)}
    return graph_config(graph, given, {"configurable": ids})


def _seed(graph: Graph, options: Options, view: ClientView | None) -> ClientView:
    """What the first reader holds. A graph without messages never tells any: then none are known, and what is half
    said when a reader comes late can be told from its beginning."""
    if view is not None:
        return view.copy()
    return ClientView(messages=None if options.messages_key in graph.channels else [])


def _brief(ending: Ending) -> Ending:
    """How it ended, without what an exception keeps alive."""
    if isinstance(ending, Failed):
        event = error_event(ending.error)
        return Failed({"error": event.get("code"), "message": event["message"]})
    return ending
