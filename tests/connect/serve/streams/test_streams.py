"""Event streams of an app over real sockets: what goes over the wire when, and what is left of a reader that goes."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.events.event_log import MOST_BYTES
from langgraph_agui.connect.inputs import Prepared
from langgraph_agui.connect.local.run.run import Run
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fixtures.gated import GATED
from tests.support.clients.batch_readers import until as comes_to
from tests.support.clients.locally import live_run
from tests.support.servers.gates import Gates
from tests.support.servers.serving import WITHIN, Served, events_of, kinds_of, posted, served, told, until

BUFFER = 8_192
"""Bytes that a kernel keeps on either side of a connection that is not read."""


def app_of(name: str, runs: Runs, gate: Gates | None = None, heartbeat: float = 15.0, **intake: Any) -> Starlette:
    """One agent, with this gated graph."""
    config = {} if gate is None else gate.config(words=intake.pop("words", 20))
    source = Local(GATED[name](InMemorySaver()), agent="graph", runs=runs)
    return agui_app(Agent(source=source, intake=Intake(config=config, **intake)), heartbeat=heartbeat)


def going(runs: Runs, thread_id: str = "t") -> Run:
    run = live_run(runs, "graph", thread_id)
    assert run is not None
    return run


@asynccontextmanager
async def asking(
    server: Served, given: dict[str, Any], path: str = "/default", **limits: int
) -> AsyncIterator[asyncio.StreamReader]:
    """A bare connection on which this was posted, and which nobody has read."""
    sock = socket.socket()
    if limits:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits["buffer"])
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", server.port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=limits.get("buffer", 2**20))
    body = RunAgentInput.model_validate(given).model_dump_json(by_alias=True, exclude_none=True).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    try:
        yield reader
    finally:
        writer.transport.abort()
        writer.close()


async def test_a_word_is_told_while_the_next_is_waited_for(gate: Gates) -> None:
    gate.hold("first 3")
    async with (
        Runs() as runs,
        served(app_of("gated_chat", runs, gate)) as server,
        server.client() as client,
        client.stream("POST", "/", json=posted("t", "hi")) as response,
    ):
        events = told(response)
        for _ in range(3):
            await until(events, "TEXT_MESSAGE_CONTENT")
        assert gate.waiting() == ["first 3"]
        gate.open("first 3")
        await until(events, "RUN_FINISHED")
        await events.aclose()  # type: ignore[attr-defined]


async def test_what_is_ready_together_leaves_in_one_write() -> None:
    async with Runs() as runs, served(app_of("gated_chat", runs)) as server, server.client() as client:
        await client.post("/", json=posted("t", "hi"))
        async with client.stream("POST", "/default/connect", json=posted("t")) as response:
            pieces = [piece async for piece in response.stream]  # type: ignore[union-attr]
    assert len(kinds_of(b"".join(pieces))) > 5
    assert len(pieces) == 1


async def test_silence_is_filled_with_comments(gate: Gates) -> None:
    gate.hold("first 0")
    async with (
        Runs() as runs,
        served(app_of("gated_chat", runs, gate, 0.05)) as server,
        server.client() as client,
        client.stream("POST", "/", json=posted("t", "hi")) as response,
    ):
        heard = ""
        async for text in response.aiter_text():
            heard += text
            if heard.count(": heartbeat\n\n") >= 2:
                gate.open("first 0")
    assert kinds_of(heard)[-1] == "RUN_FINISHED"


class Taken:
    """A middleware: an app whose server takes a message of a response only when `take` returns."""

    def __init__(self, app: ASGIApp, take: Callable[[bytes], Awaitable[None]]) -> None:
        self._app = app
        self._take = take

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def taking(message: Message) -> None:
            await self._take(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, taking)


async def test_events_wait_until_the_comment_before_them_is_taken(gate: Gates) -> None:
    gate.hold("first 0")
    began, goes_on, is_taken = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def take(body: bytes) -> None:
        if body.startswith(b":") and not is_taken.is_set():
            began.set()
            await goes_on.wait()
            is_taken.set()
        assert not began.is_set() or is_taken.is_set()

    async with Runs() as runs:
        app = app_of("gated_chat", runs, gate, 0.05)
        app.add_middleware(Taken, take=take)
        async with served(app) as server, server.client() as client:
            asked = asyncio.create_task(client.post("/", json=posted("t", "hi")))
            await began.wait()
            gate.open("first 0")
            await going(runs).wait()
            goes_on.set()
            assert kinds_of((await asked).content)[-1] == "RUN_FINISHED"


async def test_a_reader_that_does_not_take_a_comment_is_dropped(gate: Gates, caplog: pytest.LogCaptureFixture) -> None:
    gate.hold("first 0")

    async def take(body: bytes) -> None:
        if body.startswith(b":"):
            await asyncio.Event().wait()

    source = Local(GATED["gated_chat"](InMemorySaver()), agent="graph", runs=(runs := Runs()))
    agent = Agent(source, intake=Intake(config=gate.config(words=20)))
    app = agui_app(agent, heartbeat=0.05, limits=Limits(send_timeout=0.2))
    app.add_middleware(Taken, take=take)
    async with runs, served(app) as server:
        async with asking(server, posted("t", "hi")):
            await comes_to(lambda: "its stream is ended" in caplog.text)
            await comes_to(lambda: server.connections == 0)
        await comes_to(lambda: app.state.service.capacity.readers == 0)
        assert going(runs).status == "running"
        gate.open("first 0")
        assert await going(runs).wait() == "finished"


async def test_a_server_that_fails_to_send_a_comment_is_given_the_error(
    gate: Gates, caplog: pytest.LogCaptureFixture
) -> None:
    gate.hold("first 0")

    async def take(body: bytes) -> None:
        if body.startswith(b":"):
            raise OSError("the client is gone")

    async with Runs() as runs:
        app = app_of("gated_chat", runs, gate, 0.05)
        app.add_middleware(Taken, take=take)
        async with served(app) as server:
            async with asking(server, posted("t", "hi")):
                await comes_to(lambda: "OSError: the client is gone" in caplog.text)
            await comes_to(lambda: app.state.service.capacity.readers == 0)
            gate.open("first 0")
            assert await going(runs).wait() == "finished"


async def test_the_start_of_a_run_is_sent_before_its_graph_has_had_a_turn() -> None:
    order: list[str] = []

    class Noted(InMemorySaver):
        async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
            order.append("read")
            return await super().aget_tuple(config)

    async def take(body: bytes) -> None:
        order.extend(["start"] if b"RUN_STARTED" in body else [])

    app = agui_app(GATED["gated_chat"](Noted()))
    app.add_middleware(Taken, take=take)
    async with served(app) as server, server.client() as client:
        assert kinds_of((await client.post("/", json=posted("t", "hi"))).content)[-1] == "RUN_FINISHED"
    assert order == ["read", "read", "start", "read"]  # whose thread it is, and its state; the last is the graph's


async def test_a_run_goes_on_when_its_reader_leaves(gate: Gates) -> None:
    gate.hold("first 3")
    async with Runs() as runs, served(app_of("gated_chat", runs, gate)) as server:
        async with asking(server, posted("t", "hi")):
            await gate.reached("first 3")
        run = going(runs)
        await comes_to(lambda: run.readers == 0)
        gate.open("first 3")
        assert await run.wait() == "finished"


async def test_a_run_may_stop_with_its_reader(gate: Gates) -> None:
    gate.hold("first 3")
    app = app_of("gated_chat", runs := Runs(), gate, on_disconnect="cancel")
    async with runs, served(app) as server:
        async with asking(server, posted("t", "hi")):
            await gate.reached("first 3")
            run = going(runs)
        assert await asyncio.wait_for(run.wait(), WITHIN) == "cancelled"


@pytest.mark.parametrize(("on_disconnect", "ends"), [("continue", "finished"), ("cancel", "cancelled")])
async def test_a_client_that_leaves_while_its_run_is_planned_loses_and_leaves_nothing(
    gate: Gates, on_disconnect: str, ends: str
) -> None:
    gate.hold("second 0")
    plans, leaves = asyncio.Event(), asyncio.Event()

    async def prepare(given: RunAgentInput) -> Prepared:
        plans.set()
        await leaves.wait()
        return Prepared()

    app = app_of("gated_chat", runs := Runs(), gate, on_disconnect=on_disconnect, prepare=prepare)
    async with runs, served(app) as server:
        async with asking(server, posted("t", "hi")):
            await plans.wait()
        await comes_to(lambda: server.connections == 0)
        leaves.set()
        await comes_to(lambda: live_run(runs, "graph", "t") is not None)
        run = going(runs)
        gate.open("second 0")
        assert await asyncio.wait_for(run.wait(), WITHIN) == ends
        await comes_to(lambda: app.state.service.capacity.readers == 0)


async def test_a_reader_that_leaves_frees_all_it_had(gate: Gates) -> None:
    gate.hold("first 3")
    async with Runs() as runs, served(app := app_of("gated_chat", runs, gate)) as server, server.client() as client:
        async with client.stream("POST", "/", json=posted("t", "hi")):
            await gate.reached("first 3")
        await comes_to(lambda: going(runs).readers == 0)
        before = len(asyncio.all_tasks())
        for _ in range(20):
            async with asking(server, posted("t", run_id="run-1")):
                await comes_to(lambda: going(runs).readers == 1)
            await comes_to(lambda: going(runs).readers == 0)
        await comes_to(lambda: server.connections <= 1)  # httpx may keep one
        await comes_to(lambda: len(asyncio.all_tasks()) <= before)
        assert going(runs).kept == 0
        await comes_to(lambda: app.state.service.capacity.readers == 0)
        gate.open("first 3")


async def test_a_watcher_that_leaves_in_silence_is_gone_at_once() -> None:
    async with Runs() as runs, served(app := app_of("gated_chat", runs)) as server, server.client() as client:
        capacity = app.state.service.capacity
        async with client.stream("GET", "/watch/t"):
            assert capacity.readers == 1
        await comes_to(lambda: capacity.readers == 0)


async def test_a_reader_that_never_reads_holds_up_nobody_and_no_memory(gate: Gates) -> None:
    app = app_of("gated_fast", runs := Runs(), gate, words=6_000)
    gate.hold("fast start", "second *")
    async with runs, served(app, buffer=BUFFER) as server:
        async with asking(server, posted("t", "hi"), buffer=BUFFER):
            await gate.reached("fast start")
            run = going(runs)
            gate.open("fast start")
            await gate.reached("second 0")
            (connection,) = server.server_state.connections
            assert run.readers == 1
            assert run.kept <= MOST_BYTES
            assert connection.transport.get_write_buffer_size() < 200_000
            gate.open("second *")
            assert await run.wait() == "finished"
        await comes_to(lambda: server.connections == 0)


async def test_a_reader_that_takes_nothing_is_dropped_and_its_place_is_free(
    gate: Gates, caplog: pytest.LogCaptureFixture
) -> None:
    gate.hold("second *")
    source = Local(GATED["gated_fast"](InMemorySaver()), agent="graph", runs=(runs := Runs()))
    agent = Agent(source=source, intake=Intake(config=gate.config(words=6_000)))
    app = agui_app({"fast": agent, "other": agent}, limits=Limits(send_timeout=0.2))
    async with runs, served(app, buffer=BUFFER) as server:
        async with asking(server, posted("t", "hi"), path="/fast", buffer=BUFFER):
            await gate.reached("second 0")
            async with asyncio.timeout(WITHIN):
                await comes_to(lambda: server.connections == 0)
                await comes_to(lambda: app.state.service.capacity.readers == 0)
        run = going(runs)
        assert (run.status, run.readers) == ("running", 0)
        gate.open("second *")
        assert await run.wait() == "finished"
    (record,) = [record for record in caplog.records if "its stream is ended" in record.getMessage()]
    assert record.getMessage().endswith("(agent 'fast', thread 't', run 'run-1').")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_reader_that_lagged_ends_with_all_there_is(gate: Gates) -> None:
    app = app_of("gated_fast", runs := Runs(), gate, words=6_000)
    async with (
        runs,
        served(app, buffer=BUFFER) as server,
        asking(server, posted("t", "hi"), buffer=BUFFER) as reader,
    ):
        await gate.reached("second 0")
        await going(runs).wait()
        heard = b""
        while b"RUN_FINISHED" not in heard[-2_000:]:
            heard += await asyncio.wait_for(reader.read(65_536), WITHIN)
    assert b"w5999" in heard


async def test_events_are_of_one_line_each() -> None:
    async with Runs() as runs, served(app_of("gated_agent", runs)) as server, server.client() as client:
        body = (await client.post("/", json=posted("t", "hi"))).text
    assert body.count("\n\n") == len(events_of(body))
    assert body.endswith("\n\n")
