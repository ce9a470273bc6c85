"""Stopping a run of a platform that does not stop at once, or that there is not."""

import asyncio
from typing import Any

import pytest
from langgraph_agui.connect.errors import RunNotFoundError
from langgraph_agui.connect.platform.calls import Contact, RetryPolicy
from langgraph_agui.connect.platform.thread import PlatformThread
from langgraph_agui.translator import Cancelled

from tests.support.servers.platforms.fault_server import (
    WITHIN,
    End,
    Scripted,
    answered,
    dropped,
    faulty,
    refused,
)

THREAD, RUNS, RUN, CANCEL = "/threads/t", "/threads/t/runs", "/threads/t/runs/r", "/threads/t/runs/r/cancel"
CANCELLED = {"run_id": "r", "status": "interrupted"}


async def test_a_run_that_does_not_stop_is_waited_for_within_a_timeout(caplog: pytest.LogCaptureFixture) -> None:
    async with faulty({RUNS: [answered([])], CANCEL: [dropped(End.HELD)]}) as server, server.client() as client:
        async with asyncio.timeout(WITHIN):
            assert not await PlatformThread(client, "t", Contact(RetryPolicy())).cancel("r", timeout=0.1)
    assert "A cancelled run has not stopped within 0.1 seconds (thread 't', run 'r')." in caplog.text


async def test_a_run_that_there_is_not_is_no_run_to_stop() -> None:
    async with faulty({RUNS: [answered([])], CANCEL: [refused(404)]}) as server, server.client() as client:
        with pytest.raises(RunNotFoundError, match="no run to stop with the id 'r'"):
            await PlatformThread(client, "t", Contact(RetryPolicy())).cancel("r")


async def test_how_a_cancelled_run_ended_is_known_when_its_thread_is_no_longer_busy() -> None:
    before, written = ({"values": {"messages": [each]}, "metadata": {"run_id": each}} for each in ("q", "r"))
    described = [*[{"status": "busy"}] * 2, {"status": "idle"}]
    answers: dict[str, list[Scripted]] = {
        THREAD: [lambda _: answered(described.pop(0) if len(described) > 1 else described[0])],
        RUNS: [answered([CANCELLED])],
        RUN: [lambda _: answered(CANCELLED) if len(described) > 1 else refused(404)],
        "/threads/t/state": [lambda _: answered(written if len(described) > 1 else before)],
    }
    async with faulty(answers) as server, server.client() as client:
        outcome = await PlatformThread(client, "t", Contact(RetryPolicy())).outcome("r")
    assert (outcome.ending, outcome.is_undone, outcome.values) == (Cancelled(), True, before["values"])


@pytest.mark.parametrize(
    ("others", "logged"),
    [
        pytest.param([], "A cancelled run has not stopped within 0.1 seconds (thread 't', run 'r').", id="longer"),
        pytest.param([{"run_id": "s", "status": "running"}], "", id="with another run"),
    ],
)
async def test_a_thread_that_stays_busy_is_waited_for_within_a_timeout(
    others: list[Any], logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    answers = {THREAD: [answered({"status": "busy"})], RUNS: [answered([*others, CANCELLED])]}
    async with faulty(answers) as server, server.client() as client, asyncio.timeout(WITHIN):
        assert await PlatformThread(client, "t", Contact(RetryPolicy())).has_waited_for_end(CANCELLED, timeout=0.1)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("langgraph_agui")] == [
        line for line in [logged] if line
    ]
