"""The turns of a fixture on a server, each read by clients that come when it begins, at several points of it, and after
its end; by clients that have read the turn before, and come back at these points with what they had; and by one that
watches the thread: `toured`. Never here: what must be true of them.

A run is started by the SDK's call (`v2`), or by the command with which LangChain's `useStream` starts one (`v3`).
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from langgraph_agui.connect import Platform, RetryPolicy
from langgraph_agui.translator import ClientView, Options
from langgraph_sdk.client import LangGraphClient

from fixtures import SERVED
from fixtures.fixture import Asked, Fixture, Turn
from fixtures.steps import STEP
from tests.support.clients.agui_client import VERSIONS, protocol
from tests.support.clients.platform.runs import FULL
from tests.support.clients.reader_clients import ReaderClient, ReaderClients, values_of
from tests.support.servers.gates import Gates, gates
from tests.support.servers.platforms.backend import Backend

Protocol = Literal["v2", "v3"]
PROTOCOLS: tuple[Protocol, ...] = ("v2", "v3")
AT_THE_START, AFTER_THE_END = "at the start", "after the end"


@dataclass
class ReadTurn:
    """One run, and the clients that have read it."""

    options: Options
    """Those of the clients, but for the version of each."""
    guests: dict[str, ReaderClient] = field(default_factory=dict)
    """By when they came: `AT_THE_START`, `at step 7`, `back at step 7`, `AFTER_THE_END`."""
    watcher: ClientView = field(default_factory=ClientView)
    """What the client that watches the thread had when the run was over."""
    values: Any = None
    """What the thread has after the run."""


async def toured(server: Backend, name: str, started_by: Protocol, stops: Collection[int]) -> list[ReadTurn]:
    """The turns of a fixture, on one thread. `stops`: the numbers of the points of each run at which clients come."""
    fixture, turns = SERVED[name], list[ReadTurn]()
    async with gates() as gate, server.client() as client:
        source = Platform(client, name).retrying(RetryPolicy(first_answer=60))
        options = replace(await source.options(), messages_key=fixture.messages_key or "messages")
        thread_id = str((await client.threads.create())["thread_id"])
        async with ReaderClients(source) as guests:
            watcher = guests.watch(thread_id, options=_for(options, VERSIONS[0]))
            for turn in fixture.turns:
                gate.hold(f"*{STEP}")
                run_id = await _started(client, thread_id, fixture, turn, gate, started_by)
                read = ReadTurn(options)
                turns.append(read)

                def come(
                    when: str, read: ReadTurn = read, before: ReadTurn | None = turns[-2] if turns[1:] else None
                ) -> ReaderClient:
                    version = VERSIONS[len(read.guests) % len(VERSIONS)]
                    read.guests[when] = guests.connect(thread_id, version, options=_for(options, version))
                    if before is not None and when != AFTER_THE_END:
                        first = before.guests[AT_THE_START]
                        read.guests[f"back {when}"] = guests.connect(
                            thread_id, first.version, first.view, options=_for(options, first.version)
                        )
                    return read.guests[when]

                come(AT_THE_START)
                await _led_through(client, thread_id, run_id, gate, stops, come)
                for guest in read.guests.values():
                    await guest.over()
                await come(AFTER_THE_END).over()
                await watcher.ended(len(turns))
                read.watcher = watcher.view.copy()
                read.values = values_of(dict(await client.threads.get_state(thread_id, subgraphs=True)))
    return turns


def _for(options: Options, version: str) -> Options:
    return replace(options, protocol_version=protocol(version))


async def _led_through(
    client: LangGraphClient,
    thread_id: str,
    run_id: str,
    gate: Gates,
    stops: Collection[int],
    come: Callable[[str], ReaderClient],
) -> None:
    """Lets a run go from point to point, to its end."""
    end, step = asyncio.create_task(_ended(client, thread_id, run_id)), 0
    while True:
        point = asyncio.create_task(gate.next())
        await asyncio.wait([end, point], return_when=asyncio.FIRST_COMPLETED)
        if end.done():
            point.cancel()
            return await end
        await point
        if step in stops:
            await come(f"at step {step}").told("RUN_STARTED")
        step += 1
        gate.let_on(f"*{STEP}")


async def _ended(client: LangGraphClient, thread_id: str, run_id: str) -> None:
    """Reads a run to its end. (`runs.join` can't if the run returns nothing, and `runs.join_stream` can't read Aegra's
    infinite numbers.)"""
    async with client.http.client.stream("GET", f"/threads/{thread_id}/runs/{run_id}/stream") as stream:
        async for _ in stream.aiter_raw():
            pass


async def _started(
    client: LangGraphClient, thread_id: str, fixture: Fixture, turn: Turn, gate: Gates, started_by: Protocol
) -> str:
    """Starts the run of a turn. Returns its id."""
    config: Any = {**fixture.config, **gate.config(steps=True, **fixture.config.get("configurable", {}))}
    state: Any = {} if turn.answer is None else await client.threads.get_state(thread_id)
    asked = [Asked(each["id"], each["value"]) for each in state.get("interrupts", ())]
    answer: Any = None if turn.answer is None else turn.answer(asked)
    if started_by == "v2":
        given: dict[str, Any] = {"input": turn.input} if turn.answer is None else {"command": {"resume": answer}}
        started = await client.runs.create(thread_id, fixture.name, **given, config=config, **FULL)
        return str(started["run_id"])
    params: dict[str, Any]
    method, params = "run.start", {"assistant_id": fixture.name, "input": turn.input}
    if turn.answer is not None:
        by_id = isinstance(answer, Mapping) and set(answer) <= {each.id for each in asked}
        answers = answer if by_id else {asked[0].id: answer}
        responses = [{"interrupt_id": interrupt, "response": value} for interrupt, value in answers.items()]
        method, params = "input.respond", {"responses": responses}
    before = {run["run_id"] for run in await client.runs.list(thread_id, limit=50)}
    command = {"id": 1, "method": method, "params": {**params, "config": config}}
    answered: Any = await client.http.post(f"/threads/{thread_id}/commands", json=command)
    assert answered["type"] == "success", answered
    (run,) = [run for run in await client.runs.list(thread_id, limit=50) if run["run_id"] not in before]
    return str(run["run_id"])
