"""`langgraph_agui.compat`: an app that was written for `ag-ui-langgraph`, with another import line; the real client."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from fastapi import Depends, FastAPI, HTTPException
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui import compat
from langgraph_agui.compat import LangGraphAgent, add_langgraph_fastapi_endpoint
from starlette.responses import StreamingResponse

from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import LiveClients
from tests.support.servers.serving import served
from tests.support.streams.chats import Graph


class Counting(MessagesState):
    count: int


def counting() -> Graph:
    """Adds the step of its config to the count of the page, which it asks first if that is below zero."""

    def add(state: Counting, config: RunnableConfig) -> dict[str, Any]:
        count = state.get("count", 0) + config["configurable"].get("step", 1)
        answer = interrupt({"below": count}) if count < 0 else "right"
        return {"messages": [AIMessage(f"{count} is {answer}.")], "count": count}

    return StateGraph(Counting).add_node("add", add).add_edge(START, "add").compile(InMemorySaver())


def agent(name: str = "counter", **choices: Any) -> LangGraphAgent:
    return LangGraphAgent(name=name, graph=counting(), **choices)


def app_of_others() -> FastAPI:
    """As such apps are: an agent at the root, another below it, routes before and after, and one that runs an agent."""
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app=app, agent=agent(description="It counts."), path="/")
    add_langgraph_fastapi_endpoint(app, agent("two at a time", config={"configurable": {"step": 2}}), "/agent/two/")

    @app.get("/threads")
    def threads() -> str:
        return "ours"

    @app.post("/mine")
    async def mine(run_input: RunAgentInput) -> StreamingResponse:
        changed, encoder = twos.clone(), EventEncoder()
        changed.config = {"configurable": {"step": 3}}
        events = (encoder.encode(event) async for event in changed.run(run_input))
        return StreamingResponse(events, media_type=encoder.get_content_type())

    twos = agent("two at a time", config={"configurable": {"step": 2}})
    return app


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_page_gets_what_it_got(live: LiveClients, version: str) -> None:
    async with served(app_of_others()) as server, httpx.AsyncClient(base_url=server.url) as http:
        for path, step in (("/", 1), ("/agent/two", 2), ("/mine", 3)):
            page = await live.agent(server.url + path, version=version, state={"count": 4})
            ended = await page.says("Count.")
            assert (ended.texts[-1], ended.state) == (f"{4 + step} is right.", {"count": 4 + step})
            page = await live.agent(server.url + path, version=version, state={"count": -9})
            ended = await page.says("Count.")
            (question,) = [event for event in ended.events if event["type"] == "CUSTOM"]
            assert (question["name"], json.loads(question["value"])) == ("on_interrupt", {"below": step - 9})
            assert (ended.last.get("outcome"), ended.interrupts) == (None, [])
            ended = await page.runs(forwardedProps={"command": {"resume": "low", "interruptEvent": {}}})
            assert ended.texts[-1] == f"{step - 9} is low."
        assert (await http.get("/threads")).json() == "ours"
        for health in ("/health", "/agent/two/health"):
            assert (await http.get(health)).json()["status"] == "ok"
        assert sorted((await http.get("/agent/two/info")).json()["agents"]) == ["default", "two-at-a-time"]
        described = (await http.get("/openapi.json")).json()["paths"]
        assert {"/connect", "/mine", "/agent/two", "/agent/two/connect"} <= described.keys()


async def test_a_page_that_is_reloaded_has_its_thread(live: LiveClients) -> None:
    async with served(app_of_others()) as server:
        ended = await (await live.agent(server.url, thread_id="1")).says("Count.")
        loaded = await (await live.agent(f"{server.url}/connect", thread_id="1")).runs()
        assert (loaded.messages, loaded.state) == (ended.messages, ended.state)


@pytest.mark.parametrize(
    ("choices", "has_event", "has_outcome"),
    [
        ({}, True, False),
        ({"emit_interrupt_outcome": True}, True, True),
        ({"enable_legacy_on_interrupt_event": False}, False, True),
    ],
)
async def test_an_agent_decides_how_an_interrupt_is_shown(
    live: LiveClients, choices: dict[str, Any], has_event: bool, has_outcome: bool
) -> None:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent(**choices), "/agent")
    async with served(app) as server:
        ended = await (await live.agent(f"{server.url}/agent", state={"count": -9})).says("Count.")
    assert any(event["type"] == "CUSTOM" for event in ended.events) is has_event
    assert bool(ended.interrupts) is has_outcome


async def test_routes_are_guarded_and_limited_as_all_others() -> None:
    def refuse() -> None:
        raise HTTPException(401)

    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent(), "/agent", dependencies=[Depends(refuse)])
    async with served(app) as server, httpx.AsyncClient(base_url=server.url) as http:
        for path in ("/agent", "/agent/connect", "/agent/stop", "/agent/agent/counter/run"):
            assert (await http.post(path, json={})).status_code == 401
        assert (await http.get("/agent/threads")).status_code == 401
        assert (await http.get("/agent/health")).status_code == 200


async def test_the_routes_of_an_agent_that_a_lifespan_adds_are_entered_there(caplog: pytest.LogCaptureFixture) -> None:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        routes = add_langgraph_fastapi_endpoint(app, agent(), "/agent")
        if is_entered:
            async with routes.lifespan(app):
                yield
        else:
            yield

    run_input = {"threadId": "1", "runId": "1", "messages": [{"id": "1", "role": "user", "content": "Count."}]}
    for is_entered in (True, False):
        async with served(FastAPI(lifespan=lifespan)) as server, httpx.AsyncClient(base_url=server.url) as http:
            assert "1 is right." in (await http.post("/agent", json=run_input)).text
        assert ("async with add_langgraph_fastapi_endpoint(app, ...)" in caplog.text) is not is_entered


def test_an_agent_that_would_not_be_called_is_refused() -> None:
    class Mine(LangGraphAgent):
        def clone(self) -> Any:
            return super().clone()

        def label(self) -> str:
            return f"{self.name}!"

    class Wrapping(Mine):
        def run(self, input: RunAgentInput) -> Any:  # noqa: A002
            return super().run(input)

        def get_state_snapshot(self, state: Any) -> Any:
            return state

    graph: Any = counting()
    unusable: Any
    for unusable, reason in (
        (Wrapping(name="a", graph=graph), "Wrapping overrides get_state_snapshot, run, .*state_include"),
        (graph, "expected a LangGraphAgent.* got CompiledStateGraph"),
    ):
        with pytest.raises(TypeError, match=reason):
            add_langgraph_fastapi_endpoint(FastAPI(), unusable)
    add_langgraph_fastapi_endpoint(FastAPI(), Mine(name="a", graph=graph))
    with pytest.raises(TypeError, match="expected a compiled graph, got function"):
        LangGraphAgent(name="a", graph=counting)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="subagent_visibility"):
        LangGraphAgent(name="a", graph=graph, subagent_visibility="seen")  # type: ignore[arg-type]


def test_what_is_not_here_says_why() -> None:
    with pytest.raises(ImportError, match="belongs to the graph"):
        from langgraph_agui.compat import get_a2ui_tools  # noqa: F401
    with pytest.raises(ImportError, match=r"no ThinkingProcess: use .*add_agui_routes"):
        _ = compat.ThinkingProcess
    assert not hasattr(compat, "__path__")
    with pytest.raises(AttributeError, match=r"no LangGraphAgent.prepare_stream: Intake\(prepare"):
        _ = agent().prepare_stream
