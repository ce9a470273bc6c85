"""Checkpointers with threads for lists, and what is to be listed of them, found without an index."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from langgraph_agui.connect import Local, Runs, run, thread
from langgraph_agui.connect.local.thread import LocalThread

KINDS = ("memory", "SQLite", "another")
AGENTS = ("chat", "desk")
USERS = ("ann", "bob")


class Another(BaseCheckpointSaver[Any]):
    """A checkpointer of a kind that is not known here: it has nothing but what every checkpointer has."""

    def __init__(self, saver: AsyncSqliteSaver) -> None:
        super().__init__()
        self._saver = saver
        self.get_next_version = saver.get_next_version  # type: ignore[method-assign]

    async def aget_tuple(self, config: Any) -> Any:
        return await self._saver.aget_tuple(config)

    async def alist(self, config: Any, **which: Any) -> AsyncIterator[Any]:
        async for each in self._saver.alist(config, **which):
            yield each

    async def aput(self, *given: Any) -> Any:
        return await self._saver.aput(*given)

    async def aput_writes(self, *given: Any) -> None:
        await self._saver.aput_writes(*given)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._saver.adelete_thread(thread_id)


@asynccontextmanager
async def opened(kind: str, where: str | Path, count: int = 1) -> AsyncIterator[Sequence[BaseCheckpointSaver[Any]]]:
    """Checkpointers on one database, as several processes have them. `where`: its file, or its URL."""
    async with AsyncExitStack() as open_:
        if kind == "memory":
            yield count * [InMemorySaver()]
            return
        if kind == "PostgreSQL":
            postgres = [
                await open_.enter_async_context(AsyncPostgresSaver.from_conn_string(str(where))) for _ in range(count)
            ]
            await postgres[0].setup()
            yield postgres
            return
        savers = [await open_.enter_async_context(AsyncSqliteSaver.from_conn_string(str(where))) for _ in range(count)]
        yield [Another(saver) for saver in savers] if kind == "another" else savers


def conversation(saver: BaseCheckpointSaver[Any], store: InMemoryStore | None = None) -> Any:
    """A graph that answers; it asks, or raises, if its user wants that."""

    def answer(state: MessagesState) -> dict[str, Any]:
        said = state["messages"][-1].text
        if said == "raise":
            raise ValueError(said)
        return {"messages": [AIMessage(interrupt("Well?") if said == "ask" else f"I heard {said}.")]}

    builder = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    return builder.compile(checkpointer=saver, store=store)


async def said(source: Local, thread_id: str, words: str, run_id: str) -> None:
    """A run on a thread, to its end."""
    message = {"id": f"{run_id}-message", "role": "user", "content": words}
    wire: dict[str, Any] = {"threadId": thread_id, "runId": run_id, "messages": [message], "state": {}, "tools": []}
    async for _ in run(source, {**wire, "context": [], "forwardedProps": {}}):
        pass


async def listed(source: Local, size: int, **which: Any) -> list[tuple[str, str, str | None]]:
    """All threads of a list, read in pages of a size: their ids, statuses and titles."""
    found, after = list[tuple[str, str, str | None]](), None
    while True:
        page = await source.threads.search(limit=size, after=after, **which)
        assert len(page.threads) <= size
        found += [(info.thread_id, info.status, info.title) for info in page.threads]
        if (after := page.next) is None:
            return found


async def expected(source: Local, titles: dict[str, str]) -> list[tuple[str, str, str | None]]:
    """What is to be listed, read from the checkpointer and through `thread`."""
    saver: Any = source.graph.checkpointer
    newest: dict[str, str] = {}
    async for saved in saver.alist(None):
        key = saved.config["configurable"]
        if not key["checkpoint_ns"]:
            newest[key["thread_id"]] = max(newest.get(key["thread_id"], ""), key["checkpoint_id"])
    ids = sorted(newest, key=lambda each: newest[each], reverse=True)
    usable = [(each, await thread(source, each)) for each in ids if await LocalThread(source, each).may_be_used()]
    return [(each, now.status, titles.get(each, "hello")) for each, now in usable if now is not None]


class Server:
    """A process with two agents, and its lists."""

    def __init__(self, saver: BaseCheckpointSaver[Any], store: InMemoryStore) -> None:
        self.runs = Runs()
        self._graph = conversation(saver, store)

    def source(self, agent: str, user: str | None) -> Local:
        """An agent as it is for a user; None: without `authorize`."""
        source = Local(self._graph, agent=agent, runs=self.runs)
        return source if user is None else source.for_user(user, {"user": user})


async def at_random(kind: str, where: str | Path, seed: int, steps: int) -> None:
    """Threads are run, written, renamed and deleted by two servers and by others; each list has what is there."""
    random, titles, ids = Random(seed), dict[str, str](), [*range(8)]
    store = InMemoryStore()
    async with opened(kind, where, 3) as (one, two, elsewhere):
        servers, outside = [Server(one, store), Server(two, store)], conversation(elsewhere)
        for step in range(steps):
            server, agent, user = random.choice(servers), random.choice(AGENTS), random.choice(USERS)
            source, thread_id = server.source(agent, user), f"thread {random.choice(ids)}"
            config: Any = {"configurable": {"thread_id": thread_id}}
            is_there = await elsewhere.aget_tuple(config) is not None
            words = random.choice(("hello", "ask", "raise")) if is_there else "hello"
            match random.randrange(6):
                case 0 | 1:
                    if await LocalThread(source, thread_id).may_be_used():
                        await said(source, thread_id, words, f"run-{step}")
                case 2:
                    marks = random.choice(({}, {"agui_agent": agent, "user": user}))
                    if words == "raise":
                        words = "ask"
                    await outside.ainvoke({"messages": [("user", words)]}, {**config, "metadata": marks})
                case 3 if is_there:
                    await outside.aupdate_state(config, {"messages": [("ai", "Written.")]}, as_node="answer")
                case 4 if await source.threads.get(thread_id) is not None:
                    titles[thread_id] = f"Title {step}"
                    await source.threads.update(thread_id, {"agui_title": titles[thread_id]})
                case 5 if random.random() < 0.5 and await source.threads.get(thread_id) is not None:
                    await source.threads.delete(thread_id)
                    ids.append(max(ids) + 1)  # a process remembers whose a deleted thread was
                    ids.remove(int(thread_id.split()[1]))
            if random.random() < 0.6:
                looking = random.choice(servers).source(random.choice(AGENTS), random.choice((None, *USERS)))
                wanted = await expected(looking, titles)
                shown = await listed(looking, random.randint(1, 5))
                assert shown == wanted, f"step {step}: {shown} {wanted}"
                for status in ("idle", "waiting", "failed"):
                    only = [each for each in wanted if each[1] == status]
                    assert await listed(looking, 3, status=status) == only, f"step {step}"
        for server in servers:
            await server.runs.aclose()


async def filled(
    saver: BaseCheckpointSaver[Any], count: int, name: str = "old", *, long: int = 0, **metadata: Any
) -> list[str]:
    """Threads that are older than any index, the newest first: as many as `count`, and then one with as many
    checkpoints as `long`."""
    ids = [f"{name} {number}" for number in range(count)] + ["long" for _ in range(min(long, 1))]
    for thread_id in ids:
        config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        for step in range(-1, long if thread_id == "long" else 0):
            given: Any = {"source": "input" if step < 0 else "loop", "step": step, "parents": {}, **metadata}
            config = await saver.aput(config, {**empty_checkpoint(), "id": str(uuid6())}, given, {})
    return ids[::-1]
