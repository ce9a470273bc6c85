"""The test's side of a gate: which points of a run are held, what it has reached, and when it may go on.

    async with gates() as gate:
        gate.hold("first 3")
        run = await client.runs.create(thread_id, "gated_chat", input=asked("hi"), config=gate.config())
        await gate.reached("first 3")  # it has said three words and waits
        gate.open("first 3")

Works for graphs of this process and of any server on this machine: see `fixtures/gates.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from typing import Any

from fixtures.fixture import user
from fixtures.gated import GATED
from tests.support.servers.accepting import stop_accepting

_WITHIN = 30.0


class GateError(AssertionError):
    """A run did not come to a point, or did not leave it, in time; says what it did reach."""


class Gates:
    """Which points are held, and the runs that wait. Points are named by patterns (`"first *"`).

    What was said last about a point counts; of a point nothing was said about, runs pass.
    """

    def __init__(self) -> None:
        self.passed: list[str] = []
        """Every point that was reached, in order, held or not."""
        self.port = 0
        self._said: list[tuple[str, bool]] = []
        self._visits: list[_Visit] = []  # those that are held, in the order they came
        self._connections: set[_Visit] = set()
        self._changed = asyncio.Event()

    def config(self, thread_id: str | None = None, *, run: str = "", **configurable: Any) -> Any:
        """The config that a run is given; `run` goes before the names of its points, to tell several runs apart.

        Local graphs also want the thread's id in it.
        """
        thread = {} if thread_id is None else {"thread_id": thread_id}
        return {"configurable": {**configurable, **thread, "gate": {"port": self.port, "run": run}}}

    def hold(self, *points: str) -> None:
        """From now on runs wait at these points."""
        self._said += [(point, True) for point in points]

    def open(self, *points: str) -> None:
        """From now on runs pass these points, and those that wait there go on."""
        self._said += [(point, False) for point in points]
        self.let_on(*points)

    def let_on(self, *points: str) -> None:
        """Those that wait at these points now go on; whoever comes later waits as before."""
        for visit in self._visits:
            if any(fnmatchcase(visit.point, point) for point in points):
                visit.end()

    def waiting(self) -> list[str]:
        """The points at which runs wait now, in the order they came."""
        return [visit.point for visit in self._visits if not visit.ended]

    async def reached(self, point: str, times: int = 1) -> None:
        """Returns when the point was reached this often since the gates stand."""
        await self._until(lambda: self.passed.count(point) >= times, f"{point!r} was not reached {times} times")

    async def left(self, point: str) -> None:
        """Returns when nobody waits at the point: the run went on, was cancelled, or its process is gone."""
        await self._until(lambda: point not in self.waiting(), f"{point!r} was not left")

    async def next(self) -> str:
        """The first point at which a run waits now, as soon as there is one."""
        await self._until(lambda: bool(self.waiting()), "no run waits")
        return self.waiting()[0]

    async def _until(self, condition: Callable[[], bool], failure: str) -> None:
        try:
            async with asyncio.timeout(_WITHIN):
                while not condition():
                    await self._changed.wait()
        except TimeoutError:
            raise GateError(f"{failure}; waiting at {self.waiting()}, reached {self.passed}") from None

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _came(self, visit: "_Visit") -> None:
        self.passed.append(visit.point)
        held = [held for pattern, held in self._said if fnmatchcase(visit.point, pattern)]
        if held and held[-1]:
            self._visits.append(visit)
        else:
            visit.end()
        self._tell()

    def _went(self, visit: "_Visit") -> None:
        self._connections.discard(visit)
        if visit in self._visits:
            self._visits.remove(visit)
        self._tell()

    async def _close(self) -> None:
        """Lets everybody go on, whether it has said its point or not, and waits until all connections are closed."""
        for connection in list(self._connections):
            connection.end()
        await self._until(lambda: not self._connections, "a run did not leave")


class _Visit(asyncio.Protocol):
    """A connection: a run that has come to a point."""

    def __init__(self, gates: Gates) -> None:
        self.point = ""
        self.ended = False
        self._gates = gates
        self._heard = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._gates._connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        if self._heard.endswith(b"\n"):
            self.point = self._heard.decode().strip()
            self._gates._came(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self._gates._went(self)

    def end(self) -> None:
        """Lets the run go on."""
        self.ended = True
        if self._transport is not None:
            self._transport.close()


@asynccontextmanager
async def gates() -> AsyncIterator[Gates]:
    """Gates for as long as the block lasts; at its end every run goes on."""
    opened = Gates()
    server = await asyncio.get_running_loop().create_server(lambda: _Visit(opened), "127.0.0.1", 0)
    opened.port = server.sockets[0].getsockname()[1]
    try:
        yield opened
    finally:
        await stop_accepting(server)
        server.close()
        await opened._close()
        await server.wait_closed()


_OTHERS = {
    "gated_without_messages", "gated_planning", "gated_planning_topic", "gated_trips", "gated_other_channel",
    "gated_slow_to_stop", "gated_noting", "page_agent", "page_node",
}  # fmt: skip
CHATS = [name for name in GATED if name not in _OTHERS]
"""The gated graphs that keep `messages` and come to points; others are run by tests of their own."""


def asked(text: str = "Go on.", id: str | None = None) -> Any:  # noqa: A002 - the name of the wire field
    """The input of a gated graph: the user says this."""
    return {"messages": [user(text, id)]}
