"""Processes whose clocks differ: LangGraph orders the checkpoints of a thread by the time at which they were made."""

from typing import Any

from tests.support.servers.processes.several import Processes

SKEW = 0.3


async def test_processes_whose_clocks_differ_a_little_lose_no_message(servers: Processes) -> None:
    behind, ahead = *await servers.start(1), *await servers.start(1, ahead=SKEW)
    said: list[str] = []
    for number in range(8):
        said.append(f"message {number}")
        place = (ahead, behind)[number % 2]
        assert (await place.run("queued", "t", *said, run_id=f"run-{number}").over()).end == "success"
    assert await asked_in(servers, "t") == said


async def test_a_process_whose_clock_is_far_behind_runs_nothing_and_reads(servers: Processes) -> None:
    behind, ahead = *await servers.start(1), *await servers.start(1, ahead=3_600)
    assert (await ahead.run("queued", "t", "first").over()).end == "success"
    refused = behind.run("queued", "t", "first", "second", run_id="run-2")
    await refused.over()
    assert (refused.status, b'"clock_skew"' in refused.body) == (503, True)
    assert refused.headers["retry-after"] == "60"
    assert "agent 'queued', thread 't', run 'run-2'" in behind.log
    assert (await behind.connect("queued", "t").over()).end == "success"
    assert (await ahead.run("queued", "t", "first", "second", run_id="run-2").over()).end == "success"
    assert await asked_in(servers, "t") == ["first", "second"]


async def asked_in(servers: Processes, thread_id: str) -> list[Any]:
    """What the users said, as the thread has it."""
    values = await servers.values("queued", thread_id)
    return [message.content for message in values["messages"] if message.type == "human"]
