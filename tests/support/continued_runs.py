"""Processes that share a run database and continue each other's runs: `Server`, each with a store of its own. The runs
are those of real graphs; a continuation submits the same input with the same run id, as LangGraph has it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from langgraph_agui.connect.local.run.configs import run_config
from langgraph_agui.connect.local.run.control import Control
from langgraph_agui.connect.local.run.run import Run
from langgraph_agui.connect.local.run.runs import RUN_MODES
from langgraph_agui.connect.local.store.active_run import ActiveRun, ThreadKey
from langgraph_agui.connect.local.store.publisher import Publisher
from langgraph_agui.connect.local.store.records import LostRun
from langgraph_agui.connect.local.store.run_store import Hold, RunStore
from langgraph_agui.translator import Cancelled, ClientView, Options, Translator

from tests.support.clients.batch_readers import until
from tests.support.redis_processes import Reading
from tests.support.streams.pausing_graphs import HELLO, Graph, on

OPTIONS = Options(protocol_version="1.0", first_state="delta")
KEPT = b"the input"


class Server:
    """One process. `graph`: a graph of the agent. `made`: makes the graph of each of its runs."""

    def __init__(self, store: RunStore, graph: Graph, made: Callable[[], Graph]) -> None:
        self.store = store
        self.graph = graph
        self.made = made
        self.lost: list[LostRun] = []
        """The lost runs that it was told of."""
        self.runs: list[Run] = []
        self.holds: list[Hold] = []
        self._continuing: list[asyncio.Task[Any]] = []
        self._continue_none: Callable[[], None] = lambda: None

    @property
    def thread(self) -> ThreadKey:
        return self.store.key(self.graph, "chat", "t")

    async def start(self, stored_input: bytes = KEPT, continues: int = 0) -> Run:
        translator = Translator("t", "r", OPTIONS, ClientView(messages=[]), source="local")
        run = Run(self.thread, translator, "chat", has_checkpointer=True)
        hold = await self.store.claim(run.thread, run, stored_input=stored_input, continues=continues)
        graph = self.made()
        config = run_config(graph, on("t"), "r")

        def stream(emit: Callable[[Any], bool]) -> AsyncIterator[Any]:
            return graph.astream(HELLO, config, stream_mode=RUN_MODES, subgraphs=True, durability="sync")

        self.runs.append(run)
        self.holds.append(hold)
        run.begin(stream, hold, control=Control())
        return run

    def continues(self) -> None:
        """Continues lost runs from now on."""

        def continue_run(lost: LostRun) -> None:
            self.lost.append(lost)
            if all(each.done() for each in self._continuing):
                self._continuing.append(asyncio.create_task(self.start(lost.stored_input, lost.number)))

        self._continue_none = self.store.on_lost(continue_run)

    async def continuation(self, count: int = 1) -> Run:
        """The run that continues another one, as soon as it has its thread."""
        await until(lambda: len(self.runs) >= count)
        return self.runs[count - 1]

    async def die(self) -> None:
        """Renews no lease and publishes nothing any more, as if the process had been killed."""
        publisher = self.holds[-1]
        assert isinstance(publisher, Publisher)
        publisher.task.cancel()
        await asyncio.wait([publisher.task])

    def hand_over(self) -> asyncio.Event:
        """Hands its run over. Returns an event for the moment when that is done."""
        done = asyncio.Event()
        self._continue_none()
        self.holds[-1].hand_over(b"", done.set)
        return done

    async def active(self) -> ActiveRun:
        """The thread's active run, as soon as there is one."""
        while (run := await self.store.active(self.thread)) is None:  # noqa: ASYNC110 - another process may claim it
            await asyncio.sleep(0)
        return run

    async def reads(self, run: ActiveRun | None = None) -> Reading:
        """A reader that has the beginning of a run; None: of the active one."""
        reading = Reading(run or await self.active())
        await reading.has("RUN_STARTED")
        return reading

    async def aclose(self) -> None:
        self._continue_none()
        for run in self.runs:  # those that were handed over are never released
            run.stop(Cancelled())
            await run.stream_end()
        await asyncio.gather(*self._continuing, return_exceptions=True)
        await self.store.aclose()


@asynccontextmanager
async def servers(*made: Server) -> AsyncGenerator[tuple[Server, ...], None]:
    try:
        yield made
    finally:
        for server in made:
            await server.aclose()
