"""A server process that kills itself at one write of its checkpointer, and one that does not: both continue the runs of
lost processes.

`python -m tests.support.servers.processes.dying_server SETTINGS` is the command; `SETTINGS` is the JSON of `Settings`.
Each node writes lines to the journal, which all processes share: when it begins, and when it returns. So does each
write of the checkpointer when it is done. A process that dies does so with SIGKILL, in the middle of what it does. One
that is stopped comes to the point "stopped" when it serves nobody any more; Prometheus can read it until then.
"""

import asyncio
import json
import operator
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import uvicorn
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, interrupt
from langgraph_agui.connect import Intake, RedisRunStore, SqliteRunStore
from langgraph_agui.connect.cli.serving.prometheus import serving_metrics
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import ScriptedChatModel, text
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from fixtures.gates import passing, passing_at

FIRST = "One two three four."
LAST = "Alpha beta gamma delta."
WORKERS = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """What a process is given.

    - `store`: the URL of a Redis, or the path of a SQLite file. `saver`: the URL of a PostgreSQL, or a path.
    - `journal`: the path of the journal. `gate`: the port of the gates.
    - `dies_at`: the number of the checkpointer's write at which the process dies; 0 is never.
    - `dies_after`: whether it dies when this write is done, and not before it.
    """

    port: int
    store: str
    saver: str
    journal: str
    gate: int
    lease: float
    dies_at: int = 0
    dies_after: bool = False
    drain: float = 0.0

    @property
    def argument(self) -> str:
        """As an argument of the command."""
        return json.dumps(asdict(self))


class State(MessagesState):
    """The state of all graphs. `done`: the nodes that have returned, in any order."""

    done: Annotated[list[str], operator.add]


class Writes:
    """Counts the writes of a checkpointer, and dies at one of them."""

    def __init__(self, settings: Settings) -> None:
        self.count = 0
        self._settings = settings

    async def carry_out(self, write: Awaitable[Any], thread: str = "", done: Sequence[str] = ()) -> Any:
        """Carries out a write, unless the process dies before it. `done`: the nodes whose work it commits."""
        self.count += 1
        number, dies_at = self.count, self._settings.dies_at
        if number == dies_at and not self._settings.dies_after:
            self._die()
        written = await write
        for node in done:
            note(self._settings.journal, node=node, event="committed", thread=thread)
        if number == dies_at:
            self._die()
        return written

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def dying(saver: Any, writes: Writes) -> Any:
    """A checkpointer whose writes are counted."""
    aput, aput_writes = saver.aput, saver.aput_writes

    def put(*args: Any) -> Awaitable[Any]:
        return writes.carry_out(aput(*args))

    def put_writes(config: RunnableConfig, values: Sequence[tuple[str, Any]], *args: Any) -> Awaitable[Any]:
        done = [node for channel, nodes in values if channel == "done" for node in nodes]
        return writes.carry_out(aput_writes(config, values, *args), config["configurable"]["thread_id"], done)

    saver.aput, saver.aput_writes = put, put_writes
    return saver


def note(journal: str, **line: Any) -> None:
    """Writes a line to the journal."""
    with open(journal, "ab", buffering=0) as file:
        file.write(json.dumps({**line, "pid": os.getpid()}).encode() + b"\n")


class Nodes:
    """Makes nodes that write to the journal."""

    def __init__(self, journal: str) -> None:
        self._journal = journal

    def node(self, name: str, work: Callable[[Any], Awaitable[dict[str, Any]]] | None = None) -> Any:
        """A node that does this work, and is done. Point: its name."""

        async def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
            ids = config["configurable"]
            line = {"thread": ids["thread_id"], "run": ids["run_id"], "node": name, "attempt": ids.get("agui_attempt")}
            note(self._journal, **line, event="begun")
            update = {} if work is None else await work(state)
            await passing(name)
            note(self._journal, **line, event="over")
            return {**update, "done": [*update.get("done", ()), name]}

        return node

    def saying(self, name: str, content: str) -> Any:
        """A node whose model streams this."""
        model = ScriptedChatModel(turns=[list(text(content))])

        async def work(state: Any) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"])]}

        return self.node(name, work)

    def asking(self, name: str) -> Any:
        """A node that asks, and says what the answer was."""

        async def work(state: Any) -> dict[str, Any]:
            return {"messages": [AIMessage(f"{name}: {interrupt({'question': name})}", id=f"said-{name}")]}

        return self.node(name, work)


def everything(saver: Any, journal: str) -> Any:
    """Nodes of all kinds: at the root, in a subgraph, in a graph that a node calls, in parallel, and by `Send`."""
    nodes = Nodes(journal)
    child = StateGraph(State, input_schema=MessagesState)
    child.add_node("inside", nodes.saying("inside", "Deep down.")).add_node("deeper", nodes.node("deeper"))
    child.add_edge(START, "inside").add_edge("inside", "deeper")
    called = StateGraph(State).add_node("called", nodes.node("called")).add_edge(START, "called").compile()

    async def call(state: Any) -> dict[str, Any]:
        return {"done": (await called.ainvoke({"messages": [], "done": []}))["done"]}

    graph = StateGraph(State)
    work = {
        "first": nodes.saying("first", FIRST),
        "child": child.compile(),
        "calling": nodes.node("calling", call),
        **{name: nodes.node(name) for name in ("left", "right", "fan", "worker")},
        "last": nodes.saying("last", LAST),
    }
    for name, node in work.items():
        graph.add_node(name, node)
    graph.add_edge(START, "first").add_edge("first", "child").add_edge("child", "calling")
    graph.add_edge("calling", "left").add_edge("calling", "right").add_edge(["left", "right"], "fan")
    graph.add_conditional_edges("fan", _to_workers, ["worker"]).add_edge("worker", "last")
    return graph.compile(checkpointer=saver)


def _to_workers(state: Any) -> list[Send]:
    return [Send("worker", {"messages": [], "done": []})] * WORKERS


def questions(saver: Any, journal: str) -> Any:
    """Two questions at once, and then a word."""
    nodes = Nodes(journal)
    graph = StateGraph(State).add_node("one", nodes.asking("one")).add_node("other", nodes.asking("other"))
    graph.add_node("last", nodes.saying("last", LAST)).add_edge(START, "one").add_edge(START, "other")
    return graph.add_edge(["one", "other"], "last").compile(checkpointer=saver)


def stops(saver: Any, journal: str) -> Any:
    """A word, a static breakpoint, and another word."""
    nodes = Nodes(journal)
    graph = StateGraph(State).add_node("first", nodes.saying("first", FIRST))
    graph.add_node("last", nodes.saying("last", LAST)).add_edge(START, "first").add_edge("first", "last")
    return graph.compile(checkpointer=saver, interrupt_before=["last"])


def deadly(saver: Any, journal: str) -> Any:
    """A word, and then a node that kills its process."""
    nodes = Nodes(journal)

    async def die(state: Any) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    graph = StateGraph(State).add_node("first", nodes.saying("first", FIRST)).add_node("die", nodes.node("die", die))
    return graph.add_edge(START, "first").add_edge("first", "die").compile(checkpointer=saver)


def two(saver: Any, journal: str) -> Any:
    """Two words, one after the other."""
    nodes = Nodes(journal)
    graph = StateGraph(State).add_node("first", nodes.saying("first", FIRST))
    graph.add_node("last", nodes.saying("last", LAST)).add_edge(START, "first").add_edge("first", "last")
    return graph.compile(checkpointer=saver)


GRAPHS = {"deadly": deadly, "two": two, "everything": everything, "questions": questions, "stops": stops}


@asynccontextmanager
async def saver_at(place: str) -> AsyncIterator[Any]:
    """The checkpointer of a PostgreSQL database, or of a SQLite file."""
    if "://" not in place:
        async with AsyncSqliteSaver.from_conn_string(place) as sqlite:
            await sqlite.setup()
            yield sqlite
        return
    asked: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        place, kwargs=asked, min_size=1, max_size=4, open=False
    )
    async with pool:
        yield AsyncPostgresSaver(pool)


async def _serve(settings: Settings) -> None:
    with serving_metrics(("127.0.0.1", 0)) as metrics:
        await _serve_measured(settings, metrics)


async def _serve_measured(settings: Settings, metrics: str | None) -> None:
    writes = Writes(settings)
    kind: type[RedisRunStore] | type[SqliteRunStore] = RedisRunStore if "://" in settings.store else SqliteRunStore
    store = kind(settings.store, lease=settings.lease)
    gate = {"port": settings.gate, "run": ""}
    intake = Intake(on_lost="continue", config={"configurable": {"gate": gate}})
    async with saver_at(settings.saver) as saver:
        saver = dying(saver, writes)
        agents = {name: Agent(build(saver, settings.journal), intake=intake) for name, build in GRAPHS.items()}
        queueing = replace(intake, busy="queue")
        agents["queued"] = Agent(two(saver, settings.journal), intake=queueing, shares_threads_with={"two"})
        app = agui_app(agents, store=store, grace=0.0, drain=settings.drain)

        async def pid(request: Request) -> JSONResponse:
            return JSONResponse(os.getpid())

        async def written(request: Request) -> JSONResponse:
            return JSONResponse(writes.count)

        async def measured(request: Request) -> JSONResponse:
            return JSONResponse(metrics)

        own = {"/pid": pid, "/written": written, "/metrics": measured}
        app.router.routes[:0] = [Route(path, endpoint) for path, endpoint in own.items()]
        lifespan = app.router.lifespan_context

        @asynccontextmanager
        async def to_the_end(app: Any) -> AsyncIterator[Any]:
            async with lifespan(app) as state:
                yield state
            await passing_at(settings.gate, "stopped")

        app.router.lifespan_context = to_the_end
        config = uvicorn.Config(app, host="127.0.0.1", port=settings.port, log_level="warning", ws="none")
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(_serve(Settings(**json.loads(sys.argv[1]))))
