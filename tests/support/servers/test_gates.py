"""The gated graphs and their gates, in this process: the live tests stand on them."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from fixtures.fixture import Graph
from fixtures.gated import FIRST, GATED
from tests.support.servers.gates import CHATS, Gates, asked, gates

TOLERATED = {"gated_raising": ValueError}


def built(name: str) -> Graph:
    return GATED[name](InMemorySaver())


async def texts(graph: Graph, config: Any) -> list[str]:
    state = await graph.aget_state(config)
    return [message.text for message in state.values["messages"]]


async def ran(graph: Graph, config: Any) -> None:
    await graph.ainvoke(asked(), config)


async def abandon(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("name", CHATS)
async def test_a_gated_graph_runs_through_without_a_gate(name: str) -> None:
    graph = built(name)
    config: Any = {"configurable": {"thread_id": "t"}}
    if expected := TOLERATED.get(name):
        with pytest.raises(expected):
            await ran(graph, config)
    else:
        await ran(graph, config)
    assert await texts(graph, config)


async def test_a_held_run_has_said_what_its_point_says() -> None:
    graph, told = built("gated_chat"), list[str]()
    async with gates() as gate:
        gate.hold("first 3")
        stream: AsyncIterator[Any] = graph.astream(asked(), gate.config("t"), stream_mode="messages")

        async def read() -> None:
            async for part in stream:
                told.append(part[0].text)

        reader = asyncio.create_task(read())
        await gate.reached("first 3")
        assert gate.waiting() == ["first 3"]
        await abandon(reader)
    assert "".join(told) == "One two three "


async def test_an_opened_point_lets_the_run_go_on() -> None:
    graph = built("gated_chat")
    async with gates() as gate:
        gate.hold("*")
        run = asyncio.create_task(ran(graph, gate.config("t")))
        await gate.reached("first 0")
        gate.open("first *")
        await gate.reached("second 0")
        assert (await texts(graph, gate.config("t")))[-1] == FIRST
        gate.open("*")
        await run


async def test_a_run_goes_on_point_by_point() -> None:
    graph = built("gated_writer")
    async with gates() as gate:
        gate.hold("percent *")
        run = asyncio.create_task(ran(graph, gate.config("t")))
        for percent in range(0, 101, 25):
            assert await gate.next() == f"percent {percent}"
            gate.let_on(f"percent {percent}")
        await run


async def test_a_cancelled_run_leaves_its_point() -> None:
    async with gates() as gate:
        gate.hold("first 2")
        run = asyncio.create_task(ran(built("gated_chat"), gate.config("t")))
        await gate.reached("first 2")
        await abandon(run)
        await gate.left("first 2")
        assert "first 3" not in gate.passed


async def test_two_runs_are_told_apart() -> None:
    async with gates() as gate:
        gate.hold("a first 1")
        runs = [asyncio.create_task(ran(built("gated_chat"), gate.config("t", run=name))) for name in ("a", "b")]
        await gate.reached("b second over")
        assert gate.waiting() == ["a first 1"]
        gate.open("*")
        await asyncio.gather(*runs)


async def test_a_run_outlives_the_gates() -> None:
    graph = built("gated_parallel")
    async with gates() as gate:
        gate.hold("left 1", "right 2")
        run = asyncio.create_task(ran(graph, gate.config("t")))
        await gate.reached("left 1")
    await run
    assert len(await texts(graph, {"configurable": {"thread_id": "t"}})) == 4


async def test_a_point_not_reached_is_an_error_that_says_what_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.servers.gates._WITHIN", 0.05)
    async with gates() as gate:
        with pytest.raises(
            AssertionError, match="'first 1' was not reached 1 times; waiting at \\[\\], reached \\[\\]"
        ):
            await Gates.reached(gate, "first 1")


@pytest.mark.parametrize("turns", range(5))
def test_a_connection_that_comes_as_the_gates_close_is_closed(turns: int) -> None:
    async def comes() -> bytes:
        async with gates() as gate:
            connection = socket.create_connection(("127.0.0.1", gate.port))
            for _ in range(turns):
                await asyncio.sleep(0)
        with connection:
            connection.settimeout(10)
            try:
                return connection.recv(1)
            except ConnectionResetError:  # it was never accepted
                return b""

    assert asyncio.run(comes()) == b""
    gc.collect()
