"""Connecting to a server's thread on which runs wait, are stopped, end or take each other's place meanwhile: what is
told is right in every order, and ends with what the thread holds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

import pytest
from langgraph_agui.connect import cancel
from langgraph_agui.connect.testing import check_stream
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.clients.reader_clients import ReaderClient, ReaderClients, assert_holds
from tests.support.servers.gates import Gates, gates
from tests.support.servers.platforms.backend import Backend, cases, on


class Stage(NamedTuple):
    """What a scene has at hand."""

    gate: Gates
    client: LangGraphClient
    guests: ReaderClients
    how: dict[str, Any]
    """How its runs are started."""

    async def run(self, **how: Any) -> Started:
        """A run on a new thread."""
        return await started(self.client, "gated_chat", self.gate, **how)

    async def held(self, first: Started | None = None, run: str = "a", graph: str = "gated_chat") -> Started:
        """A run in the middle of its second message, on a new thread or after `first`."""
        self.gate.hold(f"{run} second 2")
        name: Any = {"run": run, **self.how}
        held = await (self.run(**name) if first is None else first.next(graph, self.gate, **name))
        await self.gate.reached(f"{run} second 2")
        return held

    async def connected(self, run: Started, until: str = "MESSAGES_SNAPSHOT", **how: Any) -> list[ReaderClient]:
        """A client of each version that has connected, and was told this."""
        came = [self.guests.connect(run.thread_id, version, **how) for version in VERSIONS]
        for guest in came:
            await guest.told(until)
        return came

    async def over(self, came: list[ReaderClient], *runs: tuple[Started, str]) -> "Told":
        """The scene's end: everybody goes on, and has been told everything."""
        self.gate.open("*")
        for guest in came:
            await guest.over()
        return Told(came, [(run.run_id, end) for run, end in runs], (await runs[0][0].state())["values"])


class Told(NamedTuple):
    """What came of a scene: who came, and what each of them must have been told."""

    came: list[ReaderClient]
    runs: list[tuple[str, str]]
    """The runs' ids and ends, in order."""
    values: Any
    """What the thread holds."""


def once(
    client: LangGraphClient, moment: Literal["request", "response"], path: str, happens: Callable[[Any], Awaitable[Any]]
) -> None:
    """Lets this happen before a reader's request for what has such a path is sent, or when it is answered, the first
    time."""
    left = [happens]

    async def hook(sent: Any) -> None:
        if sent.url.path.endswith(path) and left and (moment == "response" or sent.method == "GET"):
            await left.pop()(sent)

    client.http.client.event_hooks[moment].append(hook)


# --- runs that wait ---------------------------------------------------------------------------------------------------


async def behind_another(stage: Stage) -> Told:
    first = await stage.held()
    second = await first.next("gated_chat", stage.gate, run="b", **stage.how)
    came = await stage.connected(first)
    return await stage.over(came, (first, "success"), (second, "success"))


async def asked_for_while_it_waits(stage: Stage) -> Told:
    """What the thread holds is told at once, the run when it starts."""
    first = await stage.held()
    second = await first.next("gated_agent", stage.gate, run="b", **stage.how)
    return await stage.over(await stage.connected(first, run_id=second.run_id), (second, "success"))


async def delayed(stage: Stage) -> Told:
    first = await stage.run()
    await first.end()
    second = await first.next("gated_chat", stage.gate, after_seconds=1, **stage.how)
    came = await stage.connected(first)
    assert [len(guest.texts) for guest in came] == [2, 2]
    return await stage.over(came, (second, "success"))


async def asked_for_one_by_one(stage: Stage) -> Told:
    """One that goes on while another waits, and is not told."""
    first = await stage.held()
    second = await first.next("gated_chat", stage.gate, run="b", **stage.how)
    told = await stage.over(await stage.connected(first, run_id=first.run_id), (first, "success"))
    await second.end()
    again = stage.guests.connect(first.thread_id, run_id=first.run_id)
    await again.over()
    assert (again.run_ids, again.ends, len(again.texts)) == ([first.run_id], ["success"], 2)
    return told._replace(values={"messages": told.values["messages"][:3]})


# --- runs that are stopped --------------------------------------------------------------------------------------------


async def cancelled(stage: Stage) -> Told:
    run = await stage.held()
    came = await stage.connected(run)
    await cancel(stage.client, run.thread_id)
    assert (await run.run())["status"] == "interrupted"
    return await stage.over(came, (run, "cancelled"))


async def rolled_back(stage: Stage) -> Told:
    await (first := await stage.run()).end()
    run = await stage.held(first)
    came = await stage.connected(run)
    await stage.client.runs.cancel(run.thread_id, run.run_id, wait=True, action="rollback")
    return await stage.over(came, (run, "cancelled"))


async def rolled_back_slowly(stage: Stage) -> Told:
    """The server calls the run cancelled, and closes its stream, while a node of it has yet to stop."""
    await (first := await stage.run()).end()
    run = await stage.held(first, graph="gated_slow_to_stop")
    stage.gate.hold("a second stops")
    came = await stage.connected(run)

    async def stops(_: Any) -> None:
        await stage.gate.reached("a second stops")
        stage.gate.open("a second stops")

    once(stage.client, "response", run.thread_id, stops)
    await stage.client.runs.cancel(run.thread_id, run.run_id, wait=False, action="rollback")
    for guest in came:
        await guest.over()
    return await stage.over(came, (run, "cancelled"))


# --- runs that take another's place -----------------------------------------------------------------------------------


def replaced(strategy: Any) -> Callable[[Stage], Awaitable[Told]]:
    async def scene(stage: Stage) -> Told:
        first = await stage.held()
        came = await stage.connected(first)
        second = await first.next("gated_chat", stage.gate, run="b", multitask_strategy=strategy, **stage.how)
        return await stage.over(came, (first, "cancelled"), (second, "success"))

    return scene


async def not_replaced(stage: Stage) -> Told:
    run = await stage.held()
    came = await stage.connected(run)
    with pytest.raises(ConflictError):
        await run.next("gated_chat", stage.gate, multitask_strategy="reject")
    return await stage.over(came, (run, "success"))


# --- what happens between the look and the join -----------------------------------------------------------------------


def before_the_join(client: LangGraphClient, happens: Callable[[], Awaitable[Any]]) -> None:
    """Lets this happen when a reader has looked at the thread and is about to join a run's stream, the first time."""
    once(client, "request", "/stream", lambda _: happens())


async def queue(stage: Stage, first: Started, names: str) -> list[Started]:
    """Runs behind another one, the last of which will wait in its second message."""
    stage.gate.hold(f"{names[-1]} second 2")
    return [await first.next("gated_chat", stage.gate, run=name, **stage.how) for name in names]


async def passed_between_two_looks(stage: Stage) -> Told:
    """Two runs come and go before the reader of the one before looks again."""
    first = await stage.held()
    others = await queue(stage, first, "bcd")
    guest = stage.guests.connect(first.thread_id)
    await guest.told("MESSAGES_SNAPSHOT")
    once(stage.client, "request", "/runs", lambda _: stage.gate.reached("d second 2"))
    stage.gate.open("a *")
    await stage.gate.reached("d second 2")
    return await stage.over([guest], *((run, "success") for run in (first, *others)))


async def followed_before_the_state(stage: Stage) -> Told:
    """The state that a reader gets when it has joined a run is a later one's."""
    first = await stage.held()
    others = await queue(stage, first, "bc")

    async def follows(_: Any) -> None:
        stage.gate.open("a *")
        await stage.gate.reached("c second 2")

    once(stage.client, "request", "/state", follows)
    guest = stage.guests.connect(first.thread_id)
    await stage.gate.reached("c second 2")
    return await stage.over([guest], *((run, "success") for run in (first, *others)))


async def ended_before_the_join(stage: Stage) -> Told:
    run = await stage.held()

    async def ends() -> None:
        stage.gate.open("*")
        await run.end()

    before_the_join(stage.client, ends)
    return await stage.over([stage.guests.connect(run.thread_id)], (run, "success"))


async def followed_before_the_join(stage: Stage) -> Told:
    run, later = await stage.held(), asyncio.get_running_loop().create_future()

    async def ends() -> None:
        stage.gate.open("a *")
        await run.end()
        later.set_result(await stage.held(run, "b"))

    before_the_join(stage.client, ends)
    guest = stage.guests.connect(run.thread_id)
    return await stage.over([guest], (run, "success"), (await later, "success"))


def stopped_before_the_join(action: Any) -> Callable[[Stage], Awaitable[Told]]:
    async def scene(stage: Stage) -> Told:
        await (first := await stage.run()).end()
        run = await stage.held(first)

        async def stops() -> None:
            await stage.client.runs.cancel(run.thread_id, run.run_id, wait=True, action=action)

        before_the_join(stage.client, stops)
        guest = await stage.guests.connect(run.thread_id).over()
        return await stage.over([guest], (run, "cancelled"))

    return scene


SCENES: dict[str, Callable[[Stage], Awaitable[Told]]] = {
    "behind another": behind_another,
    "asked for while it waits": asked_for_while_it_waits,
    "delayed": delayed,
    "asked for one by one": asked_for_one_by_one,
    "cancelled": cancelled,
    "rolled back": rolled_back,
    "rolled back slowly": rolled_back_slowly,
    "interrupted by another": replaced("interrupt"),
    "rolled back by another": replaced("rollback"),
    "another rejected": not_replaced,
    "ended before the join": ended_before_the_join,
    "followed before the join": followed_before_the_join,
    "followed before the state": followed_before_the_state,
    "passed between two looks": passed_between_two_looks,
    "cancelled before the join": stopped_before_the_join("interrupt"),
    "rolled back before the join": stopped_before_the_join("rollback"),
}
CASES = {
    f"{name}, {'kept' if kept else 'not kept'}": (scene, {**FULL, "stream_resumable": kept})
    for name, scene in SCENES.items()
    for kept in (True, False)
}
"""Each scene with runs whose events the server keeps, and does not keep."""
KEEPS_ALL, AT_ONCE, NO_ROLLBACK = "keeps every run", "lets the runs of a thread run at once", "has no rollback"
NOT_ON_AEGRA = {
    "behind another": AT_ONCE,
    "asked for while it waits": AT_ONCE,
    "delayed": "starts every run at once",
    "asked for one by one": AT_ONCE,
    "rolled back": NO_ROLLBACK,
    "rolled back slowly": NO_ROLLBACK,
    "interrupted by another": AT_ONCE,
    "rolled back by another": AT_ONCE,
    "another rejected": AT_ONCE,
    "rolled back before the join": NO_ROLLBACK,
    "followed before the state": AT_ONCE,
    "passed between two looks": AT_ONCE,
}
AEGRA = {f"{name}, not kept": KEEPS_ALL for name in SCENES}
AEGRA |= {f"{name}, {kept}": why for name, why in NOT_ON_AEGRA.items() for kept in ("kept", "not kept")}
"""What Aegra can't do, and what would say nothing new on it."""
NAMES = cases(CASES, aegra=AEGRA)


@pytest.fixture(scope="module")
def scenes(backend: Backend) -> dict[str, Told | BaseException]:
    """What came of each case, all of them played at once."""

    async def played(scene: Callable[[Stage], Awaitable[Told]], how: dict[str, Any]) -> Told:
        async with gates() as gate, backend.client() as client, ReaderClients(client) as guests:
            return await scene(Stage(gate, client, guests, how))

    async def all_played() -> list[Told | BaseException]:
        return await asyncio.gather(*(played(*case) for case in chosen.values()), return_exceptions=True)

    chosen = on(backend, CASES, aegra=AEGRA)
    return dict(zip(chosen, asyncio.run(all_played()), strict=True))


def told(scenes: dict[str, Told | BaseException], name: str) -> Told:
    """One of them; raises what went wrong with it."""
    scene = scenes[name]
    if isinstance(scene, BaseException):
        raise scene
    return scene


@pytest.mark.parametrize("name", NAMES)
def test_the_runs_are_told_in_their_order_each_with_its_end(scenes: dict[str, Any], name: str) -> None:
    scene = told(scenes, name)
    for guest in scene.came:
        assert list(zip(guest.run_ids, guest.ends, strict=True)) == scene.runs


@pytest.mark.parametrize("name", NAMES)
def test_in_the_end_a_client_holds_what_the_thread_does(
    scenes: dict[str, Any], name: str, agui_client: AguiClient
) -> None:
    scene = told(scenes, name)
    for guest in scene.came:
        assert_holds(agui_client, guest, scene.values)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_shown_cut(scenes: dict[str, Any], name: str) -> None:
    assert [guest.cut for guest in told(scenes, name).came if guest.cut] == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_vanishes_where_no_run_is_stopped(scenes: dict[str, Any], name: str) -> None:
    scene = told(scenes, name)
    for guest in scene.came:
        check_stream(guest.events, may_remove={end for _, end in scene.runs} != {"success"})


async def test_cancelling_stops_the_run_and_those_that_wait(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client, ReaderClients(client) as guests:
        first = await (stage := Stage(gate, client, guests, {})).held()
        gate.hold("b second 2")  # Aegra starts the second run at once: it must not end before it is cancelled
        second = await first.next("gated_chat", gate, run="b")
        await cancel(client, first.thread_id)
        assert [(await each.run())["status"] for each in (first, second)] == ["interrupted", "interrupted"]
        with pytest.raises(LookupError, match="no run to stop"):
            await cancel(stage.client, first.thread_id)
