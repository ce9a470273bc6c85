"""A signal ends the streams of an app in time, under the servers that people use, without any option of theirs."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.serve.streams.shutdown import Closing
from starlette.applications import Starlette

from fixtures.gated import GATED
from tests.support.servers.gates import Gates
from tests.support.servers.processes.server_process import ROOT
from tests.support.servers.serving import WITHIN, app_process, events_of, posted, served

MODULE = "tests.support.servers.served_app"
SOURCE = str(ROOT / "tests/support/servers/served_app.py")


@dataclass(frozen=True)
class Server:
    """A server as it is started: its module, and its arguments before and after the app."""

    command: tuple[str, ...]
    target: str = f"{MODULE}:app"
    options: tuple[str, ...] = ()
    path: str = ""
    number: signal.Signals = signal.SIGTERM


SERVERS = {
    "uvicorn": Server(("uvicorn",), options=("--loop", "asyncio")),
    "uvicorn, Ctrl-C": Server(("uvicorn",), f"{MODULE}:mounted", path="/agui", number=signal.SIGINT),
    "uvloop": Server(("uvicorn",), f"{MODULE}:embedded", ("--loop", "uvloop"), "/agui"),
    "workers": Server(("uvicorn",), options=("--workers", "2")),
    "reload": Server(("uvicorn",), options=("--reload", "--reload-dir", ".")),
    "gunicorn": Server(("gunicorn", "-k", "uvicorn_worker.UvicornWorker")),
    "gunicorn --preload": Server(("gunicorn", "--preload", "-k", "uvicorn_worker.UvicornWorker")),
    "fastapi dev": Server(("fastapi", "dev"), SOURCE, ("--app", "embedded"), "/agui"),
}


SLOW = ("workers", "gunicorn --preload", "fastapi dev")
"""Those whose processes import everything again, and differ from the others in little."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.services) if name in SLOW else name for name in SERVERS]
)
async def test_streams_end_at_a_signal(gate: Gates, name: str) -> None:
    """One in a run, and one between two runs. With `--reload`, at a change: the server comes back without its pages."""
    server = SERVERS[name]
    gate.hold("first 3")
    headers = {"x-gate": str(gate.port)}
    with app_process(server.target, *server.options, server=server.command) as process:
        async with (
            httpx.AsyncClient(base_url=process.url + server.path, timeout=WITHIN, headers=headers) as client,
            client.stream("POST", "/gated_chat", json=posted("t", "hi")) as run,
            client.stream("GET", "/watch/nobody?agent=gated_chat") as watch,
        ):
            await gate.reached("first 3")
            if name == "reload":
                process.path("changed.py").write_text("changed = True")
            else:
                process.send(server.number)
            assert await watch.aread() == b""
            events = events_of(await run.aread())
        assert (events[-2]["type"], events[-1]["code"]) == ("STEP_FINISHED", "shutdown")
        if name == "reload":
            await asyncio.to_thread(process.wait_until_ready)
            process.send(server.number)
        assert await asyncio.to_thread(process.wait, WITHIN) in (0, -server.number)
        assert "Traceback" not in process.log


class Handlers:
    """The handlers of a server, which note each call."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.calls.append(number)


@contextmanager
def handled(*numbers: int) -> Iterator[Handlers]:
    """These signals have handlers in the block, as under a server."""
    handlers = Handlers()
    before = {number: signal.signal(number, handlers) for number in numbers}
    try:
        yield handlers
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def app_of(gate: Gates, **settings: Any) -> tuple[Starlette, Closing]:
    agent = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    app = agui_app(agent, **settings)
    return app, app.state.closing


async def test_the_handler_of_the_server_is_called_too_and_restored(gate: Gates) -> None:
    gate.hold("first 3")
    app, closing = app_of(gate, grace=WITHIN)
    other, other_closing = app_of(gate, grace=WITHIN)
    with handled(signal.SIGTERM, signal.SIGINT) as handlers:
        async with served(other), served(app) as server, server.client() as client:
            async with client.stream("POST", "/", json=posted("t", "hi")) as run:
                await gate.reached("first 3")
                signal.raise_signal(signal.SIGTERM)
                assert handlers.calls == [signal.SIGTERM]
                signal.raise_signal(signal.SIGINT)  # as a supervisor sends it after a Ctrl-C: not a second one
                answer = await client.get("/health")
                assert (answer.status_code, closing.has_begun, other_closing.has_begun) == (503, True, True)
                signal.raise_signal(signal.SIGTERM)
                assert events_of(await run.aread())[-1]["code"] == "shutdown"
            assert len(handlers.calls) == 3
        assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGINT) is handlers


async def test_a_handler_that_came_later_is_left(gate: Gates) -> None:
    app, closing = app_of(gate)
    with handled(signal.SIGTERM) as handlers:
        async with served(app):
            chained, later = signal.getsignal(signal.SIGTERM), Handlers()
            assert callable(chained)
            signal.signal(signal.SIGTERM, later)
        assert signal.getsignal(signal.SIGTERM) is later
        closing.reopen()
        chained(signal.SIGTERM, None)  # as a handler that has it before itself
        assert handlers.calls == [signal.SIGTERM]
        assert not closing.has_begun


async def test_signals_are_left_alone_where_they_are_not_the_apps(gate: Gates) -> None:
    """Not asked for; without a handler, as in a script; and in another thread, which can't have any."""
    with handled(signal.SIGTERM) as handlers:
        async with served(app_of(gate, signals=False)[0]):
            assert signal.getsignal(signal.SIGTERM) is handlers

        async def serve() -> None:
            async with served(app_of(gate)[0]):
                assert signal.getsignal(signal.SIGTERM) is handlers

        thread = threading.Thread(target=asyncio.run, args=(serve(),))
        thread.start()
        await asyncio.to_thread(thread.join)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        async with served(app_of(gate)[0]):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
