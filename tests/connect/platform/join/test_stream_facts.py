"""What the streams of servers hold: the facts that joining a run stands on. A newer server that differs fails here.

What servers say of threads and runs is in `tests/connect/platform/test_facts.py`.
"""

import re
import time
from collections.abc import AsyncIterator

import httpx
import pytest
from langgraph_agui.connect.platform.http import READ_TIMEOUT
from langgraph_sdk.errors import NotFoundError
from langgraph_sdk.schema import StreamPart

from fixtures.gated import FIRST, SECOND
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.servers.gates import gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.platforms.mortal_server import MortalServer

UNKNOWN = "00000000-0000-4000-8000-000000000001"
TAIL: dict[str, list[str]] = {"dev": [], "aegra": ["end"]}
"""What a server says last."""


def names(parts: list[StreamPart]) -> list[str]:
    return [part.event for part in parts]


def said(parts: list[StreamPart]) -> str:
    """The text of all chunks."""
    return "".join(str(part.data[0]["content"]) for part in parts if part.event == "messages")


async def lines(backend: Backend, of: Started, until: str, **headers: str) -> list[str]:
    """The lines of a join's response as they stand, up to the first that begins so, or to its end."""
    told: list[str] = []
    url = f"{backend.url}/threads/{of.thread_id}/runs/{of.run_id}/stream"
    async with (
        httpx.AsyncClient(timeout=30, headers=headers) as client,
        client.stream("GET", url) as response,
    ):
        async for line in response.aiter_lines():
            told.append(line)
            if line.startswith(until):
                break
    return told


async def test_a_join_from_the_start_holds_the_whole_run(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("first 3")
        run = await started(client, "gated_chat", gate, **FULL)
        await gate.reached("first 3")
        await run.published("three ")
        stream = client.runs.join_stream(run.thread_id, run.run_id, last_event_id="0-0")
        parts = [await anext(stream) for _ in range(5)]  # what is behind it: it is subscribed to what comes
        gate.open("*")
        parts += [part async for part in stream]
    assert names(parts)[:2] == ["metadata", "values"]
    assert parts[0].data == {"run_id": run.run_id, "attempt": 1}
    assert said(parts) == FIRST + SECOND
    assert names(parts)[-2:] == ["updates", "values", *TAIL[backend.name]][-2:]


async def test_the_first_values_of_a_second_run_are_the_whole_thread(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        first = await started(client, "gated_chat", gate)
        await first.end()
        second = await first.next("gated_chat", gate, **FULL)
        parts = await second.whole()
    assert len(parts[1].data["messages"]) == 4


async def test_a_join_without_a_position_is_live_only_on_the_platform(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("first 3")
        run = await started(client, "gated_chat", gate, **{**FULL, "stream_mode": ["values", "messages-tuple"]})
        await gate.reached("first 3")
        await run.published("three ")
        began = time.monotonic()
        told = await lines(backend, run, until=": heartbeat")
    behind = ["event: metadata", "event: values", *["event: messages"] * 3]
    assert [line for line in told if line.startswith("event")] == {"dev": [], "aegra": behind}[backend.name]
    assert time.monotonic() - began < READ_TIMEOUT / 2  # a heartbeat every five seconds


@pytest.mark.parametrize("resumable", [True, False])
async def test_a_join_from_the_start_after_the_end(backend: Backend, resumable: bool) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_chat", gate, **{**FULL, "stream_resumable": resumable})
        parts = await run.whole()
    kept = {"dev": resumable, "aegra": True}[backend.name]
    assert said(parts) == (FIRST + SECOND if kept else "")


async def test_a_join_without_a_position_after_the_end_holds_no_event(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_chat", gate, **FULL)
        await run.end()
        assert names(await run.joined(None)) == TAIL[backend.name]


async def test_an_interrupt_is_in_updates_and_values(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_asking", gate, **FULL)
        parts = [part for part in await run.whole() if "__interrupt__" in part.data]
    assert names(parts) == ["updates", "values"]


async def test_an_error_is_told_live_and_not_again_by_the_platform(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("second 2")
        run = await started(client, "gated_raising", gate, **FULL)
        await gate.reached("second 2")
        stream = client.runs.join_stream(run.thread_id, run.run_id, last_event_id="0-0")
        await anext(stream)
        gate.open("*")
        [error] = [part.data async for part in stream if part.event == "error"]
        again = "error" in names(await run.joined())
    message = {"dev": "broken off", "aegra": "ValueError: execution failed"}[backend.name]
    assert error == {"error": "ValueError", "message": message}
    assert again == (backend.name == "aegra")


async def test_a_cancelled_run_just_ends_on_the_platform(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("first 2")
        run = await started(client, "gated_chat", gate, **FULL)
        await gate.reached("first 2")
        await run.published("two ")
        stream = client.runs.join_stream(run.thread_id, run.run_id, last_event_id="0-0")
        begun = [await anext(stream) for _ in range(4)]
        await client.runs.cancel(run.thread_id, run.run_id)
        assert names(begun) == ["metadata", "values", "messages", "messages"]
        assert names([part async for part in stream]) == TAIL[backend.name]


async def test_a_reader_that_leaves_stops_nothing(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        gate.hold("first 2")
        run = await started(client, "gated_chat", gate, **FULL)
        await gate.reached("first 2")
        await lines(backend, run, until="event: values", **{"Last-Event-ID": "0-0"})
        gate.open("*")
        await run.end()
        assert (await run.run())["status"] == "success"


async def test_ids_of_events(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_fast", gate, **FULL)
        ids = [str(part.id) for part in await run.whole()]
    if backend.name == "aegra":
        assert ids == [f"{run.run_id}_event_{place + 1}" for place in range(len(ids))]
    else:
        assert all(re.fullmatch(r"\d{13}-0", one) for one in ids)
        assert len(set(ids)) < len(ids)  # all events of a millisecond share one


async def test_aegra_resumes_after_any_event(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_agent", gate, **FULL)
        parts = await run.whole()
        for place, part in enumerate(parts):
            if backend.name == "aegra":
                assert await run.joined(part.id) == parts[place + 1 :] or place == len(parts) - 1


async def test_a_whole_message_is_a_chunk_on_aegra(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_agent", gate, **FULL)
        types = {part.data[0]["type"] for part in await run.whole() if part.event == "messages"}
    assert types == {"AIMessageChunk", {"dev": "tool", "aegra": "ToolMessageChunk"}[backend.name]}


async def test_a_run_that_is_not_on_the_thread_is_an_error_in_the_stream_on_the_platform(backend: Backend) -> None:
    async with backend.client() as client:
        unknown = Started(client, (await client.threads.create())["thread_id"], UNKNOWN)
        if backend.name == "aegra":
            with pytest.raises(NotFoundError):
                await unknown.joined()
        else:
            assert [part.data for part in await unknown.joined()] == [
                {"error": "HTTPException", "message": "404: Run not found"}
            ]


async def test_only_the_platform_streams_a_thread(backend: Backend) -> None:
    async with gates() as gate, backend.client() as client:
        run = await started(client, "gated_chat", gate, **FULL)
        await run.end()  # between what was kept and what comes, events of a run that goes on may be missing
        stream = await client.threads.join_stream(run.thread_id, last_event_id="0-0")
        if backend.name == "aegra":
            with pytest.raises(NotFoundError):
                await anext(stream)
        else:
            told = [part async for part in _until_done(stream)]
            assert told[0].data == {"run_id": run.run_id, "attempt": 1}
            assert said(told) == FIRST + SECOND


async def _until_done(stream: AsyncIterator[StreamPart]) -> AsyncIterator[StreamPart]:
    async for part in stream:
        yield part
        if part.event == "metadata" and part.data.get("status") == "run_done":
            return


async def test_after_a_restart_a_run_is_told_from_its_checkpoint(mortal_server: MortalServer) -> None:
    async with gates() as gate, Backend("dev", mortal_server.url).client() as client:
        gate.hold("second 2")
        run = await started(client, "gated_chat", gate, **FULL)
        await gate.reached("second 2")
        await mortal_server.kill()
        await gate.left("second 2")
        await mortal_server.start()
        await gate.reached("second 2", times=2)
        gate.open("*")
        parts = await run.whole()
    assert (parts[0].event, parts[0].data["attempt"]) == ("metadata", 1)  # not 2
    assert said(parts) == SECOND  # what was told before is lost
