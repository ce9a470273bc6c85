"""Threads with checkpoints ahead of this process's clock: another process wrote them, or the clock was set back."""

import asyncio
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import ClockSkewError, Intake, Local, Runs, start, threads
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import Pause

from fixtures.graphs.speech import said, speaker
from tests.support.clients.locally import state_of
from tests.support.servers.serving import events_of, posted, served, told, until
from tests.support.streams.pausing_graphs import HELLO, Graph, on, quick, speaking

HOUR = 3_600.0
SOON = 0.3
"""Seconds that are waited for."""


def from_the_future(seconds: float) -> str:
    """The id of a checkpoint that a process makes whose clock is ahead by so much."""
    new = uuid6()
    ticks = new.time + round(seconds * 10_000_000)
    fields = (ticks >> 12) << 80 | 6 << 76 | (ticks & 0xFFF) << 64
    return str(type(new)(int=fields | new.int & (1 << 64) - 1))


async def advance(saver: BaseCheckpointSaver[Any], seconds: float, thread_id: str = "t", namespace: str = "") -> str:
    """Writes the newest checkpoint of a thread as a process would whose clock is ahead; its id."""
    config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace}}
    newest = await saver.aget_tuple(config)
    assert newest is not None
    moved = {**newest.checkpoint, "id": from_the_future(seconds)}
    await saver.aput(newest.config, moved, newest.metadata, newest.checkpoint["channel_versions"])  # type: ignore[arg-type]
    return str(moved["id"])


async def test_what_a_failed_run_wrote_is_not_saved_behind_the_thread() -> None:
    """A new turn saves it first, which is a write of its own."""

    async def fail(state: MessagesState) -> Mapping[str, Any]:
        while not (newest := await saver.aget_tuple(thread)) or not newest.pending_writes:  # noqa: ASYNC110
            await asyncio.sleep(0)  # the other node has not written
        raise ValueError("not like this")

    saver = InMemorySaver()
    thread: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    graph = StateGraph(MessagesState).add_node("speak", speaker(said("Hm."))).add_node("fail", fail)
    failing = graph.add_edge(START, "speak").add_edge(START, "fail").compile(saver)
    async with Runs() as runs:
        app = agui_app({"chat": Agent(source=Local(failing, agent="chat", runs=runs))})
        async with served(app) as server, server.client() as client:
            await client.post("/chat", json=posted("t", "hello"))
            newest = await saver.aget_tuple(thread)
            assert newest is not None
            inner: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "speak:1"}}
            await saver.aput(inner, {**newest.checkpoint, "id": from_the_future(HOUR)}, newest.metadata, {})
            refused = await client.post("/chat", json=posted("t", "hello", "more", run_id="2"))
            assert (refused.status_code, refused.json()["error"]) == (503, "clock_skew")
            assert await saver.aget_tuple(thread) == newest


async def texts(graph: Graph, thread_id: str = "t") -> list[str]:
    """The thread's messages."""
    return [str(message.content) for message in (await state_of(graph, thread_id)).values["messages"]]


def ends(events: list[dict[str, Any]]) -> list[str]:
    """How the runs of a stream ended."""
    return [event.get("code") or "success" for event in events if event["type"] in ("RUN_ERROR", "RUN_FINISHED")]


async def test_a_clock_that_is_a_little_behind_is_waited_for(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver, Runs() as runs:
        graph = quick(saver)
        app = agui_app({"chat": Agent(source=Local(graph, agent="chat", runs=runs))})
        async with served(app) as server, server.client() as client:

            async def run(*messages: str, run_id: str) -> list[str]:
                return ends(events_of((await client.post("/chat", json=posted("t", *messages, run_id=run_id))).content))

            assert await run("hello", run_id="1") == ["success"]
            await advance(saver, SOON)
            assert await run("hello", "and on", run_id="2") == ["success"]
            assert await texts(graph) == ["hello", "At once.", "and on", "At once."]
            await advance(saver, SOON)
            assert await run("something else", run_id="3") == ["success"]  # a fork, at a checkpoint that is far behind
            assert await texts(graph) == ["something else", "At once."]
            await advance(saver, SOON)
            run_of_ours = await start(graph, {"messages": [("user", "from code")]}, on("t"), runs=runs, agent="chat")
            assert await run_of_ours.wait() == "finished"
            assert await texts(graph) == ["something else", "At once.", "from code", "At once."]


async def test_a_thread_far_in_the_future_is_read_and_deleted_and_nothing_is_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver, Runs() as runs:
        graph = quick(saver)
        source = Local(graph, agent="chat", runs=runs)
        app = agui_app({"chat": Agent(source=source)})
        async with served(app) as server, server.client() as client:
            await client.post("/chat", json=posted("t", "hello"))
            newest = await advance(saver, HOUR)
            for path, body in (
                ("/chat", posted("t", "hello", "and on", run_id="late")),
                ("/chat", posted("t", "another", run_id="late")),
                ("/agent/chat/run", posted("t", "hello", "and on", run_id="late")),
            ):
                caplog.clear()
                answer = await client.post(path, json=body)
                assert (answer.status_code, answer.json()["error"]) == (503, "clock_skew"), answer.text
                assert answer.headers["retry-after"] == "60"
                [line] = [record for record in caplog.records if record.levelno == logging.ERROR]
                assert re.search(r"is 3(599|600)(\.\d+)? seconds ahead", line.getMessage())
                assert "agent 'chat', thread 't', run 'late'" in line.getMessage()
            with pytest.raises(ClockSkewError):
                await start(graph, HELLO, on("t"), runs=runs, agent="chat")
            assert not runs.active
            read = events_of((await client.post("/chat/connect", json=posted("t"))).content)
            assert ends(read) == ["success"]
            assert (await client.get("/threads/t/messages")).status_code == 200
            state = await state_of(graph)
            assert state.config["configurable"]["checkpoint_id"] == newest
            await threads(source).delete("t")
            assert ends(events_of((await client.post("/chat", json=posted("t", "hello"))).content)) == ["success"]


async def test_an_input_that_waited_for_its_turn_is_refused_for_the_clock_too(caplog: pytest.LogCaptureFixture) -> None:
    point, saver = Pause(), InMemorySaver()
    async with Runs() as runs:
        source = Local(speaking(point, saver), agent="chat", runs=runs)
        app = agui_app({"chat": Agent(source, intake=Intake(busy="queue"))})
        async with (
            served(app) as server,
            server.client() as client,
            client.stream("POST", "/chat", json=posted("t", "hello")) as first,
        ):
            await until(told(first), "TEXT_MESSAGE_CONTENT")
            async with client.stream("POST", "/chat", json=posted("t", "hello", "more", run_id="2")) as second:
                await advance(saver, HOUR)
                point.open.set()
                assert (await until(told(second), "RUN_ERROR"))["code"] == "clock_skew"
    assert "agent 'chat', thread 't', run '2'" in caplog.text


def failing_inside(saver: BaseCheckpointSaver[Any]) -> Graph:
    """A graph that calls another one in a node, where LangGraph does not see it. That one fails, once it has spoken."""

    def fail(state: MessagesState) -> Mapping[str, Any]:
        raise ValueError("not like this")

    inner = StateGraph(MessagesState).add_node("speak", speaker(said("Hm."))).add_node("fail", fail)
    within = inner.add_edge(START, "speak").add_edge("speak", "fail").compile()

    async def call(state: MessagesState) -> Mapping[str, Any]:
        return await within.ainvoke(state)

    return StateGraph(MessagesState).add_node("call", call).add_edge(START, "call").compile(saver)


@pytest.mark.parametrize("is_in_memory", [True, False])
async def test_a_subgraph_that_did_not_end_may_be_ahead_of_its_thread(tmp_path: Path, *, is_in_memory: bool) -> None:
    """It wrote after its thread did, by a clock that was ahead."""
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as in_file, Runs() as runs:
        saver: BaseCheckpointSaver[Any] = InMemorySaver() if is_in_memory else in_file
        graph = failing_inside(saver)
        app = agui_app({"chat": Agent(source=Local(graph, agent="chat", runs=runs))})
        async with served(app) as server, server.client() as client:
            for thread_id, seconds in (("t", SOON), ("u", HOUR)):
                await client.post("/chat", json=posted(thread_id, "hello"))
                thread: Any = {"configurable": {"thread_id": thread_id}}
                spaces = {each.config["configurable"]["checkpoint_ns"] async for each in saver.alist(thread)}
                [inner] = spaces - {""}
                ahead = await advance(saver, seconds, thread_id, namespace=inner)
                answer = await client.post("/chat", json=posted(thread_id, "hello", "more", run_id="2"))
                if seconds == HOUR:
                    assert (answer.status_code, answer.json()["error"]) == (503, "clock_skew")
                else:
                    assert ends(events_of(answer.content)) == ["ValueError"]
                    state = await state_of(graph, thread_id)
                    assert state.config["configurable"]["checkpoint_id"] > ahead
