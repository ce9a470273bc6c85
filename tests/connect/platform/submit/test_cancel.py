"""Stopping a run of a platform that does not stop, or that there is not."""

import asyncio

import pytest
from langgraph_agui.connect.errors import RunNotFoundError
from langgraph_agui.connect.platform.calls import Contact, RetryPolicy
from langgraph_agui.connect.platform.thread import PlatformThread

from tests.support.servers.platforms.fault_server import WITHIN, End, answered, dropped, faulty, refused

RUNS, CANCEL = "/threads/t/runs", "/threads/t/runs/r/cancel"


async def test_a_run_that_does_not_stop_is_waited_for_within_a_timeout(caplog: pytest.LogCaptureFixture) -> None:
    async with faulty({RUNS: [answered([])], CANCEL: [dropped(End.HELD)]}) as server, server.client() as client:
        async with asyncio.timeout(WITHIN):
            assert not await PlatformThread(client, "t", Contact(RetryPolicy())).cancel("r", timeout=0.1)
    assert "A cancelled run has not stopped within 0.1 seconds (thread 't', run 'r')." in caplog.text


async def test_a_run_that_there_is_not_is_no_run_to_stop() -> None:
    async with faulty({RUNS: [answered([])], CANCEL: [refused(404)]}) as server, server.client() as client:
        with pytest.raises(RunNotFoundError, match="no run to stop with the id 'r'"):
            await PlatformThread(client, "t", Contact(RetryPolicy())).cancel("r")
