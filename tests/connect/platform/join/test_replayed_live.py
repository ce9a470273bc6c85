"""What is new of the streams of a real `langgraph dev` server, which repeats itself, and whose ids are no event's own.

What a run said is what the server sends to who joins it when it is over: what was kept, each event once.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from itertools import count

import pytest
from langgraph_agui.connect.platform.http import Received, event_stream
from langgraph_agui.connect.platform.join.replayed import ReplayFilter
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.servers.gates import asked, gates


@pytest.fixture
async def client(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
        yield client


async def connection(run: Started, after: str) -> AsyncGenerator[Received, None]:
    """The events of one connection, as the server sends them."""
    path = f"/threads/{run.thread_id}/runs/{run.run_id}/stream"
    async with event_stream(run.client, path, last_event_id=after) as events:
        async for event in events:
            yield event


async def said(run: Started) -> list[Received]:
    """What a run that is over said."""
    return [event async for event in connection(run, "0-0")]


async def read(run: Started, cursor: ReplayFilter, most: int, last: Received | None = None) -> list[Received]:
    """What of a connection is new, until it has brought so many events, or the last."""
    new: list[Received] = []
    async with aclosing(connection(run, cursor.resume_id())) as events:
        cursor.note_joined()
        async for event in events:
            most -= 1
            new += cursor.take(event)
            if most == 0 or (new and new[-1] == last):
                break
    return new


async def read_in_pieces(run: Started, size: int) -> list[Received]:
    """What is new of a run that goes on, read over connections that are lost after so many events each."""
    cursor, new = ReplayFilter(), list[Received]()
    for length in count(size):  # longer each time: if it were no longer than a millisecond's events, it would not end
        new += (part := await read(run, cursor, length))
        if not part and (await run.run())["status"] != "running":
            return new
    raise AssertionError


async def test_who_joins_a_fast_run_anywhere_gets_each_event_once(client: LangGraphClient) -> None:
    async with gates() as gate:
        run = await started(client, "gated_fast", gate, **FULL)
        cursor, first, readers = ReplayFilter(), list[Received](), list[asyncio.Task[list[Received]]]()
        async for event in connection(run, cursor.resume_id()):
            first += cursor.take(event)
            if len(first) in (100, 600, 1100, 1600):
                readers.append(asyncio.create_task(read(run, ReplayFilter(), -1)))
        told = [first, *await asyncio.gather(*readers)]
    expected = await said(run)
    assert len(expected) > 2000
    assert [new == expected for new in told] == [True] * 5


async def test_who_loses_the_connection_to_a_fast_run_over_and_over_gets_each_event_once(
    client: LangGraphClient,
) -> None:
    async with gates() as gate:
        gate.hold("fast start")
        run = await started(client, "gated_fast", gate, **FULL)
        await gate.reached("fast start")
        readers = [asyncio.create_task(read_in_pieces(run, size)) for size in (60, 400)]
        gate.open("fast start")
        told = await asyncio.gather(*readers)
    expected = await said(run)
    assert [new == expected for new in told] == [True] * len(told)


async def test_who_loses_the_connection_after_any_event_gets_each_event_once(client: LangGraphClient) -> None:
    async with gates() as gate:
        thread_id = (await client.threads.create())["thread_id"]
        config = gate.config(words=90)
        begun = await client.runs.create(thread_id, "gated_fast", input=asked(), config=config, **FULL)
        run = Started(client, thread_id, begun["run_id"])
        await run.end()
    expected = await said(run)
    assert len({event.id for event in expected}) < len(expected)
    for place in range(1, len(expected)):
        cursor = ReplayFilter()
        before = [new for event in expected[:place] for new in cursor.take(event)]
        after = await read(run, cursor, -1, expected[-1])
        assert not cursor.gap
        assert (place, [*before, *after]) == (place, expected)
