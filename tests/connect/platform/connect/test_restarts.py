"""Connecting to a server that is killed in the middle of a run: it executes the run again, and no ghost is left of what
was said before; or it never comes back, and the stream says so."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph_agui.connect import RetryPolicy, connect, watch
from langgraph_agui.translator import Options
from langgraph_sdk import get_client

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient, protocol
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.clients.platform.scripted_connects import assert_refused
from tests.support.clients.reader_clients import ReaderClient, assert_holds
from tests.support.servers.gates import gates
from tests.support.servers.platforms.mortal_server import MortalServer

PATIENT = RetryPolicy(initial_delay=0.1, max_delay=0.3, max_attempts=200)
ONCE_ONLY = RetryPolicy(max_attempts=1)
"""No retry: the SDK's client itself tries for seconds to reach a port on which nobody listens."""
ONCE: dict[str, Any] = {**FULL, "stream_resumable": False}


class Readers:
    """Whoever reads a run: by `connect` and by `watch`, in both versions."""

    def __init__(self, run: Started, policy: RetryPolicy, *, watches: bool = True) -> None:
        self.connected = [ReaderClient(version, None) for version in ("1.0.0", "0.0.59")]
        self.watching = [ReaderClient("1.0.0", None)] if watches else []
        self._run = run
        self._policy = policy
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def all(self) -> list[ReaderClient]:
        return [*self.connected, *self.watching]

    async def __aenter__(self) -> "Readers":
        for guest in self.all:
            ask: Any = connect if guest in self.connected else watch
            options = Options(protocol_version=protocol(guest.version))
            told = ask(self._run.client, self._run.thread_id, options=options, retry=self._policy)
            self._tasks.append(asyncio.create_task(_heard(guest, told)))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def see(self, text: str) -> None:
        """Returns when all of them were told this."""
        for guest in self.all:
            await guest.sees(text)

    async def ended(self) -> None:
        """Returns when all of them were told the run's end."""
        for guest in self.connected:
            await guest.over()
        for guest in self.watching:
            await guest.told("RUN_FINISHED")


async def _heard(guest: ReaderClient, told: Any) -> None:
    try:
        await guest.hear(told)
    finally:
        await told.aclose()


@pytest.fixture
async def client(mortal_server: MortalServer) -> AsyncIterator[Any]:
    async with get_client(url=mortal_server.url) as client:
        yield client


def words(text: str, count: int) -> str:
    """The first words of a text, as they stand there when they have been said."""
    return "".join(f"{word} " for word in text.split()[:count])


async def test_a_killed_server_that_comes_back_leaves_no_ghost(
    mortal_server: MortalServer, client: Any, agui_client: AguiClient
) -> None:
    async with gates() as gate:
        gate.hold("a second 3", "b first 3")
        kept = await started(client, "gated_chat", gate, run="a", **FULL)
        once = await started(client, "gated_chat", gate, run="b", **ONCE)
        await gate.reached("a second 3")
        await gate.reached("b first 3")
        # Who comes to a run that keeps nothing sees what is said from the next message on, so somebody is there before.
        async with Readers(kept, PATIENT) as of_kept, Readers(once, PATIENT) as of_once:
            await of_kept.see(words(SECOND, 3))
            for guest in of_once.all:
                await guest.told("MESSAGES_SNAPSHOT")
            gate.open("b first 3")
            gate.hold("b second 2")
            await of_once.see(words(SECOND, 2))
            await mortal_server.kill()
            await gate.left("a second 3")
            await gate.left("b second 2")
            await mortal_server.start()
            await gate.reached("a second 3", times=2)
            await gate.reached("b second 2", times=2)
            gate.open("*")
            await of_kept.ended()
            await of_once.ended()
        for run, readers in ((kept, of_kept), (once, of_once)):
            values = (await run.state())["values"]
            for guest in readers.all:
                assert guest.end == "success"
                assert guest.run_ids == [run.run_id]
                assert guest.texts == [FIRST, SECOND]
                assert guest.cut == []
                assert_holds(agui_client, guest, values)


async def test_a_killed_server_that_stays_away_is_lost(
    mortal_server: MortalServer, client: Any, agui_client: AguiClient
) -> None:
    """For those who read a run: `watch` waits for it."""
    async with gates() as gate:
        gate.hold("second 3")
        run = await started(client, "gated_chat", gate, **FULL)
        await gate.reached("second 3")
        async with Readers(run, ONCE_ONLY, watches=False) as readers:
            await readers.see(words(SECOND, 3))
            await mortal_server.kill()
            for guest in readers.connected:
                await guest.over()
    for guest in readers.connected:
        assert_refused(agui_client, guest, "lost")
        assert guest.texts == [FIRST, words(SECOND, 3)]
