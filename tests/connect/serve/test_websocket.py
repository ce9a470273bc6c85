"""A thread over a WebSocket: what a client sends and gets, who may open one, and how it ends."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.serve import Action, Limits, agui_app
from langgraph_agui.connect.testing import Pause
from starlette.applications import Starlette
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.clients.deaf import deaf_socket
from tests.support.servers.serving import WITHIN, Served, posted, served
from tests.support.streams.pausing_graphs import Graph, asking, quick, speaking

BUFFER = 4_096
"""Bytes that the kernel keeps for a client, or twice as many."""


class Socket:
    """A client's end."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.events: list[dict[str, Any]] = []

    async def send(self, verb: str, **what: Any) -> None:
        await self._connection.send(json.dumps({"do": verb, **what}))

    async def raw(self, text: str | bytes) -> dict[str, Any]:
        await self._connection.send(text)
        return await self.reply()

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(WITHIN):
            found: dict[str, Any] = json.loads(await self._connection.recv())
        if "type" in found:
            self.events.append(found)
        return found

    async def reply(self) -> dict[str, Any]:
        """The next reply; the events before it are kept."""
        while "type" in (found := await self.next()):
            pass
        return found

    async def until(self, kind: str) -> dict[str, Any]:
        """The next event of this type."""
        while (found := await self.next()).get("type") != kind:
            pass
        return found

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def text(self) -> str:
        return "".join(event.get("delta", "") for event in self.events if event["type"] == "TEXT_MESSAGE_CONTENT")


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[Served]:
    async with served(app, ws="websockets-sansio") as server:
        yield server


@asynccontextmanager
async def opened(
    server: Served, path: str = "/chat/ws?thread=t", headers: Mapping[str, str] | None = None, name: str = "127.0.0.1"
) -> AsyncIterator[Socket]:
    """`name`: of the host, for the server."""
    url = f"ws://{name}:{server.port}{path}"
    async with connect(url, host="127.0.0.1", port=server.port, proxy=None, additional_headers=headers) as connection:
        yield Socket(connection)


def app_of(graph: Graph, **how: Any) -> Starlette:
    return agui_app({"chat": graph}, **{"websocket": True, **how})


def said(*words: str, run: str = "run-1", **more: Any) -> dict[str, Any]:
    return posted("anything", *words, run_id=run, **more)


async def test_a_thread_is_run_answered_and_connected_over_one_socket() -> None:
    point = Pause()
    point.open.set()
    async with serving(app_of(asking(point, InMemorySaver()))) as server, opened(server) as socket:
        await socket.send("run", input=said("hello"))
        assert await socket.reply() == {"do": "run", "status": 200}
        waiting = socket.events[-1]["outcome"]["interrupts"]
        answer = [{"interruptId": waiting[0]["id"], "status": "resolved", "payload": "yes"}]
        await socket.send("run", input=said("hello", run="run-2", resume=answer))
        assert await socket.reply() == {"do": "run", "status": 200}
        assert socket.kinds[-1] == "RUN_FINISHED"
        assert "You said yes." in socket.text
        async with opened(server) as other:
            await other.send("connect")
            assert await other.reply() == {"do": "connect", "status": 200}
            assert "You said yes." in json.dumps(other.events)
            assert {event.get("threadId", "t") for event in other.events} == {"t"}


async def test_a_watching_socket_has_the_runs_of_others_and_stops_them() -> None:
    point = Pause()
    async with (
        serving(app_of(speaking(point, InMemorySaver()))) as server,
        opened(server) as watching,
        opened(server) as running,
    ):
        await watching.send("watch")
        await running.send("run", input=said("hello"))
        await watching.until("TEXT_MESSAGE_CONTENT")
        await watching.send("stop", runId="another")
        assert await watching.reply() == {"do": "stop", "status": 200, "stopped": False}
        await watching.send("stop")
        assert await watching.reply() == {"do": "stop", "status": 200, "stopped": True}
        assert (await running.until("RUN_FINISHED"))["outcome"] == {"type": "cancelled"}
        assert await running.reply() == {"do": "run", "status": 200}


async def test_a_new_stream_takes_the_place_of_the_one_before_and_the_run_continues() -> None:
    point = Pause()
    async with serving(app_of(speaking(point, InMemorySaver()))) as server, opened(server) as socket:
        await socket.send("run", input=said("hello"))
        await socket.until("TEXT_MESSAGE_CONTENT")
        await socket.send("connect")
        await socket.until("RUN_STARTED")
        assert len(server.config.app.state.service.locals[0].runs.active) == 1  # type: ignore[union-attr]
        point.open.set()
        assert await socket.reply() == {"do": "connect", "status": 200}
        assert socket.kinds.count("RUN_FINISHED") == 1


@pytest.mark.parametrize(
    "text", ["", "no json", "7", "[]", '"run"', "{}", '{"do": "dance"}', '{"do": ["run"]}', b'{"do": "stop"}', b"\xff"]
)
async def test_what_is_no_command_is_refused_and_the_socket_stays(text: str | bytes) -> None:
    async with serving(app_of(quick(InMemorySaver()))) as server, opened(server) as socket:
        reply = await socket.raw(text)
        assert (reply["do"], reply["status"], reply["error"]) == (None, 422, "invalid_input")
        await socket.send("run", input={"messages": 7})
        refused = await socket.reply()
        assert (refused["do"], refused["status"], refused["error"]) == ("run", 422, "invalid_input")
        await socket.send("run", input=said("hello"))
        assert await socket.reply() == {"do": "run", "status": 200}


def by_header(request: Any) -> str | None:
    name: str | None = request.headers.get("x-user")
    return name


def own(user: str, action: Action, agent: str, thread_id: str | None) -> Mapping[str, Any]:
    return {"owner": user}


@pytest.mark.parametrize("depth", [150, 500])
@pytest.mark.parametrize(("verb", "field"), [("run", "input"), ("connect", "input"), ("stop", "runId")])
async def test_an_object_that_is_nested_too_deeply_is_refused_and_the_socket_stays(
    verb: str, field: str, depth: int
) -> None:
    nested = "[" * depth + "]" * depth
    value = nested if verb == "stop" else f'{{"state": {nested}}}'
    point = Pause()
    async with serving(app_of(speaking(point, InMemorySaver()))) as server, opened(server) as socket:
        await socket.send("run", input=said("hello"))
        await socket.until("TEXT_MESSAGE_CONTENT")
        reply = await socket.raw(f'{{"do": "{verb}", "{field}": {value}}}')
        assert (reply["do"], reply["status"], reply["error"]) == (verb, 422, "invalid_input")
        assert "nested" in reply["message"]
        point.open.set()
        await socket.send("connect")
        assert await socket.reply() == {"do": "connect", "status": 200}


async def test_a_frame_has_the_limits_of_a_body_and_the_socket_stays() -> None:
    limits = Limits(body=10_000, values=500)
    async with serving(app_of(quick(InMemorySaver()), limits=limits)) as server, opened(server) as socket:
        for frame, said_so in (
            ('{"do": "run", "input": {"state": "' + "x" * 10_000 + '"}}', "larger than 10000 bytes"),
            ('{"do": "run", "input": {"state": "' + "\u00e9" * 6_000 + '"}}', "larger than 10000 bytes"),
            ('{"do": "run", "input": {"state": [' + "[]," * 500 + "[]]}}", "more than 500 values"),
            ("[" * 600, "more than 500 values"),
        ):
            reply = await socket.raw(frame)
            assert (reply["do"], reply["status"], reply["error"]) == (None, 413, "too_large")
            assert said_so in reply["message"]
        await socket.send("run", input=said("hello"))
        assert await socket.reply() == {"do": "run", "status": 200}


async def test_a_socket_is_its_users() -> None:
    app = app_of(quick(InMemorySaver()), authenticate=by_header, authorize=own)
    async with serving(app) as server:
        async with opened(server, headers={"x-user": "ada"}) as ada:
            await ada.send("run", input=said("hello"))
            assert await ada.reply() == {"do": "run", "status": 200}
        async with opened(server, headers={"x-user": "bob"}) as bob:
            await bob.send("connect")
            assert await bob.reply() == {"do": "connect", "status": 200}
            await bob.send("run", input=said("mine?", run="run-2"))
            reply = await bob.reply()
            assert (reply["status"], reply["error"]) == (404, "not_found")
            assert bob.events == []


PAGE, OTHER = "https://page.example", "https://evil.example"


@pytest.mark.parametrize(
    ("status", "how"),
    [
        (404, {"path": "/none/ws?thread=t"}),
        (422, {"path": "/chat/ws"}),
        (403, {"headers": {"Origin": OTHER}}),
        (403, {"headers": {"Origin": "null"}}),
        (403, {"headers": {"Origin": "http://["}}),
        (403, {"headers": {"Origin": OTHER}, "name": "own.example"}),
        (421, {"name": "evil.example"}),
        (401, {"headers": {"x-user": ""}}),
        (None, {"headers": {"Origin": PAGE}}),
        (None, {"name": "own.example"}),
        (None, {}),
    ],
)
async def test_who_may_open_a_socket(status: int | None, how: dict[str, Any]) -> None:
    def known(request: Any) -> str | None:
        return request.headers.get("x-user", "ada") or None

    hosts = ["127.0.0.1", "own.example"]
    async with serving(app_of(quick(), origins=[PAGE], hosts=hosts, authenticate=known)) as server:
        if status is not None:
            with pytest.raises(InvalidStatus) as refused:
                await opened(server, **how).__aenter__()
            assert refused.value.response.status_code == status
            return
        async with opened(server, **how) as socket:
            await socket.send("stop")
            assert (await socket.reply())["status"] == 200


async def test_a_page_of_the_apps_own_origin_may_open_a_socket() -> None:
    async with serving(app_of(quick())) as server, opened(server, headers={"Origin": server.url}) as socket:
        await socket.send("stop")
        assert (await socket.reply())["status"] == 200


async def test_an_open_socket_is_a_reader() -> None:
    app = app_of(quick(), limits=Limits(readers=1))
    async with serving(app) as server, opened(server) as socket:
        with pytest.raises(InvalidStatus, match="503"):
            async with opened(server):
                pass
        await socket.send("watch")
        assert (await socket.reply())["status"] == 503


async def test_the_end_of_the_server_ends_its_sockets() -> None:
    point = Pause()
    app = app_of(speaking(point, InMemorySaver()), grace=0.1)
    async with (
        serving(app) as server,
        opened(server) as idle,
        opened(server, "/chat/ws?thread=other") as running,
    ):
        await running.send("run", input=said("hello"))
        await running.until("TEXT_MESSAGE_CONTENT")
        await app.state.closing.aclose()
        for socket in (idle, running):
            with pytest.raises(ConnectionClosed) as closed:
                await socket.reply()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1012
        assert running.events[-1]["type"] == "RUN_ERROR"


async def test_commands_that_wait_are_no_tasks() -> None:
    """They are carried out one after the other, here behind a stop of what can't be interrupted; meanwhile no more are
    read, and others are served."""
    count, has_begun, may_end = 500, threading.Event(), threading.Event()

    def blocking(state: MessagesState) -> dict[str, Any]:
        has_begun.set()
        may_end.wait(WITHIN)
        return {}

    graph = (
        StateGraph(MessagesState).add_node("blocking", blocking).add_edge(START, "blocking").compile(InMemorySaver())
    )
    app = app_of(graph, limits=Limits(stop_timeout=WITHIN))
    async with serving(app) as server, server.client() as client, opened(server) as socket:
        await client.get("/health")
        before = len(asyncio.all_tasks())
        await socket.send("run", input=said("hello"))
        await asyncio.to_thread(has_begun.wait, WITHIN)
        for _ in range(count):
            await socket.send("stop")
        for _ in range(20):
            assert (await client.get("/health")).status_code == 200
            assert len(asyncio.all_tasks()) - before < 20
        may_end.set()
        replies = [await socket.reply() for _ in range(count + 1)]
    stops = [reply["stopped"] for reply in replies if reply["do"] == "stop"]
    assert stops == [True, *[False] * (count - 1)]


async def test_a_socket_that_is_not_read_collects_nothing_and_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    app = app_of(quick(), limits=Limits(send_timeout=0.5))
    async with served(app, ws="websockets-sansio", buffer=BUFFER) as server:
        before = len(asyncio.all_tasks())
        async with deaf_socket(server.port, "/chat/ws?thread=t") as socket:
            with suppress(ConnectionError):
                async with asyncio.timeout(WITHIN):
                    while True:
                        await socket.send("stop", 1_000)
                        assert len(asyncio.all_tasks()) - before < 20
            async with asyncio.timeout(WITHIN):
                while app.state.service.capacity.readers:  # noqa: ASYNC110
                    await asyncio.sleep(0)
    (line,) = [each.getMessage() for each in caplog.records if ".websocket." in each.name]
    assert line == "A socket did not read what it was sent within 0.5 seconds (agent 'chat', thread 't')."
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


async def test_commands_are_answered_in_their_order_and_a_stop_reaches_the_run_that_streams() -> None:
    point = Pause()
    async with serving(app_of(speaking(point, InMemorySaver()))) as server, opened(server) as socket:
        await socket.send("run", input=said("hello"))
        await socket.until("TEXT_MESSAGE_CONTENT")
        for verb in ("nothing", "stop", "nothing", "stop"):
            await socket.send(verb)
        replies = [await socket.reply() for _ in range(5)]
    commands = [reply for reply in replies if reply["do"] != "run"]
    assert [reply["do"] for reply in commands] == [None, "stop", None, "stop"]
    assert [reply.get("stopped") for reply in commands] == [None, True, None, False]
    assert [reply["status"] for reply in replies if reply["do"] == "run"] == [200]
