"""Watching a thread of a real server: every run that comes on it is told, once, from its first token to its end, and
real clients end with what the thread holds."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from langgraph_agui.connect import Platform, watch_sse
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.clients.watching import ending, streamed, watching
from tests.support.servers.gates import Gates, asked

TOKENS: dict[str, Any] = {"stream_mode": ["values", "messages-tuple", "updates", "custom"]}
"""A run that streams everything, and keeps nothing for who comes later."""
HOW = {"kept": FULL, "not kept": TOKENS, "values alone": {"stream_mode": ["values"]}, "by default": {}}


@pytest.fixture
async def client(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
        yield client


async def thread_of(client: LangGraphClient) -> Started:
    """A new thread, with no run."""
    return Started(client, (await client.threads.create())["thread_id"], "")


async def idle(client: LangGraphClient, gate: Gates) -> Started:
    """A thread on which a run went well."""
    run = await started(client, "gated_chat", gate)
    await run.end()
    return run


async def values_of(run: Started) -> Any:
    return (await run.state())["values"]


# --- runs that come ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["values alone", "by default"])
async def test_a_run_without_tokens_is_told_from_its_start_to_its_end(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient, how: str
) -> None:
    thread = await thread_of(client)
    async with watching(client, thread.thread_id) as watchers:
        run = await thread.next("gated_chat", gate, **HOW[how])
        told = await watchers.told(run.run_id)
        assert (ending(told), streamed(told)) == ("success", FIRST + SECOND)
        watchers.assert_holds(agui_client, await values_of(run))


@pytest.mark.parametrize("how", ["kept", "not kept"])
async def test_tokens_are_told_while_they_come(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient, how: str
) -> None:
    gate.hold("first 3")
    thread = await thread_of(client)
    async with watching(client, thread.thread_id) as watchers:
        run = await thread.next("gated_chat", gate, **HOW[how])
        await gate.reached("first 3")
        await watchers.says("One two three ")
        gate.open("*")
        assert streamed(await watchers.told(run.run_id)) == FIRST + SECOND
        watchers.assert_holds(agui_client, await values_of(run))


async def test_a_run_is_told_while_it_has_not_said_a_word_yet(client: LangGraphClient, gate: Gates) -> None:
    gate.hold("first 0")
    thread = await thread_of(client)
    async with watching(client, thread.thread_id) as watchers:
        run = await thread.next("gated_chat", gate)
        await gate.reached("first 0")
        await watchers.started(run.run_id)
        assert gate.waiting() == ["first 0"]


async def test_a_run_that_asks_and_the_one_that_answers_are_two_runs(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    thread = await thread_of(client)
    async with watching(client, thread.thread_id) as watchers:
        asking = await thread.next("gated_asking", gate, **TOKENS)
        assert ending(await watchers.told(asking.run_id)) == "interrupt"
        answering = await thread.next("gated_asking", gate, command={"resume": "yes"}, **TOKENS)
        assert ending(await watchers.told(answering.run_id)) == "success"
        watchers.assert_holds(agui_client, await values_of(thread))


async def test_a_run_that_fails_ends_in_its_error_and_the_next_is_told(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    thread = await thread_of(client)
    async with watching(client, thread.thread_id) as watchers:
        failing = await thread.next("gated_raising", gate, **TOKENS)
        assert ending(await watchers.told(failing.run_id)) == "ValueError"
        run = await thread.next("gated_chat", gate, **TOKENS)
        assert ending(await watchers.told(run.run_id)) == "success"
        watchers.assert_holds(agui_client, await values_of(run))


async def test_a_run_that_is_cancelled_ends_as_cancelled(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    gate.hold("a second 2")
    thread = await thread_of(client)
    async with watching(client, thread.thread_id) as watchers:
        run = await thread.next("gated_chat", gate, run="a", **TOKENS)
        await gate.reached("a second 2")
        await client.runs.cancel(run.thread_id, run.run_id, wait=True)
        assert ending(await watchers.told(run.run_id)) == "cancelled"
        after = await thread.next("gated_chat", gate, run="b", **TOKENS)
        assert ending(await watchers.told(after.run_id)) == "success"
        watchers.assert_holds(agui_client, await values_of(after))


@pytest.mark.parametrize("strategy", ["interrupt", "rollback"])
async def test_a_run_that_takes_anothers_place_is_told_after_it(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient, strategy: str
) -> None:
    gate.hold("a second 2")
    thread = await thread_of(client)
    async with watching(client, thread.thread_id) as watchers:
        first = await thread.next("gated_chat", gate, run="a", **TOKENS)
        await gate.reached("a second 2")
        await watchers.says("Alpha beta ")
        second = await thread.next("gated_chat", gate, run="b", multitask_strategy=strategy, **TOKENS)
        assert [ending(await watchers.told(run.run_id)) for run in (first, second)] == ["cancelled", "success"]
        assert watchers.first.ended == [first.run_id, second.run_id]
        watchers.assert_holds(agui_client, await values_of(second))


async def test_three_runs_in_a_row_are_three_runs(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    thread = await thread_of(client)
    async with watching(client, thread.thread_id) as watchers:
        runs = [await thread.next("gated_chat", gate, **TOKENS) for _ in range(3)]
        await watchers.told(runs[-1].run_id)
        assert watchers.first.ended == [run.run_id for run in runs]
        assert [streamed(watchers.first.run(run.run_id)) for run in runs] == [FIRST + SECOND] * 3
        watchers.assert_holds(agui_client, await values_of(thread))


async def test_a_fast_run_is_told_whole(client: LangGraphClient, gate: Gates, agui_client: AguiClient) -> None:
    thread, words = await thread_of(client), 400
    async with watching(client, thread.thread_id) as watchers:
        config = gate.config(words=words)
        run = await client.runs.create(thread.thread_id, "gated_fast", input=asked(), config=config, **TOKENS)
        assert streamed(await watchers.told(run["run_id"])).count("w") == words
        watchers.assert_holds(agui_client, await values_of(thread))


# --- what was there before --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["kept", "not kept"])
async def test_a_run_that_goes_on_is_told_to_its_end_and_then_the_next(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient, how: str
) -> None:
    gate.hold("a first 3")
    going = await started(client, "gated_chat", gate, run="a", **HOW[how])
    await gate.reached("a first 3")
    async with watching(client, going.thread_id) as watchers:
        await watchers.started(going.run_id)
        after = await going.next("gated_chat", gate, run="b", **HOW[how])
        gate.open("*")
        await watchers.told(after.run_id)
        assert watchers.first.ended == [going.run_id, after.run_id]
        assert streamed(watchers.first.run(after.run_id)) == FIRST + SECOND
        watchers.assert_holds(agui_client, await values_of(after))


async def test_a_thread_that_is_made_later_is_told(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    thread_id = "6f1a0000-0000-4000-8000-" + f"{time.time_ns() % 10**12:012d}"
    async with watching(client, thread_id) as watchers:
        with pytest.raises(NotFoundError):
            await client.threads.get(thread_id)
        await client.threads.create(thread_id=thread_id)
        run = await Started(client, thread_id, "").next("gated_chat", gate, **TOKENS)
        assert streamed(await watchers.told(run.run_id)) == FIRST + SECOND
        watchers.assert_holds(agui_client, await values_of(run))


async def test_a_run_that_waits_for_its_time_holds_up_no_other(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    before = await idle(client, gate)
    waiting = await before.next("gated_chat", gate, after_seconds=60)
    async with watching(client, before.thread_id) as watchers:
        await watchers.told(before.run_id)
        run = await before.next("gated_chat", gate, **TOKENS)
        await watchers.told(run.run_id)
        assert watchers.first.ended == [before.run_id, run.run_id]
        await client.runs.cancel(before.thread_id, waiting.run_id)


# --- writing --------------------------------------------------------------------------------------------------------


async def test_writes_to_the_state_are_told_as_runs_of_their_own_between_others(
    client: LangGraphClient, gate: Gates, agui_client: AguiClient
) -> None:
    before = await started(client, "gated_writer", gate)
    await before.end()
    async with watching(client, before.thread_id) as watchers:
        await watchers.told(before.run_id)
        first = await written(before, 7)
        await watchers.told(first)
        run = await before.next("gated_writer", gate, **TOKENS)
        await watchers.told(run.run_id)
        second = await written(before, 9)
        assert ending(await watchers.told(second)) == "success"
        assert watchers.first.ended == [before.run_id, first, run.run_id, second]
        watchers.assert_holds(agui_client, await values_of(run))


async def written(run: Started, count: int) -> str:
    """Somebody writes the state of a run's thread: the id under which that is told."""
    await run.client.threads.update_state(run.thread_id, {"count": count}, as_node="second")
    return f"checkpoint-{(await run.state())['checkpoint_id']}"


# --- silence, and going away ------------------------------------------------------------------------------------------


async def test_between_runs_there_are_heartbeats(client: LangGraphClient, gate: Gates) -> None:
    before = await idle(client, gate)
    async with aclosing(watch_sse(client, before.thread_id, heartbeat=0.05)) as frames:
        while b"RUN_FINISHED" not in await anext(frames):
            pass
        assert [await anext(frames) for _ in range(3)] == [b": heartbeat\n\n"] * 3


async def test_closing_frees_the_connection_at_once(client: LangGraphClient, gate: Gates) -> None:
    before = await idle(client, gate)
    async with watching(Platform(client), before.thread_id) as watchers:
        await watchers.told(before.run_id)
    transport: Any = client.http.client._transport
    assert not [each for each in transport._pool.connections if not each.is_idle()]
