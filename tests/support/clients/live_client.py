"""The real AG-UI clients in Node, driven against running servers: `LiveClients`, `LiveAgent`, `Watch`.

Here: the process that runs `tests/client/live.mjs`, the orders it is given and what came of them. An order is on its
way as soon as it is given; awaiting it is waiting for what came of it:

    run = agent.says("hi")       # the client runs, and the test goes on
    await gate.reached("first 3")
    ended = await run

Never here: tests, servers, or anything of ours that is tested.
"""

import asyncio
import json
import subprocess
import threading
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Any

from tests.support.clients.agui_client import CLIENT, VERSIONS, install, node

WITHIN = 30.0
"""Seconds in which something has to come of an order."""

Event = dict[str, Any]


class Pending:
    """An order that was given. Await it once it is to be done."""

    def __init__(self, order: str, future: "Future[dict[str, Any]]") -> None:
        self._order = order
        self._future = future

    @property
    def is_done(self) -> bool:
        """Whether something has come of it."""
        return self._future.done()

    def __await__(self) -> Generator[Any, None, dict[str, Any]]:
        return self._came().__await__()

    async def _came(self) -> dict[str, Any]:
        try:
            async with asyncio.timeout(WITHIN):
                came = await asyncio.wrap_future(self._future)
        except TimeoutError:
            raise AssertionError(f"nothing came of {self._order}") from None
        if "failed" in came:
            raise AssertionError(came["failed"])
        return came


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a run or a connection, and what the client held after it."""

    error: str | None
    """What it was rejected with; None if it was not."""
    status: int | None
    """The HTTP status it was rejected with."""
    events: list[Event]
    """What reached the client's subscribers, in order."""
    messages: list[Event]
    state: Any
    interrupts: list[Event]
    """What the client knows to wait for an answer."""
    added: list[str]
    """The ids of the messages that are new to the client."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of the events."""
        return [event["type"] for event in self.events]

    @property
    def texts(self) -> list[str]:
        """What was said, in order, without what is empty."""
        return [each["content"] for each in self.messages if each.get("content")]

    @property
    def last(self) -> Event:
        """The last event."""
        return self.events[-1]


@dataclass(frozen=True, slots=True)
class Shown:
    """An agent as a page shows it."""

    texts: list[str]
    running: bool
    """Whether it reads a run."""
    interrupts: int
    """How many wait for an answer."""
    states: list[Event]
    """How it was connected to its thread, from the beginning."""
    starts: list[str]
    """The ids under which it has run and connected."""
    messages: list[Event]
    connection: str | None = None
    """How it is connected to its thread now."""
    caughtUp: int | None = None  # noqa: N815 - the client's name for it
    """How many messages came or changed while the connection was lost."""


class Running:
    """A run or a connection that goes on."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._pending.is_done

    def __await__(self) -> Generator[Any, None, Ended]:
        return self._ended().__await__()

    async def _ended(self) -> Ended:
        came = await self._pending
        return Ended(**{name: came[name] for name in Ended.__slots__})


class LiveClients:
    """A Node process with any number of real clients."""

    def __init__(self) -> None:
        install()
        self._process = subprocess.Popen(
            [node(), str(CLIENT / "live.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self._orders: dict[int, Future[dict[str, Any]]] = {}
        self._ids = count()
        self._reader = threading.Thread(target=self._read, name="answers of the clients")
        self._reader.start()

    def __enter__(self) -> "LiveClients":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._reader.join()
        self._process.stdout.close()

    def order(self, do: str, **given: Any) -> Pending:
        """Gives an order."""
        assert self._process.stdin is not None
        number = next(self._ids)
        future: Future[dict[str, Any]] = Future()
        future.set_running_or_notify_cancel()  # who does not wait for it any more does not cancel it
        self._orders[number] = future
        self._process.stdin.write(json.dumps({"id": number, "do": do, **given}) + "\n")
        self._process.stdin.flush()
        return Pending(f"{do} {given}", future)

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator["LiveClients"]:
        """For one test: at its end every client leaves, and none may have warned or complained of anything."""
        try:
            yield self
        finally:
            said = (await self.order("complaints"))["said"]
        if said:
            raise AssertionError("the clients complained: " + "\n".join(said))

    async def agent(
        self,
        url: str,
        thread_id: str = "t",
        *,
        version: str = VERSIONS[0],
        messages: Sequence[Mapping[str, Any]] = (),
        state: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> "LiveAgent":
        """A client for the agent at `url`, that holds `messages` and `state`."""
        name = f"agent-{next(self._ids)}"
        holds = {"messages": list(messages), "state": {} if state is None else state, "headers": headers or {}}
        await self.order("open", agent=name, version=version, url=url, threadId=thread_id, **holds)
        return LiveAgent(self, name)

    async def watch(self, url: str) -> "Watch":
        """An `EventSource` for `url`; it has been opened."""
        name = f"watch-{next(self._ids)}"
        await self.order("watch", watch=name, url=url)
        return Watch(self, name)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            came: dict[str, Any] = json.loads(line)
            self._orders.pop(came["id"]).set_result(came)
        for future in self._orders.values():
            future.set_result({"failed": "the client process has ended"})


class LiveAgent:
    """One client on one thread. `parameters`, everywhere: what `runAgent` or `connectAgent` is given."""

    def __init__(self, clients: LiveClients, name: str) -> None:
        self._clients = clients
        self._name = name
        self._said = count(1)

    def says(self, text: str, **parameters: Any) -> Running:
        """The user says something, and the agent is run."""
        user = {"id": f"{self._name}-u{next(self._said)}", "role": "user", "content": text}
        return self.runs(user, **parameters)

    def runs(self, *messages: Mapping[str, Any], **parameters: Any) -> Running:
        """The agent is run, with these messages added to what the client holds."""
        return Running(self._order("run", messages=list(messages), parameters=parameters))

    def connects(self, **parameters: Any) -> Running:
        """The client connects to the thread."""
        return Running(self._order("connect", parameters=parameters))

    def calls(self, method: str, *given: Any) -> Running:
        """Calls a method of the agent."""
        return Running(self._order("call", call=method, given=list(given)))

    async def stays(self) -> None:
        """The agent stays on its thread."""
        await self._order("stay")

    async def leaves(self) -> None:
        """It stays there no longer."""
        await self._order("leave")

    async def retries(self) -> None:
        """A user wants it to be tried now."""
        await self._order("retry")

    async def until(self, **expected: Any) -> Shown:
        """Returns when the agent is as expected, in all that is named: fields of `Shown`."""
        try:
            came = await self._order("until", expected=expected)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {await self._order('until', expected={})}") from None
        return Shown(**{name: came[name] for name in Shown.__slots__ if name in came})

    async def answers(self, *payloads: Any) -> Ended:
        """The user answers the interrupts, in order; as many as there are payloads. `...` cancels one."""
        interrupts = (await self._order("held"))["interrupts"]
        resume = [
            {"interruptId": interrupt["id"], "status": "cancelled"}
            if payload is ...
            else {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
            for interrupt, payload in zip(interrupts, payloads, strict=False)
        ]
        return await self.runs(resume=resume)

    async def shows(self, text: str) -> None:
        """Returns when the client holds this text, as far as it has come."""
        await self._order("shows", text=text)

    async def aborts(self) -> None:
        """Calls `abortRun`."""
        await self._order("abort")

    def _order(self, do: str, **given: Any) -> Pending:
        return self._clients.order(do, agent=self._name, **given)


class Watch:
    """An `EventSource`."""

    def __init__(self, clients: LiveClients, name: str) -> None:
        self._clients = clients
        self._name = name

    async def seen(self, kind: str, times: int = 1) -> list[Event]:
        """All events it was told, as soon as so many of this kind are among them. It was never cut off."""
        came = await self._clients.order("seen", watch=self._name, kind=kind, times=times)
        if came["lost"]:
            raise AssertionError(f"the connection was lost {came['lost']} times")
        events: list[Event] = came["events"]
        return events
