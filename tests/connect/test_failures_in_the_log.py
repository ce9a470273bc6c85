"""Whatever fails is one line of the log, which names the agent, the thread and the run, also where a client is given
the error: a platform's failures as warnings, a client's own mistakes as INFO, the unexpected as errors."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Platform, RetryPolicy, Runs, connect, run, watch
from langgraph_agui.connect.cli.sources.platforms import input_channels
from langgraph_agui.connect.platform.calls import Contact
from langgraph_agui.connect.platform.thread import PlatformThread
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import Pause
from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.support.servers.serving import dropping, posted, served, told, until
from tests.support.streams.pausing_graphs import HELLO, on, quick, speaking

ONCE = RetryPolicy(max_attempts=1)
THREAD, RUN = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
WARNING, INFO, ERROR = logging.WARNING, logging.INFO, logging.ERROR
PLATFORMS = {"refusing": "The platform answered with HTTP 403: 'Not for you.'", "gone": "The platform could not be"}


async def refuse(request: Request) -> Response:
    return PlainTextResponse('{"detail": "Not for you."}', 403, media_type="application/json")


@asynccontextmanager
async def platforms() -> AsyncIterator[dict[str, Platform]]:
    """One that refuses everything, and one that drops every connection."""
    app = Starlette(routes=[Route("/{path:path}", refuse, methods=["GET", "POST"])])
    async with (
        served(app) as server,
        dropping() as gone,
        get_client(url=server.url) as refusing,
        get_client(url=gone) as lost,
    ):
        yield {"refusing": Platform(refusing, "away"), "gone": Platform(lost, "away")}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Any:
    """The lines that were logged since the last call, with their levels."""
    caplog.set_level(logging.INFO, "langgraph_agui")

    def lines() -> list[tuple[int, str]]:
        wanted = [each for each in caplog.records if "Run " not in each.getMessage() and each.name.startswith("langgr")]
        found = [(each.levelno, each.getMessage()) for each in wanted if "Reader attached" not in each.getMessage()]
        caplog.clear()
        return found

    return lines


async def code_of(events: AsyncGenerator[Any, None]) -> str:
    """The code in which a stream ends."""
    async with asyncio.timeout(60):
        return str([event async for event in events][-1].code)


async def test_the_streams_of_the_library(logged: Any) -> None:
    async with platforms() as away, Runs() as runs:
        local = Local(speaking(Pause(), InMemorySaver()), runs=runs, agent="here")
        await runs.start(local.graph, HELLO, on(THREAD), run_id="active", agent="here")
        valid = posted(THREAD, "hi", run_id=RUN)
        place = f"(agent 'here', thread '{THREAD}', run '{RUN}')."
        cases: list[tuple[Any, str, int, str, str]] = [
            (connect(local, "", run_id=RUN), "invalid_thread_id", INFO, "Refused: ", "(agent 'here', thread '', run"),
            (connect(local, "x" * 10_000), "invalid_thread_id", INFO, "Refused: ", "(agent 'here', thread 'xxx"),
            (connect(local, THREAD, run_id=""), "invalid_run_id", INFO, "Refused: ", "run '')."),
            (watch(local, ""), "invalid_thread_id", INFO, "Refused: ", "(agent 'here', thread '')."),
            (run(local, valid), "conflict", INFO, "Refused: ", place),
            (run(local, {**valid, "threadId": ""}), "invalid_thread_id", INFO, "Refused: ", f"thread '', run '{RUN}')"),
        ]
        for name, source in away.items():
            code, line = {"refusing": "forbidden", "gone": "lost"}[name], PLATFORMS[name]
            about = f"(agent 'away', thread '{THREAD}')."
            cases += [
                (connect(source, THREAD, retry=ONCE), code, WARNING, line, about),
                (watch(source, THREAD, retry=ONCE), code, WARNING, line, about),
                (watch(source, assistant_id="daily", retry=ONCE), code, WARNING, line, "(agent 'daily')."),
                (run(source, valid, retry=ONCE), code, WARNING, line, f"'away', thread '{THREAD}', run '{RUN}')."),
                (connect(source, "a/b", retry=ONCE), "invalid_thread_id", INFO, "Refused: ", "(agent 'away', thread"),
            ]
        for events, code, level, line, about in cases:
            assert await code_of(events) == code
            [(found, message)] = logged()
            assert (found, message.startswith(line), about in message) == (level, True, True), message
            assert len(message) < 1_000


async def raises(request: Request) -> Intake:
    raise LookupError("a fault of the app's")


def forbid(user: Any, action: str, name: str, thread_id: str | None) -> bool:
    return thread_id != "not-yours"


async def test_the_requests_of_an_app(logged: Any) -> None:
    async with platforms() as away, Runs() as runs:
        local = Local(quick(InMemorySaver()), runs=runs)
        agents = {name: Agent(source=source, retry=ONCE) for name, source in away.items()}
        busy = Local(speaking(Pause(), InMemorySaver()), runs=runs, agent="busy")
        await runs.start(busy.graph, HELLO, on(THREAD), run_id="active", agent="busy")
        agents |= {
            "busy": Agent(source=busy),
            "here": Agent(source=local),
            "faulty": Agent(source=quick(InMemorySaver()), intake=raises),
        }
        app = agui_app(agents, authorize=forbid, hosts=["127.0.0.1"])
        valid = posted(THREAD, "hi", run_id=RUN)
        place = f"thread '{THREAD}', run '{RUN}')."
        answer = {**valid, "protocolVersion": None, "resume": [{"interruptId": "i", "status": "resolved"}]}
        cases: list[tuple[str, Any, int, int, str, str]] = [
            ("/faulty", valid, 500, ERROR, "Unexpected exception (POST '/faulty', agent 'faulty', ", place),
            ("/here", {**valid, "runId": ""}, 422, INFO, "Refused: ", f"agent 'here', thread '{THREAD}', run '')."),
            ("/here", {**valid, "threadId": "not-yours"}, 403, INFO, "Refused with HTTP 403", f"run '{RUN}')."),
            ("/here", {}, 422, INFO, "Refused with HTTP 422", "(POST '/here', agent 'here')."),
            ("/nothing", valid, 404, INFO, "Refused with HTTP 404", "(POST '/nothing', agent 'nothing')."),
            ("/no/such/path", valid, 404, INFO, "Refused with HTTP 404", "(POST '/no/such/path')."),
            ("/refusing", valid, 403, WARNING, PLATFORMS["refusing"], f"'/refusing', agent 'refusing', {place}"),
            ("/gone", valid, 503, WARNING, PLATFORMS["gone"], f"(POST '/gone', agent 'gone', {place}"),
            ("/refusing/stop", {"threadId": THREAD, "runId": RUN}, 403, WARNING, PLATFORMS["refusing"], place),
        ]
        resumed = {"method": "agent/run", "params": {"agentId": "busy"}, "body": answer}
        async with served(app) as server, server.client() as client:
            logged()  # what is said at the start
            for path, body, status, level, line, about in cases:
                assert (await client.post(path, json=body)).status_code == status, path
                [(found, message)] = logged()
                assert (found, message.startswith(line), about in message) == (level, True, True), message
            wrong_host = await client.get("/health", headers={"host": "elsewhere"})
            assert (wrong_host.status_code, logged()[0][1].endswith("(GET '/health').")) == (421, True)
            async with client.stream("POST", "/", json=resumed) as response:
                assert (await until(told(response), "RUN_ERROR"))["code"] == "conflict"
            [(found, message)] = logged()
            assert (found, message.endswith(f"(POST '/', agent 'busy', {place}")) == (INFO, True), message


async def test_what_is_asked_of_a_platform_beside_a_run(logged: Any) -> None:
    async with platforms() as away:
        assert await input_channels(away["refusing"], "messages") is None
        assert logged() == [(WARNING, f"{PLATFORMS['refusing']} (agent 'away').")]


async def test_a_run_that_is_not_stopped_for_a_client_that_left(logged: Any) -> None:
    async with platforms() as away:
        await PlatformThread(away["gone"].client, THREAD, Contact(ONCE)).stop(RUN)
        [(level, message)] = logged()
        assert (level, message.endswith(f"(thread '{THREAD}', run '{RUN}').")) == (WARNING, True)
