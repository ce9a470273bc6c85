"""The end of a server: every stream ends in time, and says how. Processes are ended by signals, as they are."""

import asyncio
import signal
import socket
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from ag_ui.core import RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.inputs import Prepared
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.serve.streams.shutdown import Closing
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from fixtures.gated import GATED
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.locally import SharedStore, live_run
from tests.support.servers.gates import Gates
from tests.support.servers.serving import WITHIN, app_process, events_of, kinds_of, posted, served, told, until

SERVED = "tests.support.servers.served_app:app"


def app_of(gate: Gates, runs: Runs | None = None, *, grace: float, **intake: Any) -> Starlette:
    """The gated chat alone."""
    source = Local(GATED["gated_chat"](InMemorySaver()), agent="graph", runs=runs)
    return agui_app(Agent(source=source, intake=Intake(config=gate.config(), **intake)), grace=grace)


def closing_of(app: Starlette) -> Closing:
    found: Closing = app.state.closing
    return found


async def test_a_run_that_is_told_is_told_that_it_ends(gate: Gates, agui_client: AguiClient) -> None:
    gate.hold("first 3")
    app = app_of(gate, grace=0)
    async with (
        served(app) as server,
        server.client() as client,
        client.stream("POST", "/", json=posted("t", "hi")) as response,
    ):
        await gate.reached("first 3")
        await closing_of(app).aclose()
        events = events_of(await response.aread())
    assert events[-1]["code"] == "shutdown"
    assert events[-2]["type"] == "STEP_FINISHED"
    messages = [{"id": "t-0", "role": "user", "content": "hi"}]
    answer = agui_client.play(events, version="1.0.0", messages=messages, state={})
    assert [message["content"] for message in answer.messages] == ["hi", "One two three "]
    assert not answer.warnings


async def test_a_run_that_ends_in_time_is_told_to_its_end(gate: Gates) -> None:
    gate.hold("first 3")
    app = app_of(gate, grace=WITHIN)
    async with (
        served(app) as server,
        server.client() as client,
        client.stream("POST", "/", json=posted("t", "hi")) as response,
    ):
        await gate.reached("first 3")
        closing_of(app).begin()
        gate.open("first 3")
        assert kinds_of(await response.aread())[-1] == "RUN_FINISHED"
        await closing_of(app).aclose()


async def test_a_stream_that_is_over_is_not_ended_again(gate: Gates) -> None:
    """The server ends when its last message has been sent, and before the stream has returned."""
    app = app_of(gate, grace=0)

    async def ends_with_it(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                for opened in list(closing_of(app)._open):
                    opened.end(by_server=True)

        await app(scope, receive, sent)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(ends_with_it), base_url="http://app") as client:
        answer = await client.post("/", json=posted("t", "hi"))  # a second end would raise
    assert kinds_of(answer.content)[-1] == "RUN_FINISHED"


async def test_a_watcher_in_silence_is_let_go_at_once_and_without_a_word(gate: Gates) -> None:
    app = app_of(gate, grace=WITHIN)
    async with served(app) as server, server.client() as client:
        await client.post("/", json=posted("t", "hi"))
        async with client.stream("GET", "/watch/t") as response:
            events = told(response)
            await until(events, "RUN_FINISHED")
            await asyncio.wait_for(closing_of(app).aclose(), WITHIN / 2)
            assert [event async for event in events] == []


async def test_a_watcher_is_let_go_when_the_run_it_is_told_ends(gate: Gates) -> None:
    gate.hold("first 3")
    app = app_of(gate, grace=WITHIN)
    async with served(app) as server, server.client() as client, client.stream("GET", "/watch/t") as response:
        async with client.stream("POST", "/", json=posted("t", "hi")) as asked:
            await gate.reached("first 3")
            closing_of(app).begin()
            gate.open("first 3")
            assert kinds_of(await asked.aread())[-1] == "RUN_FINISHED"
        assert kinds_of(await response.aread())[-1] == "RUN_FINISHED"


async def test_what_comes_after_the_end_has_begun_is_sent_away(gate: Gates) -> None:
    app = app_of(gate, grace=0)
    async with served(app) as server, server.client() as client:
        await closing_of(app).aclose()
        for answer in [await client.get("/health"), await client.post("/", json=posted("t", "hi"))]:
            assert (answer.status_code, answer.json()["error"]) == (503, "shutdown")
            assert "retry-after" in answer.headers


async def test_a_run_that_waits_for_its_turn_is_told_that_it_has_none(gate: Gates) -> None:
    gate.hold("first 0")
    app = app_of(gate, grace=0, busy="queue")
    async with (
        served(app) as server,
        server.client() as client,
        client.stream("POST", "/", json=posted("t", "hi")),
        client.stream("POST", "/", json=posted("t", "hi", "and on", run_id="run-2")) as waits,
    ):
        await closing_of(app).aclose()
        assert events_of(await waits.aread())[-1]["code"] == "shutdown"


async def test_what_is_queued_does_not_run_once_the_end_has_begun(gate: Gates) -> None:
    gate.hold("first 3")
    async with Runs() as runs:
        app = app_of(gate, runs, grace=WITHIN, busy="queue")
        async with served(app) as server, server.client() as client:
            async with client.stream("POST", "/", json=posted("t", "hi")) as runs_now:
                await gate.reached("first 3")
                async with client.stream("POST", "/", json=posted("t", "hi", "and on", run_id="run-2")) as waits:
                    async with client.stream("POST", "/", json=posted("t", "hi", "more", run_id="run-3")):
                        pass  # this one has left
                    closing_of(app).begin()
                    assert [event.get("code") for event in events_of(await waits.aread())] == ["shutdown"]
                    assert runs.busy == runs.running
                gate.open("first 3")
                assert kinds_of(await runs_now.aread())[-1] == "RUN_FINISHED"
            assert runs.running == 0


async def test_a_request_that_is_still_planned_is_sent_away(gate: Gates) -> None:
    plans = asyncio.Event()

    async def prepare(given: RunAgentInput) -> Prepared:
        plans.set()
        await asyncio.Event().wait()
        return Prepared()

    app = app_of(gate, grace=0, prepare=prepare)
    async with served(app) as server, server.client() as client:
        asks = asyncio.create_task(client.post("/", json=posted("t", "hi")))
        await plans.wait()
        await closing_of(app).aclose()
        answer = await asks
    assert (answer.status_code, answer.json()["error"]) == (503, "shutdown")


async def test_a_request_that_was_let_in_before_the_end_has_the_grace_for_its_answer(gate: Gates) -> None:
    plans, is_ending = asyncio.Event(), asyncio.Event()

    async def prepare(given: RunAgentInput) -> Prepared:
        plans.set()
        await is_ending.wait()
        return Prepared()

    gate.hold("first 3")
    app = app_of(gate, grace=WITHIN, prepare=prepare)
    async with served(app) as server, server.client() as client:
        asks = asyncio.create_task(client.post("/", json=posted("t", "hi")))
        await plans.wait()
        closing_of(app).begin()
        is_ending.set()
        await gate.reached("first 3")
        gate.open("first 3")
        answer = await asks
    assert answer.status_code == 200
    assert kinds_of(answer.content)[-1] == "RUN_FINISHED"


async def test_the_runs_of_an_app_end_with_it_and_no_others(gate: Gates) -> None:
    gate.hold("first 3", "other first 0")
    async with Runs() as runs:
        app = app_of(gate, runs, grace=0)
        other = await runs.start(GATED["gated_chat"](InMemorySaver()), {"messages": []}, gate.config("t", run="other"))
        async with served(app) as server, server.client() as client:
            async with client.stream("POST", "/", json=posted("t", "hi")):
                await gate.reached("first 3")
            run = live_run(runs, "graph", "t")
            assert run is not None
        assert run.status == "cancelled"
        assert other.status == "running"


async def test_an_app_that_is_started_anew_lets_in_again(gate: Gates) -> None:
    app = app_of(gate, grace=0)
    for thread in ("t", "u"):
        async with served(app) as server, server.client() as client:
            assert (await client.post("/", json=posted(thread, "hi"))).status_code == 200


@pytest.mark.parametrize("name", ["grace", "drain"])
def test_a_time_is_no_less_than_nothing(name: str) -> None:
    seconds: Any = {name: -1}
    with pytest.raises(ValueError, match=name):
        agui_app(GATED["gated_chat"](None), **seconds)


class Two:
    """Two servers with a store in common, which cancel a run that has no readers. `first`, `other`: a client for each.
    `closing`: of the first app."""

    def __init__(self, gate: Gates, drain: float) -> None:
        store, graph = SharedStore(), GATED["gated_chat"](InMemorySaver())
        agent = Agent(source=graph, intake=Intake(config=gate.config(), on_disconnect="cancel"))
        self._apps = [agui_app({"chat": agent}, store=store, grace=0, drain=drain) for _ in range(2)]
        self._lifetime, self._first = AsyncExitStack(), AsyncExitStack()
        self.closing = closing_of(self._apps[0])

    async def __aenter__(self) -> "Two":
        other = await self._lifetime.enter_async_context(served(self._apps[1]))
        first = await self._first.enter_async_context(served(self._apps[0]))
        self._lifetime.push_async_callback(self.end_first)
        self.first, self.other = [
            await self._lifetime.enter_async_context(server.client()) for server in (first, other)
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._lifetime.aclose()

    async def end_first(self) -> None:
        """Returns when the first server has ended."""
        await self._first.aclose()


async def test_a_run_of_a_shared_store_goes_on_after_its_streams_and_is_read_elsewhere(gate: Gates) -> None:
    gate.hold("first 3")
    async with Two(gate, WITHIN) as servers:
        async with servers.first.stream("POST", "/chat", json=posted("t", "hi")) as response:
            await gate.reached("first 3")
            ends = asyncio.create_task(servers.end_first())
            last = events_of(await response.aread())[-1]
        assert (last["code"], "connect to it again" in last["message"]) == ("shutdown", True)
        async with servers.other.stream("POST", "/chat/connect", json=posted("t")) as read:
            gate.open("first 3")
            assert events_of(await read.aread())[-1]["outcome"]["type"] == "success"
        await ends


@pytest.mark.parametrize("drain", [0, WITHIN])
async def test_a_run_that_does_not_end_in_time_is_cancelled_and_its_thread_is_free(gate: Gates, drain: float) -> None:
    """In time, or before somebody loses patience."""
    gate.hold("first 3")
    async with Two(gate, drain) as servers:
        async with servers.first.stream("POST", "/chat", json=posted("t", "hi")) as response:
            await gate.reached("first 3")
            ends = asyncio.create_task(servers.end_first())
            await response.aread()
        async with servers.other.stream("POST", "/chat/connect", json=posted("t")) as read:
            if drain:
                servers.closing.hurry()
            assert events_of(await read.aread())[-1]["outcome"]["type"] == "cancelled"
        await ends
        gate.open("first 3")
        answer = await servers.other.post("/chat", json=posted("t", "hi", "and on", run_id="run-2"))
        assert kinds_of(answer.content)[-1] == "RUN_FINISHED"


async def test_a_server_that_cancels_its_streams_ends_them_properly(gate: Gates, agui_client: AguiClient) -> None:
    """uvicorn cancels what is open when the time that it was given is over, here long before `grace`."""
    gate.hold("first 3")
    headers = {"x-gate": str(gate.port)}
    options = ("--timeout-graceful-shutdown", "1")
    with app_process(SERVED, *options, environment={"GRACE": str(WITHIN)}) as process:
        async with (
            httpx.AsyncClient(base_url=process.url, timeout=WITHIN, trust_env=False, headers=headers) as client,
            client.stream("POST", "/gated_chat", json=posted("t", "hi")) as run,
            client.stream("POST", "/gated_chat/connect", json=posted("t")) as joined,
        ):
            await gate.reached("first 3")
            process.send(signal.SIGTERM)
            for response in (run, joined):
                events = events_of(await response.aread())
                assert (events[-2]["type"], events[-1]["code"]) == ("STEP_FINISHED", "shutdown")
                assert not agui_client.play(events, version="1.0.0").warnings
        assert await asyncio.to_thread(process.wait, WITHIN) in (0, -signal.SIGTERM)
        assert "Traceback" not in process.log


async def test_a_reader_that_never_reads_does_not_hold_up_the_end(gate: Gates) -> None:
    gate.hold("second 0")
    with app_process(SERVED) as process:
        port = int(process.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            body = b'{"threadId": "t", "runId": "r", "messages": []}'
            head = (
                b"POST /gated_fast HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Gate: %d\r\n" % gate.port
            )
            deaf.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            await gate.reached("second 0")
            process.send(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, WITHIN) in (0, -signal.SIGTERM)
            assert "Traceback" not in process.log
