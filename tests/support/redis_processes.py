"""Processes that share runs in Redis, each stood for by a scope of runs with a way of its own to a real Redis:
`Process`, and `Reading`, a reader of a run in one of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.active_run import ActiveRun, ThreadKey
from langgraph_agui.connect.local.store.redis import RedisRunStore
from langgraph_agui.connect.local.store.redis.keys import Keys
from langgraph_agui.connect.testing import Pause

from tests.support.clients.batch_readers import BatchReader, until
from tests.support.servers.proxy import Way, proxied
from tests.support.streams.pausing_graphs import HELLO, Graph, on

LEASE = 1.0
SLOW = 20.0
"""A lease that is not over by itself."""
THREAD = ThreadKey("default", "t")
WORDS = "one two three four"


class Process:
    """One process: its way to Redis, its store and its runs."""

    def __init__(self, way: Way, lease: float, timeout: float, blocked: float) -> None:
        self.way = way
        self.store = RedisRunStore(way.url.replace("http", "redis"), lease=lease, timeout=timeout, blocked=blocked)
        self.runs = Runs(self.store)

    async def start(self, graph: Graph, run_id: str = "r", **more: Any) -> Any:
        return await self.runs.start(graph, HELLO, on("t"), run_id=run_id, agent="chat", **more)

    async def active(self) -> ActiveRun:
        """The thread's active run, as soon as there is one."""
        while (run := await self.store.active(THREAD)) is None:  # noqa: ASYNC110 - another process may claim it
            await asyncio.sleep(0)
        return run

    async def reads(self, run: ActiveRun) -> "Reading":
        """A reader that has the beginning of the run."""
        reading = Reading(run)
        await reading.has("RUN_STARTED")
        return reading


class Reading:
    """A reader of a run, which reads to the end."""

    def __init__(self, run: ActiveRun) -> None:
        self.listener = BatchReader()
        self.task = asyncio.create_task(self.listener.hear(run.attach(self.listener.reader)))

    async def has(self, kind: str) -> None:
        await until(lambda: kind in self.listener.kinds or self.task.done())
        assert kind in self.listener.kinds

    async def has_text(self, text: str) -> None:
        await until(lambda: self.text == text or self.task.done())
        assert self.text == text

    @property
    def text(self) -> Any:
        messages = self.listener.view.messages
        return messages[-1].get("content") if messages and messages[-1]["role"] == "assistant" else None

    async def end(self) -> BatchReader:
        return await self.task


@asynccontextmanager
async def process(
    url: str, lease: float = LEASE, within: float = 0.5, blocked: float = 300.0
) -> AsyncIterator[Process]:
    async with proxied(url) as way:
        one = Process(way, lease, within, blocked)
        yield one
        await one.runs.aclose()
        await one.store.aclose()


def steps(points: list[Pause], saver: InMemorySaver) -> Graph:
    """A graph that adds a message in each of its nodes, and waits before it."""
    graph = StateGraph(MessagesState)
    for number, point in enumerate(points):

        async def step(state: MessagesState, number: int = number, point: Pause = point) -> dict[str, Any]:
            await point()
            return {"messages": [AIMessage(f"Step {number + 1}.", id=f"step-{number}")]}

        graph.add_node(f"n{number}", step)
        graph.add_edge(f"n{number - 1}" if number else START, f"n{number}")
    return graph.compile(saver)


async def awaited(holds: Callable[[], Awaitable[bool]]) -> None:
    """Asks until something holds."""
    while not await holds():  # noqa: ASYNC110 - it is asked of Redis
        await asyncio.sleep(0)


async def is_idle(process: Process) -> bool:
    return await process.store.active(THREAD) is None


async def texts_in(saver: InMemorySaver) -> list[str]:
    newest = await saver.aget_tuple(cast(RunnableConfig, on("t")))
    assert newest is not None
    return [str(message.content) for message in newest.checkpoint["channel_values"]["messages"]]


async def is_counted(redis: Any, number: int) -> bool:
    return bool(await redis.exists(Keys(THREAD).readers(number)))
