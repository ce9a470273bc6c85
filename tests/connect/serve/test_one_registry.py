"""An app's runs are those of `start`, `connect`, `watch`, `cancel`, `thread` and `threads` too, whatever its store."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from ag_ui.core import Event
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import (
    Local,
    MemoryRunStore,
    Runs,
    RunSummary,
    cancel,
    connect,
    start,
    thread,
    threads,
    watch,
)
from langgraph_agui.connect.errors import RunConflictError, RunNotFoundError, RunsClosedError
from langgraph_agui.connect.serve import Agent, add_agui_routes, agui_app
from langgraph_agui.connect.testing import Pause

from tests.support.servers.serving import posted, served, told, until
from tests.support.streams.pausing_graphs import HELLO, Graph, on, quick, speaking

SAID = "two "
"""The last that a run has said when it pauses."""
summaries: list[RunSummary] = []


class NamedStore(MemoryRunStore):
    """A store that knows agents by their names, as one of several processes does."""

    def key(self, graph: Any, agent: str | None, thread_id: str) -> Any:
        """Raises `ValueError` for an agent without a name."""
        if agent is None:
            raise ValueError("expected the name of an agent")
        return super().key(graph, agent, thread_id)


def _in_fastapi(graph: Graph) -> FastAPI:
    app = FastAPI()
    add_agui_routes(app, {"chat": graph}, path="", runs=Runs(NamedStore(), after_run=summaries.append))
    return app


APPS: dict[str, Callable[[Graph], Any]] = {
    "neither": lambda graph: agui_app({"chat": graph}),
    "store": lambda graph: agui_app({"chat": graph}, store=NamedStore()),
    "runs": lambda graph: agui_app({"chat": graph}, runs=Runs(NamedStore(), after_run=summaries.append)),
    "its own": lambda graph: agui_app({"chat": Agent(Local(graph, agent="chat", runs=Runs()))}),
    "runs of fastapi": _in_fastapi,
    "a graph for each run": lambda graph: agui_app({"chat": Agent(lambda: graph)}, store=NamedStore()),
}


@dataclass
class Served:
    """An app, and its graph as callers may name it: the graph, or one with the same threads and the agent's name."""

    client: httpx.AsyncClient
    graph: Graph
    like: Local
    sources: tuple[Graph | Local, ...]


@asynccontextmanager
async def serving(kind: str) -> AsyncGenerator[Served]:
    """The app of this kind; on thread `t` runs `posted`, which has said something that no checkpoint has."""
    saver = InMemorySaver()
    graph = speaking(Pause(), saver)
    like = Local(speaking(Pause(), saver), agent="chat")  # as one that is built for each request
    async with (
        served(APPS[kind](graph)) as server,
        server.client() as client,
        client.stream("POST", "/chat", json=posted("t", "hello", run_id="posted")) as response,
    ):
        await until(told(response), "TEXT_MESSAGE_CONTENT")
        yield Served(client, graph, like, (graph, like))


async def _is_said(events: AsyncIterator[Event] | AsyncIterator[dict[str, Any]]) -> bool:
    """Whether a reader gets what the active run has said, before an end. One without the run has its thread's last
    checkpoint."""
    async for event in events:
        wire = event if isinstance(event, dict) else event.model_dump(by_alias=True, mode="json")
        if SAID in json.dumps(wire):
            return True
        if wire["type"] in {"RUN_FINISHED", "RUN_ERROR"}:
            break
    return False


every_app = pytest.mark.parametrize("kind", APPS)


@every_app
async def test_a_thread_with_a_request_of_the_app_is_busy_for_start(kind: str) -> None:
    async with serving(kind) as app:
        for graph, agent in ((app.graph, None), (app.graph, "chat"), (app.like.graph, "chat")):
            with pytest.raises(RunConflictError):
                await start(graph, HELLO, on("t"), agent=agent)


@every_app
async def test_connect_follows_the_run_of_a_request(kind: str) -> None:
    async with serving(kind) as app:
        for source in app.sources:
            async with aclosing(connect(source, "t")) as events:
                assert await _is_said(events)


@every_app
async def test_watch_follows_the_run_of_a_request(kind: str) -> None:
    async with serving(kind) as app:
        for source in app.sources:
            async with aclosing(watch(source, "t")) as events:
                assert await _is_said(events)


@every_app
async def test_thread_has_the_run_of_a_request(kind: str) -> None:
    async with serving(kind) as app:
        for source in app.sources:
            state = await thread(source, "t")
            assert state is not None
            assert (state.status, state.run_id) == ("running", "posted")


@every_app
async def test_threads_have_the_run_of_a_request(kind: str) -> None:
    async with serving(kind) as app:
        for source in app.sources:
            page = await threads(source).search()
            assert [(info.thread_id, info.status) for info in page.threads] == [("t", "running")]
            with pytest.raises(RunConflictError):
                await threads(source).delete("t")


@every_app
@pytest.mark.parametrize("by", ["graph", "name"])
async def test_cancel_stops_the_run_of_a_request(kind: str, by: str) -> None:
    async with serving(kind) as app:
        assert await cancel(app.sources[by == "name"], "t", "posted") == "stopped"
        with pytest.raises(RunNotFoundError):
            await cancel(app.graph, "t")


@every_app
@pytest.mark.parametrize("by", ["graph", "name"])
async def test_routes_find_a_run_that_was_started(kind: str, by: str) -> None:
    async with serving(kind) as app:
        if by == "graph":
            run = await start(app.graph, HELLO, on("u"), run_id="started")
        else:
            run = await start(app.like.graph, HELLO, on("u"), run_id="started", agent="chat")
        assert await _is_said(aiter(run))
        refused = await app.client.post("/chat", json=posted("u", "hello"))
        assert (refused.status_code, refused.json()["error"]) == (409, "conflict")
        assert "started" not in refused.json()["message"]  # nor is any other id
        async with app.client.stream("POST", "/chat/connect", json=posted("u")) as response:
            assert await _is_said(told(response))
        async with app.client.stream("GET", "/chat/watch/u") as response:
            assert await _is_said(told(response))
        assert (await app.client.post("/chat/stop", json={"threadId": "u"})).json() == {"stopped": True}
        assert await run.wait() == "cancelled"


@pytest.mark.parametrize("kind", ["runs", "runs of fastapi"])
async def test_the_hook_of_an_apps_runs_gets_all_of_them(kind: str) -> None:
    summaries.clear()
    async with serving(kind) as app:
        run = await start(app.graph, HELLO, on("u"), run_id="started")
        for thread_id in ("u", "t"):
            assert await cancel(app.graph, thread_id) == "stopped"
        await run.wait()
    assert [summary.run_id for summary in summaries] == ["started", "posted"]


async def test_a_graph_that_no_app_serves_has_runs_of_its_own() -> None:
    saver = InMemorySaver()
    async with served(agui_app({"chat": quick(saver)}, store=NamedStore())):
        run = await start(quick(saver), HELLO, on("t"))
        assert await run.wait() == "finished"


async def test_closed_runs_start_nothing() -> None:
    async with Runs() as runs:
        pass
    with pytest.raises(RunsClosedError, match=r"nothing can be started after aclose\(\)"):
        await runs.start(quick(), HELLO, on("t"))
    app = agui_app({"chat": quick(InMemorySaver())}, runs=runs)
    async with served(app) as server, server.client() as client:
        answer = await client.post("/chat", json=posted("t", "hello"))
        assert (answer.status_code, answer.json()["error"]) == (503, "shutdown")


def test_an_app_has_runs_or_a_store() -> None:
    with pytest.raises(ValueError, match=r"store: expected no store together with runs"):
        agui_app({"chat": quick(InMemorySaver())}, store=MemoryRunStore(), runs=Runs())
