"""The runs of this process: `start()`, and `Runs`, the registry that owns them and finds them.

What is kept, and for how long:

- An active run: until it has ended and its graph has stopped. Its view, its task and its graph are kept with it.
- An ended run of a graph with a checkpointer: how it ended (`LastRun`), until the thread's next run ends, or
  `remembered` other threads' runs have. The checkpoint has the rest, but shows a run that was cancelled or killed as
  one at a breakpoint.
- An ended run of a graph without a checkpointer: the run itself, since its messages are stored nowhere else; until the
  thread's next run, for `linger` seconds, or until `lingering` others have ended.

All of it belongs to one event loop and changes only in its turns; there are no locks.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import weakref
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Final, NamedTuple, TypeVar, get_args

from langgraph.pregel import Pregel
from langgraph.types import StreamMode

from ...translator import PROTOCOL_VERSION, STREAM_MODES, ClientView, Ending, Failed, Options, Translator, error_event
from ..access import Access
from ..default_options import options_for
from ..errors import (
    InvalidIdError,
    InvalidInputError,
    RunConflictError,
    ThreadNotFoundError,
    log_context,
)
from ..inputs.intake import OnDisconnect
from ..run_outcome import Subgraph
from .checkpointers import check_saver, has_checkpointer, place_of
from .configs import run_config
from .dispatched import with_dispatched, with_handler
from .feed import Feed
from .owners import Owners
from .poller import Pollers
from .run import CANCEL_WAIT, Run
from .summary import OnRunEnd
from .turns import Turns

Graph = Pregel[Any, Any, Any, Any]
_Key = tuple[Hashable, str]
_Made = TypeVar("_Made")
_Task = TypeVar("_Task", bound=asyncio.Future[Any])

_STREAM_MODES: Final[list[StreamMode]] = [*STREAM_MODES, "tasks"]
"""With `tasks`, a step begins when its node does. In this process these parts are references to values, not copies."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the last run of a thread ended that ran in this process."""

    run_id: str
    started_at: datetime
    ending: Ending
    is_interrupted: bool
    is_at_breakpoint: bool
    """Whether it stopped at a static breakpoint."""


class _Queued(NamedTuple):
    """The agent and the thread of a queued input."""

    agent: Hashable
    key: _Key


class Runs:
    """The runs of one event loop, by checkpointer and thread id; without a checkpointer, by agent.

    - `linger`: seconds for which an ended run of a graph without a checkpointer can still be read.
    - `lingering`: how many such runs at most.
    - `remembered`: of how many threads it is known how their last run ended.
    - `on_run_end`: called with the `RunSummary` of each run when it has ended and its thread is free; may be
      asynchronous. It must not block. What it raises is logged, and changes nothing else.
    - `close_wait`: seconds for which `aclose` waits for graphs that do not stop, and for asynchronous hooks.

    Close it with `aclose()` or as a context manager; that cancels its runs.
    """

    def __init__(
        self,
        *,
        linger: float = 60.0,
        lingering: int = 100,
        remembered: int = 1_000,
        on_run_end: OnRunEnd | None = None,
        close_wait: float = CANCEL_WAIT,
    ) -> None:
        self._close_wait = close_wait
        self._linger = linger
        self._most_lingering = lingering
        self._most_remembered = remembered
        self._on_run_end = on_run_end
        self._hooks: dict[asyncio.Future[None], str] = {}
        """Asynchronous hooks that have not returned, with the run as log lines name it."""
        self._live: dict[_Key, Run] = {}
        self._lingering: OrderedDict[_Key, tuple[Run, asyncio.TimerHandle]] = OrderedDict()
        self._remembered: OrderedDict[_Key, LastRun] = OrderedDict()
        self._feeds: weakref.WeakKeyDictionary[Feed, _Key] = weakref.WeakKeyDictionary()
        self.owned: dict[asyncio.Task[Any], _Queued] = {}
        """Inputs that are to run when another run has ended, with their agent and thread."""
        self.turns = Turns()
        self.pollers = Pollers()
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
        timeout: float | None = None,
        waiting: Iterable[Subgraph] = (),
        stamp: Mapping[str, Any] | None = None,
        dispatched_events: bool = False,
    ) -> Run:
        """Starts a run that does not depend on its readers; see `start`. `parent_run_id`: as in `RUN_STARTED`.
        `waiting`: the subgraphs in which it continues. `stamp`: the metadata of a thread that it creates; None: its
        agent's. `dispatched_events`: see `Intake`."""
        if not isinstance(graph, Pregel):
            raise TypeError(f"start: expected a compiled graph, got {type(graph).__name__}")
        check_saver(graph)
        if on_disconnect not in get_args(OnDisconnect):
            raise ValueError(f"on_disconnect: expected 'continue' or 'cancel', got {on_disconnect!r}")
        check_timeout(timeout)
        configured = run_config(graph, config, run_id)
        thread_id, run_id = configured["configurable"]["thread_id"], configured["configurable"]["run_id"]
        key = (place_of(graph, agent), thread_id)
        if key in self._live:
            active = self._live[key]
            raise RunConflictError(f"thread {thread_id!r} has a run that is {active.status}, {active.run_id!r}")
        options = replace(options or options_for(graph), protocol_version=PROTOCOL_VERSION)
        if stamp is None:
            stamp = Access(agent).stamp
        if stamp:
            configured["metadata"] = {**(configured.get("metadata") or {}), **self.owners.note(key, stamp)}
        translator = Translator(thread_id, run_id, options, _seed(graph, options, view), parent_run_id=parent_run_id)
        if dispatched_events:
            configured = with_handler(configured)
        parts = graph.astream(input, configured, context=context, stream_mode=_STREAM_MODES, subgraphs=True)
        named, keeps = agent_of(graph, agent), has_checkpointer(graph)
        run = Run(
            with_dispatched(parts) if dispatched_events else parts,
            translator,
            named,
            on_disconnect,
            has_checkpointer=keeps,
            on_end=self._ended,
            waiting=waiting,
            timeout=timeout,
        )
        self._forget(key)
        self._live[key] = run
        for feed in self._feeds_of(key):
            feed.start(run)
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

    def feed(self, place: Hashable, thread_id: str) -> Feed:
        """What happens on a thread from now on."""
        feed = Feed()
        self._feeds[feed] = self._key(place, thread_id)
        return feed

    def _feeds_of(self, key: _Key) -> list[Feed]:
        return [feed for feed, each in self._feeds.items() if each == key]

    def active(self, place: Hashable, thread_id: str) -> Run | None:
        """The run that is running or stopping on a thread."""
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
        await self._stop(lambda: self.stop_queued(agent, place), lambda key, run: (run.agent, key[0]) == (agent, place))

    async def _stop(
        self, stop_queued: Callable[[], list[asyncio.Task[Any]]], is_meant: Callable[[_Key, Run], bool]
    ) -> None:
        """Cancels queued inputs and runs, also those that start meanwhile. A run whose graph does not stop is waited
        for once, and logged."""
        stuck: set[Run] = set()
        while True:
            queued = stop_queued()
            found = [run for key, run in self._live.items() if is_meant(key, run) and run not in stuck]
            if not (queued or found):
                return
            await asyncio.gather(*queued, return_exceptions=True)
            statuses = await asyncio.gather(*(run.cancel(self._close_wait) for run in found))
            for run, status in zip(found, statuses, strict=True):
                if status == "stopping":
                    stuck.add(run)
                    _log.error("The graph of the run does not stop; it is left running (%s).", run.label)

    def stop_queued(self, agent: Hashable, place: Hashable) -> list[asyncio.Task[Any]]:
        """Cancels what is queued of one agent: it does not run, and its readers get a terminal event."""
        found = [task for task, each in self.owned.items() if (each.agent, each.key[0]) == (agent, place)]
        return _cancelled(found)

    def own(
        self, work: Coroutine[Any, Any, _Made], *, agent: Hashable, place: Hashable, thread_id: str, run_id: str
    ) -> asyncio.Task[_Made]:
        """Does work that belongs to no request (an input that waits for another run's end): it continues when its
        request has left, and is cancelled with the registry. What it raises is logged, also where no reader gets it."""
        task = asyncio.get_running_loop().create_task(work)
        self.owned[task] = _Queued(agent, (place, thread_id))
        task.add_done_callback(lambda task: self._disown(task, log_context(agent, thread_id, run_id)))
        return task

    async def aclose(self) -> None:
        """Cancels what runs and waits for its end; forgets what lingers; ends all feeds."""
        for feed in list(self._feeds):
            feed.close()
        await self._stop(lambda: _cancelled(list(self.owned)), lambda key, run: True)
        if self._hooks:
            await asyncio.wait(self._hooks, timeout=self._close_wait)
            _cancelled(list(self._hooks))
        for key in list(self._lingering):
            self._forget(key)

    def _disown(self, task: asyncio.Task[Any], place: str) -> None:
        key = self.owned.pop(task).key
        for feed in self._feeds_of(key):
            feed.wake()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, InvalidIdError | InvalidInputError | RunConflictError | ThreadNotFoundError):
            _log.warning("A queued input was refused (%s): %s", place, error)
        elif error is not None:
            _log.error("A queued input could not be run (%s).", place, exc_info=error)

    def _ended(self, run: Run) -> None:
        key = next(key for key, each in self._live.items() if each is run)
        del self._live[key]
        if run.has_checkpointer:
            if not run.is_untranslated and run.ending is not None:
                self._remember(key, run, run.ending)
        else:
            timer = asyncio.get_running_loop().call_later(self._linger, self._forget, key)
            self._lingering[key] = (run, timer)
            if len(self._lingering) > self._most_lingering:
                self._forget(next(iter(self._lingering)))
        if self._on_run_end is not None:
            self._call(self._on_run_end, run)

    def _call(self, hook: OnRunEnd, run: Run) -> None:
        try:
            result = hook(run.summary)
            if inspect.isawaitable(result):
                task = asyncio.ensure_future(result)
                self._hooks[task] = run.label
                task.add_done_callback(self._hook_returned)
        except Exception:
            _log.exception("on_run_end raised (%s).", run.label)

    def _hook_returned(self, task: asyncio.Future[None]) -> None:
        label = self._hooks.pop(task)
        if task.cancelled():
            _log.error("on_run_end was cancelled, as the registry closed (%s).", label)
        elif (error := task.exception()) is not None:
            _log.error("on_run_end raised (%s).", label, exc_info=error)

    def _remember(self, key: _Key, run: Run, ending: Ending) -> None:
        is_interrupted = run.outcome == "interrupted"
        last = LastRun(run.run_id, run.started_at, _brief(ending), is_interrupted, run.is_at_breakpoint)
        self._remembered[key] = last
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
            del _defaults[ended]  # what lingers in a registry keeps its loop
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
    timeout: float | None = None,
) -> Run:
    """Starts a run of a compiled graph in this process and event loop; `connect` finds it, for any number of readers.

    - `input`, `config`, `context`: what `graph.astream` takes. The thread is `config["configurable"]["thread_id"]`;
      only a graph without a checkpointer needs none.
    - `run_id`: None takes the `run_id` of the config, or makes one. It is put into `configurable`, so that checkpoints
      have it.
    - `options`: None gives the channels of the graph's output schema. They are those of all readers, except for the
      protocol version, which is each reader's.
    - `view`: what the client that started the run is known to have.
    - `runs`: the registry; None is the event loop's default one.
    - `agent`: the name under which the run is found; None is the graph object itself.
    - `on_disconnect`: what becomes of the run when its last reader leaves.
    - `timeout`: seconds after which the run is stopped and fails with the code `timeout`; None is no limit.

    Raises `RunConflictError` if the thread has an active run, `ValueError` for a config without the thread id that it
    needs, for an id that cannot be one (as `connect` refuses it) and for a timeout that is not above 0, `TypeError` for
    anything but a compiled graph, and for a synchronous checkpointer, `RuntimeError` outside of an event loop. What the
    graph raises becomes the run's end, never an exception here.
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
        timeout=timeout,
    )


def check_timeout(timeout: float | None) -> None:
    """Raises `ValueError` for a timeout that is not above 0 seconds."""
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout: expected more than 0 seconds, got {timeout!r}")


def agent_of(graph: Graph, agent: str | None) -> Hashable:
    """What runs of a graph are found by, beside their thread: the name, or the graph itself."""
    return graph if agent is None else agent


def _seed(graph: Graph, options: Options, view: ClientView | None) -> ClientView:
    """What the first reader has. A graph without messages never emits any: then none are known, and a late joiner gets
    an unfinished text from its beginning."""
    if view is not None:
        return view.copy()
    return ClientView(messages=None if options.messages_key in graph.channels else [])


def _cancelled(tasks: list[_Task]) -> list[_Task]:
    for task in tasks:
        task.cancel()
    return tasks


def _brief(ending: Ending) -> Ending:
    """How it ended, without what an exception keeps alive."""
    if isinstance(ending, Failed):
        event = error_event(ending.error)
        return Failed({"error": event.get("code"), "message": event["message"]})
    return ending
