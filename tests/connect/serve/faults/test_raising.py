"""Graphs, checkpointers and hooks that raise: in a stream it is a RUN_ERROR, before it JSON, and never a trace."""

import asyncio
import logging
from collections.abc import Callable
from typing import Annotated, Any

import httpx
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.translator import Options

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.batch_readers import until
from tests.support.servers.serving import events_of, posted, served

SECRET = "the secret word"


def wrong(*_: Any, **__: Any) -> Any:
    raise RuntimeError(SECRET)


async def wrong_later(*_: Any, **__: Any) -> Any:
    await asyncio.sleep(0)
    raise RuntimeError(SECRET)


def reduced(held: list[str], written: list[str]) -> list[str]:
    raise RuntimeError(SECRET)


class Saver(InMemorySaver):
    """A checkpointer of which one method raises."""

    def __init__(self, method: str) -> None:
        super().__init__()
        setattr(self, method, wrong_later)


class Reduced(MessagesState):
    notes: Annotated[list[str], reduced]


def graph(node: Any, saver: Any = None, state: Any = MessagesState) -> Any:
    return StateGraph(state).add_node("node", node).add_edge(START, "node").compile(saver or InMemorySaver())


def answer(state: Any) -> dict[str, Any]:
    return {"messages": [AIMessage("fine")], "notes": ["one"]}


RAISING: dict[str, Callable[[], Any]] = {
    "the node": lambda: graph(wrong),
    "a reducer": lambda: graph(answer, state=Reduced),
    "writing a checkpoint": lambda: graph(answer, Saver("aput")),
    "writing what a node wrote": lambda: graph(answer, Saver("aput_writes")),
}
"""Graphs that raise while a run is told, or would be."""
REFUSED = {
    "prepare": lambda: Agent(source=graph(answer), intake=Intake(prepare=wrong)),
    "prepare, of no use": lambda: Agent(source=graph(answer), intake=Intake(prepare=lambda given: None)),  # type: ignore
    "the intake": lambda: Agent(source=graph(answer), intake=wrong),
}
"""What raises before anything is told."""


@pytest.mark.parametrize("where", RAISING)
async def test_what_raises_in_a_run_is_a_run_error(where: str, agui_client: AguiClient) -> None:
    async with served(agui_app(RAISING[where]())) as server, server.client() as client:
        given = posted("t", "hi")
        told = await client.post("/", json=given)
        assert (told.status_code, [event["type"] for event in events_of(told.text)][-1]) == (200, "RUN_ERROR")
        assert_discreet(told)
        assert agui_client.play(frames=told.text, messages=given["messages"]).warnings == []
        again = await client.post("/default/connect", json=posted("t"))
        assert again.status_code == (503 if where == "a reducer" else 200)  # to read the thread it is asked again
        assert_discreet(again)


@pytest.mark.parametrize("where", REFUSED)
async def test_what_raises_before_a_run_is_said_in_json(where: str, caplog: pytest.LogCaptureFixture) -> None:
    async with served(agui_app(REFUSED[where]())) as server, server.client() as client:
        told = await client.post("/", json=posted("t", "hi"))
    assert (told.status_code, told.json()["error"]) == (500, "internal_error")
    assert_discreet(told)
    assert [record.exc_info is not None for record in caplog.records if record.levelno == logging.ERROR] == [True]


@pytest.mark.parametrize("path", ["/", "/default/connect", "/default/stop", "/agent/default/run", "/watch/t"])
async def test_a_hook_that_raises_refuses_the_request(path: str) -> None:
    def authorize(*what: Any) -> bool:
        return bool(wrong())

    async with served(agui_app(graph(answer), authorize=authorize)) as server, server.client() as client:
        asked = client.get(path) if path == "/watch/t" else client.post(path, json=posted("t", "hi"))
        told = await asked
    assert (told.status_code, told.json()["error"]) == (500, "internal_error")
    assert_discreet(told)


async def test_an_owner_may_have_more_of_an_error_told() -> None:
    agent = Agent(source=graph(wrong), options=Options(error_detail="message"))
    async with served(agui_app(agent)) as server, server.client() as client:
        told = await client.post("/", json=posted("t", "hi"))
    assert SECRET in events_of(told.text)[-1]["message"]


async def test_what_a_run_raised_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with served(agui_app(graph(wrong))) as server, server.client() as client:
        await client.post("/", json=posted("t", "hi"))
    assert [SECRET in str(record.exc_info and record.exc_info[1]) for record in caplog.records] == [True]


async def test_a_run_that_raised_leaves_its_place(caplog: pytest.LogCaptureFixture) -> None:
    async with served(app := agui_app(graph(wrong))) as server, server.client() as client:
        for place in range(3):
            await client.post("/", json=posted("t", "hi", run_id=f"run-{place}"))
        capacity = app.state.service.capacity
        await until(lambda: capacity.readers == capacity.starting == 0)


def assert_discreet(told: httpx.Response) -> None:
    """Nothing in it of what was raised, and where."""
    assert not [said for said in (SECRET, "Traceback", "File ", ".py", "raise ") if said in told.text]
