"""Runs of gated graphs on a server that are visited at every stop: who connects there, and what it holds in the end.

Here: `Visit`, and how one is made. Never here: what must be true of it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph_agui.connect.testing import tool_call
from langgraph_agui.connect.testing.scripts import tokens
from langgraph_agui.translator import ClientView, Options
from langgraph_agui.translator.options import UnsavedMode

from fixtures.gated import ARGS, CALL_ID, FIRST, INSIDE, LEFT, RIGHT, SECOND
from tests.support.clients.agui_client import VERSIONS, protocol
from tests.support.clients.platform.runs import started
from tests.support.clients.reader_clients import ReaderClient, ReaderClients, values_of
from tests.support.servers.gates import gates
from tests.support.servers.platforms.backend import Backend

SAYS = {"first": FIRST, "second": SECOND, "inside": INSIDE, "left": LEFT, "right": RIGHT, "answer": SECOND}
Stops = Sequence[tuple[str, ...]]
STOPS: Mapping[str, Stops] = {
    "gated_chat": [("first 0",), ("first 3",), ("first over",), ("second 2",), ("second over",)],
    "gated_agent": [("call 0",), ("call 1",), ("call 2",), ("call 5",), ("tool",), ("answer 2",)],
    "gated_subgraph": [("first 3",), ("inside 3",), ("inside over",), ("second 2",)],
    "gated_parallel": [("left 2", "right 3"), ("left over", "right 4"), ("second 2",)],
    "gated_writer": [("count",), ("percent 50",), ("second 2",)],
    "gated_narrow": [("first 3",), ("fill",), ("second 2",)],
    "gated_asking": [("first 3",), ("really asks",)],
    "gated_asking_twice": [("really asks", "surely asks")],
    "gated_asking_inside": [("inside 3",), ("really asks",)],
    "gated_stopping": [("first 3",), ("first over",)],
    "gated_raising": [("first 3",), ("second 2",)],
}
"""Where the runs of each graph are held, one stop after the other; at a stop in parallel nodes, each of them."""


@dataclass
class Visit:
    """One run, the client that watched it from before it began, and those that came later."""

    graph: str
    run_id: str
    watcher: ReaderClient
    came: dict[str, list[ReaderClient]] = field(default_factory=dict)
    """Who came at each stop: a client of each version."""
    values: Any = None
    """What the thread holds in the end."""

    @property
    def guests(self) -> list[ReaderClient]:
        """All who came."""
        return [self.watcher, *(guest for guests in self.came.values() for guest in guests)]


async def visited(
    server: Backend,
    graph: str,
    *,
    partial: bool,
    stops: Stops | None = None,
    unsaved: UnsavedMode = "step",
    **how: Any,
) -> Visit:
    """A run of this graph, with guests at each stop. `how`: what `runs.create` takes. `partial`: the run goes on when
    they were shown what it has said so far; otherwise when they were told something. `unsaved`: the guests' option."""
    stops = STOPS[graph] if stops is None else stops
    async with gates() as gate, server.client() as client, ReaderClients(client) as guests:
        gate.hold(*(point for stop in stops for point in stop))
        run = await started(client, graph, gate, **how)

        def connected(version: str) -> ReaderClient:
            options = Options(protocol_version=protocol(version), unsaved=unsaved)
            return guests.connect(run.thread_id, version, options=options)

        visit = Visit(graph, run.run_id, connected(VERSIONS[0]))
        for stop in stops:
            for point in stop:
                await gate.reached(point)
            came = [connected(version) for version in VERSIONS]
            visit.came[" ".join(stop)] = came
            for guest in came:
                await (guest.sees(partial_said(stop)) if partial else guest.told("RUN_STARTED"))
            gate.open(*stop)
        await asyncio.gather(*(guest.over() for guest in visit.guests))
        visit.values = values_of(await run.state())
        return visit


def partial_said(stop: Sequence[str]) -> Callable[[ClientView], bool]:
    """Whether a view shows all that was said when a run came to these points."""
    return lambda view: all(is_said(point, view) for point in stop)


def is_said(point: str, view: ClientView) -> bool:
    """Whether a view shows all that was said when a run came to this point, and nothing beyond."""
    name, _, place = point.partition(" ")
    if name == "call" and place != "over":
        return _is_called(int(place), view)
    whole = SAYS.get(name)
    if whole is None:
        return view.knows_messages
    wanted = whole if place == "over" else "".join(tokens(whole)[: int(place)])
    return not wanted or any(each.get("content") == wanted for each in view.messages)


def _is_called(place: int, view: ClientView) -> bool:
    if place == 0:
        return view.knows_messages
    said = any(each.get("content") == "Looking." for each in view.messages)
    pieces = tool_call("look_up", ARGS, CALL_ID, fragments=6)[: place - 1]
    wanted = "".join(piece.tool_call_chunks[0]["args"] or "" for piece in pieces)
    calls = [each for message in view.messages for each in message.get("toolCalls") or ()]
    return said and ([each["function"]["arguments"] for each in calls] == [wanted] if pieces else not calls)


async def all_visited(server: Backend, cases: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The visits of several runs, made at once: of each case a graph and how it is run; or what went wrong with it."""
    visits = (visited(server, graph, **how) for graph, how in cases.values())
    return dict(zip(cases, await asyncio.gather(*visits, return_exceptions=True), strict=True))


def made(visits: Mapping[str, Any], name: str) -> Visit:
    """One of these visits; raises what went wrong with it."""
    visit = visits[name]
    if isinstance(visit, BaseException):
        raise visit
    assert isinstance(visit, Visit)
    return visit
