"""How an agent's graph looks, over HTTP, and runs that pause at nodes that their client names: graphs of this process,
and a LangGraph server."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, Platform
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import check_stream
from langgraph_sdk import get_client

from tests.support.servers.serving import BEARER, TOKEN, events_of, posted, served
from tests.support.streams.chats import Graph


def say(text: str) -> Any:
    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", text)]}

    return node


def inner() -> Any:
    builder = StateGraph(MessagesState).add_sequence([("look", say("looked")), ("read", say("read"))])
    return builder.add_edge(START, "look").compile()


def shop(saver: Any = None, **how: Any) -> Graph:
    """Searches in a subgraph, charges, and ends, or searches again."""
    builder = StateGraph(MessagesState).add_node("plan", say("planned"), metadata={"secret": "s"})
    builder.add_node("search", inner()).add_node("charge", say("charged"))
    builder.add_edge(START, "plan").add_edge("plan", "search").add_edge("search", "charge")
    builder.add_conditional_edges("charge", lambda state: "done", {"done": END, "again": "plan"})
    graph: Graph = builder.compile(saver or InMemorySaver(), **how)
    return graph


@asynccontextmanager
async def client_of(agent: Any, **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with served(agui_app({"shop": agent}, **how)) as server, server.client() as client:
        yield client


def pausing(*before: str, after: Any = (), **more: Any) -> dict[str, Any]:
    return {"forwardedProps": {"command": {"interruptBefore": [*before], "interruptAfter": [*after]}}, **more}


def going_on(events: list[dict[str, Any]], status: str = "resolved") -> dict[str, Any]:
    (breakpoint_,) = events[-1]["outcome"]["interrupts"]
    assert breakpoint_["reason"] == "langgraph:breakpoint"
    return {"resume": [{"interruptId": breakpoint_["id"], "status": status}], "messages": []}


async def ran(client: httpx.AsyncClient, thread: str, *texts: str, **more: Any) -> list[dict[str, Any]]:
    answer = await client.post("/shop", json=posted(thread, *texts, run_id=str(uuid.uuid4())) | more)
    assert answer.status_code == 200, answer.text
    return events_of(answer.text)


def steps(events: list[dict[str, Any]]) -> list[str]:
    return [event["stepName"] for event in events if event["type"] == "STEP_STARTED"]


def said(events: list[dict[str, Any]]) -> Any:
    return check_stream(events).messages[-1]["content"]


async def test_a_graph_is_described_by_the_names_of_its_steps_to_who_may_list_its_threads() -> None:
    def by_header(request: Any) -> str | None:
        return str(request.headers["x-user"])

    def may(user: str, action: str, agent: str, thread_id: str | None) -> bool:
        return user == "ada"

    async def make(config: Any) -> Graph:
        return shop(interrupt_before=["charge"])

    described = {
        "nodes": [
            {"name": "__start__", "stops": []},
            {"name": "plan", "stops": []},
            {"name": "charge", "stops": ["before"]},
            {"name": "__end__", "stops": []},
            {"name": "search/look", "stops": []},
            {"name": "search/read", "stops": []},
        ],
        "edges": [
            {"source": "__start__", "target": "plan", "conditional": False},
            {"source": "charge", "target": "__end__", "conditional": True, "label": "done"},
            {"source": "charge", "target": "plan", "conditional": True, "label": "again"},
            {"source": "plan", "target": "search/look", "conditional": False},
            {"source": "search/read", "target": "charge", "conditional": False},
            {"source": "search/look", "target": "search/read", "conditional": False},
        ],
    }
    for source in (shop(interrupt_before=["charge"]), Local(make, checkpointer=InMemorySaver())):
        async with client_of(source, token=TOKEN) as client:
            for headers, status in (({}, 403), (BEARER, 200)):
                answer = await client.get("/shop/graph", headers=headers)
                assert answer.status_code == status
            assert answer.json() == {**described, "breakpoints": True}
            assert (await client.get("/other/graph", headers=BEARER)).status_code == 404
    async with client_of(shop(), authenticate=by_header, authorize=may) as client:
        for user, status in (("ada", 200), ("bob", 403)):
            answer = await client.get("/shop/graph", headers={"x-user": user})
            assert (answer.status_code, "search" in answer.text) == (status, status == 200)
            assert answer.json().get("breakpoints") is (False if status == 200 else None)


async def test_a_run_pauses_where_its_client_says_and_where_the_graph_does() -> None:
    agent = Agent(shop(interrupt_before=["charge"]), intake=Intake(breakpoints=True))
    async with client_of(agent) as client:
        first = await ran(client, "t", "hi", **pausing("search", after=["plan"]))
        assert (steps(first), said(first)) == (["plan"], "planned")
        connected = events_of((await client.post("/shop/connect", json=posted("t"))).text)
        assert connected[-1]["outcome"] == first[-1]["outcome"]
        waits = await ran(client, "t", "and this?")
        assert waits[-1]["outcome"]["type"] == "interrupt"
        # The graph's own breakpoint holds, although the client names another one.
        second = await ran(client, "t", **going_on(first), **pausing("plan"))
        assert (steps(second), said(second)) == (["search", "search/look", "search/read"], "read")
        third = await ran(client, "t", **going_on(second))
        assert (steps(third), third[-1]["outcome"]) == (["charge"], {"type": "success"})
        whole = await ran(client, "u", "hi")
        assert steps(whole)[-1] == "search/read"
        assert (await ran(client, "u", **going_on(whole, "cancelled")))[-1]["outcome"] == {"type": "success"}


async def test_breakpoints_that_are_not_admitted_or_not_in_the_graph_are_refused_without_a_run() -> None:
    names = [["nobody"], ["search/look"], "plan", [1], {"a": 1}, ["__start__"]]
    async with client_of(shop(), token=TOKEN) as client:
        asked: list[tuple[Any, Any, str]] = [
            (pausing("plan"), {}, "may not set breakpoints"),
            *(({"forwardedProps": {"command": {"interruptAfter": each}}}, BEARER, "names of") for each in names),
        ]
        for wire, headers, text in asked:
            refused = await client.post("/shop", json=posted("t", "hi") | wire, headers=headers)
            assert (refused.status_code, text in refused.text, "nobody" in refused.text) == (422, True, False)
        assert (await client.get("/threads/t", headers=BEARER)).status_code == 404
        client.headers.update(BEARER)
        assert steps(await ran(client, "t", "hi", **pausing("search"))) == ["plan"]
        assert steps(await ran(client, "u", "hi", **pausing()))[-1] == "charge"


async def test_a_pause_is_one_after_the_server_was_started_again(tmp_path: Path) -> None:
    @asynccontextmanager
    async def started() -> AsyncIterator[httpx.AsyncClient]:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads")) as saver:
            agent = Agent(shop(saver), intake=Intake(breakpoints=True))
            async with client_of(agent) as client:
                yield client

    async with started() as client:
        before = await ran(client, "before", "hi", **pausing("charge"))
        after = await ran(client, "after", "hi", **pausing(after=["plan"]))
    async with started() as client:
        for thread, events, rest in (("before", before, 1), ("after", after, 4)):
            connected = events_of((await client.post("/shop/connect", json=posted(thread))).text)
            assert connected[-1]["outcome"] == events[-1]["outcome"]
            assert len(steps(await ran(client, thread, **going_on(connected)))) == rest


@pytest.mark.services
async def test_a_graph_of_a_platform_is_described_and_pauses(dev_server: str) -> None:
    async with get_client(url=dev_server) as platform:
        source = Platform(platform, "state_counters", run={"interrupt_after": ["two"]})
        async with client_of(source, token=TOKEN) as client:
            client.headers.update(BEARER)
            graph = (await client.get("/shop/graph")).json()
            names = [node["name"] for node in graph["nodes"]]
            assert {"__start__", "one", "two", "__end__"} <= {*names}
            assert {"source": "one", "target": "two", "conditional": False} in graph["edges"]
            thread = str(uuid.uuid4())
            first = await ran(client, thread, "hi", **pausing("two"))
            assert steps(first) == ["one"]
            second = await ran(client, thread, **going_on(first), **pausing("one"))
            assert steps(second) == ["two"]
            assert second[-1]["outcome"]["type"] == "interrupt"  # where the owner wants all runs to pause
            refused = await client.post("/shop", json=posted(thread, "hi") | pausing("nobody"))
            assert refused.status_code == 422
