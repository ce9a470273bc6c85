"""Servers for the command `check`: one that keeps every rule, one that breaks a rule, and one of bare AG-UI.

`kept()` is an app of ours whose runs wait in the middle of their answer, until another request for their thread was
answered: so a client that joins is always in time. `Faulty` is an app that changes what another one answers.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import ScriptedChatModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from fixtures.graphs.speech import speaker
from tests.support.servers.serving import TOKEN

Event = dict[str, Any]


class _Meetings:
    """For each thread, whether a request was answered that is not its first run or stop. `unheld`: the threads
    whose runs wait for nothing, counted by their first runs."""

    def __init__(self, unheld: Collection[int]) -> None:
        self._threads: dict[str, asyncio.Event] = {}
        self._unheld = unheld

    def begin(self, thread: str) -> None:
        """A run of the thread begins."""
        if thread not in self._threads:
            self._threads[thread] = asyncio.Event()
            if len(self._threads) - 1 in self._unheld:
                self._threads[thread].set()

    def meet(self, thread: str) -> None:
        """Another request for the thread was answered."""
        if thread in self._threads:
            self._threads[thread].set()

    async def __call__(self) -> None:
        await self._threads[get_config()["configurable"]["thread_id"]].wait()


class _Meeting:
    """An app that says to its meetings which requests were answered."""

    def __init__(self, app: "Starlette | Faulty", meetings: _Meetings) -> None:
        self._app = app
        self._meetings = meetings
        self._requests: dict[tuple[str, str], int] = defaultdict(int)
        self.state = app.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body, again = await _read(scope, receive)
        thread = body.get("threadId") if isinstance(body, dict) else None
        if not isinstance(thread, str):
            await self._app(scope, again, send)
            return
        verb = _kind(scope)
        self._requests[thread, verb] += 1
        is_other = verb == "connect" or self._requests[thread, verb] > 1
        if verb == "run":
            self._meetings.begin(thread)

        async def sent(message: Message) -> None:
            await send(message)
            if is_other and message["type"] == "http.response.body":
                self._meetings.meet(thread)

        await self._app(scope, again, sent)


def kept(fault: "Fault | None" = None, intake: Intake | None = None, *, unheld: Collection[int] = (0,)) -> _Meeting:
    """The app that keeps every rule, but for this fault: the agent `chat`, which says four words. `unheld`: which
    threads' runs wait for no other request; the first one has none."""
    meetings = _Meetings(unheld)
    model = ScriptedChatModel(turns=[["One ", "two ", meetings, "three ", "four."]])
    graph = StateGraph(MessagesState).add_node("speak", speaker(model)).add_edge(START, "speak")
    agent = Agent(graph.compile(InMemorySaver()), intake=intake or Intake())
    app = agui_app({"chat": agent}, token=TOKEN, heartbeat=0.05)  # a comment is an answer to an input that waits, too
    return _Meeting(app if fault is None else Faulty(app, fault), meetings)


@dataclass(frozen=True)
class Fault:
    """What is wrong with the answers to one kind of request: `run`, `connect`, `watch`, `stop`, `info`, `threads`,
    or "": to all.

    `edit`: changes each event, or leaves it out (None). `ends_after`: the stream ends after the first event of this
    type. `answer`: a status and a body in place of all; None passes the request on. `last`: changes `Last-Event-ID`.
    `statuses`: statuses that are replaced.
    """

    of: str
    edit: Callable[[Event], Event | None] | None = None
    ends_after: str = ""
    answer: Callable[[Request, Any], tuple[int, bytes] | None] | None = None
    last: Callable[[str], str] | None = None
    statuses: Mapping[int, int] = field(default_factory=dict)


class Faulty:
    """An app with a fault."""

    def __init__(self, app: Any, fault: Fault) -> None:
        self._app = app
        self._fault = fault
        self.state = app.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._fault.of not in ("", _kind(scope)):
            await self._app(scope, receive, send)
            return
        body, again = await _read(scope, receive)
        fault, request = self._fault, Request(scope, again)
        if fault.answer is not None and (answer := fault.answer(request, body)) is not None:
            kind = "application/json" if answer[1] else "text/event-stream"
            await Response(answer[1], answer[0], media_type=kind)(scope, again, send)
            return
        if fault.last is not None and (last := request.headers.get("last-event-id")) is not None:
            others = [pair for pair in scope["headers"] if pair[0] != b"last-event-id"]
            scope = {**scope, "headers": [*others, (b"last-event-id", fault.last(last).encode())]}
        await self._app(scope, again, _Edited(send, fault))


class _Edited:
    def __init__(self, send: Send, fault: Fault) -> None:
        self._send = send
        self._fault = fault
        self._is_over = False

    async def __call__(self, message: Message) -> None:
        if self._is_over:
            return
        if message["type"] == "http.response.body" and message.get("body", b"").startswith((b"data:", b"id:")):
            frames = [self._edited(frame) for frame in message["body"].decode().split("\n\n") if frame]
            self._is_over = any(is_last for _, is_last in frames)
            body = "".join(frame for frame, _ in frames).encode()
            message = {**message, "body": body, "more_body": message.get("more_body", False) and not self._is_over}
        if message["type"] == "http.response.start":
            message = {**message, "status": self._fault.statuses.get(message["status"], message["status"])}
        await self._send(message)

    def _edited(self, frame: str) -> tuple[str, bool]:
        before, data, text = frame.rpartition("data: ")
        if not data:
            return f"{frame}\n\n", False
        event = json.loads(text)
        edited = event if self._fault.edit is None else self._fault.edit(event)
        is_last = event["type"] == self._fault.ends_after
        return ("" if edited is None else f"{before}data: {json.dumps(edited)}\n\n"), is_last


def bare(*, chunks: bool = False) -> Starlette:
    """An app of AG-UI alone, which keeps no threads: POST / answers with a run. Its /info is of something else."""

    async def answer(given: dict[str, Any]) -> AsyncIterator[str]:
        ids = {"threadId": given["threadId"], "runId": given["runId"]}
        message: dict[str, Any] = {"messageId": f"answer-{given['runId']}"}
        events = [
            {"type": "TEXT_MESSAGE_START", "role": "assistant", **message},
            {"type": "TEXT_MESSAGE_CONTENT", "delta": "Hello.", **message},
            {"type": "TEXT_MESSAGE_END", **message},
        ]
        if chunks:
            first = {"type": "TEXT_MESSAGE_CHUNK", "delta": "Hel", "role": "assistant", **message}
            events = [first, {"type": "TEXT_MESSAGE_CHUNK", "delta": "lo."}]
            call = {"toolCallId": f"call-{given['runId']}", "toolCallName": "greet"}
            events += [{"type": "TOOL_CALL_CHUNK", "delta": "{}", **call}]
        for event in [{"type": "RUN_STARTED", **ids}, *events, {"type": "RUN_FINISHED", **ids}]:
            yield f"data: {json.dumps(event)}\n\n"

    async def run(request: Request) -> Response:
        try:
            given = await request.json()
            answer_ = answer({"threadId": given["threadId"], "runId": given["runId"]})
        except (ValueError, LookupError, TypeError):
            return Response('{"detail": "no"}', 422, media_type="application/json")
        return StreamingResponse(answer_, media_type="text/event-stream")

    async def info(_: Request) -> Response:
        return JSONResponse({"version": "1.0"})

    return Starlette(routes=[Route("/", run, methods=["POST"]), Route("/info", info)])


def _kind(scope: Scope) -> str:
    path = scope["path"].strip("/")
    first, last = path.partition("/")[0], path.rpartition("/")[2]
    return first if first in ("watch", "info", "threads") else last if last in ("connect", "stop") else "run"


async def _read(scope: Scope, receive: Receive) -> tuple[Any, Receive]:
    """The body of a request, and what gives it to the app again."""
    raw = await Request(scope, receive).body()
    is_given = False

    async def again() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": raw, "more_body": False}

    try:
        return json.loads(raw), again
    except ValueError:
        return None, again
