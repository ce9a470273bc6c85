"""The runs of this process: `start()`, and `Runs`, the scope that owns their tasks.

A run is kept, with its view, its task and its graph, until it has ended and its graph has stopped. The `RunStore` knows
which run is active on a thread, and how its last run ended. `Runs.begin` claims the thread there, and the run releases
it when it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Any, Final, NamedTuple, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import StreamMode

from ....translator import PROTOCOL_VERSION, STREAM_MODES, ClientView, Ending, Options, Translator
from ...access import USER, Access, identity_of, owner_of
from ...default_options import options_for
from ...errors import AguiError, RunConflictError, RunsClosedError, log_context
from ...events.readers import for_version
from ...inputs.breakpoints import Breakpoints, both, breakpoints_in
from ...inputs.intake import Intake, OnDisconnect
from ...inputs.planning import NoEdits
from ...recent import Recent
from ...run_outcome import UNFINISHED, RunOutcome, Subgraph
from ..checkpointers import Graph, check_saver, has_checkpointer, reading, wait_for_answer
from ..checkpoints.clock import newest_id, wait_for_clock
from ..checkpoints.owners import Owners
from ..encryption import seal
from ..factory import MadeGraph
from ..index.indexing import Indexing
from ..index.reading import IndexedAgent
from ..store.active_run import CANCEL_WAIT, ThreadKey
from ..store.feed import Feed
from ..store.memory_store import MemoryRunStore
from ..store.poller import Pollers
from ..store.records import LostRun
from ..store.run_store import Hold, RunStore
from ..store.turns import Ticket
from .configs import check_durability, run_config
from .control import Control
from .dispatched import with_handler
from .partial_messages import save_partial_messages
from .queued_inputs import AgentKey, QueuedInputs
from .run import Run
from .run_end import AfterRun, EndHook
from .run_input import NotJsonError, RunInput, UnreadableInputError
from .structured_output import with_marker

RUN_MODES: Final = cast("list[StreamMode]", [*STREAM_MODES, "tasks", "tools"])
"""The stream modes of a run. With `tasks`, a step begins when its node does. With `tools`, which LangGraph has since
1.2 and does not name in its types, a tool can emit its output part by part. In this process these parts are references
to values, not copies."""

ATTEMPT: Final = "agui_attempt"
"""The key of `configurable` that says how often a run which may be continued has been tried, with this time."""

_NO_CHECKPOINTER: Final = "its graph has no checkpointer"
_MOST_UNFINISHED: Final = 1_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """A run that is to begin.

    `graph`, `input`, `config`, `run_id`, `options`, `agent`, `context`, `timeout`: see `start`.
    `intake`: How it is run: `on_disconnect`, `on_cancel`, `dispatched_events` and `mark_structured_output`.
    `view`: The view of the client that starts the run, if it is known.
    `parent_run_id`: As in `RUN_STARTED`.
    `waiting`: The subgraphs in which it continues.
    `stamp`: The metadata of a thread that it creates; None takes those of the agent.
    `revision`, `ticket`: See `RunStore.claim`.
    `newest`: The id of the newest checkpoint of the thread and its subgraphs at this revision, empty if there is none;
        None reads it when the run begins.
    `run_input`: What is kept of it, so that another process can continue it; None if it is not continued.
    `continues`: The number of the lost run that it continues; 0 if there is none.
    `ending`: How it ends at once, without its graph; None runs the graph.
    `made`: The graph that was made for this run alone, and is left when the run has stopped. `graph` then stands for
        all graphs of the agent.
    `make_translator`: Makes the translator of the run, with the arguments of `Translator`. A recording without parts of
        LangGraph has another one.
    """

    graph: Graph
    input: Any
    config: Mapping[str, Any] | None = None
    run_id: str | None = None
    options: Options | None = None
    agent: str | None = None
    context: Any = None
    timeout: float | None = None
    intake: Intake = field(default_factory=Intake)
    view: ClientView | None = None
    parent_run_id: str | None = None
    waiting: Iterable[Subgraph] = ()
    stamp: Mapping[str, Any] | None = None
    revision: int | None = None
    ticket: Ticket | None = None
    newest: str | None = None
    run_input: RunInput | None = None
    continues: int = 0
    ending: Ending | None = None
    made: MadeGraph | None = None
    make_translator: Callable[..., Translator] = Translator


class Runs:
    """The runs of this process in one event loop, and its queued inputs.

    - `store`: knows which run is active on a thread, in all processes. None makes a `MemoryRunStore`.
    - `after_run`: called with the `RunSummary` of each run when it has ended and its thread is free. It may be
      asynchronous, and must not block. An exception that it raises is logged, and changes nothing else.
    - `close_wait`: seconds for which `aclose` waits for graphs that do not stop, and for asynchronous hooks.

    Close it with `aclose()`, or use it as a context manager; closing cancels its runs. A store that was passed in stays
    open.
    """

    def __init__(
        self,
        store: RunStore | None = None,
        *,
        after_run: AfterRun | None = None,
        close_wait: float = CANCEL_WAIT,
    ) -> None:
        self.store: RunStore = MemoryRunStore() if store is None else store
        """Knows which runs are active on which threads."""
        self._owns_store = store is None
        self._close_wait = close_wait
        self._run_end = EndHook(after_run)
        self.is_closed = False
        """Whether no more runs can be started."""
        self._live: dict[ThreadKey, Run] = {}
        self._feeds: weakref.WeakSet[Feed] = weakref.WeakSet()
        self._continuing: dict[ThreadKey, asyncio.Task[None]] = {}
        """The tasks that are about to continue lost runs."""
        self.queue = QueuedInputs(self.store.wake)
        """The inputs that wait for the end of another run."""
        self.pollers = Pollers()
        """The pollers of threads that are watched."""
        self._unfinished: Recent[tuple[ThreadKey, str], None] = Recent(_MOST_UNFINISHED)
        """The runs without an end for which a warning was logged."""
        self._not_continued: Recent[tuple[ThreadKey, int, type[Exception]], None] = Recent(_MOST_UNFINISHED)
        """Why lost runs could not be continued, as far as it was logged: a lost run is passed on again and again."""
        self.owners = Owners()
        """The metadata of threads that decide who may use them."""
        self.no_edits = NoEdits()
        """The messages that turned out not to be edits."""
        self.indexing = Indexing()
        """Updates the index of threads when runs end."""

    async def __aenter__(self) -> Runs:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.aclose()

    async def start(
        self,
        graph: Graph,
        input: Any,  # noqa: A002 - the name LangGraph gives it
        config: Mapping[str, Any] | None = None,
        *,
        run_id: str | None = None,
        options: Options | None = None,
        agent: str | None = None,
        on_disconnect: OnDisconnect = "continue",
        context: Any = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the run's, not this call's
    ) -> Run:
        """Starts a run that these `Runs` own, and that does not depend on its readers; see `start`."""
        setup = RunSetup(
            graph=graph,
            input=input,
            config=config,
            run_id=run_id,
            options=options,
            agent=agent,
            context=context,
            timeout=timeout,
            intake=Intake(on_disconnect=on_disconnect),
        )
        return await self.begin(setup)

    async def begin(self, setup: RunSetup) -> Run:
        """Claims the thread of a run, and begins the run. Raises what `start` raises."""
        graph, made, intake = setup.graph, setup.made, setup.intake
        if not isinstance(graph, Pregel):
            raise TypeError(f"start: expected a compiled graph, got {type(graph).__name__}")
        check_saver(graph)
        if self.is_closed:
            raise RunsClosedError
        agent = self.name_of(graph) if setup.agent is None else setup.agent
        own = graph if made is None else made.graph
        check_timeout(setup.timeout)
        config = run_config(own, setup.config, setup.run_id)
        thread_id, run_id = config["configurable"]["thread_id"], config["configurable"]["run_id"]
        if setup.run_input is not None:
            check_durability(own, config)
        thread = self.store.key(graph, agent, thread_id)
        options = for_version(setup.options or options_for(graph), PROTOCOL_VERSION)
        view = _seed(graph, options, setup.view)
        run = Run(
            thread,
            setup.make_translator(thread_id, run_id, options, view, parent_run_id=setup.parent_run_id, source="local"),
            agent_of(graph, agent),
            user=identity_of(config["configurable"].get(USER)),
            has_checkpointer=has_checkpointer(graph),
            needs_readers=intake.on_disconnect == "cancel",
            waiting=setup.waiting,
            attempt=1 if setup.run_input is None else setup.run_input.attempt,
            losses=0 if setup.run_input is None else setup.run_input.losses,
        )
        stored_input = self._stored_input(setup.run_input, run)
        if stored_input and setup.run_input is not None:
            config["configurable"][ATTEMPT] = setup.run_input.attempt
        run.metadata = self.owners.with_known(thread, setup.stamp or Access(agent).stamp)
        hold = await self._claim(graph, run, setup, stored_input)
        self._live[thread] = run
        if run.metadata:
            config["metadata"] = {**(config.get("metadata") or {}), **self.owners.note(thread, run.metadata)}

        control = Control() if stored_input else None

        def stream(emit: Callable[[Any], bool]) -> AsyncIterator[Any]:
            within = with_marker(config) if intake.mark_structured_output else config
            within = with_handler(within, emit, run.label) if intake.dispatched_events else within
            return own.astream(
                setup.input,
                within,
                context=setup.context,
                stream_mode=RUN_MODES,
                subgraphs=True,
                durability="sync" if stored_input else None,
                **({} if control is None else control.arguments),
                **_stops_of(own, breakpoints_in(config["metadata"])),
            )

        save = None
        if intake.on_cancel == "save":
            save = partial(save_partial_messages, own, config, options.messages_key, run.label)
        if made is not None:
            made.is_taken = True
        run.begin(
            stream,
            hold,
            timeout=setup.timeout,
            save=save,
            leave=None if made is None else made.leave,
            on_end=partial(self._ended, own, options.messages_key),
            control=control,
            handed_over=None if control is None else partial(self._handed_over, setup.run_input, run),
        )
        if setup.ending is not None:
            run.stop(setup.ending)
        return run

    def _stored_input(self, run_input: RunInput | None, run: Run) -> bytes:
        """Returns what the store keeps of a run, so that another process can continue it; nothing if it cannot be
        continued, which is logged."""
        if run_input is None or not self.store.is_shared:
            return b""
        reason = _NO_CHECKPOINTER
        if run.has_checkpointer:
            try:
                return seal(run_input.to_json(), run.thread.cipher)
            except NotJsonError as error:
                reason = str(error)
        _log.warning("The run cannot be continued by another process: %s (%s).", reason, run.label)
        return b""

    def _handed_over(self, run_input: RunInput | None, run: Run) -> bytes:
        """Returns what the store keeps of a run that is handed over: its input, and the inputs that are queued behind
        it, unless no other process can run them. They do not run here any more. Returns nothing if the store has that
        already."""
        if run_input is None:
            return b""
        queued = self.queue.hand_over(run.thread, run.agent)
        if queued == run_input.queued:
            return b""
        return seal(replace(run_input, queued=queued).to_json(), run.thread.cipher)

    async def _claim(self, graph: Graph, run: Run, setup: RunSetup, stored_input: bytes) -> Hold:
        """Claims the thread of a run, and returns its hold on it. The clock is checked before the claim, so that no
        reader sees a run that the clock refuses. If another run has written the thread in between, the claim is
        refused. `stored_input`: see `RunStore.claim`. Raises what `start` raises."""
        saver, thread, revision, newest = graph.checkpointer, run.thread, setup.revision, setup.newest
        if not isinstance(saver, BaseCheckpointSaver):
            return await self.store.claim(thread, run, revision, setup.ticket)
        while True:
            since = await self.store.revision(thread) if revision is None else revision
            if newest is None:
                with reading(run.label):
                    newest = await wait_for_answer(newest_id(saver, thread.thread_id))
            await wait_for_clock(newest, run.label)
            try:
                return await self.store.claim(thread, run, since, setup.ticket, stored_input, setup.continues)
            except RunConflictError:
                if revision is not None or await self.store.active(thread) is not None:
                    raise
                newest = None  # a run has come and gone meanwhile

    def continue_run(self, served: Served, lost: LostRun) -> None:
        """Continues a lost run in the background, if it is a run of this agent, and unless another process is faster.
        Does nothing if this process is about to continue it, or is ending."""
        if served.name != lost.claim.agent or lost.thread in self._continuing or self.is_closed:
            return
        task = self._continuing[lost.thread] = asyncio.get_running_loop().create_task(self._continue(served, lost))
        task.add_done_callback(lambda _: self._continuing.pop(lost.thread))

    async def _continue(self, served: Served, lost: LostRun) -> None:
        label = log_context(served.name, lost.thread.thread_id, lost.claim.run_id)

        def level(error: Exception, level: int) -> int:
            known = (lost.thread, lost.number, type(error))
            is_known, self._not_continued[known] = known in self._not_continued, None
            return logging.DEBUG if is_known else level

        try:
            if served.continue_run is not None:
                await served.continue_run(lost)
        except RunConflictError:
            _log.debug("The lost run is continued by another process (%s).", label)
        except UnreadableInputError as error:
            text = "The lost run is not continued by this process: %s (%s)."
            _log.log(level(error, logging.WARNING), text, error, label)
        except AguiError as error:
            text = "The lost run could not be continued yet: %s (%s)."
            _log.log(level(error, logging.WARNING), text, error, label)
        except Exception as error:
            text = "The lost run could not be continued (%s)."
            _log.log(level(error, logging.ERROR), text, label, exc_info=error)

    async def feed(self, thread: ThreadKey) -> Feed:
        """Returns a feed of what happens on a thread from now on: runs that start in any process, and changes that the
        pollers find."""
        feed = await self.store.started(thread)
        self._feeds.add(feed)
        return feed

    def run_on(self, thread: ThreadKey) -> Run | None:
        """Returns the run of this process that is active on a thread."""
        return self._live.get(thread)

    @property
    def active(self) -> tuple[Run, ...]:
        """The runs of this process whose graphs have not stopped."""
        return tuple(self._live.values())

    @property
    def running(self) -> int:
        """The number of active runs."""
        return len(self._live)

    @property
    def busy(self) -> int:
        """The number of threads that have an active run or queued inputs."""
        return len(self._live.keys() | self.queue.threads)

    async def is_queued(self, thread: ThreadKey) -> bool:
        """Returns whether inputs of a thread are queued, in any process. If none are, the feeds of the thread have
        every run that has started."""
        return self.queue.on(thread) > 0 or await self.store.has_inputs(thread)

    def note_outcome(self, thread: ThreadKey, outcome: RunOutcome | None, agent: object) -> None:
        """Logs a warning, once, if the thread's last run has no end and is not active here. `agent`: the name of its
        agent, or its graph."""
        if outcome is None or outcome.ending is not UNFINISHED or (thread, outcome.run_id) in self._unfinished:
            return
        self._unfinished[thread, outcome.run_id] = None
        _log.warning(
            "It is not known how the thread's last run ended: its process was killed, or the run is active in another "
            "process. Processes know of each other's runs only if they share a run store (%s).",
            log_context(agent, thread.thread_id, outcome.run_id),
        )

    def indexed(self, graph: Graph, agent: str | None, access: Access, messages_key: str) -> IndexedAgent:
        """Returns the `IndexedAgent` with which the index reads the threads of a graph that has a checkpointer."""
        agent = self.name_of(graph) if agent is None else agent
        return IndexedAgent(graph, agent, access, messages_key, self.store, self.owners, self.note_outcome)

    def threads_running(self, namespace: str) -> frozenset[str]:
        """Returns the ids of the threads in a namespace that have an active run of this process."""
        return frozenset(thread.thread_id for thread in self._live if thread.namespace == namespace)

    def of(self, agent: AgentKey | None) -> list[Run]:
        """Returns the active runs of one agent."""
        return [run for run in self._live.values() if (run.agent, run.thread.namespace) == agent]

    async def hand_over(self, agent: AgentKey | None) -> None:
        """Hands the runs of one agent over to other processes, if these can continue them."""
        await asyncio.gather(*(run.hand_over() for run in self.of(agent)))

    async def stop(self, agent: AgentKey | None) -> None:
        """Cancels the runs of one agent and its queued inputs, and waits for their end."""
        await self._stop(lambda: self.stop_queued(agent), lambda: self.of(agent))
        await self.indexing.settled(self._close_wait)

    async def _stop(
        self, stop_queued: Callable[[], list[asyncio.Task[Any]]], active: Callable[[], Iterable[Run]]
    ) -> None:
        """Cancels queued inputs and runs, including those that start meanwhile. A run whose graph does not stop is
        waited for once, and logged."""
        stuck: set[Run] = set()
        while True:
            queued = stop_queued()
            runs = [run for run in active() if run not in stuck]
            if not (queued or runs):
                return
            if queued:
                await asyncio.wait(queued)
            try:
                statuses = await asyncio.gather(*(run.cancel(self._close_wait) for run in runs))
            except asyncio.CancelledError:
                for run in runs:
                    if self._live.get(run.thread) is run:
                        _log.error("The run did not stop before its server ended (%s).", run.label)
                raise
            for run, status in zip(runs, statuses, strict=True):
                if status == "stopping":
                    stuck.add(run)
                    _log.error("The graph of the run does not stop; it is left running (%s).", run.label)

    def stop_queued(self, agent: AgentKey | None) -> list[asyncio.Task[Any]]:
        """Cancels the queued inputs of one agent: they do not run, and their readers get a terminal event."""
        return self.queue.give_up(self.queue.of(agent))

    def keep(self, agent: AgentKey | None) -> None:
        """Lets the runs of one agent and its queued inputs continue without readers from now on."""
        for run in self.of(agent):
            run.outlive_readers()
        self.queue.outlive_readers(agent)

    async def ended(self, agent: AgentKey | None) -> None:
        """Waits until one agent has no runs in this process, and no queued inputs."""
        while (queued := self.queue.of(agent)) + (active := self.of(agent)):
            if queued:
                await asyncio.wait(queued)  # each has started its run then, if it could
            await asyncio.gather(*(run.wait() for run in active))

    def name_of(self, graph: Graph) -> str | None:
        """Returns the name under which an app serves a graph with these runs; None if no app does, or if the graph has
        several names."""
        names = {served.name for served in _served() if served.graph() is graph and served.runs is self}
        return names.pop() if len(names) == 1 else None

    async def aclose(self) -> None:
        """Ends all feeds, cancels the runs, including those that start meanwhile, and waits for their end. No run can
        be started afterwards."""
        for feed in self._feeds:
            feed.close()
        await self._stop(lambda: self.queue.give_up(self.queue.tasks), lambda: self.active)
        self.is_closed = True
        await self._run_end.aclose(self._close_wait)
        await self.indexing.settled(self._close_wait)
        if self._owns_store:
            await self.store.aclose()

    def _ended(self, graph: Graph, messages_key: str, run: Run) -> None:
        if self._live.get(run.thread) is run:
            del self._live[run.thread]
        if run.is_handed_over:
            self.queue.give_way(run)
            return
        self._run_end.call(run)
        if run.has_checkpointer:
            agent = run.agent if isinstance(run.agent, str) else None
            owner = owner_of(run.metadata)
            access = Access(agent, frozenset() if owner is None else frozenset({owner}))
            self.indexing.run_ended(self.indexed(graph, agent, access, messages_key), run.thread_id)


class Served(NamedTuple):
    """A graph that an app serves under a name, with its runs.

    - `graph`: returns the graph, or None as long as a function that makes graphs has not been called yet.
    - `continue_run`: continues a lost run of the agent; None if the agent's runs are not continued.
    """

    name: str
    graph: Callable[[], Graph | None]
    runs: Runs
    continue_run: Callable[[LostRun], Awaitable[None]] | None = None


_defaults: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Runs] = weakref.WeakKeyDictionary()
_apps: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Served]] = weakref.WeakKeyDictionary()
"""The graphs that the apps of an event loop serve, while their lifespans last."""


@contextmanager
def serving(agents: Iterable[Served]) -> Iterator[Callable[[], None]]:
    """Makes the `Runs` of these agents those that `runs_of` finds by their graph or their name, within the block, and
    continues their lost runs. The target of `as` is a function that ends the latter earlier. Must be entered in the
    event loop."""
    served, added = _apps.setdefault(asyncio.get_running_loop(), []), list(agents)
    served += added
    continuing = [agent for agent in added if agent.continue_run is not None]
    leaving = [agent.runs.store.on_lost(partial(agent.runs.continue_run, agent)) for agent in continuing]

    def continue_none() -> None:
        for leave in leaving:
            leave()

    try:
        yield continue_none
    finally:
        continue_none()
        for agent in added:
            served.remove(agent)


def _served() -> Iterable[Served]:
    return _apps.get(asyncio.get_running_loop(), ())


def runs_of(graph: Graph, agent: str | None) -> Runs:
    """Returns the `Runs` of a graph if the caller names none: those of the app that serves the graph, or that serves
    the agent of this name with the same checkpointer, since a graph may be built for each request; otherwise those of
    the event loop. The first of several apps wins. Raises `RuntimeError` outside an event loop."""
    served, saver = _served(), graph.checkpointer
    by_graph = (other.runs for other in served if other.graph() is graph and agent in (None, other.name))
    by_name = (
        other.runs
        for other in served
        if other.name == agent and (its_graph := other.graph()) is not None and its_graph.checkpointer is saver
    )
    return next(chain(by_graph, by_name), None) or default_runs()


def default_runs() -> Runs:
    """Returns the `Runs` of the event loop, for graphs that no app serves. Raises `RuntimeError` outside an event
    loop."""
    loop = asyncio.get_running_loop()
    runs = _defaults.get(loop)
    if runs is None or runs.is_closed:
        for closed in [loop for loop in _defaults if loop.is_closed()]:
            del _defaults[closed]  # the runs that its store keeps would keep the loop
        runs = _defaults[loop] = Runs()
    return runs


async def start(
    graph: Graph,
    input: Any,  # noqa: A002 - the name LangGraph gives it
    config: Mapping[str, Any] | None = None,
    *,
    run_id: str | None = None,
    options: Options | None = None,
    runs: Runs | None = None,
    agent: str | None = None,
    on_disconnect: OnDisconnect = "continue",
    context: Any = None,
    timeout: float | None = None,  # noqa: ASYNC109 - the run's, not this call's
) -> Run:
    """Starts a run of a compiled graph in this process and event loop; `connect` finds it, for any number of readers.

    - `input`, `config`, `context`: what `graph.astream` takes. The thread is `config["configurable"]["thread_id"]`;
      only a graph without a checkpointer needs none.
    - `run_id`: None takes the `run_id` of the config, or makes one. It is put into `configurable`, so that checkpoints
      have it.
    - `options`: None shows the channels of the graph's output schema. All readers share the options, except the
      protocol version, which each reader has itself.
    - `runs`: the scope that owns the run. None takes that of the app that serves the graph, or the agent of this name,
      in this event loop; otherwise that of the event loop.
    - `agent`: the name under which the run is found. None takes the name under which the graph is served; otherwise the
      graph object identifies the agent.
    - `on_disconnect`: whether the run continues when its last reader leaves.
    - `timeout`: seconds after which the run is stopped and fails with the code `timeout`; None sets no limit.

    Raises `RunConflictError` if the thread has an active run, `ClockSkewError` if it has a checkpoint from the future,
    `RunsClosedError` if the runs are closed, `UnreadableError` if the checkpointer raises when it reads the newest
    checkpoint, `StoreUnavailableError` if the run store does not answer, `ValueError` if the config lacks a thread id
    that the graph needs, if an id is invalid (as for `connect`), or if the timeout is not above 0, `TypeError` for
    anything but a compiled graph and for a synchronous checkpointer, and `RuntimeError` outside an event loop. An
    exception of the graph ends the run, and is never raised here.
    """
    return await (runs_of(graph, agent) if runs is None else runs).start(
        graph,
        input,
        config,
        run_id=run_id,
        options=options,
        agent=agent,
        on_disconnect=on_disconnect,
        context=context,
        timeout=timeout,
    )


def _stops_of(graph: Graph, asked: Breakpoints) -> dict[str, Any]:
    """Returns the arguments of `astream` for a run that pauses at these breakpoints, and at those of the graph."""
    if not asked:
        return {}
    return {
        "interrupt_before": both(graph.interrupt_before_nodes, asked.before),
        "interrupt_after": both(graph.interrupt_after_nodes, asked.after),
    }


def check_timeout(timeout: float | None, name: str = "timeout") -> None:
    """Raises `ValueError` for a timeout that is not above 0 seconds."""
    if timeout is not None and not timeout > 0:
        raise ValueError(f"{name}: expected more than 0 seconds, got {timeout!r}")


def agent_of(graph: Graph, agent: str | None) -> Hashable:
    """Returns what identifies the agent of a run: its name, or the graph itself."""
    return graph if agent is None else agent


def _seed(graph: Graph, options: Options, view: ClientView | None) -> ClientView:
    """Returns the view that a run begins with: that of the first reader, if it is known. For a graph without a messages
    channel, the client's messages are unknown, so that a late joiner gets an unfinished text from its beginning."""
    if view is not None:
        return view.copy()
    return ClientView(messages=None if options.messages_key in graph.channels else [])
