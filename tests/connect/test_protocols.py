"""A protocol is a folder and a line; and a thread is opened in one place."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.local.checkpoints.outcome import outcome_without_checkpoint
from langgraph_agui.connect.local.store.run_store import RunStore
from langgraph_agui.connect.serve import Action, Limits, agui_app, routes
from langgraph_agui.connect.serve.websocket import WebSockets
from langgraph_agui.connect.testing import Pause

from tests.connect.test_rooms import ROOT, imported
from tests.support.servers import toy_protocol
from tests.support.servers.serving import served
from tests.support.streams.pausing_graphs import speaking

SERVE = ROOT / "serve"


def folder_of(protocol: Any) -> str:
    """The folder of `serve` in which a protocol is."""
    return str(protocol.__module__).removeprefix("langgraph_agui.connect.serve.").split(".")[0]


PROTOCOLS = sorted({*(folder_of(protocol) for protocol in routes.PROTOCOLS), folder_of(WebSockets)})
"""The folders of `serve` that are protocols."""
WITH_IO = ("websocket.sockets", "websocket.__init__")
"""What holds a connection open. All other modules of protocols read requests: they know no framework, await nothing,
draw nothing at random, and do not know what is done."""
IMPURE = {"asyncio", "starlette", "service", "uuid", "random", "secrets", "time", "os"}
"""Modules that such a module does not import."""
OF_THREADS = {"attach", "cancel", "submit", "thread", "threads", "watch", "watch_assistant"}
"""What backends do with threads."""


def room_of(module: str) -> str | None:
    return next((each for each in PROTOCOLS if module.startswith(f"serve.{each}.")), None)


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def nodes(below: Path, *but: str) -> Iterator[tuple[str, ast.AST]]:
    """Every node of every module, but of these folders and files."""
    for path in sorted(below.rglob("*.py")):
        name = path.relative_to(below).as_posix()
        if not name.startswith(but):
            yield from ((name, node) for node in ast.walk(tree(path)))


def test_no_protocol_imports_another() -> None:
    pairs = {(room_of(importer), room_of(module)) for importer, module in imported()}
    assert {(one, other) for one, other in pairs if one != other and one is not None and other is not None} == set()


def test_nothing_knows_a_protocol_but_where_it_is_registered() -> None:
    importers = {importer for importer, module in imported() if room_of(module) is not None}
    assert {importer for importer in importers if room_of(importer) is None} == {"serve.routes"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_reads_requests_is_pure(protocol: str) -> None:
    modules = {path: f"{protocol}.{path.stem}" for path in sorted((SERVE / protocol).rglob("*.py"))}
    readers = [path for path, module in modules.items() if module not in WITH_IO]
    assert readers
    assert {path.name: impurities(tree(path)) for path in readers} == {path.name: [] for path in readers}


@pytest.mark.parametrize(
    "source",
    [
        "async def parse(call): ...",
        "def parse(call): return [each async for each in call]",
        "import asyncio",
        "from starlette.requests import Request",
        "from ..service import Service",
        "from uuid import uuid4",
        "import uuid",
        "import secrets",
        "from time import monotonic",
        "from datetime import datetime\nat = datetime.now()",
    ],
)
def test_impure_readers_of_requests_are_found(source: str) -> None:
    assert impurities(ast.parse(source)) != []


def impurities(module: ast.Module) -> list[str]:
    """What a module does that gives another answer for the same request, or waits."""
    impure = []
    for node in ast.walk(module):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        impure += [name for name in names if name.split(".")[0] in IMPURE]
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.comprehension) and getattr(node, "is_async", True):
            impure.append(type(node).__name__)
        if isinstance(node, ast.Attribute) and node.attr in {"now", "today", "utcnow"}:
            impure.append(ast.unparse(node))
    return impure


async def test_a_new_protocol_has_the_runs_the_guard_and_the_limits_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_header(request: Any) -> str | None:
        return request.headers.get("x-user") or None

    def own(user: str, action: Action, agent: str, thread_id: str | None) -> bool:
        return thread_id is not None and thread_id.startswith(user)

    monkeypatch.setattr(routes, "PROTOCOLS", (toy_protocol.endpoints, *routes.PROTOCOLS))
    point = Pause()
    point.open.set()
    graph = speaking(point, InMemorySaver(), words="one two three")
    app = agui_app({"chat": graph}, authenticate=by_header, authorize=own, limits=Limits(readers=1))
    async with served(app) as server, server.client(headers={"x-user": "ada"}) as client:
        answer = await client.post("/chat/say", json={"to": "ada-1", "say": "hello"})
        assert answer.headers["content-type"] == "application/x-toy"
        assert answer.text == '[1,"one "]\n[2,"two "]\n[3,"three"]\n'
        stopped = await client.post("/chat/silence", json={"to": "ada-1"})
        assert stopped.json() == {"stopped": False}
        for status, path, body in (
            (403, "say", {"to": "bob-1", "say": "hello"}),
            (403, "silence", {"to": "bob-1"}),
            (422, "say", {"say": "hello"}),
        ):
            assert (await client.post(f"/chat/{path}", json=body)).status_code == status
        assert (await client.post("/none/say", json={"to": "ada-1"})).status_code == 404
        assert (await client.get("/chat/say", headers={"x-user": ""})).status_code == 405
        assert (await client.post("/chat/say", json={}, headers={"x-user": ""})).status_code == 401


async def test_a_wire_that_raises_ends_its_stream_and_is_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def cannot(*_: object) -> bytes:
        raise ValueError("no bytes for this")

    monkeypatch.setattr(toy_protocol.NumberedLines, "encode", cannot)
    monkeypatch.setattr(routes, "PROTOCOLS", (toy_protocol.endpoints, *routes.PROTOCOLS))
    app = agui_app({"chat": speaking(Pause(), InMemorySaver())})
    async with served(app) as server, server.client() as client:
        answer = await client.post("/chat/say", json={"to": "ada-1", "say": "hello"})
    assert (answer.status_code, answer.content) == (200, b"")
    lines = [record.getMessage() for record in caplog.records if "stream" in record.getMessage()]
    assert [line for line in lines if "thread 'ada-1'" not in line] == []
    assert [line.partition(" (")[0] for line in lines] == [
        "A stream was ended by an unexpected exception",
        "The last events of a stream could not be encoded",
    ]


def test_only_an_open_thread_asks_a_backend() -> None:
    """Neither routes, nor editors, nor the public functions use the methods of a backend that take a thread's id."""
    calls, lists = set(), set()
    for name, node in nodes(ROOT, "local/", "platform/", "testing/", "open_thread.py", "cli/"):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OF_THREADS:
            if node.args or node.keywords:  # others are those of tasks and timers
                calls.add((name, ast.unparse(node.func)))
        elif isinstance(node, ast.Attribute) and node.attr == "threads":
            lists.add(name)
    assert calls == {
        ("api.py", "OpenThread(backend, thread_id or '').watch"),
        ("serve/service.py", "opened.thread.watch"),
    }
    pages = {"serve/copilotkit/threads.py"}
    assert lists - pages == {"acp/sessions.py", "api.py", "serve/service.py"}  # they list threads, and name none


def test_a_service_opens_threads_in_one_place() -> None:
    """What a client sends as a thread's id is read by `Service.open` alone."""
    service = tree(SERVE / "service.py")
    opening = next(node for node in ast.walk(service) if isinstance(node, ast.AsyncFunctionDef) and node.name == "open")
    within = {id(node) for node in ast.walk(opening)}
    calls = [node for node in ast.walk(service) if isinstance(node, ast.Call)]
    opened = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "OpenThread"]
    assert [id(node) in within for node in opened] == [True]
    assert not [name for name, node in nodes(SERVE, "service.py") if getattr(node, "id", None) == "OpenThread"]

    opens = [node for node in calls if ast.unparse(node.func) == "self.open"]
    assert len(opens) == 1  # for whatever operation
    given = {id(argument) for call in opens for argument in call.args}
    read = [node for node in ast.walk(service) if isinstance(node, ast.Attribute) and node.attr == "thread_id"]
    assert [ast.unparse(node) for node in read if id(node) not in given] == []

    elsewhere = {
        (name, ast.unparse(node))
        for name, node in nodes(SERVE, "service.py", *(f"{each}/" for each in PROTOCOLS))
        if isinstance(node, ast.Attribute) and node.attr == "thread_id"
    }
    assert elsewhere == {
        ("agents.py", "lost.thread.thread_id"),  # in the log, if no graph can be made for a lost run
        ("operations.py", "self.input.thread_id"),
        ("streams/endings.py", "run_input.thread_id"),  # in the events that it makes
        ("streams/transmission.py", "self._stream.thread_id"),  # in the log
    }


def test_who_may_use_a_thread_is_asked_where_it_is_opened() -> None:
    """A backend finds a thread, or the rows of a list, in one module each. Nothing else looks for runs of a thread."""
    asks = {
        name
        for name, node in nodes(ROOT)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "allows"
    }
    assert asks - {"serve/requests/langgraph_auth.py"} == {
        *("local/index/reading.py", "local/thread.py"),
        *("platform/thread.py", "platform/threads.py"),
    }
    reading = (
        *(f"store.{method.__name__}" for method in (RunStore.active, RunStore.now)),
        outcome_without_checkpoint.__name__,
    )
    reads = {
        name
        for name, node in nodes(ROOT, "local/store/", "local/run/", "local/index/")
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(reading)
    }
    assert reads == {
        "local/port.py",  # an input that has its turn, and whose thread has changed since it was planned
        "local/source.py",
        "local/submit.py",  # an input that waits: its owner is asked before it, and again after each wait
        "local/thread.py",
    }


def test_one_module_makes_the_errors_of_streams() -> None:
    """Whatever goes wrong raises; the end of a run is its translator's to emit."""
    makes = {
        name
        for name, node in nodes(ROOT, "acp/", "cli/", "testing/")
        if isinstance(node, ast.Name | ast.Attribute | ast.alias)
        and {getattr(node, each, None) for each in ("id", "attr", "name")} & {"run_error", "error_event"}
    }
    assert makes == {"errors.py", "local/store/followed_run.py"}  # of a run whose process was lost
