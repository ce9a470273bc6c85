"""Agents whose graph is made for each run, by a function: served by an app, with real graphs."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import Pregel
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from langgraph_agui.connect import Intake, Local, Prepared, connect, run
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, tool_call
from langgraph_sdk.runtime import ServerRuntime
from starlette.requests import Request

from tests.support.servers.serving import posted, served

Graph = Pregel[Any, Any, Any, Any]


def saying(text: str, *tools: BaseTool) -> Graph:
    """An agent that says this, after a call of each of its tools."""
    calls = [[tool_call(each.name, {})] for each in tools]
    graph: Graph = create_agent(ScriptedChatModel(turns=[*calls, text]), list(tools))
    return graph


def compiled(node: Callable[..., Any]) -> Graph:
    graph: Graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
    return graph


@tool
def look() -> str:
    """Looks."""
    return "seen"


@tool
def ask() -> str:
    """Asks a human."""
    return f"answered {interrupt('May I?')}"


def user_of(request: httpx.Request | Any) -> str | None:
    name: str | None = request.headers.get("x-user")
    return name


def events_in(text: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in text.split("\n") if line.startswith("data: ")]


async def posted_events(client: httpx.AsyncClient, path: str, given: Any, user: str = "ada") -> list[dict[str, Any]]:
    response = await client.post(path, json=given, headers={"x-user": user})
    assert response.status_code == 200, response.text
    return events_in(response.text)


def said_in(events: list[dict[str, Any]]) -> str:
    return "".join(each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT")


def answers(thread_id: str, interrupt_id: str, value: Any, run_id: str) -> dict[str, Any]:
    return posted(
        thread_id, "hi", run_id=run_id, resume=[{"interruptId": interrupt_id, "status": "resolved", "payload": value}]
    )


async def test_each_user_gets_a_graph_of_their_own() -> None:
    given = []

    def make_graph(config: RunnableConfig, user: Any) -> Graph:
        given.append((user, dict(config["configurable"])))
        return saying(f"I am {user}'s", *([look] if user == "ada" else []))

    source = Local(make_graph, checkpointer=InMemorySaver())
    async with served(agui_app({"a": source}, authenticate=user_of)) as server, server.client() as client:
        for user, tools in (("ada", ["look"]), ("bob", [])):
            events = await posted_events(client, "/a", posted(user, "hi"), user)
            assert said_in(events) == f"I am {user}'s"
            assert [each["toolCallName"] for each in events if each["type"] == "TOOL_CALL_START"] == tools
            again = await posted_events(client, "/a/connect", posted(user, run_id="c"), user)
            assert said_in(again) == f"hiI am {user}'s"
    at_start, *of_requests = given
    assert at_start == (None, {"__is_for_execution__": False})
    purposes = [(user, each["__is_for_execution__"]) for user, each in of_requests]
    assert purposes == [("ada", True), ("ada", False), ("bob", True), ("bob", False)]
    for user, configurable in of_requests:
        assert configurable["thread_id"] == user
        assert configurable["langgraph_auth_user_id"] == user


class Pool:
    """What a graph needs while it runs."""

    def __init__(self) -> None:
        self.opened = self.closed = 0
        self.raised: list[BaseException | None] = []
        self.is_closed = asyncio.Event()

    @contextmanager
    def open(self) -> Iterator[None]:
        self.opened += 1
        try:
            yield
        except BaseException as error:
            self.raised.append(error)
            raise
        else:
            self.raised.append(None)
        finally:
            self.closed += 1
            self.is_closed.set()


def needing(pool: Pool, node: Callable[..., Any], *, is_async: bool) -> Any:
    """A function that makes a graph whose node needs a pool, and opens it for runs alone."""

    @asynccontextmanager
    async def make_graph(config: RunnableConfig) -> AsyncIterator[Graph]:
        if not config["configurable"]["__is_for_execution__"]:
            yield compiled(node)
            return
        with pool.open():
            await asyncio.sleep(0)
            yield compiled(node)

    @contextmanager
    def make_graph_now(config: RunnableConfig) -> Iterator[Graph]:
        if not config["configurable"]["__is_for_execution__"]:
            yield compiled(node)
            return
        with pool.open():
            yield compiled(node)

    return make_graph if is_async else make_graph_now


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_context_manager_is_left_once_when_its_run_has_ended(*, is_async: bool) -> None:
    pool = Pool()

    def node(state: Any) -> Any:
        assert (pool.opened, pool.closed) == (1, 0)
        return {"messages": [("ai", "open")]}

    source = Local(needing(pool, node, is_async=is_async), checkpointer=InMemorySaver())
    async with served(agui_app({"a": source})) as server, server.client() as client:
        events = await posted_events(client, "/a", posted("t", "hi"))
        assert said_in(events) == "open"
        await pool.is_closed.wait()
        await posted_events(client, "/a/connect", posted("t", run_id="c"))
        same = posted("t", "hi", run_id="again")
        same["messages"].append({"id": "x", "role": "assistant", "content": "open"})
        await posted_events(client, "/a", same)  # nothing to run, but its graph was made
    assert (pool.opened, pool.closed, pool.raised) == (2, 2, [None, None])


async def test_a_context_manager_gets_what_ended_its_run() -> None:
    pool = Pool()

    def node(state: Any) -> Any:
        raise LookupError("no such town")

    source = Local(needing(pool, node, is_async=True), checkpointer=InMemorySaver())
    async with served(agui_app({"a": source})) as server, server.client() as client:
        events = await posted_events(client, "/a", posted("t", "hi"))
        assert events[-1]["code"] == "LookupError"
        await pool.is_closed.wait()
    assert (pool.opened, pool.closed, [type(each) for each in pool.raised]) == (1, 1, [LookupError])


async def test_a_context_manager_is_left_when_a_cancelled_function_has_returned() -> None:
    pool, begun, may_return = Pool(), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def node(state: Any) -> Any:
        loop.call_soon_threadsafe(begun.set)
        may_return.wait()
        assert pool.closed == 0
        return {"messages": []}

    source = Local(needing(pool, node, is_async=True), checkpointer=InMemorySaver())
    async with served(agui_app({"a": source}, websocket=False)) as server, server.client() as client:
        async with client.stream("POST", "/a", json=posted("t", "hi")) as response:
            await begun.wait()
            stopping = asyncio.create_task(client.post("/a/stop", json={"threadId": "t"}))
            async for line in response.aiter_lines():  # readers have the end at once
                if "RUN_FINISHED" in line or "RUN_ERROR" in line:
                    break
            assert (pool.opened, pool.closed) == (1, 0)
            may_return.set()
            assert (await stopping).status_code == 200
        await pool.is_closed.wait()
    assert (pool.opened, pool.closed, [type(each) for each in pool.raised]) == (1, 1, [asyncio.CancelledError])


async def test_context_managers_are_left_in_the_task_that_entered_them_and_their_variables_are_seen() -> None:
    tasks, town = list[Any](), ContextVar[str]("town")

    @asynccontextmanager
    async def make_graph(config: RunnableConfig) -> AsyncIterator[Graph]:
        tasks.append(asyncio.current_task())
        town.set("Lisbon")
        async with asyncio.TaskGroup():
            yield compiled(lambda state: {"messages": [("ai", town.get())]})
        tasks.append(asyncio.current_task())

    app = agui_app({"a": Local(make_graph, checkpointer=InMemorySaver())})
    async with served(app) as server, server.client() as client:
        assert said_in(await posted_events(client, "/a", posted("t", "hi"))) == "Lisbon"
    assert len(tasks) == 4
    assert tasks[0] is tasks[1]
    assert tasks[2] is tasks[3]


async def test_what_the_function_raises_is_the_error_of_its_run(caplog: pytest.LogCaptureFixture) -> None:
    fails = False

    async def make_graph(config: RunnableConfig) -> Graph:
        if fails:
            raise ConnectionRefusedError("the tools' server at 10.0.0.1")
        return saying("Done.", ask)

    source = Local(make_graph, checkpointer=InMemorySaver())
    async with served(agui_app({"a": source})) as server, server.client() as client:
        events = await posted_events(client, "/a", posted("t", "hi"))
        (waits,) = events[-1]["outcome"]["interrupts"]
        fails = True
        caplog.clear()
        events = await posted_events(client, "/a", answers("t", waits["id"], "yes", "run-2"))
        assert [events[0]["type"], events[-1]["type"]] == ["RUN_STARTED", "RUN_ERROR"]
        assert events[-1]["code"] == "ConnectionRefusedError"
        assert "10.0.0.1" not in json.dumps(events)
        (line,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
        assert line.getMessage() == (
            "The run failed: its graph could not be made (agent 'a', thread 't', run 'run-2')."
        )
        assert line.exc_info is not None
        refused = await client.post("/a/connect", json=posted("t", run_id="c"))
        assert (refused.status_code, refused.json()["error"]) == (503, "graph_not_made")
        assert "10.0.0.1" not in refused.text
        fails = False  # nothing has run: the thread waits as before
        events = await posted_events(client, "/a/connect", posted("t", run_id="c"))
        assert events[-1]["outcome"]["interrupts"] == [waits]
        events = await posted_events(client, "/a", answers("t", waits["id"], "yes", "run-3"))
        assert said_in(events) == "Done."


async def test_a_reload_has_what_waits_in_a_node_that_other_graphs_of_the_agent_do_not_have() -> None:
    """The graph is that of the thread's last run: `configurable` says which, and its checkpoint has that."""

    def make_graph(config: RunnableConfig) -> Graph:
        return saying("Done.", *([ask] if config["configurable"].get("kind") == "asking" else []))

    def prepare(given: Any) -> Prepared:
        return Prepared(config={"configurable": dict(given.forwarded_props)})

    saver = InMemorySaver()
    agent = Agent(Local(make_graph, checkpointer=saver), intake=Intake(prepare=prepare))
    async with served(agui_app({"a": agent}, token="token")) as server, server.client() as client:
        sent = posted("t", "hi", forwardedProps={"kind": "asking"})
        events = await posted_events(client, "/a", sent)
        (waits,) = events[-1]["outcome"]["interrupts"]
        again = await posted_events(client, "/a/connect", posted("t", run_id="c"))
        assert again[-1]["outcome"]["interrupts"] == [waits]
        async with client.stream("GET", "/watch/t") as response:
            seen = [json.loads(line[6:]) async for line in until_finished(response)]
        assert seen[-1]["outcome"]["interrupts"] == [waits]
        sent = {**answers("t", waits["id"], "yes", "run-2"), "forwardedProps": {"kind": "asking"}}
        assert said_in(await posted_events(client, "/a", sent)) == "Done."


async def test_a_page_makes_up_no_result_of_a_tool_that_only_this_graph_has() -> None:
    """The first graph, of the start, has no tools."""

    def make_graph(config: RunnableConfig) -> Graph:
        if not config["configurable"].get("thread_id"):
            return saying("Hi.")
        model = ScriptedChatModel(turns=[[tool_call("look", {}, id="call")], "Done."])
        graph: Graph = create_agent(model, [look], interrupt_before=["tools"])
        return graph

    source = Local(make_graph, checkpointer=InMemorySaver())
    async with served(agui_app({"a": source})) as server, server.client() as client:
        await posted_events(client, "/a", posted("t", "hi"))
        call = {"id": "call", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        sent = posted("t", "hi", run_id="run-2", tools=[{"name": "look", "description": "", "parameters": {}}])
        sent["messages"] += [
            {"id": "said", "role": "assistant", "toolCalls": [call]},
            {"id": "result", "role": "tool", "toolCallId": "call", "content": "made up"},
        ]
        assert said_in(await posted_events(client, "/a", sent)) == ""
        assert "made up" not in json.dumps(await posted_events(client, "/a/connect", posted("t", run_id="c")))


async def until_finished(response: httpx.Response) -> AsyncIterator[str]:
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield line
            if "RUN_FINISHED" in line:
                return


async def test_a_function_that_needs_a_user_does_not_stop_the_server(caplog: pytest.LogCaptureFixture) -> None:
    class Stated(MessagesState):
        town: str

    def make_graph(runtime: "ServerRuntime[None]") -> Graph:
        user: Any = runtime.ensure_user()
        node = lambda state: {"messages": [("ai", user["identity"])], "town": "Lisbon"}  # noqa: E731
        graph: Graph = StateGraph(Stated).add_node("node", node).add_edge(START, "node").compile()
        return graph

    def named(request: Any) -> dict[str, str]:
        return {"identity": request.headers["x-user"]}

    source = Local(make_graph, checkpointer=InMemorySaver())
    with caplog.at_level(logging.WARNING):
        async with served(agui_app({"a": source})) as server, server.client() as client:
            (line,) = [each.getMessage() for each in caplog.records]
            assert line.startswith("The graph of agent 'a' could not be made at the start (PermissionError: No auth")
            assert (await client.get("/ready")).status_code == 200
            assert "a" in (await client.get("/info")).json()["agents"]
            assert (await client.post("/a/stop", json={"threadId": "t"})).status_code == 503
            events = await posted_events(client, "/a", posted("t", "hi"))
            assert [events[-1]["type"], events[-1]["code"]] == ["RUN_ERROR", "PermissionError"]
            assert (await client.post("/a/connect", json=posted("t", run_id="c"))).status_code == 503

    source = Local(make_graph, checkpointer=InMemorySaver())
    async with served(agui_app({"a": source}, authenticate=named)) as server, server.client() as client:
        events = await posted_events(client, "/a", posted("t", "hi"))
        assert said_in(events) == "ada"
        assert "Lisbon" in json.dumps([each for each in events if each["type"].startswith("STATE_")])


async def test_runs_at_once_have_graphs_of_their_own() -> None:
    pauses = {name: Pause() for name in "abc"}
    made = []

    def make_graph(config: RunnableConfig) -> Graph:
        name = config["configurable"].get("thread_id", "")
        made.append(name)
        pause = [pauses[name]] if name in pauses else []
        graph: Graph = create_agent(ScriptedChatModel(turns=[[f"I am {name}", *pause, "!"]]))
        return graph

    source = Local(make_graph, checkpointer=InMemorySaver())
    async with served(agui_app({"a": source})) as server, server.client() as client:
        runs = {name: asyncio.create_task(posted_events(client, "/a", posted(name, "hi"))) for name in pauses}
        for pause in pauses.values():
            await pause.reached.wait()
        for pause in pauses.values():
            pause.open.set()
        for name, events in runs.items():
            assert said_in(await events) == f"I am {name}!"
    assert sorted(made) == ["", "a", "b", "c"]


async def test_all_graphs_have_the_checkpointer_and_the_store_of_the_first() -> None:
    made: list[Graph] = []

    @asynccontextmanager
    async def make_graph() -> AsyncIterator[Graph]:
        """Each graph has a checkpointer of its own, as if it were open only within this block."""
        saver, store = InMemorySaver(), InMemoryStore()
        try:
            made.append(saying("Well."))
            yield made[-1].copy(update={"checkpointer": saver, "store": store})
        finally:
            saver.storage.clear()

    async with served(agui_app({"a": make_graph})) as server, server.client() as client:
        await posted_events(client, "/a", posted("t", "hi"))
        await posted_events(client, "/a", posted("t", "hi", "and?", run_id="run-2"))
        events = await posted_events(client, "/a/connect", posted("t", run_id="c"))
        assert said_in(events) == "hiWell.and?Well."
    assert all(each.checkpointer is None for each in made)


async def test_turns_and_locks_are_those_of_the_name() -> None:
    """Two requests of one thread have two graphs, and one turn."""
    pause = Pause()

    def make_graph() -> Graph:
        graph: Graph = create_agent(ScriptedChatModel(turns=[["One", pause, "."], "Two."]))
        return graph

    source = Local(make_graph, checkpointer=InMemorySaver())
    async with served(agui_app({"a": source})) as server, server.client() as client:
        first = asyncio.create_task(posted_events(client, "/a", posted("t", "hi")))
        await pause.reached.wait()
        refused = await client.post("/a", json=posted("t", "hi", "more", run_id="run-2"))
        assert (refused.status_code, refused.json()["error"]) == (409, "conflict")
        pause.open.set()
        assert said_in(await first) == "One."


async def test_without_an_app() -> None:
    pool = Pool()

    def node(state: Any) -> Any:
        return {"messages": [("ai", "open")]}

    source = Local(needing(pool, node, is_async=True), checkpointer=InMemorySaver(), agent="a")
    first: list[Any] = [event async for event in run(source, posted("t", "hi"))]
    assert "open" in str(first)
    assert "open" in str([event async for event in connect(source, "t")])
    await pool.is_closed.wait()


def takes_too_much(config: Any, tools: Any) -> Any: ...


def takes_a_request(request: Request) -> Any: ...


def takes_a_request_by_its_name(config: Any, request: "Request") -> Any: ...


async def yields(config: Any) -> Any:
    yield saying("Hi.")


NO_GRAPHS: Mapping[str, tuple[Any, str]] = {
    "too many parameters": (
        takes_too_much,
        "agents: 'a': takes_too_much takes config, tools: expected at most a config",
    ),
    "a request": (takes_a_request, "agents: 'a': takes_a_request takes a request, request: expected at most a config"),
    "a request by its name": (takes_a_request_by_its_name, "agents: 'a': .* takes a request, request: .* intake="),
    "a generator": (yields, "agents: 'a': yields yields its graph: expected @asynccontextmanager"),
    "a class": (dict, "agents: 'a': expected a compiled graph, .* got the class dict"),
    "a model": (ScriptedChatModel(turns=[]), "agents: 'a': expected a compiled graph, .* got ScriptedChatModel"),
    "a tool": (look, "agents: 'a': expected a compiled graph, .* got StructuredTool"),
    "a text": ("graph", "agents: 'a': expected a compiled graph, .* got str"),
}


@pytest.mark.parametrize("what", NO_GRAPHS)
def test_what_is_no_graph_and_no_function_is_refused_at_once(what: str) -> None:
    value, expected = NO_GRAPHS[what]
    with pytest.raises(TypeError, match=f"^{expected}"):
        agui_app({"a": value})
    with pytest.raises(TypeError):
        Local(value)
    with pytest.raises(TypeError, match="expected a compiled graph"):
        run(partial(saying, "Hi."), posted("t", "hi"))  # type: ignore[arg-type]


async def test_a_function_that_makes_no_graph_or_the_wrong_one_stops_the_start() -> None:
    app = agui_app({"a": lambda: "graph"})
    with pytest.raises(TypeError, match="returned str: expected a graph"):
        async with app.router.lifespan_context(app):
            pass
    app = agui_app({"a": Agent(Local(lambda: saying("Hi.")), intake=Intake(state={"towns"}))})
    with pytest.raises(ValueError, match="towns"):
        async with app.router.lifespan_context(app):
            pass
