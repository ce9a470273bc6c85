"""The server that is checked, by its URL: what is requested of it, and the events that it sends. No rules here."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit
from uuid import uuid4

import httpx
from httpx_sse import EventSource

from ....translator import PROTOCOL_VERSION, ClientView
from ...testing.checks import check_stream
from ...testing.grammar import Event
from ..errors import Failure, Misuse
from ..errors import brief as brief_error
from .chunks import Chunks
from .results import Broken, NotOffered, brief

_NOT_THERE: Final = (404, 405, 501)
"""What a server answers that does not have a route."""
_ONLY: Final = "default"
"""Another name of a server's only agent."""
CONTENT: Final = ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT")
"""The events that stream a part of a message."""
ENDS: Final = ("RUN_FINISHED", "RUN_ERROR")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the agent is. `run`: the URL to which runs are posted; `base`: that below which `/info` and `/watch` are;
    `agent`: its name there."""

    run: str
    base: str
    agent: str


class Stream:
    """The events of one response, as they come. `client`: what its client had, which is not changed."""

    def __init__(self, events: AsyncIterator[tuple[str, Event]], client: ClientView) -> None:
        self._incoming = events
        self.client = client
        self._chunks = Chunks()
        self.frames: list[tuple[str, Event]] = []
        """Each event as it came, with the id that its client has then; "" is none."""
        self.events: list[Event] = []
        """The events, chunks expanded."""
        self.view = ClientView(client.messages, client.state)
        """What the client has now."""

    async def until(self, is_wanted: Callable[[Event], bool]) -> Event | None:
        """Reads up to an event like this, and returns it; None if the stream ended before."""
        async for id_, event in self._incoming:
            self.frames.append((id_, event))
            for each in self._chunks.expand(event):
                self.events.append(each)
                self.view.apply(each)
            if is_wanted(event):
                return event
        return None

    async def until_content(self) -> Event | None:
        """Reads up to the first event that streams a part of a message."""
        return await self.until(lambda event: str(event.get("type")).replace("CHUNK", "CONTENT") in CONTENT)

    async def take(self, count: int) -> None:
        """Reads so many events, or to the end."""
        await self.until(lambda _: len(self.frames) >= count)

    async def rest(self) -> Stream:
        """Reads to the end."""
        await self.until(lambda _: False)
        return self

    def checked(self) -> ClientView:
        """What the client has after all events. Raises `Broken` unless a client takes each of them, and the last run
        has ended."""
        try:
            return check_stream(self.events, before=self.client, may_remove=True)
        except AssertionError as error:
            raise Broken("a stream that a client of AG-UI takes", brief(error)) from None


class Server:
    """One agent of a server. `http`: the client by which it is reached."""

    def __init__(self, http: httpx.AsyncClient, place: Place) -> None:
        self.place = place
        self._http = http
        self._offered: set[str] = set()

    def run(self, thread: str, client: ClientView, run_id: str = "") -> AbstractAsyncContextManager[Stream]:
        """Starts a run of a client with these messages, and streams it: a context manager, which gives the `Stream`.
        Raises `Refused`."""
        given = _input(thread, client, run_id or f"check-{uuid4()}")
        return self._streamed("run", "POST", self.place.run, client, given)

    def connect(
        self, thread: str, client: ClientView | None = None, *, last: str | None = None
    ) -> AbstractAsyncContextManager[Stream]:
        """Connects a client to a thread; None is one with nothing. `last`: its `Last-Event-ID`. A context manager, as
        `run` is."""
        client = client or nothing()
        given = _input(thread, client, f"check-{uuid4()}")
        return self._streamed("connect", "POST", f"{self.place.run}/connect", client, given, last)

    def watch(self, thread: str) -> AbstractAsyncContextManager[Stream]:
        """Watches a thread, with a client that has nothing. A context manager, as `run` is."""
        query = f"?agent={quote(self.place.agent, safe='')}" if self.place.agent else ""
        url = f"{self.place.base}/watch/{quote(thread, safe='')}{query}"
        return self._streamed("watch", "GET", url, nothing())

    async def connected(self, thread: str, client: ClientView | None = None, *, last: str | None = None) -> Stream:
        """The whole stream of a client that connects to a thread."""
        async with self.connect(thread, client, last=last) as stream:
            return await stream.rest()

    async def stop(self, thread: str, run_id: str | None = None) -> tuple[int, Mapping[str, Any]]:
        """Stops a run, or what runs on a thread: the status, and the body."""
        given = {"threadId": thread} if run_id is None else {"threadId": thread, "runId": run_id}
        response = await self._http.post(f"{self.place.run}/stop", json=given)
        self._check_offered("stop", response)
        if response.status_code not in (200, 202):
            raise Broken("200, or 202 for a run that stops later", _refusal(response))
        return response.status_code, _object(response)

    async def info(self) -> Mapping[str, Any]:
        """What the server says of itself."""
        response = await self._http.get(f"{self.place.base}/info")
        self._check_offered("info", response)
        if response.status_code != 200:
            raise Broken("200", _refusal(response))
        return _object(response)

    async def posted(self, body: bytes) -> httpx.Response:
        """The response to a body of JSON where runs are posted."""
        async with self._http.stream(
            "POST", self.place.run, content=body, headers={"Content-Type": "application/json"}
        ) as response:
            if response.status_code >= 400:
                await response.aread()
            return response

    @asynccontextmanager
    async def _streamed(
        self,
        name: str,
        method: str,
        url: str,
        client: ClientView,
        given: Mapping[str, Any] | None = None,
        last: str | None = None,
    ) -> AsyncIterator[Stream]:
        headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
        async with self._http.stream(method, url, json=given, headers=headers) as response:
            if response.status_code != 200:
                await response.aread()
                self._check_offered(name, response)
                raise Refused(response)
            kind = response.headers.get("content-type", "")
            if kind.partition(";")[0].strip() != "text/event-stream":
                raise Broken("Content-Type: text/event-stream", kind or "no Content-Type")
            self._offered.add(name)
            async with aclosing(_frames(response)) as frames:
                yield Stream(frames, client)

    def _check_offered(self, name: str, response: httpx.Response) -> None:
        if response.status_code in _NOT_THERE and name != "run" and name not in self._offered:
            raise NotOffered(f"{response.request.method} {response.request.url.path} answers {response.status_code}")
        self._offered.add(name)


class Refused(Broken):
    """A stream was requested, and the answer is an error response."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__("200 and a stream of events", _refusal(response))
        self.response = response


def nothing() -> ClientView:
    """A client that has nothing."""
    return ClientView([], {})


def asking(view: ClientView, text: str) -> ClientView:
    """The client that has this, and a new message of its user."""
    message = {"id": f"check-{uuid4()}", "role": "user", "content": text}
    return ClientView([*view.messages, message], view.state)


async def found(http: httpx.AsyncClient, url: str, agent: str | None) -> Place:
    """Where the agent is that is meant: below `url`, if it is named or `/info` has one only, or else at `url` itself.
    Raises `Misuse` where several may be meant, `Failure` for a server that does not answer."""
    url = url.rstrip("/")
    if agent is not None:
        return Place(f"{url}/{quote(agent, safe='')}", url, agent)
    try:
        response = await http.get(f"{url}/info")
        agents = list(response.json()["agents"])
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise Failure(f"{url} can't be reached: {brief_error(error)}") from error
    except (ValueError, LookupError, TypeError):
        base, name = url.rsplit("/", 1) if urlsplit(url).path else (url, "")
        return Place(url, base, name)
    names = [name for name in agents if name != _ONLY] or agents
    if len(names) != 1:
        raise Misuse(f"{url} has several agents: name one with --agent: {', '.join(map(str, names))}")
    return Place(f"{url}/{quote(names[0], safe='')}", url, names[0])


async def _frames(response: httpx.Response) -> AsyncGenerator[tuple[str, Event]]:
    async with aclosing(EventSource(response).aiter_sse()) as incoming:
        async for each in incoming:
            if not each.data:
                continue  # a comment after an id: clients get no event of it
            try:
                event = json.loads(each.data)
            except ValueError:
                event = None
            if not isinstance(event, dict):
                raise Broken("JSON objects as the data of events", brief(each.data))
            yield each.id, event


def _input(thread: str, client: ClientView, run_id: str) -> dict[str, Any]:
    lists: dict[str, Sequence[Any]] = {"messages": client.messages, "tools": [], "context": []}
    given = {"threadId": thread, "runId": run_id, "state": client.state, "forwardedProps": {}}
    return {**given, **lists, "protocolVersion": PROTOCOL_VERSION}


def _object(response: httpx.Response) -> Mapping[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Broken("a body that is a JSON object", brief(response.text))
    return body


def _refusal(response: httpx.Response) -> str:
    return f"{response.status_code} {brief(response.text)}"
