"""A run whose process is lost is continued by another process that serves its agent. Two apps stand for two processes:
they share a run database and the checkpoints. How processes are killed: `tests.connect.processes`."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

import pytest
from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import interrupt
from langgraph_agui.connect import Intake, Prepared, connect, run, thread
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.run.configs import run_config
from langgraph_agui.connect.local.run.run_input import MOST_LOSSES
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.sqlite import SqliteRunStore
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import ClientView

from tests.support.clients.batch_readers import until
from tests.support.servers.serving import posted
from tests.support.streams.mortal_runs import Database, Death, run_until_death, sqlite_database

CONTINUE = Intake(on_lost="continue")
Did = Callable[[str], None]
ON: Any = {"configurable": {"thread_id": "t"}}


class Count(TypedDict):
    """The state of a graph without messages."""

    count: int


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
        return await self.begin_agent(agent)

    async def begin_agent(self, agent: Agent) -> Process:
        """Begins one that serves this agent."""
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


def posting(process: Process, *said: str, run_id: str = "r", user: Any = None, **more: Any) -> asyncio.Task[list[Any]]:
    """Posts an input, and reads its events to the end of the stream."""

    async def read() -> list[Any]:
        given = posted("t", *said, run_id=run_id, **more)
        intake = process.app.state.service.agents["chat"].intake
        source = process.source.for_user(user, {})
        return [event async for event in run(source, given, intake=intake(None) if callable(intake) else intake)]

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


async def test_what_is_queued_behind_a_run_follows_it(processes: Processes, caplog: pytest.LogCaptureFixture) -> None:
    """Also to a third process, with the user who has sent it."""
    made_for = list[Any]()

    def agent(point: Pause | None = None) -> Agent:
        def make_graph(config: RunnableConfig, user: Any) -> Any:
            if config["configurable"]["__is_for_execution__"]:
                made_for.append((config["configurable"]["run_id"], user))
            return in_a_row(lambda _: None, point).compile(processes.database.saver())

        return Agent(make_graph, intake=replace(CONTINUE, busy="queue"))

    point = Pause()
    one = await processes.begin_agent(agent(point))
    streams = [posting(one, "hello", user="ada")]
    await point.reached.wait()
    for number, name in enumerate(("bob", "eve"), 1):
        streams.append(posting(one, "hello", *["and on"] * number, run_id=f"r{number}", user={"identity": name}))
        await until(partial(_is_queued, one, number))
    await processes.end(one)
    for stream in streams[1:]:
        *_, end = await stream
        assert (end.type, end.code, "connect to it again" in end.message) == ("RUN_ERROR", "shutdown", True)
    point = Pause()
    two = await processes.begin_agent(agent(point))
    await point.reached.wait()
    await processes.end(two)
    three = await processes.begin_agent(agent())
    await until(lambda: len(made_for) == 5 and not three.runs.busy)
    bob, eve = {"identity": "bob"}, {"identity": "eve"}
    assert made_for == [*[("r", "ada")] * 3, ("r1", bob), ("r2", eve)]
    assert [each for each in await texts(three) if each in ("hello", "and on")] == ["hello", "and on", "and on"]
    assert "did not run" not in caplog.text
    assert "does not run" not in caplog.text


def _is_queued(process: Process, count: int) -> bool:
    return process.runs.queue.on(process.source.key("t")) == count


async def test_a_request_that_was_queued_twice_is_answered_once_by_whoever_continues_the_first(
    processes: Processes,
) -> None:
    """The second one asks for what the run has done since it arrived, before and after the hand-over."""
    points, did = [Pause(), Pause()], list[str]()

    async def first(state: MessagesState) -> dict[str, Any]:
        did.append("first")
        await points[0]()
        return {"messages": [AIMessage("one", id="one")]}

    async def second(state: MessagesState) -> None:
        did.append("second")
        await points[1]()

    graph = StateGraph(MessagesState).add_node("first", first).add_node("second", second)
    graph.add_edge(START, "first").add_edge("first", "second")
    queueing = replace(CONTINUE, busy="queue")
    one = await processes.begin(graph, queueing)
    posting(one, "hello")
    await points[0].reached.wait()
    posting(one, "hello", run_id="r1")
    await until(partial(_is_queued, one, 1))
    points[0].open.set()
    await points[1].reached.wait()
    await processes.end(one)
    points[1].open.set()
    two = await processes.begin(graph, queueing)
    await reading(two)
    await until(lambda: not two.runs.busy)
    assert (did, await texts(two)) == (["first", "second", "second"], ["hello", "one"])


async def test_what_is_queued_in_a_process_that_was_frozen_stays_there(processes: Processes, tmp_path: Path) -> None:
    """Another process has continued the run, without what is queued behind it: nobody has handed that over."""
    points, queueing = [Pause(), Pause(), Pause()], replace(CONTINUE, busy="queue")

    async def third(state: MessagesState) -> None:
        await points[2]()

    graph = in_a_row(lambda _: None, points[0]).add_node("third", third).add_edge("second", "third")
    one = await processes.begin(graph, queueing)
    two = await processes.begin(in_a_row(lambda _: None, points[1]), queueing)
    posting(one, "hello")
    await points[0].reached.wait()
    stream = posting(one, "hello", "and on", run_id="r1")
    await until(partial(_is_queued, one, 1))
    one.app.state.service.continue_none()  # it is frozen
    with closing(sqlite3.connect(tmp_path / "runs.db")) as runs, runs:
        runs.execute("UPDATE threads SET status = 'lost', until = 0")
    two.runs.store.on_lost(lambda _: None)  # looks for lost runs at once
    await points[1].reached.wait()
    points[0].open.set()
    await until(lambda: not one.runs.running)
    points[1].open.set()
    points[2].open.set()
    *_, end = await stream
    assert (end.type, await texts(one)) == ("RUN_FINISHED", ["hello", "one", "two", "and on"])


async def test_what_has_followed_a_run_to_a_process_that_was_frozen_follows_it_again(
    processes: Processes, tmp_path: Path
) -> None:
    """It does not run in both processes, even if no message shows that it has run already."""
    points, did, queueing = [Pause(), Pause(), Pause()], list[str](), replace(CONTINUE, busy="queue")

    def graph(point: Pause | None = None) -> StateGraph[Any]:
        async def work(state: Count, config: RunnableConfig) -> Count:
            if point is not None:
                await point()
            did.append(config["configurable"]["run_id"])
            return {"count": 1}

        return StateGraph(Count).add_node("work", work).add_edge(START, "work")

    one = await processes.begin(graph(points[0]), queueing)
    posting(one, "hello")
    await points[0].reached.wait()
    posting(one, "hello", "and on", run_id="r1")
    await until(partial(_is_queued, one, 1))
    await processes.end(one)
    two = await processes.begin(graph(points[1]), queueing)
    await points[1].reached.wait()
    three = await processes.begin(graph(points[2]), queueing)
    two.app.state.service.continue_none()  # it is frozen
    with closing(sqlite3.connect(tmp_path / "runs.db")) as runs, runs:
        runs.execute("UPDATE threads SET status = 'lost', until = 0")
    three.runs.store.on_lost(lambda _: None)  # looks for lost runs at once
    await points[2].reached.wait()
    points[1].open.set()
    await until(lambda: not two.runs.busy)
    points[2].open.set()
    await until(lambda: not three.runs.busy)
    assert did == ["r", "r1"]


async def test_what_is_queued_and_is_not_json_does_not_follow(
    processes: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    point = Pause()
    queueing = replace(CONTINUE, busy="queue")
    one = await processes.begin(in_a_row(lambda _: None, point), queueing)
    posting(one, "hello")
    await point.reached.wait()
    stream = posting(one, "hello", "and on", run_id="r1", user=object())
    await until(partial(_is_queued, one, 1))
    await processes.end(one)
    *_, end = await stream
    assert "Send it again" in end.message
    two = await processes.begin(in_a_row(lambda _: None), queueing)
    await reading(two)
    assert await texts(two) == ["hello", "one", "two"]
    assert "A queued input does not run: its server has ended (agent 'chat', thread 't', run 'r1')" in caplog.text


async def test_a_run_of_which_nothing_was_stored_begins_again(processes: Processes) -> None:
    point, did = Pause(), list[str]()
    one = await processes.begin(in_a_row(lambda _: None, point), death=Death(0))
    two = await processes.begin(in_a_row(did.append))
    posting(one, "hello")
    await point.reached.wait()
    elsewhere = reading(two)
    await processes.end(one)
    snapshots = [event for event in await elsewhere if event.type == "MESSAGES_SNAPSHOT"]
    assert all(event.messages[0].content == "hello" for event in snapshots)  # the page shows it from the beginning
    assert (did, await texts(two)) == (["first", "second, attempt 2 of r"], ["hello", "one", "two"])


@pytest.mark.newest
async def test_a_step_that_ends_in_time_is_not_repeated(processes: Processes) -> None:
    """LangGraph stops after it. Earlier versions than 1.2 have nothing for that."""
    point, did = Pause(), list[str]()
    one = await processes.begin(in_a_row(did.append, point).add_node("third", lambda _: {}).add_edge("second", "third"))
    posting(one, "hello")
    await point.reached.wait()
    ending = asyncio.create_task(processes.end(one))
    await until(lambda: one.runs.active[0].is_leaving)
    point.open.set()
    await ending
    two = await processes.begin(in_a_row(did.append).add_node("third", lambda _: {}).add_edge("second", "third"))
    await reading(two)
    assert (did, await texts(two)) == (["first", "second, attempt 1 of r"], ["hello", "one", "two"])


async def test_a_node_of_a_subgraph_that_is_gone_is_an_error(processes: Processes) -> None:
    point = Pause()
    one = await processes.begin(nesting(point))
    posting(one, "hello")
    await point.reached.wait()
    await processes.end(one)
    inner = StateGraph(MessagesState).add_node("speak", lambda state: {}).add_edge(START, "speak").compile()
    two = await processes.begin(StateGraph(MessagesState).add_node("in", inner).add_edge(START, "in"))
    *_, end = await reading(two)
    assert (end.type, end.code) == ("RUN_ERROR", "unfinished")


def nesting(point: Pause | None = None) -> StateGraph[Any]:
    """A graph whose subgraph says something in its first node, and waits in its second."""

    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("inner", id="inner")]}

    async def wait(state: MessagesState) -> dict[str, Any]:
        if point is not None:
            await point()
        return {"messages": [AIMessage("last", id="last")]}

    inner = StateGraph(MessagesState).add_node("speak", speak).add_node("wait", wait)
    compiled = inner.add_edge(START, "speak").add_edge("speak", "wait").compile()
    return StateGraph(MessagesState).add_node("in", compiled).add_edge(START, "in")


async def test_what_a_subgraph_has_stored_stays_visible(processes: Processes) -> None:
    point = Pause()
    one, two = await processes.begin(nesting(point)), await processes.begin(nesting())
    posting(one, "hello")
    await point.reached.wait()
    elsewhere = reading(two)
    await processes.end(one)
    view, shown, events = ClientView(), list[list[str]](), await elsewhere
    for event, following in pairwise([*events, None]):
        assert event is not None
        view.apply(event.model_dump(mode="json", by_alias=True, exclude_none=True))
        if following is None or following.type != "MESSAGES_SNAPSHOT":  # of several snapshots, the last is shown
            shown.append([message["id"] for message in view.messages])
    since = next(place for place, ids in enumerate(shown) if "inner" in ids)
    assert [ids for ids in shown[since:] if "inner" not in ids] == []
    assert shown[-1][1:] == ["inner", "last"]


async def test_of_several_processes_one_continues_a_run(processes: Processes) -> None:
    point, did = Pause(), list[str]()
    one = await processes.begin(in_a_row(did.append, point))
    others = [await processes.begin(in_a_row(did.append)) for _ in range(3)]
    posting(one, "hello")
    await point.reached.wait()
    elsewhere = [reading(other) for other in others]
    await processes.end(one)
    ends = [(await each)[-1].type for each in elsewhere]
    assert ends == ["RUN_FINISHED"] * 3
    assert did == ["first", "second, attempt 1 of r", "second, attempt 2 of r"]


async def test_each_app_of_a_process_continues_the_runs_of_its_agents(processes: Processes, tmp_path: Path) -> None:
    """Also after another app of the process has ended."""
    point, did = Pause(), list[str]()
    one = await processes.begin(in_a_row(lambda _: None, point))
    posting(one, "hello")
    await point.reached.wait()
    async with Runs(SqliteRunStore(tmp_path / "runs.db")) as runs, AsyncExitStack() as stack:
        elsewhere = reading(await processes.begin(in_a_row(did.append), Intake()))
        for name in ("chat", "another", "ended"):
            agent = Agent(in_a_row(did.append).compile(processes.database.saver()), intake=CONTINUE)
            app = agui_app({name: agent}, runs=runs, grace=0.0, drain=0.0)
            lifespan = app.router.lifespan_context(app)
            await (lifespan.__aenter__() if name == "ended" else stack.enter_async_context(lifespan))
        await lifespan.__aexit__(None, None, None)
        await processes.end(one)
        assert (await elsewhere)[-1].type == "RUN_FINISHED"
    await runs.store.aclose()
    assert did == ["second, attempt 2 of r"]


async def test_an_input_that_cannot_be_read_is_in_the_log_once(
    processes: Processes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is passed on several times in each lease, for as long as its run is lost."""
    point = Pause()
    one = await processes.begin(in_a_row(lambda _: None, point))
    posting(one, "hello")
    await point.reached.wait()
    await processes.end(one)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as runs, runs:
        runs.execute("""UPDATE threads SET input = CAST(replace(input, '"format": 1', '"format": 99') AS BLOB)""")
    text = (
        "The lost run is not continued by this process: it is of another version (agent 'chat', thread 't', run 'r')."
    )
    with caplog.at_level(logging.DEBUG):
        two = await processes.begin(in_a_row(lambda _: None))
        for number in range(1, 4):
            await until(partial(_is_logged, caplog, text, number))
            two.runs.store.on_lost(lambda _: None)  # looks for lost runs at once
    levels = [record.levelname for record in caplog.records if record.getMessage() == text]
    assert (levels[0], {*levels[1:]}) == ("WARNING", {"DEBUG"})


def _is_logged(caplog: pytest.LogCaptureFixture, text: str, times: int) -> bool:
    return caplog.messages.count(text) >= times


async def test_a_run_that_somebody_stopped_is_not_continued(processes: Processes, tmp_path: Path) -> None:
    point, did = Pause(), list[str]()
    one = await processes.begin(in_a_row(lambda _: None, point))
    reads = await processes.begin(in_a_row(did.append), Intake())
    posting(one, "hello")
    await point.reached.wait()
    elsewhere = reading(reads)
    await processes.end(one)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as runs, runs:
        runs.execute("UPDATE threads SET is_cancelled = 1")
    await processes.begin(in_a_row(did.append))
    *_, end = await elsewhere
    assert (end.outcome.type, did) == ("cancelled", [])


async def test_the_graph_is_made_for_the_user_and_the_config_of_the_run(processes: Processes) -> None:
    point, made_for = Pause(), list[Any]()

    def agent(point: Pause | None) -> Agent:
        def make_graph(config: RunnableConfig, user: Any) -> Any:
            if config["configurable"]["__is_for_execution__"]:
                made_for.append((user, config["configurable"]["tenant"]))
            return in_a_row(lambda _: None, point).compile(processes.database.saver())

        prepared = Prepared(config={"configurable": {"tenant": "t1"}})
        return Agent(make_graph, intake=Intake(on_lost="continue", prepare=lambda _: prepared))

    one = await processes.begin_agent(agent(point))
    posting(one, "hello", user={"identity": "ada"})
    await point.reached.wait()
    await processes.end(one)
    two = await processes.begin_agent(agent(None))
    await reading(two)
    assert made_for == [({"identity": "ada"}, "t1")] * 2
    assert await texts(two) == ["hello", "one", "two"]


async def test_a_graph_that_cannot_be_made_fails_the_run(processes: Processes) -> None:
    point = Pause()
    one = await processes.begin(in_a_row(lambda _: None, point))
    posting(one, "hello")
    await point.reached.wait()
    await processes.end(one)

    def make_graph(config: RunnableConfig) -> Any:
        if config["configurable"]["__is_for_execution__"]:
            raise RuntimeError("no model today")
        return in_a_row(lambda _: None).compile(processes.database.saver())

    two = await processes.begin_agent(Agent(make_graph, intake=CONTINUE))
    *_, end = await reading(two)
    assert (end.type, end.code) == ("RUN_ERROR", "RuntimeError")


async def test_a_run_may_be_handed_over_any_number_of_times(processes: Processes) -> None:
    """A deployment ends one process after the other, and each of them may have the run."""
    did: list[str] = []
    for number in range(MOST_LOSSES):
        point = Pause()
        process = await processes.begin(in_a_row(did.append, point))
        if number == 0:
            posting(process, "hello")
        await point.reached.wait()
        await processes.end(process)
    last = await processes.begin(in_a_row(did.append))
    *_, end = await reading(last)
    assert (end.type, await texts(last)) == ("RUN_FINISHED", ["hello", "one", "two"])
    assert did == ["first", *(f"second, attempt {attempt} of r" for attempt in range(1, MOST_LOSSES + 2))]


async def test_a_run_that_had_reached_a_breakpoint_stays_there(processes: Processes) -> None:
    did: list[str] = []
    await lose_run(processes, in_a_row(did.append), interrupt_before=["second"])
    process = await processes.begin(in_a_row(did.append), interrupt_before=["second"])
    *_, end = await reading(process)
    assert end.outcome.type == "interrupt"
    assert (await texts(process), did) == (["hello", "one"], ["first"])


async def test_a_run_pauses_where_its_client_wanted_in_any_process(processes: Processes) -> None:
    async def third(state: MessagesState) -> dict[str, Any]:
        raise AssertionError("the run was to pause before it")

    point, did = Pause(), list[str]()
    asked = {"command": {"interruptBefore": ["third"]}}
    ends: list[Any] = []
    for waits in (point, None):
        graph = in_a_row(did.append, waits).add_node("third", third).add_edge("second", "third")
        process = await processes.begin(graph, replace(CONTINUE, breakpoints=True))
        if waits is not None:
            posting(process, "hello", forwardedProps=asked)
            await point.reached.wait()
            await processes.end(process)
        else:
            ends += await reading(process)
    assert ends[-1].outcome.type == "interrupt"
    assert did == ["first", "second, attempt 1 of r", "second, attempt 2 of r"]


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


def asking(did: Did, point: Pause | None = None) -> StateGraph[Any]:
    """A graph that asks twice in one node, while another node waits."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        answers = [interrupt("pay 10?"), interrupt("pay 1000?")]
        return {"messages": [AIMessage(" ".join(answers), id="answers")]}

    async def wait(state: MessagesState) -> dict[str, Any]:
        did("wait")
        if interrupt("wait?") and point is not None:
            await point()
        return {"messages": [AIMessage("waited", id="waited")]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_node("wait", wait)
    return graph.add_edge(START, "ask").add_edge(START, "wait")


async def test_an_answer_is_not_taken_for_the_next_question(processes: Processes) -> None:
    """The run is lost when one node has asked its second question, and another has not finished."""
    point = Pause()
    one = await processes.begin(asking(lambda _: None, point))
    *_, asked = await posting(one, "hello")
    answers = [{"interruptId": each.id, "status": "resolved", "payload": "yes"} for each in asked.outcome.interrupts]
    posting(one, "hello", run_id="answer", resume=answers)
    await point.reached.wait()
    await processes.end(one)
    two = await processes.begin(asking(lambda _: None))
    *_, end = await reading(two)
    assert [each.metadata["value"] for each in end.outcome.interrupts] == ["pay 1000?"]


async def test_the_rest_of_an_input_follows(processes: Processes) -> None:
    """An answer, and a message, which is a turn of its own after the run of the answer."""
    point, did = Pause(), list[str]()

    def graph(point: Pause | None) -> StateGraph[Any]:
        async def ask(state: MessagesState) -> dict[str, Any]:
            if did:
                return {"messages": [AIMessage(f"{state['messages'][-1].text}!")]}
            answer = interrupt("really?")
            if point is not None:
                await point()
            did.append(answer)
            return {"messages": [AIMessage(answer)]}

        return StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")

    one = await processes.begin(graph(point))
    *_, asked = await posting(one, "hello")
    answer = {"interruptId": asked.outcome.interrupts[0].id, "status": "resolved", "payload": "yes"}
    posting(one, "hello", "and", run_id="answer", resume=[answer])
    await point.reached.wait()
    await processes.end(one)
    two = await processes.begin(graph(None))
    await reading(two)
    while len(await texts(two)) < 4:
        await reading(two)
    assert await texts(two) == ["hello", "yes", "and", "and!"]


async def test_the_user_and_what_was_prepared_come_with_the_run(processes: Processes) -> None:
    """The config and the context of the intake are those of the process that continues the run. They need not be JSON,
    and are not stored, since they may be secret."""
    point, did, secret = Pause(), list[Any](), object()

    def prepare(_: Any) -> Prepared:
        more = {"messages": [HumanMessage("more", id="m")]}
        return Prepared(config={"configurable": {"tenant": "t1"}}, context={"tone": "dry"}, values=more)

    def graph(point: Pause | None) -> StateGraph[Any]:
        async def note(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            configured = config["configurable"]
            did.append((configured["tenant"], configured["langgraph_auth_user"], configured["secret"] is secret))
            did.append(get_runtime().context == {"tone": "dry", "key": secret})
            if point is not None:
                await point()
            return {}

        return StateGraph(MessagesState).add_node("note", note).add_edge(START, "note")

    config = {"configurable": {"secret": secret}}
    intake = Intake(on_lost="continue", prepare=prepare, config=config, context={"key": secret})
    one = await processes.begin(graph(point), intake)
    posting(one, "hello", user={"identity": "ada"})
    await point.reached.wait()
    await processes.end(one)
    await reading(await processes.begin(graph(None), intake))
    assert did == [("t1", {"identity": "ada"}, True), True] * 2


class User:
    """A user that is not JSON."""

    identity = "ada"


@pytest.mark.parametrize(
    ("intake", "user", "why"),
    [
        (CONTINUE, User(), "user is not JSON"),
        (Intake(on_lost="continue", prepare=lambda _: Prepared(context=User())), None, "context is not JSON"),
        (
            Intake(on_lost="continue", prepare=lambda _: Prepared(config={"configurable": {"u": User()}})),
            None,
            "config is not JSON",
        ),
        (Intake(on_lost="continue", prepare=lambda _: Prepared(values={"more": {1, 2}})), None, "values is not JSON"),
        (lambda _: CONTINUE, None, "its intake is not the one that an app serves its agent with"),
    ],
    ids=["user", "context", "config", "values", "intake"],
)
async def test_a_run_that_cannot_be_continued_says_so(
    intake: Any, user: Any, why: str, processes: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    class State(MessagesState):
        more: Any

    graph = StateGraph(State).add_node("note", lambda state: {}).add_edge(START, "note")
    process = await processes.begin(graph, intake)
    *_, end = await posting(process, "hello", user=user)
    assert end.type == "RUN_FINISHED"
    line = f"The run cannot be continued by another process: {why} (agent 'chat', thread 't', run 'r')."
    assert line in caplog.messages


async def test_a_run_that_stores_nothing_before_its_end_is_refused(processes: Processes) -> None:
    intake = Intake(on_lost="continue", config={"configurable": {"__pregel_durability": "exit"}})
    process = await processes.begin(in_a_row(lambda _: None), intake)
    given = RunAgentInput.model_validate(posted("t", "hello"))
    with pytest.raises(ValueError, match="'exit'"):
        await process.source.submit(given, options=None, intake=intake)


async def test_an_app_whose_runs_end_with_it_says_so(caplog: pytest.LogCaptureFixture) -> None:
    graph = in_a_row(lambda _: None).compile(InMemorySaver())
    app = agui_app({"chat": Agent(graph, intake=CONTINUE)})
    with caplog.at_level(logging.INFO):
        async with app.router.lifespan_context(app):
            pass
    assert "on_lost='continue' has no effect on agent 'chat'" in caplog.text
