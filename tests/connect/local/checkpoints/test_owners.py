"""Which agent owns a thread: two agents on one checkpointer, and each sees its own threads alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_agui.connect import Intake, Local, Runs, connect, watch_sse
from langgraph_agui.connect.access import MARK, Access, owner_of
from langgraph_agui.connect.local.checkpoints.owners import Owners
from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.serve import Action, Agent, agui_app
from langgraph_agui.connect.testing import Pause

from tests.support.clients.batch_readers import until as comes_to
from tests.support.servers.serving import WITHIN, events_of, kinds_of, posted, served, told, until
from tests.support.streams.pausing_graphs import HELLO, Graph, on, quick, speaking

Saver = BaseCheckpointSaver[Any]


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Saver]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as kept:
        yield kept


@asynccontextmanager
async def two(saver: Saver, private: Graph | None = None, **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app with two agents that share a checkpointer, as the command gives all its graphs one."""
    async with Runs() as runs:
        agents = {
            "private": Agent(source=Local(private or quick(saver), runs=runs)),
            "public": Agent(source=Local(quick(saver), runs=runs), **how),
        }
        app = agui_app(agents, authenticate=lambda request: request.headers["user"], authorize=_is_in, heartbeat=0.2)
        async with served(app) as server, server.client(headers={"user": "in"}) as client:
            yield client


def _is_in(user: Any, action: Action, agent: str, thread_id: str | None) -> bool:
    return agent == "public" or user == "in"


def routes(thread: str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """All ways to ask the public agent for what is in a thread, or for a run of it."""
    params = {"agentId": "public", "threadId": thread}
    resumed = {**body, "resume": [{"interruptId": "i", "status": "resolved"}], "protocolVersion": None}
    return [
        ("/public/connect", body),
        ("/agent/public/connect", body),
        ("/", {"method": "agent/connect", "params": params, "body": body}),
        ("/public", body),
        ("/agent/public/run", body),
        ("/", {"method": "agent/run", "params": params, "body": body}),
        ("/agent/public/run", resumed),
        ("/public/stop", {"threadId": thread}),
        (f"/agent/public/stop/{thread}", {}),
        ("/", {"method": "agent/stop", "params": params}),
    ]


ANSWERS = [b""] * 3 + [404] * 4 + [{"stopped": False}] * 3


async def answers(client: httpx.AsyncClient, thread: str) -> list[Any]:
    found: list[Any] = []
    for path, body in routes(thread, posted(thread, "mine?", run_id="theirs")):
        async with asyncio.timeout(WITHIN):
            answer = await client.post(path, json=body)
        assert "At once." not in answer.text
        assert "one two" not in answer.text
        if answer.status_code != 200:
            found.append(answer.status_code)
        else:
            found.append(answer.json() if "stop" in path or "stop" in str(body.get("method")) else answer.content)
    return found


async def test_a_thread_is_not_served_under_another_agent(saver: Saver) -> None:
    async with two(saver) as client:
        assert kinds_of((await client.post("/private", json=posted("t", "hello"))).content)[-1] == "RUN_FINISHED"
        before = len([each async for each in saver.alist(on("t"))])  # type: ignore[arg-type]
        assert await answers(client, "t") == ANSWERS
        assert len([each async for each in saver.alist(on("t"))]) == before  # type: ignore[arg-type]
        held = await client.post("/private/connect", json=posted("t"))
        assert "At once." in held.text
        assert (await client.post("/private/connect", json=posted("t"), headers={"user": "out"})).status_code == 403


async def test_a_run_is_not_served_under_another_agent(saver: Saver) -> None:
    point = Pause()
    async with (
        two(saver, speaking(point, saver), intake=Intake(busy="queue")) as client,
        client.stream("GET", "/watch/t?agent=public") as watches,
    ):
        async with client.stream("POST", "/private", json=posted("t", "hello")) as runs_now:
            await point.reached.wait()
            assert await answers(client, "t") == ANSWERS
            point.open.set()
            assert kinds_of(await runs_now.aread())[-1] == "RUN_FINISHED"
        pieces = watches.aiter_bytes()
        assert {(await anext(pieces)) for _ in range(5)} == {b": heartbeat\n\n"}
        async with client.stream("GET", "/watch/t?agent=private") as own:
            assert (await until(told(own), "RUN_FINISHED"))["type"] == "RUN_FINISHED"


async def test_a_watcher_of_another_agent_sees_neither_runs_nor_writes(saver: Saver) -> None:
    async with Runs() as runs:
        mine, other = (Local(quick(saver), agent=name, runs=runs) for name in ("private", "public"))
        hidden = watch_sse(other, "t", poll=0.01, heartbeat=0.05)
        assert await anext(hidden) == b": heartbeat\n\n"
        run = await runs.start(mine.graph, HELLO, on("t"), agent="private")
        assert await run.wait() == "finished"
        await mine.graph.aupdate_state(on("t"), {"messages": []})  # type: ignore[arg-type]
        assert {await anext(hidden) for _ in range(3)} == {b": heartbeat\n\n"}
        await hidden.aclose()


async def test_an_owner_stays_over_a_restart_and_over_writes_without_a_mark(tmp_path: Path) -> None:
    for turn in range(3):
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver, two(saver) as client:
            if turn == 0:
                await client.post("/private", json=posted("t", "hello"))
            elif turn == 1:
                graph = quick(saver)
                await graph.aupdate_state(on("t"), {"messages": []})  # type: ignore[arg-type]
                await graph.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
                newest = await saver.aget_tuple(on("t"))  # type: ignore[arg-type]
                assert newest is not None
                assert MARK not in newest.metadata
            assert await answers(client, "t") == ANSWERS
            assert "At once." in (await client.post("/private/connect", json=posted("t"))).text


async def test_a_thread_of_no_agent_is_read_by_all_and_owned_by_the_next_that_runs_on_it(saver: Saver) -> None:
    await quick(saver).ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
    async with two(saver) as client:
        for agent in ("private", "public", "private"):
            assert "At once." in (await client.post(f"/{agent}/connect", json=posted("t"))).text
        await client.post("/private", json=posted("t", "mine now"))
        assert await answers(client, "t") == ANSWERS
    async with two(saver) as client:
        assert await answers(client, "t") == ANSWERS


async def test_agents_may_share_threads(saver: Saver) -> None:
    async with two(saver, shares_threads_with=frozenset({"private"})) as client:
        await client.post("/private", json=posted("t", "hello"))
        assert "At once." in (await client.post("/public/connect", json=posted("t"))).text
        assert events_of((await client.post("/public", json=posted("t", "hello", "and"))).content)
        newest = await saver.aget_tuple(on("t"))  # type: ignore[arg-type]
        assert newest is not None
        assert newest.metadata.get(MARK) == "private"
        await client.post("/public", json=posted("u", "hello"))
        assert (await client.post("/private", json=posted("u", "hello"))).status_code == 404


@pytest.mark.parametrize("kind", [Local, Agent])
def test_one_name_in_place_of_names_of_agents_is_refused(kind: Any) -> None:
    given = {"source" if kind is Agent else "graph": quick(InMemorySaver())}
    with pytest.raises(ValueError, match="expected names of agents, got the string 'private'"):
        kind(**given, shares_threads_with="private")
    made = kind(**given, shares_threads_with=["private"])
    assert getattr(made, "access", made).shares_threads_with == {"private"}


async def test_two_agents_do_not_run_on_one_thread_at_once(saver: Saver) -> None:
    point = Pause()
    async with (
        two(saver, speaking(point, saver), shares_threads_with=frozenset({"private"})) as client,
        client.stream("POST", "/private", json=posted("t", "hello")) as runs_now,
    ):
        await point.reached.wait()
        refused = await client.post("/public", json=posted("t", "hello", "and", run_id="run-2"))
        assert (refused.status_code, refused.json()["error"]) == (409, "conflict")
        point.open.set()
        await runs_now.aread()


class Planning(InMemorySaver):
    """Lets the second read of a thread, that of the first input's plan, wait until `open` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.open = asyncio.Event()

    async def aget_tuple(self, config: Any) -> Any:
        self.reads += 1
        if self.reads == 2:
            await self.open.wait()
        return await super().aget_tuple(config)


async def test_an_input_finds_that_a_thread_was_begun_by_another_agent_while_it_waited_for_its_turn() -> None:
    point, saver = Pause(), Planning()
    async with two(saver, speaking(point, saver)) as client:
        first = asyncio.create_task(client.post("/private", json=posted("t", "hello")))
        await comes_to(lambda: saver.reads == 2)
        second = asyncio.create_task(client.post("/public", json=posted("t", "hello")))
        await comes_to(lambda: saver.reads == 3)  # it may use a thread that does not exist
        saver.open.set()
        assert (await second).status_code == 404
        point.open.set()
        assert kinds_of((await first).content)[-1] == "RUN_FINISHED"


async def test_a_source_without_an_agents_name_reads_and_runs_on_any_thread(saver: Saver) -> None:
    point = Pause()
    async with Runs() as runs:
        graph = speaking(point, saver)
        run = await runs.start(graph, HELLO, on("t"), agent="chat")
        await point.reached.wait()
        stream = connect(Local(graph, runs=runs), "t")
        assert (await anext(stream)).type == "RUN_STARTED"
        point.open.set()
        assert [event.type async for event in stream][-1] == "RUN_FINISHED"
        assert await run.wait() == "finished"
        unnamed = await runs.start(quick(saver), HELLO, on("u"))
        assert await unnamed.wait() == "finished"
        assert owner_of(await Owners().find(ThreadKey("saver", "u"), saver, Access("chat"))) is None


class Counting(InMemorySaver):
    """Counts what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    async def aget_tuple(self, config: Any) -> Any:
        self.asked.append("newest")
        return await super().aget_tuple(config)

    async def alist(self, config: Any, **which: Any) -> Any:
        self.asked.append(which["limit"])
        async for each in super().alist(config, **which):
            yield each


async def test_to_know_an_owner_takes_a_bounded_number_of_checkpoints_and_once() -> None:
    graph = quick(saver := Counting())
    for _ in range(30):
        await graph.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
    owners, saver.asked = Owners(), []
    assert [owner_of(await owners.find(ThreadKey("saver", "t"), saver, Access("a"))) for _ in range(2)] == [None, None]
    assert saver.asked == ["newest", 1, 16, "newest"]
    await graph.ainvoke(HELLO, {**on("t"), "metadata": {MARK: "a"}})  # type: ignore[call-overload]
    for agent, asked in (("a", ["newest"]), ("b", ["newest", 1, 16])):
        owners, saver.asked = Owners(), []
        assert [owner_of(await owners.find(ThreadKey("saver", "t"), saver, Access(agent))) for _ in range(2)] == [
            "a",
            "a",
        ]
        assert saver.asked == asked
