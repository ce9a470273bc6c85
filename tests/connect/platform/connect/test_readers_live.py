"""Readers of a server's thread: they leave without a trace, come back with what they hold, read models or SSE, are many
on a fast run, and are shown only what is meant to be shown."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest
from langgraph_agui.connect import connect, connect_sse
from langgraph_agui.connect.testing.expected import comparable
from langgraph_sdk.client import LangGraphClient

from fixtures.gated import FIRST
from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.clients.reader_clients import ReaderClients, assert_holds
from tests.support.servers.gates import Gates, gates
from tests.support.servers.platforms.backend import Backend, not_on

KEPT: dict[str, Any] = FULL
NOT_KEPT: dict[str, Any] = {**FULL, "stream_resumable": False}
EITHER = pytest.mark.parametrize(
    "how",
    [pytest.param(KEPT, id="kept"), pytest.param(NOT_KEPT, id="not kept", marks=not_on(aegra="keeps every run"))],
)


async def held(client: LangGraphClient, gate: Gates, point: str, **how: Any) -> Started:
    """A run of the chat that waits at this point."""
    gate.hold(point)
    run = await started(client, "gated_chat", gate, **how)
    await gate.reached(point)
    return run


def in_use(client: LangGraphClient) -> list[str]:
    """The connections of a client that are not back in its pool."""
    pool: Any = client.http.client._transport
    return [repr(each) for each in pool._pool.connections if not (each.is_idle() or each.is_closed())]


# --- leaving ----------------------------------------------------------------------------------------------------------


async def after_the_first_event(client: LangGraphClient, thread_id: str) -> None:
    told: Any = connect(client, thread_id)
    async with aclosing(told):
        await anext(told)


async def while_nothing_comes(client: LangGraphClient, thread_id: str) -> None:
    """As a web server does it whose client is gone: the reading task is cancelled."""
    is_quiet = asyncio.Event()

    async def reads() -> None:
        told: Any = connect_sse(client, thread_id, heartbeat=0.05)
        async with aclosing(told):
            async for frame in told:
                if frame.startswith(b":"):
                    is_quiet.set()

    reading = asyncio.create_task(reads())
    await is_quiet.wait()
    reading.cancel()
    await asyncio.wait((reading,))


async def before_anything_was_asked(client: LangGraphClient, thread_id: str) -> None:
    told: Any = connect(client, thread_id)
    await told.aclose()


async def while_it_looks(client: LangGraphClient, thread_id: str) -> None:
    asks = asyncio.Event()

    async def hook(request: Any) -> None:
        asks.set()

    client.http.client.event_hooks["request"].append(hook)
    reading = asyncio.create_task(anext(connect(client, thread_id)))
    await asks.wait()
    reading.cancel()
    await asyncio.wait((reading,))
    client.http.client.event_hooks["request"].remove(hook)


@EITHER
@pytest.mark.parametrize(
    "leaves", [after_the_first_event, while_nothing_comes, before_anything_was_asked, while_it_looks]
)
async def test_a_reader_that_leaves_stops_nothing_and_leaves_nothing(
    backend: Backend, how: Any, leaves: Callable[[LangGraphClient, str], Awaitable[None]]
) -> None:
    async with gates() as gate, backend.client() as client, backend.client() as theirs:
        run = await held(client, gate, "second 2", **how)
        before = asyncio.all_tasks()
        await leaves(theirs, run.thread_id)
        assert in_use(theirs) == []
        assert asyncio.all_tasks() <= before  # those of the gates may have ended since
        assert (await run.run())["status"] == "running"
        gate.open("*")
        await run.end()
        assert len((await run.state())["values"]["messages"]) == 3


# --- coming back ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_client_that_comes_back_in_mid_message_is_told_the_rest_of_it(
    backend: Backend, agui_client: AguiClient, version: str
) -> None:
    async with gates() as gate, backend.client() as client, ReaderClients(client) as guests:
        run = await held(client, gate, "first 3", **KEPT)
        first = guests.connect(run.thread_id, version)
        await first.sees("One two three ")
        view = first.view.copy()
        gate.hold("first 5")
        gate.open("first 3")
        await gate.reached("first 5")
        again = guests.connect(run.thread_id, version, view)
        await again.sees("One two three four five ")
        texts = [event["delta"] for event in again.events if event["type"] == "TEXT_MESSAGE_CONTENT"]
        assert "".join(texts) == "four five "
        gate.open("*")
        await again.over()
        assert "MESSAGES_SNAPSHOT" not in again.kinds
        assert again.cut == []
        assert_holds(agui_client, again, (await run.state())["values"])


async def test_a_client_that_comes_back_after_another_run_is_told_that_one_alone(
    backend: Backend, agui_client: AguiClient
) -> None:
    async with gates() as gate, backend.client() as client, ReaderClients(client) as guests:
        await (before := await started(client, "gated_fast", gate)).end()
        view = (await guests.connect(before.thread_id).over()).view.copy()
        await (run := await before.next("gated_chat", gate)).end()
        again = await guests.connect(run.thread_id, view=view).over()
        whole = await guests.connect(run.thread_id).over()
        assert (len(json.dumps(again.events)) < 2_000, len(json.dumps(whole.events)) > 8_000) == (True, True)
        assert_holds(agui_client, again, (await run.state())["values"])


# --- models and frames ------------------------------------------------------------------------------------------------


async def test_frames_hold_the_same_events(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_agent", gate)
        await run.end()
        models = [
            event.model_dump(mode="json", by_alias=True, exclude_none=True)
            async for event in connect(client, run.thread_id)
        ]
        frames = b"".join([frame async for frame in connect_sse(client, run.thread_id)])
    assert [json.loads(each[len(b"data: ") :]) for each in frames.split(b"\n") if each.startswith(b"data: ")] == models


@pytest.mark.parametrize("version", VERSIONS)
async def test_frames_with_heartbeats_are_accepted(backend: Backend, agui_client: AguiClient, version: str) -> None:
    async with gates() as gate, backend.client() as client:
        run = await held(client, gate, "second 2", **KEPT)
        frames: list[bytes] = []
        told: Any = connect_sse(client, run.thread_id, heartbeat=0.05)
        async with aclosing(told):
            async for frame in told:
                frames.append(frame)
                if frame.startswith(b":"):
                    gate.open("*")
    assert any(frame.startswith(b":") for frame in frames)
    assert agui_client.play(frames=b"".join(frames), version="1.0.0", mode="connect").accepted


# --- many tokens, and readers -----------------------------------------------------------------------------------------


@EITHER
async def test_readers_that_come_at_any_moment_to_a_fast_run_end_alike(
    backend: Backend, agui_client: AguiClient, how: Any
) -> None:
    async with gates() as gate, backend.client() as client, ReaderClients(client) as guests:
        gate.hold("fast start")
        run = await started(client, "gated_fast", gate, **how)
        await gate.reached("fast start")
        came = [guests.connect(run.thread_id)]
        await came[0].told("MESSAGES_SNAPSHOT")
        gate.open("*")
        for version, point in [*((version, "fast start") for version in VERSIONS), (VERSIONS[0], "fast middle")]:
            await gate.reached(point)
            came.append(guests.connect(run.thread_id, version))
        for guest in came:
            await guest.over()
        values = (await run.state())["values"]
    for guest in came:
        assert (guest.run_ids, guest.ends, guest.cut) == ([run.run_id], ["success"], [])
        assert comparable(guest.view.messages) == comparable(came[0].view.messages)
    for guest in came[1:3]:  # one of each version
        assert_holds(agui_client, guest, values)


# --- what is shown ----------------------------------------------------------------------------------------------------


@EITHER
async def test_channels_beyond_the_output_schema_are_never_told(backend: Backend, how: Any) -> None:
    async with gates() as gate, backend.client() as client, ReaderClients(client) as guests:
        gate.hold("first 3", "second 2")
        run = await started(client, "gated_narrow", gate, **how)
        came = [guests.connect(run.thread_id, options=None)]
        for point in ("first 3", "second 2"):
            await gate.reached(point)
            came.append(guests.connect(run.thread_id, options=None))
            await came[-1].told("MESSAGES_SNAPSHOT")
            gate.open(point)
        for guest in came:
            await guest.over()
            assert guest.view.state == {"shown": "for all to see"}
            assert "for nobody" not in json.dumps(guest.events)
            assert FIRST in guest.texts


@pytest.mark.parametrize(
    ("thread_id", "code"),
    [
        ("", "invalid_thread_id"),
        ("a/b", "invalid_thread_id"),
        pytest.param("no-uuid", "invalid", marks=not_on(aegra="takes any id, and just does not know it")),
    ],
)
async def test_a_thread_id_that_can_be_none_is_an_error_with_a_code(
    backend: Backend, thread_id: str, code: str
) -> None:
    async with backend.client() as client, ReaderClients(client) as guests:
        guest = await guests.connect(thread_id).over()
    assert [(event["type"], event["code"]) for event in guest.events] == [("RUN_ERROR", code)]
