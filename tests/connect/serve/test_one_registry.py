"""An app's runs are those of `start`, `connect`, `watch`, `cancel`, `thread` and `threads` too, whatever its store."""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
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
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import Pause

from tests.support.servers.serving import posted, served, told, until
from tests.support.streams.paced import HELLO, Graph, on, quick, speaking

summaries: list[RunSummary] = []


class NamedStore(MemoryRunStore):
    """A store that knows agents by their names, as one of several processes does."""

    def key(self, graph: Any, agent: str | None, thread_id: str) -> Any:
        """Raises `ValueError` for an agent without a name."""
        if agent is None:
            raise ValueError("expected the name of an agent")
        return super().key(graph, agent, thread_id)


APPS: dict[str, Callable[[Graph], Any]] = {
    "neither": lambda graph: agui_app({"chat": graph}),
    "store": lambda graph: agui_app({"chat": graph}, store=NamedStore()),
    "runs": lambda graph: agui_app({"chat": graph}, runs=Runs(NamedStore(), on_run_end=summaries.append)),
    "its own": lambda graph: agui_app({"chat": Agent(Local(graph, agent="chat", runs=Runs()))}),
}


@pytest.mark.parametrize("kind", APPS)
async def test_functions_find_the_runs_of_an_app_and_its_routes_find_theirs(kind: str) -> None:
    point, saver = Pause(), InMemorySaver()
    graph = speaking(point, saver)
    anew = Local(speaking(Pause(), saver), agent="chat")  # as one that is built for each request
    app = APPS[kind](graph)
    async with served(app) as server, server.client() as client:
        async with client.stream("POST", "/chat", json=posted("t", "hello", run_id="posted")) as response:
            await until(told(response), "TEXT_MESSAGE_CONTENT")
            sources: tuple[tuple[Graph | Local, Graph, str | None], ...] = (
                (graph, graph, None),
                (anew, anew.graph, "chat"),
            )
            for source, its_graph, agent in sources:
                with pytest.raises(RunConflictError):
                    await start(its_graph, HELLO, on("t"), agent=agent)
                state = await thread(source, "t")
                assert state is not None
                assert (state.status, state.run_id) == ("running", "posted")
                for stream in (connect(source, "t"), watch(source, "t")):
                    async with aclosing(stream) as events:
                        first: Any = await anext(events)
                        assert first.run_id == "posted"
            with pytest.raises(RunConflictError):
                await threads(graph).delete("t")
            assert await cancel(graph, "t", "posted") == "stopped"
        run = await start(graph, HELLO, on("u"), run_id="started")
        refused = await client.post("/chat", json=posted("u", "hello"))
        assert (refused.status_code, refused.json()["error"]) == (409, "conflict")
        assert "started" not in refused.json()["message"]  # nor is any other id
        assert (await client.post("/chat/stop", json={"threadId": "u"})).json() == {"stopped": True}
        assert await run.wait() == "cancelled"
        with pytest.raises(RunNotFoundError):
            await cancel(anew, "u")
    if kind == "runs":
        assert [summary.run_id for summary in summaries] == ["posted", "started"]


async def test_a_graph_that_no_app_serves_has_runs_of_its_own() -> None:
    saver = InMemorySaver()
    async with served(agui_app({"chat": quick(saver)}, store=NamedStore())):
        run = await start(quick(saver), HELLO, on("t"))
        assert await run.wait() == "finished"


async def test_closed_runs_start_nothing() -> None:
    async with Runs() as runs:
        pass
    with pytest.raises(RunsClosedError, match=r"nothing is started in them after aclose\(\)"):
        await runs.start(quick(), HELLO, on("t"))
    app = agui_app({"chat": quick(InMemorySaver())}, runs=runs)
    async with served(app) as server, server.client() as client:
        answer = await client.post("/chat", json=posted("t", "hello"))
        assert (answer.status_code, answer.json()["error"]) == (503, "shutdown")


def test_an_app_has_runs_or_a_store() -> None:
    with pytest.raises(ValueError, match=r"store: expected no store together with runs"):
        agui_app({"chat": quick(InMemorySaver())}, store=MemoryRunStore(), runs=Runs())
