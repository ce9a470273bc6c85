"""What serves, runs and reads threads with a checkpointer that is none for it, or that raises."""

import asyncio
import logging
import sqlite3
from contextlib import aclosing, suppress
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph_agui.connect import Local, Runs, UnreadableError, connect, start, watch
from langgraph_agui.connect.serve import Agent, Limits, agui_app

from tests.support.clients.locally import connected
from tests.support.servers.serving import events_of, posted, served, told
from tests.support.streams.pausing_graphs import HELLO, on, quick


class PostgresSaver(BaseCheckpointSaver[Any]):
    """Shaped as the synchronous one for PostgreSQL: what is asynchronous is the base's, which only raises."""

    def get_tuple(self, config: Any) -> Any:
        return None


class Raising(InMemorySaver):
    """A checkpointer whose database can't be reached."""

    is_down = True

    async def aget_tuple(self, config: Any) -> Any:
        if self.is_down:
            raise OSError("no route to 10.0.0.7")
        return await super().aget_tuple(config)


class Silent(InMemorySaver):
    """A checkpointer whose database says nothing, and whose calls cannot be cancelled then."""

    def __init__(self) -> None:
        super().__init__()
        self.speaks = asyncio.Event()
        self.asked = 0

    async def aget_tuple(self, config: Any) -> Any:
        self.asked += 1
        while not self.speaks.is_set():
            with suppress(asyncio.CancelledError):
                await self.speaks.wait()
        return await super().aget_tuple(config)

    async def aclose(self) -> None:
        """It answers from here on: calls that nobody can cancel would keep a test that fails from ending."""
        self.speaks.set()


@pytest.mark.parametrize(
    ("saver", "instead"),
    [
        (SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False)), r"SqliteSaver.*AsyncSqliteSaver \(of lang"),
        (PostgresSaver(), "PostgresSaver.*an asynchronous one, such as"),
    ],
)
async def test_a_synchronous_checkpointer_is_refused_at_once(saver: Any, instead: str) -> None:
    graph = quick(saver)
    refusing = (
        agui_app,
        lambda graph: agui_app({"a": Agent(source=graph)}),
        lambda graph: Agent(source=graph),
        Local,
        lambda graph: connect(graph, "t"),
    )
    for refuses in refusing:
        with pytest.raises(TypeError, match=instead):
            refuses(graph)
    with pytest.raises(TypeError, match=instead):
        await start(graph, HELLO, on("t"))


async def test_a_checkpointer_that_raises_is_logged_and_answered_before_the_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Runs() as runs:
        source = Local(quick(saver := Raising()), agent="chat", runs=runs)
        async with served(agui_app({"chat": Agent(source=source)})) as server, server.client() as client:
            body = posted("t", "hello", run_id="first")
            for path, post, place in (
                ("/chat", body, "agent 'chat', thread 't', run 'first'"),
                ("/agent/chat/run", body, "agent 'chat', thread 't', run 'first'"),
                ("/chat/connect", body, "agent 'chat', thread 't'"),
                ("/agent/chat/connect", body, "agent 'chat', thread 't'"),
                ("/", {"method": "agent/connect", "params": {"agentId": "chat"}, "body": body}, "agent 'chat'"),
            ):
                caplog.clear()
                answer = await client.post(path, json=post)
                assert (answer.status_code, answer.json()["error"]) == (503, "unreadable_thread"), path
                assert place in caplog.text
                assert "10.0.0.7" in caplog.text
                assert "10.0.0.7" not in answer.text
            caplog.clear()
            async with client.stream("GET", "/watch/t") as response:
                assert [event["code"] async for event in told(response)] == ["unreadable_thread"]
            assert "agent 'chat', thread 't'" in caplog.text
            saver.is_down = False
            assert events_of((await client.post("/chat", json=body)).content)[-1]["type"] == "RUN_FINISHED"


async def test_a_checkpointer_that_does_not_answer_holds_up_no_reader(caplog: pytest.LogCaptureFixture) -> None:
    async with Runs() as runs:
        source = Local(quick(saver := Silent()), agent="chat", runs=runs, read_timeout=0.05)
        app = agui_app({"chat": Agent(source=source)}, limits=Limits(readers=2, runs=2))
        async with served(app) as server, server.client() as client, aclosing(saver):
            body = posted("t", "hello", run_id="first")
            for method, path, post, place in (
                ("POST", "/chat", body, "agent 'chat', thread 't', run 'first'"),
                ("POST", "/chat/connect", body, "agent 'chat', thread 't'"),
                ("GET", "/threads/t/messages", None, "agent 'chat', thread 't'"),
                *[("POST", "/agent/chat/run", body, "run 'first'")] * 3,
            ):
                caplog.clear()
                asked = saver.asked
                answer = await client.request(method, path, json=post)
                assert saver.asked > asked
                assert (answer.status_code, answer.json()["error"]) == (503, "unreadable_thread"), path
                assert "retry-after" in answer.headers
                [line] = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
                assert line.startswith("The checkpointer does not answer: no answer within 0.05 seconds")
                assert place in line
                assert app.state.service.capacity.readers == app.state.service.capacity.starting == 0
            async with client.stream("GET", "/watch/t") as response:
                assert [event["code"] async for event in told(response)] == ["unreadable_thread"]
            with pytest.raises(UnreadableError):
                await source.thread("t")
            saver.speaks.set()
            assert events_of((await client.post("/chat", json=body)).content)[-1]["type"] == "RUN_FINISHED"


async def test_a_checkpointer_that_raises_is_told_where_nothing_is_served(caplog: pytest.LogCaptureFixture) -> None:
    async with Runs() as runs:
        source = Local(quick(Raising()), agent="chat", runs=runs)
        assert [event["code"] for event in (await connected(source)).events] == ["unreadable_thread"]
        assert [getattr(event, "code", None) async for event in watch(source, "t")] == ["unreadable_thread"]
        assert len([each for each in caplog.messages if "agent 'chat', thread 't'" in each]) == 2


async def test_an_answer_to_a_page_is_freed_though_its_thread_cannot_be_read() -> None:
    async with Runs() as runs:
        source = Local(quick(Raising()), agent="chat", runs=runs)
        resume = [{"interruptId": "i", "status": "resolved", "payload": "yes"}]
        body = {**posted("t", "hello"), "resume": resume, "protocolVersion": None}
        async with served(agui_app({"chat": Agent(source=source)})) as server, server.client() as client:
            events = events_of((await client.post("/agent/chat/run", json=body)).content)
    assert [events[0].get("code"), events[-1]["type"]] == ["unreadable_thread", "RUN_FINISHED"]


def test_a_graph_without_a_checkpointer_is_served_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    agui_app({"forgets": quick(), "keeps": quick(InMemorySaver())})
    warnings = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert [("'forgets'" in each, "no checkpointer" in each) for each in warnings] == [(True, True)]
