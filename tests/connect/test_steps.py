"""From the events of a run to its readers: how many asynchronous generators a batch passes."""

import asyncio
import inspect
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Local, Runs, connect, connect_sse, run_sse, watch, watch_sse
from langgraph_agui.connect.events.event_log import EventLog
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import Pause

from tests.support.servers.serving import posted, served
from tests.support.streams.pausing_graphs import speaking

AT_MOST = 3


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """For each batch that a reader takes from the log: the generators that it passes, outermost last."""
    found: list[list[str]] = []
    take = EventLog._next

    def taken(log: EventLog, position: Any) -> Any:
        frame: Any = sys._getframe()
        names = []
        while frame is not None:
            if frame.f_code.co_flags & inspect.CO_ASYNC_GENERATOR:
                names.append(frame.f_code.co_qualname)
            frame = frame.f_back
        found.append(names)
        return take(log, position)

    monkeypatch.setattr(EventLog, "_next", taken)
    return found


@pytest.mark.parametrize("how", ["run", "connect", "watch", "copilotkit"])
async def test_between_the_log_and_the_socket(how: str, passed: list[list[str]]) -> None:
    point = Pause()
    app = agui_app({"chat": speaking(point, InMemorySaver())})
    async with served(app) as server, server.client() as client:
        running = asyncio.create_task(client.post("/chat", json=posted("t", "hello")))
        await point.reached.wait()
        passed.clear()
        if how == "run":
            point.open.set()
        else:
            path = {"connect": "/chat/connect", "watch": "/chat/watch/t", "copilotkit": "/agent/chat/connect"}[how]
            body = None if how == "watch" else posted("t", run_id="r-2")
            async with client.stream("GET" if body is None else "POST", path, json=body) as answer:
                lines = answer.aiter_lines()
                async for line in lines:
                    if "TEXT_MESSAGE" in line:
                        point.open.set()
                    if "RUN_FINISHED" in line:
                        break
        await running
    assert passed
    assert {tuple(names) for names in passed} == {("EventLog.read",)}


Reading = Callable[[Local], AsyncGenerator[Any, None]]
READINGS: dict[str, Reading] = {
    "run_sse": lambda source: run_sse(source, RunAgentInput.model_validate(posted("t", "hello", run_id="r-2"))),
    "connect": lambda source: connect(source, "t"),
    "connect_sse": lambda source: connect_sse(source, "t"),
    "watch": lambda source: watch(source, "t"),
    "watch_sse": lambda source: watch_sse(source, "t"),
}


@pytest.mark.parametrize("how", READINGS)
async def test_between_the_log_and_a_caller(how: str, passed: list[list[str]]) -> None:
    point = Pause()
    point.open.set()
    async with Runs() as runs:
        source = Local(speaking(point, InMemorySaver()), runs=runs)
        if how != "run_sse":
            point.open.clear()
            async with aclosing(run_sse(source, RunAgentInput.model_validate(posted("t", "hello")))) as first:
                await anext(first)
        async with aclosing(READINGS[how](source)) as batches:
            async for each in batches:
                point.open.set()
                if "RUN_FINISHED" in str(each):
                    break
    assert passed
    assert max(map(len, passed)) <= AT_MOST
    assert {tuple(names) for names in passed} <= {("EventLog.read",), ("EventLog.read", "_convert")}
