"""Users of one agent: each uses the threads alone that match the filter of `authorize`, and graphs know the user."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.access import MARK, Access, identity_of
from langgraph_agui.connect.errors import ThreadNotFoundError
from langgraph_agui.connect.inputs import Prepared
from langgraph_agui.connect.serve import Action, Agent, Limits, agui_app
from langgraph_agui.connect.testing import Pause

from fixtures.gated import GATED
from tests.support.clients.batch_readers import until as until_true
from tests.support.servers.gates import Gates
from tests.support.servers.serving import WITHIN, events_of, kinds_of, posted, served, told, until
from tests.support.streams.pausing_graphs import HELLO, Graph, on, quick, speaking

Saver = BaseCheckpointSaver[Any] | None


def by_header(request: Any) -> dict[str, str] | None:
    name = request.headers.get("x-user")
    return None if name is None else {"identity": name}


def own(user: Any, action: Action, agent: str, thread_id: str | None) -> bool | Mapping[str, Any]:
    """Each user has threads of their own; the admin has all."""
    return user["identity"] == "admin" or {"owner": user["identity"]}


@asynccontextmanager
async def client_of(graph: Graph, authorize: Any = own, **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with Runs() as runs:
        agent = Agent(Local(graph, runs=runs), **how)
        app = agui_app({"chat": agent}, authenticate=by_header, authorize=authorize, heartbeat=0.2)
        async with served(app) as server, server.client() as client:
            yield client


def by(name: str) -> dict[str, str]:
    return {"x-user": name}


async def answers(client: httpx.AsyncClient, thread: str, user: str) -> list[Any]:
    """What each route answers a user; the events of a stream."""
    body = posted(thread, "mine?", run_id="theirs")
    params = {"agentId": "chat", "threadId": thread}
    resumed = {**body, "resume": [{"interruptId": "i", "status": "resolved"}], "protocolVersion": None}
    asked = [
        ("/chat/connect", body),
        ("/", {"method": "agent/connect", "params": params, "body": body}),
        ("/chat", body),
        ("/agent/chat/run", resumed),
        ("/chat/stop", {"threadId": thread}),
        (f"/agent/chat/stop/{thread}", {}),
    ]
    found: list[Any] = []
    for path, given in asked:
        async with asyncio.timeout(WITHIN):
            answer = await client.post(path, json=given, headers=by(user))
        is_json = answer.headers["content-type"] == "application/json"
        found.append(answer.json() if is_json and answer.status_code == 200 else answer.status_code)
        if not is_json:
            found[-1] = kinds_of(answer.content)
    return found


HIDDEN = [[], [], 404, 404, {"stopped": False}, {"stopped": False}]


@pytest.fixture(params=["none", "memory", "sqlite"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Saver]:
    if request.param == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as kept:
            yield kept
    else:
        yield InMemorySaver() if request.param == "memory" else None


async def test_a_thread_does_not_exist_for_another_user(saver: Saver) -> None:
    """While its first run is running, when it has ended, and for one who has watched since before."""
    point = Pause()
    async with (
        client_of(speaking(point, saver), intake=Intake(busy="queue")) as client,
        client.stream("GET", "/watch/t", headers=by("bob")) as watched,
    ):
        async with client.stream("POST", "/chat", json=posted("t", "hello"), headers=by("ada")) as run:
            await point.reached.wait()
            assert await answers(client, "t", "bob") == HIDDEN
            point.open.set()
            assert kinds_of(await run.aread())[-1] == "RUN_FINISHED"
        assert await answers(client, "t", "bob") == HIDDEN
        pieces = watched.aiter_bytes()
        assert {(await anext(pieces)) for _ in range(5)} == {b": heartbeat\n\n"}
        for user in ("ada", "admin"):
            seen = await client.post("/chat/connect", json=posted("t"), headers=by(user))
            assert "one two three four" in seen.text
        async with client.stream("GET", "/watch/t", headers=by("ada")) as mine:
            assert (await until(told(mine), "RUN_FINISHED"))["type"] == "RUN_FINISHED"
        again = await client.post("/chat", json=posted("t", "hello", "and", run_id="2"), headers=by("ada"))
        assert kinds_of(again.content)[-1] == "RUN_FINISHED"


async def test_lists_have_a_users_own_threads_alone() -> None:
    graph = quick(InMemorySaver())
    async with client_of(graph) as client:
        for user in ("ada", "bob"):
            await client.post("/chat", json=posted(f"of-{user}", "hi"), headers=by(user))
    async with Runs() as runs:
        for user, other in (("ada", "bob"), ("bob", "ada")):
            threads = Local(graph, agent="chat", runs=runs).for_user(None, {"owner": user}).threads
            assert [each.thread_id for each in (await threads.search()).threads] == [f"of-{user}"]
            assert await threads.get(f"of-{other}") is None
            mine = await threads.get(f"of-{user}")
            assert mine is not None
            assert mine.metadata == {"owner": user, MARK: "chat"}
            with pytest.raises(ThreadNotFoundError):
                await threads.delete(f"of-{other}")
            with pytest.raises(ValueError, match="owner can't be written"):
                await threads.update(f"of-{user}", {"owner": other})


async def test_what_a_thread_is_stamped_with_stays_over_restarts_and_foreign_writes(tmp_path: Path) -> None:
    """And an owner who runs on it after a foreign write stamps it again; an admin changes nothing."""
    for turn in range(4):
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            graph = quick(saver)
            if turn == 1:
                await graph.aupdate_state(on("t"), {"messages": []})  # type: ignore[arg-type]
                await graph.ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
            async with client_of(graph) as client:
                if turn in (0, 2):
                    user = "ada" if turn == 0 else "admin"
                    ran = await client.post("/chat", json=posted("t", "hello", run_id=str(turn)), headers=by(user))
                    assert kinds_of(ran.content)[-1] == "RUN_FINISHED"
                assert await answers(client, "t", "bob") == HIDDEN
                assert "At once." in (await client.post("/chat/connect", json=posted("t"), headers=by("ada"))).text
                if turn == 3:
                    await client.post("/chat", json=posted("t", "more", run_id="3"), headers=by("ada"))
                    newest = await saver.aget_tuple(on("t"))  # type: ignore[arg-type]
                    assert newest is not None
                    assert newest.metadata.get("owner") == "ada"


async def test_a_thread_without_a_filters_keys_is_for_users_without_a_filter_alone() -> None:
    await quick(saver := InMemorySaver()).ainvoke(HELLO, on("t"))  # type: ignore[call-overload]
    async with client_of(quick(saver)) as client:
        assert await answers(client, "t", "ada") == HIDDEN
        assert "At once." in (await client.post("/chat/connect", json=posted("t"), headers=by("admin"))).text
        await client.post("/chat", json=posted("t", "hello"), headers=by("admin"))
        assert await answers(client, "t", "ada") == HIDDEN


class Meeting(InMemorySaver):
    """A checkpointer whose first two readers wait for each other."""

    def __init__(self) -> None:
        super().__init__()
        self.barrier, self.left = asyncio.Barrier(2), 2

    async def aget_tuple(self, config: Any) -> Any:
        if self.left:
            self.left -= 1
            await self.barrier.wait()
        return await super().aget_tuple(config)


async def test_of_two_users_who_create_a_thread_at_once_one_has_it() -> None:
    async with client_of(quick(Meeting())) as client:
        asked = [client.post("/chat", json=posted("t", "hi", run_id=user), headers=by(user)) for user in ("ada", "bob")]
        async with asyncio.timeout(WITHIN):
            found = await asyncio.gather(*asked)
        assert sorted(each.status_code for each in found) == [200, 404]


class Counting(InMemorySaver):
    """Counts what is read of it."""

    count = 0

    async def aget_tuple(self, config: Any) -> Any:
        self.count += 1
        return await super().aget_tuple(config)

    async def alist(self, config: Any, **which: Any) -> Any:
        self.count += 1
        async for each in super().alist(config, **which):
            yield each


async def test_a_filter_is_looked_up_once_for_a_thread() -> None:
    async with client_of(quick(saver := Counting())) as client:
        await client.post("/chat", json=posted("t", "hi"), headers=by("ada"))
    async with client_of(quick(saver)) as client:
        counts = []
        for user in ("admin", "admin", "ada", "ada", "bob"):
            saver.count = 0
            await client.post("/chat/connect", json=posted("t"), headers=by(user))
            counts.append(saver.count)
    known = counts[1]  # what a connection reads of the thread itself
    assert counts == [known + 1, known, known + 2, known, known]


FILTERS: list[tuple[Any, Any, bool]] = [
    ({"a": "x"}, {"a": "x", "b": 1}, True),
    ({"a": "x"}, {"a": "y"}, False),
    ({"a": "x"}, {}, False),
    ({"a": "x", "b": 2}, {"a": "x"}, False),
    ({"a": 1}, {"a": 1.0}, True),
    ({"a": 1}, {"a": True}, False),
    ({"a": False}, {"a": 0}, False),
    ({"a": {"$eq": "x"}}, {"a": "x"}, True),
    ({"a": {"$eq": "x"}}, {"a": ["x"]}, False),
    ({"a": {"$contains": "x"}}, {"a": ["y", "x"]}, True),
    ({"a": {"$contains": "x"}}, {"a": ["y"]}, False),
    ({"a": {"$contains": "x"}}, {"a": "x"}, True),
    ({"a": {"$contains": "x"}}, {"a": "xy"}, False),
    ({"a": {"$contains": ["x", "y"]}}, {"a": ["y", "z", "x"]}, True),
    ({"a": {"$contains": ["x", "y"]}}, {"a": ["x"]}, False),
    ({}, {}, True),
]


@pytest.mark.parametrize(("where", "metadata", "expected"), FILTERS)
def test_a_filter_matches_as_langgraphs_own(where: Any, metadata: Any, expected: bool) -> None:
    access = Access(where=where)
    assert access.allows(metadata) is expected
    assert access.allows(access.stamp)
    assert access.allows(None)


WRONG: list[Any] = [
    {"owner": None},
    {"owner": {"$ne": "x"}},
    {"owner": {"$eq": "x", "$contains": "x"}},
    {"owner": {}},
    {"owner": ["x"]},
    {"owner": {"$contains": []}},
    {"owner": {"$contains": ["x", "y"]}},
    {"owner": {"$eq": ["x"]}},
    {"$or": [{"owner": "x"}, {"owner": "y"}]},
    {"agui_agent": "chat"},
    {"run_id": "x"},
    {"checkpoint_ns": ""},
    {7: "x"},
]


async def test_a_filter_that_can_not_be_used_lets_no_user_in(caplog: pytest.LogCaptureFixture) -> None:
    filters = iter(WRONG)
    async with client_of(quick(InMemorySaver()), lambda *what: next(filters)) as client:
        for each in WRONG:
            caplog.clear()
            answer = await client.post("/chat", json=posted("t", "hi"), headers=by("ada"))
            assert (answer.status_code, answer.json()["error"]) == (403, "forbidden"), each
            assert "authorize returned an invalid filter, and 'run' is refused" in caplog.text, each
            assert "(agent 'chat', thread 't', run 'run-1')" in caplog.text


class Person:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@pytest.mark.parametrize(
    ("user", "identity", "known"),
    [
        ("ada", "ada", "ada"),
        (7, 7, "7"),
        ({"identity": "ada", "id": 1}, "ada", "ada"),
        ({"id": 7}, 7, "7"),
        ({"name": "ada"}, None, None),
        (Person(identity="ada"), "ada", "ada"),
        (frozenset({"ada"}), frozenset({"ada"}), None),
    ],
)
async def test_a_graph_knows_the_user_and_no_client_can_name_another(user: Any, identity: Any, known: Any) -> None:
    seen: list[Any] = []

    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.append({name: value for name, value in config["configurable"].items() if "auth" in name})
        return {"messages": [AIMessage("done", id=f"done-{len(seen)}")]}

    def careless(given: Any) -> Prepared:
        return Prepared(config=given.forwarded_props.get("config", {}))

    assert identity_of(user) == identity
    graph = StateGraph(MessagesState).add_node("n", node).add_edge(START, "n").compile(InMemorySaver())
    forged = {"langgraph_auth_user": "eve", "langgraph_auth_user_id": "eve"}
    more = {"config": {"configurable": forged}, "configurable": forged, **forged}
    for prepare in (careless, None):
        app = agui_app(Agent(graph, intake=Intake(prepare=prepare)), authenticate=lambda request: user)
        async with served(app) as server, server.client() as client:
            ran = await client.post("/", json=posted("t", "hi", run_id=f"run-{len(seen)}", forwardedProps=more))
            assert events_of(ran.text)[-1]["type"] == "RUN_FINISHED"
    assert seen == [{"langgraph_auth_user": user, "langgraph_auth_user_id": known}] * 2


async def test_a_graph_knows_no_user_where_there_is_none() -> None:
    seen: list[Any] = []

    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.extend(name for name in config["configurable"] if "auth" in name)
        return {"messages": []}

    graph = StateGraph(MessagesState).add_node("n", node).add_edge(START, "n").compile(InMemorySaver())
    props = {"langgraph_auth_user": "eve", "config": {"configurable": {"langgraph_auth_user": "eve"}}}
    async with served(agui_app(graph)) as server, server.client() as client:
        await client.post("/", json=posted("t", "hi", forwardedProps=props, config=props))
    assert not seen


async def test_a_user_has_so_many_runs_and_readers_at_once(gate: Gates, caplog: pytest.LogCaptureFixture) -> None:
    """Inputs for a thread that has a run are not one more, and another user has capacity of its own."""
    caplog.set_level("INFO")
    gate.hold("first 0")
    intake = Intake(config=gate.config(), busy="queue")
    limits = Limits(runs_per_user=1, readers_per_user=2)
    async with Runs() as runs:
        agent = Agent(Local(GATED["gated_chat"](InMemorySaver()), runs=runs), intake=intake)
        app = agui_app({"chat": agent}, authenticate=by_header, limits=limits)
        async with served(app) as server, server.client(headers=by("ada")) as client:

            def streamed(thread: str, run_id: str, user: str = "ada") -> Any:
                return client.stream("POST", "/chat", json=posted(thread, run_id, run_id=run_id), headers=by(user))

            async with streamed("t", "first"), streamed("t", "queued") as queued:
                assert queued.status_code == 200
                refused = await client.get("/watch/t")
                assert (refused.status_code, refused.json()["error"]) == (429, "too_many_readers")
            await until_true(lambda: app.state.service.capacity.readers == 0)
            async with streamed("u", "more") as refused:  # a run that is not refused never ends: it is not read
                assert refused.status_code == 429
                assert orjson.loads(await refused.aread())["error"] == "too_many_runs"
            assert int(refused.headers["retry-after"]) > 0
            assert (
                "HTTP 429: You have too many concurrent runs. Retry later. (POST '/chat', agent 'chat'" in caplog.text
            )
            async with streamed("v", "mine", "bob") as other:
                assert other.status_code == 200
            gate.open("first 0")
            await until_true(lambda: not runs.busy)
            assert (await client.post("/chat", json=posted("u", "hi"))).status_code == 200


async def test_threads_of_one_id_on_several_agents_are_several_runs_of_a_user(gate: Gates) -> None:
    """Each agent has a checkpointer of its own here; agents that share one share the thread, and its one run."""
    gate.hold("first 0")
    shared = InMemorySaver()
    savers = {"a": shared, "b": InMemorySaver(), "c": None, "shares": shared}
    intake = Intake(config=gate.config(), busy="queue")
    async with Runs() as runs:
        agents = {
            name: Agent(
                Local(GATED["gated_chat"](saver), runs=runs), intake=intake, shares_threads_with=["a", "shares"]
            )
            for name, saver in savers.items()
        }
        app = agui_app(agents, authenticate=by_header, limits=Limits(runs_per_user=1))
        async with served(app) as server, server.client(headers=by("ada")) as client:
            async with client.stream("POST", "/a", json=posted("same", "hi", run_id="first")) as first:
                assert first.status_code == 200
                for name in ("b", "c"):
                    async with client.stream("POST", f"/{name}", json=posted("same", "hi")) as refused:
                        assert refused.status_code == 429, name
                        assert b"too_many_runs" in await refused.aread(), name
                async with client.stream("POST", "/shares", json=posted("same", "hi", run_id="next")) as queued:
                    assert queued.status_code == 200
            gate.open("first 0")
            await until_true(lambda: not runs.busy)


@pytest.mark.parametrize("field", ["runs_per_user", "readers_per_user"])
def test_a_limit_of_a_user_is_none_or_a_number_above_nothing(field: str) -> None:
    wrong: list[Any] = [0, -1, 1.5, True, "1"]
    for value in wrong:
        with pytest.raises(ValueError, match=field):
            Limits(**{field: value})
    assert getattr(Limits(), field) is None
