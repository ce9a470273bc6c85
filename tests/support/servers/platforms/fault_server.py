"""A server that fails as it is told to: scripted answers over real sockets, cut, reset or silent at any byte.

    async with faulty({"/threads/t/runs/r/stream": [sse(BODY, End.RESET), refused(502), sse(BODY)]}) as server:
        client = get_client(url=server.url, api_key=None)
        ...
        assert [each.last_event_id for each in server.requests] == [None, "7-0", "7-0"]

Each request of a path takes that path's next answer, and the last answer goes on for ever. An answer may be made when
it is asked for, of the request. A path nobody scripted is answered with 404. One request per connection.
"""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qs, urlsplit

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.servers.accepting import stop_accepting

WITHIN = 30.0
"""Seconds in which the client has to do what a test waits for."""


class End(Enum):
    """What comes after an answer's last byte."""

    CLEAN = "the body's end, as HTTP has it"
    TORN = "the connection's end, in the middle of the body"
    RESET = "a reset of the connection"
    HELD = "nothing, until the client goes away"


Piece = bytes | asyncio.Event
"""Bytes to send at once, or an event to wait for before what follows is sent."""


@dataclass(frozen=True)
class Answer:
    """What one request is answered with."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Sequence[Piece] = ()
    end: End = End.CLEAN
    is_chunked: bool = True
    """Whether the body tells its own end; otherwise the connection's end is the body's."""
    answers: bool = True
    """Whether anything is sent at all before the end."""


@dataclass
class Asked:
    """One request, as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the connection is over."""

    @property
    def last_event_id(self) -> str | None:
        return self.headers.get("last-event-id")


Scripted = Answer | Callable[[Asked], Answer]
"""An answer, or what makes it of the request."""


def sse(body: bytes | Sequence[Piece], end: End = End.CLEAN, *, is_chunked: bool = True) -> Answer:
    """An event stream."""
    pieces = [body] if isinstance(body, bytes) else body
    return Answer(200, {"Content-Type": "text/event-stream; charset=utf-8"}, pieces, end, is_chunked)


def event(name: str, data: object, event_id: str | None = None) -> bytes:
    """One event as `langgraph dev` writes it."""
    lines = [f"event: {name}", f"data: {json.dumps(data)}", *([] if event_id is None else [f"id: {event_id}"])]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


HEARTBEAT = b": heartbeat\r\n\r\n"


def answered(what: object) -> Answer:
    """An answer of JSON."""
    return Answer(200, {"Content-Type": "application/json"}, [json.dumps(what).encode()])


def refused(status: int, detail: str | None = None) -> Answer:
    """An HTTP error, with what the server says about it."""
    body = b"<html>proxy</html>" if detail is None else json.dumps({"detail": detail}).encode()
    return Answer(status, {"Content-Type": "text/html" if detail is None else "application/json"}, [body])


def redirected(to: str, status: int = 307) -> Answer:
    """A redirect."""
    return Answer(status, {"Location": to})


def dropped(end: End = End.RESET) -> Answer:
    """No answer at all."""
    return Answer(end=end, answers=False)


class FaultServer:
    """The running server."""

    def __init__(self, answers: Mapping[str, Iterable[Scripted]]) -> None:
        self.answers = {path: list(scripted) for path, scripted in answers.items()}
        """What is still to be answered, by path; tests may change it."""
        self.requests: list[Asked] = []
        self.url = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._came = asyncio.Condition()

    def client(self) -> LangGraphClient:
        """A client of the SDK for this server."""
        return get_client(url=self.url, api_key="secret-key", headers={"Authorization": "Bearer secret-token"})

    def asked(self, path: str) -> list[Asked]:
        """The requests of one path."""
        return [each for each in self.requests if each.path == path]

    async def came(self, count: int) -> None:
        """Waits until this many requests have come."""
        async with asyncio.timeout(WITHIN), self._came:
            await self._came.wait_for(lambda: len(self.requests) >= count)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        asked: Asked | None = None
        try:
            asked = _read(await reader.readuntil(b"\r\n\r\n"))
            async with self._came:
                self.requests.append(asked)
                self._came.notify_all()
            await _send(self._next(asked), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away first
        finally:
            if asked is not None:
                asked.gone.set()
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def stop(self) -> None:
        """Ends what is still held open."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _next(self, asked: Asked) -> Answer:
        scripted = self.answers.get(asked.path)
        if not scripted:
            return refused(404, f"nothing is scripted for {asked.path}")
        answer = scripted.pop(0) if len(scripted) > 1 else scripted[0]
        return answer if isinstance(answer, Answer) else answer(asked)


@asynccontextmanager
async def faulty(answers: Mapping[str, Iterable[Scripted]]) -> AsyncIterator[FaultServer]:
    """The server, for as long as the block lasts."""
    faults = FaultServer(answers)
    server = await asyncio.start_server(faults.serve, "127.0.0.1", 0)
    faults.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield faults
    finally:
        await stop_accepting(server)
        server.close()
        await faults.stop()
        await server.wait_closed()


def _read(head: bytes) -> Asked:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    url = urlsplit(target)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in lines if each)
    }
    return Asked(method, url.path, parse_qs(url.query), headers)


async def _send(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if answer.answers:
        writer.write(_head(answer))
        await writer.drain()
        for piece in answer.pieces:
            if isinstance(piece, bytes):
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if answer.is_chunked and piece else piece)
                await writer.drain()
            elif not await _happens(piece, reader):
                return
    if answer.end is End.HELD:
        await reader.read()
    elif answer.end is End.RESET:
        socket_: socket.socket = writer.get_extra_info("socket")
        socket_.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    elif answer.end is End.CLEAN and answer.is_chunked and answer.answers:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _happens(piece: asyncio.Event, reader: asyncio.StreamReader) -> bool:
    """Waits for the event; False if the client goes away before it."""
    waits = {asyncio.ensure_future(piece.wait()), asyncio.ensure_future(reader.read())}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    return piece.is_set()


def _head(answer: Answer) -> bytes:
    headers = {**answer.headers, "Connection": "close"}
    if answer.is_chunked:
        headers["Transfer-Encoding"] = "chunked"
    lines = [f"HTTP/1.1 {answer.status} Scripted", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()
