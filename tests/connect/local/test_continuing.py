"""A run whose process is lost is continued by another process that serves its agent. Two apps stand for two processes:
they share a run database and the checkpoints. How processes are killed: `tests.connect.processes`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, connect, run, thread
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.run.configs import run_config
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.sqlite import SqliteRunStore
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import Pause

from tests.support.servers.serving import posted
from tests.support.streams.mortal_runs import Database, Death, run_until_death, sqlite_database

CONTINUE = Intake(on_lost="continue")
Did = Callable[[str], None]
ON: Any = {"configurable": {"thread_id": "t"}}


class Process:
    """A process that serves the agent `chat` until `end`."""

    def __init__(self, agent: Agent, store: SqliteRunStore) -> None:
        self.app = agui_app({"chat": agent}, store=store, grace=0.0, drain=0.0)
        self._lifespan = self.app.router.lifespan_context(self.app)

    @property
    def source(self) -> Local:
        source = self.app.state.service.agents["chat"].backend
        assert isinstance(source, Local)
        return source

    @property
    def runs(self) -> Runs:
        return self.source.runs

    async def begin(self) -> None:
        await self._lifespan.__aenter__()

    async def end(self) -> None:
        """Ends it as a deployment does."""
        await self._lifespan.__aexit__(None, None, None)


class Processes:
    """Processes that share `database` and a run database."""

    def __init__(self, database: Database, runs: Path) -> None:
        self.database, self._runs = database, runs
        self.begun: list[Process] = []

    async def begin(
        self, graph: StateGraph[Any], intake: Any = CONTINUE, death: Death | None = None, **compiled: Any
    ) -> Process:
        """Begins one that serves this graph, and stores nothing of its runs after a death."""
        agent = Agent(graph.compile(self.database.saver(death), **compiled), intake=intake)
        process = Process(agent, SqliteRunStore(self._runs))
        await process.begin()
        self.begun.append(process)
        return process

    async def end(self, process: Process) -> None:
        self.begun.remove(process)
        await process.end()


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[Processes]:
    async with sqlite_database() as database:
        await database.saver().setup()  # type: ignore[attr-defined]
        processes = Processes(database, tmp_path / "runs.db")
        yield processes
        for process in list(processes.begun):
            await processes.end(process)


def in_a_row(did: Did, point: Pause | None = None) -> StateGraph[Any]:
    """A graph of two nodes, the second of which waits."""

    async def first(state: MessagesState) -> dict[str, Any]:
        did("first")
        return {"messages": [AIMessage("one", id="one")]}

    async def second(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        configured = config["configurable"]
        did(f"second, attempt {configured.get('agui_attempt')} of {configured['run_id']}")
        if point is not None:
            await point()
        return {"messages": [AIMessage("two", id="two")]}

    graph = StateGraph(MessagesState).add_node("first", first).add_node("second", second)
    return graph.add_edge(START, "first").add_edge("first", "second")


def posting(process: Process, *said: str, run_id: str = "r", **more: Any) -> asyncio.Task[list[Any]]:
    """Posts an input, and reads its events to the end of the stream."""

    async def read() -> list[Any]:
        given = posted("t", *said, run_id=run_id, **more)
        intake = process.app.state.service.agents["chat"].intake
        return [event async for event in run(process.source, given, intake=intake)]

    return asyncio.create_task(read())


def reading(process: Process) -> asyncio.Task[list[Any]]:
    """Reads the thread to the end of the stream."""

    async def read() -> list[Any]:
        return [event async for event in connect(process.source, "t")]

    return asyncio.create_task(read())


async def texts(process: Process) -> list[Any]:
    state = await thread(process.source, "t")
    assert state is not None
    return [message["content"] for message in state.view.messages]


async def lose_run(processes: Processes, graph: StateGraph[Any], death: Death | None = None, **compiled: Any) -> None:
    """Loses a run of this graph whose process was killed at this death, or after all was stored."""
    point = Pause()
    one = await processes.begin(in_a_row(lambda _: None, point), death=Death(0))
    posting(one, "hello")
    await point.reached.wait()
    stored = graph.compile(processes.database.saver(death), **compiled)
    given = {"messages": [HumanMessage("hello", id="user-1")]}
    await run_until_death(stored, given, run_config(stored, ON, "r"), death or Death())
    await processes.end(one)


async def test_a_deployment_hands_its_runs_over(processes: Processes, caplog: pytest.LogCaptureFixture) -> None:
    point, did = Pause(), list[str]()
    one = await processes.begin(in_a_row(did.append, point))
    two = await processes.begin(in_a_row(did.append))
    own = posting(one, "hello")
    await point.reached.wait()
    elsewhere = reading(two)
    await processes.end(one)
    kinds = [event.type for event in await elsewhere]
    assert (kinds.count("RUN_STARTED"), kinds.count("RUN_FINISHED"), kinds[-1]) == (1, 1, "RUN_FINISHED")
    assert "RUN_ERROR" not in [event.type for event in await own]
    assert did == ["first", "second, attempt 1 of r", "second, attempt 2 of r"]
    assert await texts(two) == ["hello", "one", "two"]
    assert "attempt 2 (agent 'chat', thread 't', run 'r')" in caplog.text


async def test_a_run_is_tried_three_times(processes: Processes) -> None:
    did: list[str] = []
    for attempt in range(3):
        point = Pause()
        process = await processes.begin(in_a_row(did.append, point))
        if attempt == 0:
            posting(process, "hello")
        await point.reached.wait()
        await processes.end(process)
    last = await processes.begin(in_a_row(did.append))
    *_, end = await reading(last)
    assert (end.type, end.code, did[0], did.count("first")) == ("RUN_ERROR", "unfinished", "first", 1)
    assert did[1:] == [f"second, attempt {attempt} of r" for attempt in (1, 2, 3)]
    state = await thread(last.source, "t")
    assert state is not None
    assert state.status == "failed"


async def test_a_run_that_had_reached_a_breakpoint_stays_there(processes: Processes) -> None:
    did: list[str] = []
    await lose_run(processes, in_a_row(did.append), interrupt_before=["second"])
    process = await processes.begin(in_a_row(did.append), interrupt_before=["second"])
    *_, end = await reading(process)
    assert end.outcome.type == "interrupt"
    assert (await texts(process), did) == (["hello", "one"], ["first"])


async def test_a_run_that_had_ended_ends_once_more(processes: Processes) -> None:
    did: list[str] = []
    await lose_run(processes, in_a_row(did.append))
    process = await processes.begin(in_a_row(did.append))
    *_, end = await reading(process)
    assert (end.type, len(did)) == ("RUN_FINISHED", 2)
    assert await texts(process) == ["hello", "one", "two"]


@pytest.mark.parametrize("writes", [4, 5], ids=["while the node before it is stored", "after it"])
async def test_a_node_that_is_gone_is_an_error(
    writes: int, processes: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    await lose_run(processes, in_a_row(lambda _: None), Death(writes))
    graph = StateGraph(MessagesState).add_node("first", lambda state: {}).add_edge(START, "first")
    *_, end = await reading(await processes.begin(graph))
    assert (end.type, end.code) == ("RUN_ERROR", "unfinished")
    assert "has no node 'second' any more (agent 'chat', thread 't', run 'r')" in caplog.text
