"""Every route of an app, and its WebSocket, with requests that no client sends: no answer is a 5xx, none has a text of
ours or of what was sent, nothing of it breaks a line of the log, and nothing stays behind. The routes are the app's own
list: a new one is among them."""

import asyncio
import gc
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from starlette.routing import WebSocketRoute
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.support.clients.batch_readers import until
from tests.support.random.examples import examples
from tests.support.random.hostile_requests import MARK, agents, bodies, headers, ids, path_of, queries
from tests.support.servers.serving import WITHIN, Served, served

FUZZ = settings(
    max_examples=examples(600),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),  # a hanging answer that is made smaller hangs a hundred times
)
LIMITS = Limits(body=200_000, depth=30, values=10_000)
OURS = re.compile(
    r"Traceback|[a-z]Error\b|Exception|File \"|\.py\b|/work|/home|/usr|site-packages|langgraph_agui|pydantic|orjson"
    r"|starlette|NoneType|object has no|not subscriptable|0x[0-9a-f]{6}|memory"
)
"""What nobody outside has to know."""


class Shared(MessagesState):
    """A conversation, and what a page writes."""

    mood: Any


def answer(state: Shared) -> dict[str, Any]:
    """Asks on some messages, and answers all others."""
    last = str(state["messages"][-1].content) if state["messages"] else ""
    said = interrupt({"question": "really?"}) if "ask" in last else "heard"
    return {"messages": [AIMessage(f"I {str(said)[:20]} {len(state['messages'])}.")]}


class BrokenLines(logging.Handler):
    """The lines of our log in which a control character stands as it is: a client could make up a line by it."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps a line that is broken."""
        if not (line := record.getMessage()).isprintable():
            self.lines.append(line)


class Sent(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    @property
    def raw(self) -> bytes:
        """Its bytes; the connection ends with it."""
        names = {name.lower() for name, _ in self.headers}
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: x", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [] if "content-type" in names else ["Content-Type: application/json"]
        lines += [f"Content-Length: {len(self.body)}", "", ""]
        return "\r\n".join(lines).encode("latin-1") + self.body


class Answered(NamedTuple):
    """What came of it."""

    status: int
    head: str
    body: str


class Fuzzed:
    """A server, and what it had before anything came."""

    def __init__(self, runner: asyncio.Runner, server: Served, app: Any, runs: Runs) -> None:
        self.run = runner.run
        self.server = server
        self.patterns = [(route.path, method) for route in app.routes for method in _methods(route)]
        self.sockets = [route.path for route in app.routes if isinstance(route, WebSocketRoute)]
        self._service = app.state.service
        self._runs = runs
        self.broken = BrokenLines()
        self.before = runner.run(self._is_new())

    async def answered(self, sent: Sent) -> Answered:
        """The answer to a request; of a stream that stays open, its beginning."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            async with asyncio.timeout(WITHIN):
                writer.write(sent.raw)
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                stays = "/watch" in sent.path and " 200 " in head.partition("\r\n")[0]
                body = b"" if stays else await reader.read()
        except ConnectionResetError:
            assert len(sent.body) > 60_000, sent  # it was refused before all of it was sent
            return Answered(0, "", "")
        finally:
            writer.transport.abort()
            writer.close()
        return Answered(int(head.split(" ")[1]), head, body.decode("utf-8", "replace"))

    def has(self) -> dict[str, Any]:
        """What is open and what is kept of requests."""
        gc.collect()
        kinds = Counter(type(each).__name__ for each in gc.get_objects())
        return {
            "tasks": len(asyncio.all_tasks()),
            "files": len(list(Path("/proc/self/fd").iterdir())),
            "readers": (self._service.capacity.readers, self._service.capacity.starting),
            "bodies": self._service.bodies.size,
            "runs": self._runs.running,
            "kept": {name: kinds[name] for name in ("Request", "EventStream", "WebSocket", "Reading", "RunRequest")},
        }

    async def _is_new(self) -> dict[str, Any]:
        return self.has()

    async def is_empty(self) -> None:
        """Returns when nothing is left of all that was sent."""
        try:
            async with asyncio.timeout(WITHIN):
                await until(lambda: self.server.connections == 0)
                await until(lambda: self.has() == self.before)
        except TimeoutError:
            raise AssertionError(f"expected {self.before}, got {self.has()}; {asyncio.all_tasks()}") from None


def _methods(route: Any) -> Sequence[str]:
    return getattr(route.endpoint, "methods", None) or ("GET",)


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    graph = StateGraph(Shared).add_node("answer", answer).add_edge(START, "answer")
    with asyncio.Runner() as runner:
        runs, store = Runs(), InMemoryStore()
        agents = {
            name: Agent(
                source=Local(graph.compile(saver, store=store, name=name), agent=name, runs=runs), intake=intake
            )
            for name, saver, intake in (
                ("asks", InMemorySaver(), Intake(state={"mood"}, shortened="fork")),
                ("bare", None, Intake(state="all")),
            )
        }
        app = agui_app(
            agents, limits=LIMITS, inspector=True, websocket=True, authorize=lambda *_: True, origins=["http://page"]
        )
        serving = served(app, ws="websockets-sansio")
        server = runner.run(serving.__aenter__())
        fuzzed, log = Fuzzed(runner, server, app, runs), logging.getLogger("langgraph_agui")
        log.addHandler(fuzzed.broken)
        log.setLevel(logging.INFO)
        yield fuzzed
        log.setLevel(logging.NOTSET)
        log.removeHandler(fuzzed.broken)
        runner.run(serving.__aexit__(None, None, None))
        runner.run(runs.aclose())


def judge(sent: Sent, answered: Answered) -> None:
    assert answered.status < 500, (sent, answered)
    if answered.status == 0:
        return
    assert "\r\nset-cookie" not in answered.head.lower()
    if answered.status >= 400 and sent.method != "HEAD":
        if answered.body != "Invalid HTTP request received.":  # uvicorn's own
            said = json.loads(answered.body)
            assert set(said) == {"error", "message"}
            judge_text(answered.body, sent)
    elif "event-stream" in answered.head or "x-ndjson" in answered.head:
        assert "internal_error" not in answered.body, (sent, answered)


def judge_text(text: str, sent: Any) -> None:
    """The text of an error has nothing of ours, nor of what was sent."""
    assert OURS.search(text) is None, (sent, text)
    assert MARK not in text, (sent, text)


@st.composite
def requests(draw: st.DrawFn, patterns: Sequence[tuple[str, str]]) -> Sent:
    pattern, own = draw(st.sampled_from(patterns))
    method = draw(st.sampled_from([own] * 6 + ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW"]))
    fills = {"agent": draw(agents), "thread": draw(ids)}
    body = draw(bodies) if method not in ("GET", "HEAD") else b""
    return Sent(method, path_of(pattern, fills, draw(queries)), draw(headers), body)


def asked(thread: str, run: str, **more: Any) -> bytes:
    message = {"id": f"m-{run}", "role": "user", "content": "ask me"}
    return json.dumps({"threadId": thread, "runId": run, "messages": [message], **more}).encode()


@FUZZ
@given(data=st.data())
def test_whatever_is_sent_to_whatever_route(fuzzed: Fuzzed, data: st.DataObject) -> None:
    sent = data.draw(st.lists(requests(fuzzed.patterns), min_size=1, max_size=6))

    async def play() -> None:
        judge(first := Sent("POST", "/asks", (), asked("asked", "r")), await fuzzed.answered(first))
        for each in sent:
            judge(each, await fuzzed.answered(each))

    fuzzed.run(play())


@FUZZ
@given(
    frames=st.lists(
        st.builds(
            lambda verb, field, body: b'{"do": "' + verb + b'", "' + field + b'": ' + body + b"}",
            st.sampled_from([b"run", b"connect", b"stop", b"watch", b"brew"]),
            st.sampled_from([b"input", b"runId", b"x"]),
            bodies,
        )
        | bodies,
        min_size=1,
        max_size=5,
    ),
    thread=ids,
)
@example(frames=[b'{"do": ["run"]}', b'{"do": {"a": 1}}', b'{"do": null}', b"[]", b"7", b'"do"'], thread="t")
def test_whatever_is_sent_over_a_socket(fuzzed: Fuzzed, frames: list[bytes], thread: str) -> None:
    [pattern] = fuzzed.sockets

    async def play() -> None:
        path = path_of(pattern, {"agent": "asks"}, [("thread", thread or "t")])
        url = fuzzed.server.url.replace("http", "ws") + path
        with suppress(InvalidStatus):  # it is judged as any other request above
            async with asyncio.timeout(WITHIN), connect(url, max_size=None, proxy=None) as socket:
                for frame in frames:
                    await socket.send(frame.decode("utf-8", "replace"))
                await socket.send('{"do": "stop", "runId": "the last"}')
                async for line in socket:
                    said = json.loads(line)
                    if "status" in said:
                        assert said["status"] < 500, (frames, said)
                        judge_text(json.dumps({name: said.get(name) for name in ("error", "message")}), frames)
                        if said["do"] == "stop":
                            break

    fuzzed.run(play())


def test_nothing_is_left_of_it(fuzzed: Fuzzed) -> None:
    """Of the tests above, and of bodies that are refused for their size."""

    async def play() -> None:
        for body in (b"[" + b"[]," * 60_000 + b"[]]", b'"' + b"x" * 199_000 + b'"', b"[" * 9_000):
            for path in ("/", "/asks", "/asks/connect", "/asks/stop", "/threads/t/archive?agent=asks"):
                sent = Sent("POST", path, (), body)
                judge(sent, await fuzzed.answered(sent))
        broken = Sent("GET", "/threads%0Aa%1B/%0D%0AERROR%20made%20up?agent=asks%0A", (), b"")
        judge(broken, await fuzzed.answered(broken))
        await fuzzed.is_empty()
        assert fuzzed.broken.lines == []

    fuzzed.run(play())
