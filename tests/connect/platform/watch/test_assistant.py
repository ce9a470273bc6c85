"""Watching an assistant of a real server over all its threads."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.platform.runs import FULL, started
from tests.support.clients.watching import ending, streamed, watching
from tests.support.servers.gates import Gates

POLL = 0.05


@pytest.fixture
async def client(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
        yield client


async def assistant(client: LangGraphClient, graph: str) -> str:
    """An assistant of a test's own: nobody else's runs are its."""
    return (await client.assistants.create(graph))["assistant_id"]


async def test_a_run_on_any_of_its_threads_is_told_with_its_thread(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    mine = await assistant(client, "gated_chat")
    async with watching(client, assistant_id=mine, poll=POLL) as watchers:
        for _ in range(2):
            run = await started(client, mine, gate, **FULL)
            told = await watchers.told(run.run_id)
            assert (told[0]["threadId"], told[-1]["threadId"]) == (run.thread_id, run.thread_id)
            watchers.assert_holds(agui_client, (await run.state())["values"])


async def test_tokens_are_told_while_they_come(client: LangGraphClient, gate: Gates) -> None:
    mine = await assistant(client, "gated_chat")
    gate.hold("first 3")
    async with watching(client, assistant_id=mine, poll=POLL) as watchers:
        run = await started(client, mine, gate, **FULL)
        await watchers.says("One two three ")
        gate.open("*")
        assert (FIRST + SECOND).endswith(streamed(await watchers.told(run.run_id)).removeprefix("One two three "))


async def test_runs_on_two_threads_at_once_are_told_one_after_the_other(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    mine = await assistant(client, "gated_chat")
    gate.hold("a first 3", "b first 3")
    async with watching(client, assistant_id=mine, poll=POLL) as watchers:
        runs = [await started(client, mine, gate, run=run, **FULL) for run in ("a", "b")]
        await gate.reached("a first 3")
        await gate.reached("b first 3")
        gate.open("*")
        for run in runs:
            told = await watchers.told(run.run_id)
            assert {event["threadId"] for event in told if "threadId" in event} == {run.thread_id}
        assert len(watchers.first.runs) == 2


async def test_what_was_over_before_is_not_told_and_what_goes_on_is(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    mine = await assistant(client, "gated_chat")
    over = await started(client, mine, gate, run="over")
    await over.end()
    gate.hold("going first 3")
    going = await started(client, mine, gate, run="going", **FULL)
    await gate.reached("going first 3")
    async with watching(client, assistant_id=mine, poll=POLL) as watchers:
        await watchers.started(going.run_id)
        gate.open("*")
        await watchers.told(going.run_id)
        again = await over.next(mine, gate, run="again", **FULL)
        await watchers.told(again.run_id)
        assert watchers.first.ended == [going.run_id, again.run_id]
        watchers.assert_holds(agui_client, (await again.state())["values"])


async def test_a_thread_that_only_was_renamed_is_not_told(client: LangGraphClient, gate: Gates) -> None:
    mine = await assistant(client, "gated_chat")
    over = await started(client, mine, gate, run="over")
    await over.end()
    async with watching(client, assistant_id=mine, poll=POLL) as watchers:
        first = await started(client, mine, gate, **FULL)
        await watchers.told(first.run_id)
        await client.threads.update(over.thread_id, metadata={"title": "named"})
        after = await started(client, mine, gate, **FULL)
        await watchers.told(after.run_id)
        assert watchers.first.ended == [first.run_id, after.run_id]


async def test_a_run_that_waits_for_its_time_holds_up_no_other(client: LangGraphClient, gate: Gates) -> None:
    mine = await assistant(client, "gated_chat")
    async with watching(client, assistant_id=mine, poll=POLL) as watchers:
        waiting = await started(client, mine, gate, after_seconds=60)
        run = await started(client, mine, gate, **FULL)
        await watchers.told(run.run_id)
        assert watchers.first.ended == [run.run_id]
        await client.runs.cancel(waiting.thread_id, waiting.run_id)


async def test_ends_are_told_as_they_are(client: LangGraphClient, gate: Gates) -> None:
    ends = {"gated_asking": "interrupt", "gated_raising": "ValueError"}
    for graph, end in ends.items():
        mine = await assistant(client, graph)
        async with watching(client, assistant_id=mine, poll=POLL) as watchers:
            run = await started(client, mine, gate, **FULL)
            assert ending(await watchers.told(run.run_id)) == end


async def test_runs_without_a_thread_of_their_own_are_told_by_the_name_of_a_graph(
    client: LangGraphClient, gate: Gates
) -> None:
    how: Any = {"input": {"messages": [{"role": "user", "content": "hi"}]}, "on_completion": "keep", **FULL}
    async with watching(client, assistant_id="gated_narrow", poll=POLL, options=None) as watchers:
        run = await client.runs.create(None, "gated_narrow", config=gate.config(), **how)
        told = await watchers.told(run["run_id"])
        assert ending(told) == "success"
        assert told[0]["threadId"] == run["thread_id"]
        assert "for nobody" not in str(told)
