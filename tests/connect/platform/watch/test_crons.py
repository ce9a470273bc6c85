"""Watching what crons run, on a real server: every tick is told as a run, whatever the cron keeps of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.platform.runs import FULL, Started
from tests.support.clients.watching import ending, streamed, watching
from tests.support.servers.gates import Gates, asked

EVERY_SECOND = "* * * * * *"


@pytest.fixture
async def client(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
        yield client


@asynccontextmanager
async def cron(
    client: LangGraphClient, graph: str, gate: Gates, thread_id: str | None, **how: Any
) -> AsyncIterator[str]:
    """The id of a cron that fires every second, for as long as the block lasts."""
    given: Any = {"schedule": EVERY_SECOND, "input": asked(), "config": gate.config(), **how}
    made: Any = await (
        client.crons.create(graph, **given)
        if thread_id is None
        else client.crons.create_for_thread(thread_id, graph, **given)
    )
    try:
        yield str(made["cron_id"])
    finally:
        await client.crons.delete(made["cron_id"])


@pytest.mark.parametrize("how", [{}, FULL], ids=["by default", "kept"])
async def test_each_tick_on_a_thread_is_told_as_a_run(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient, how: dict[str, Any]
) -> None:
    """While it runs, with its tokens if the cron asks for them. The run has the metadata of the cron, and its config
    names the cron."""
    thread, gave = Started(client, (await client.threads.create())["thread_id"], ""), {"team": "news"}
    gate.hold("first 3")
    async with watching(client, thread.thread_id) as watchers:
        async with cron(client, "gated_chat", gate, thread.thread_id, metadata=gave, **how) as cron_id:
            if how:
                await watchers.says("One two three ")
            await watchers.until(lambda watcher: bool(watcher.runs), "a run")
            run: Any = await client.runs.get(thread.thread_id, watchers.first.runs[0][0]["runId"])
            assert (run["status"], watchers.first.ended) == ("running", [])
            assert run["metadata"]["team"] == "news"
            assert run["kwargs"]["config"]["configurable"]["cron_id"] == cron_id
            gate.open("*")
            await watchers.count(2)
        for _ in range(2):  # a tick may have been under way when the cron was deleted
            listed = [run["run_id"] for run in reversed(await client.runs.list(thread.thread_id, limit=100))]
            await watchers.told(listed[-1])
        assert watchers.first.ended == listed
        assert [ending(run) for run in watchers.first.runs] == ["success"] * len(listed)
        assert [streamed(run) for run in watchers.first.runs] == [FIRST + SECOND] * len(listed)
        watchers.assert_holds(agui_client, (await thread.state())["values"])


@pytest.mark.parametrize("kept", ["keep", "delete"])
async def test_each_tick_with_a_thread_of_its_own_is_told_with_its_thread(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient, kept: str
) -> None:
    mine = (await client.assistants.create("gated_chat"))["assistant_id"]
    gate.hold("first 3")
    async with watching(client, assistant_id=mine, poll=0.05) as watchers:
        async with cron(client, mine, gate, None, on_run_completed=kept, **FULL):
            await watchers.says("One two three ")
        gate.open("*")
        ended = await watchers.count(1)
        told = watchers.first.run(ended[0])
        assert ending(told) == "success"
        assert told[0]["threadId"] == told[-1]["threadId"]
        for watcher in watchers.each:
            answer = agui_client.play(watcher.run(ended[0]), version=watcher.version, mode="connect")
            assert answer.accepted
            said = [message["content"] for message in answer.messages if message["role"] == "assistant"]
            assert said == [FIRST, SECOND]
