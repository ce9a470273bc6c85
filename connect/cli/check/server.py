"""Makes requests to the server that is checked, and reads the events that it sends. Contains no rules."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit
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
"""Status codes of a server that lacks a route."""
_ONLY: Final = "default"
"""An additional name that a server gives its only agent."""
CONTENT: Final = ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "REASONING_MESSAGE_CONTENT")
"""Types of the events that stream a part of a message."""
ENDS: Final = ("RUN_FINISHED", "RUN_ERROR")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The URLs of the agent. Runs are posted to `run`; `/info` and `/watch` are below `base`; `agent` is its name."""

    run: str
    base: str
    agent: str


class Stream:
    """The events of one response, as they arrive. `client` is the view its client had before, and is not changed."""

    def __init__(self, events: AsyncIterator[tuple[str, Event]], client: ClientView) -> None:
        self._incoming = events
        self.client = client
        self._chunks = Chunks()
        self.frames: list[tuple[str, Event]] = []
        """The events as they were received, each with the id that its client then has, which may be empty."""
        self.events: list[Event] = []
        """The events with their chunks expanded."""
        self.view = ClientView(client.messages, client.state)
        """The view of the client now."""

    async def until(self, is_last: Callable[[Event], bool]) -> Event | None:
        """Reads up to an event for which `is_last` is true, and returns it. Returns None if the stream ends before."""
        async for id_, event in self._incoming:
            self.frames.append((id_, event))
            for expanded in self._chunks.expand(event):
                self.events.append(expanded)
                self.view.apply(expanded)
            if is_last(event):
                return event
        return None

    async def until_content(self) -> Event | None:
        """Reads up to the first event that streams a part of a message."""
        return await self.until(lambda event: str(event.get("type")).replace("CHUNK", "CONTENT") in CONTENT)

    async def take(self, count: int) -> None:
        """Reads until `count` events have arrived, or the stream ends."""
        await self.until(lambda _: len(self.frames) >= count)

    async def rest(self) -> Stream:
        """Reads to the end of the stream, and returns the stream."""
        await self.until(lambda _: False)
        return self

    def check(self) -> ClientView:
        """Returns the view of the client after all events. Raises `Broken` if a client would refuse one of them, or if
        the last run has not ended."""
        try:
            return check_stream(self.events, before=self.client, may_remove=True)
        except AssertionError as error:
            raise Broken("a stream that an AG-UI client accepts", brief(error)) from None


class Server:
    """One agent of a server. All requests are made with `http`."""

    def __init__(self, http: httpx.AsyncClient, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._http = http
        self._offered: set[str] = set()

    def run(self, thread: str, client: ClientView, run_id: str = "") -> AbstractAsyncContextManager[Stream]:
        """Starts a run of a client with these messages. Returns a context manager that gives the run's `Stream`. Raises
        `Refused` if the server answers with an error."""
        body = _input(thread, client, run_id or f"check-{uuid4()}")
        return self._stream("run", "POST", self.endpoint.run, client, body)

    def connect(
        self, thread: str, client: ClientView | None = None, *, last: str | None = None
    ) -> AbstractAsyncContextManager[Stream]:
        """Connects a client to a thread; without `client`, one with an empty view. `last` is sent as `Last-Event-ID`.
        Returns a context manager, as `run` does."""
        client = client or empty_view()
        body = _input(thread, client, f"check-{uuid4()}")
        return self._stream("connect", "POST", f"{self.endpoint.run}/connect", client, body, last)

    def watch(self, thread: str, *, only_runs: bool = False) -> AbstractAsyncContextManager[Stream]:
        """Watches a thread with an empty view; with `only_runs`, only the starts and ends of its runs. Returns a
        context manager, as `run` does."""
        url = self._url(f"/watch/{quote(thread, safe='')}", **({"events": "runs"} if only_runs else {}))
        return self._stream("watch", "GET", url, empty_view())

    async def get(self, name: str, path: str) -> Mapping[str, Any]:
        """Returns the object at a path of the server. `name`: the feature that the path is for. Raises `NotOffered` if
        the server does not have the feature, or does not let this client use it."""
        response = await self._http.get(self._url(path))
        if response.status_code in (401, 403):
            raise NotOffered(f"GET {response.request.url.path} answers {response.status_code}: --header lets a user in")
        self._check_offered(name, response)
        if response.status_code != 200:
            raise Broken("200", _status_and_body(response))
        return _object(response)

    async def status(self, path: str) -> int:
        """Returns the status code with which the server answers a request for a path."""
        return (await self._http.get(self._url(path))).status_code

    def _url(self, path: str, **query: str) -> str:
        agent = {"agent": self.endpoint.agent} if self.endpoint.agent else {}
        text = urlencode({**agent, **query}, quote_via=quote, safe="")
        return f"{self.endpoint.base}{path}{'?' if text else ''}{text}"

    async def read_thread(self, thread: str, client: ClientView | None = None, *, last: str | None = None) -> Stream:
        """Connects a client to a thread, reads the stream to its end, and returns it."""
        async with self.connect(thread, client, last=last) as stream:
            return await stream.rest()

    async def stop(self, thread: str, run_id: str | None = None) -> tuple[int, Mapping[str, Any]]:
        """Stops a run, or the active run of a thread. Returns the status code and the body of the response."""
        request = {"threadId": thread} if run_id is None else {"threadId": thread, "runId": run_id}
        response = await self._http.post(f"{self.endpoint.run}/stop", json=request)
        self._check_offered("stop", response)
        if response.status_code not in (200, 202):
            raise Broken("200, or 202 for a run that stops later", _status_and_body(response))
        return response.status_code, _object(response)

    async def info(self) -> Mapping[str, Any]:
        """Returns the server's description of itself."""
        return await self.get("info", "/info")

    async def post(self, body: bytes) -> httpx.Response:
        """Posts bytes as JSON to the URL of runs, and returns the response."""
        async with self._http.stream(
            "POST", self.endpoint.run, content=body, headers={"Content-Type": "application/json"}
        ) as response:
            if response.status_code >= 400:
                await response.aread()
            return response

    @asynccontextmanager
    async def _stream(
        self,
        name: str,
        method: str,
        url: str,
        client: ClientView,
        body: Mapping[str, Any] | None = None,
        last: str | None = None,
    ) -> AsyncIterator[Stream]:
        headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
        async with self._http.stream(method, url, json=body, headers=headers) as response:
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
    """The server answered the request for a stream with an error."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__("200 and a stream of events", _status_and_body(response))
        self.response = response


def empty_view() -> ClientView:
    """Returns the view of a client that has no messages and no state."""
    return ClientView([], {})


def with_message(view: ClientView, text: str) -> ClientView:
    """Returns a copy of a view with a new message of the user."""
    message = {"id": f"check-{uuid4()}", "role": "user", "content": text}
    return ClientView([*view.messages, message], view.state)


def header_of(text: str) -> tuple[str, str]:
    """Returns the name and the value of a header in the form that `--header` takes. Raises `Misuse` for any other
    text."""
    name, colon, value = text.partition(":")
    if not (name.strip() and colon):
        raise Misuse(f"--header {text}: expected a name and a value, as in 'Authorization: Bearer ...'")
    return name.strip(), value.strip()


async def find_agent(http: httpx.AsyncClient, url: str, agent: str | None) -> Endpoint:
    """Returns the URLs of the agent to check. The agent is below `url` if `agent` names it, or if `/info` lists only
    one; else it is at `url` itself. Raises `Misuse` if `/info` lists several, and `Failure` if the server does not
    answer."""
    url = url.rstrip("/")
    if agent is not None:
        return Endpoint(f"{url}/{quote(agent, safe='')}", url, agent)
    try:
        response = await http.get(f"{url}/info")
        agents = list(response.json()["agents"])
    except (httpx.RequestError, httpx.InvalidURL) as error:
        raise Failure(f"{url} can't be reached: {brief_error(error)}") from error
    except (ValueError, LookupError, TypeError):
        base, name = url.rsplit("/", 1) if urlsplit(url).path else (url, "")
        return Endpoint(url, base, name)
    names = [name for name in agents if name != _ONLY] or agents
    if len(names) != 1:
        raise Misuse(f"{url} has several agents: name one with --agent: {', '.join(map(str, names))}")
    return Endpoint(f"{url}/{quote(names[0], safe='')}", url, names[0])


async def _frames(response: httpx.Response) -> AsyncGenerator[tuple[str, Event]]:
    async with aclosing(EventSource(response).aiter_sse()) as incoming:
        async for message in incoming:
            if not message.data:
                continue  # an id without data; clients dispatch no event for it
            try:
                event = json.loads(message.data)
            except ValueError:
                event = None
            if not isinstance(event, dict):
                raise Broken("JSON objects as the data of events", brief(message.data))
            yield message.id, event


def _input(thread: str, client: ClientView, run_id: str) -> dict[str, Any]:
    lists: dict[str, Sequence[Any]] = {"messages": client.messages, "tools": [], "context": []}
    fields = {"threadId": thread, "runId": run_id, "state": client.state, "forwardedProps": {}}
    return {**fields, **lists, "protocolVersion": PROTOCOL_VERSION}


def _object(response: httpx.Response) -> Mapping[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Broken("a body that is a JSON object", brief(response.text))
    return body


def _status_and_body(response: httpx.Response) -> str:
    return f"{response.status_code} {brief(response.text)}"
