"""Inputs to a platform while runs go on there: what is told while it comes, a second input for a thread, clients that
go away, and the ids under which runs are told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from langgraph_agui.connect import Intake, Platform, cancel, connect, run_sse, watch
from langgraph_agui.connect import run as run_input

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.platform.chats import Asker, Room, asking, room
from tests.support.clients.reader_clients import ReaderClient, assert_holds
from tests.support.servers.platforms.backend import Backend, not_on

BOTH = [FIRST, SECOND]


@pytest.fixture
async def here(backend: Backend) -> AsyncIterator[Room]:
    async with room(backend) as here:
        yield here


async def held(here: Room, **choices: Any) -> Asker:
    """A run in the middle of its second message, and who asked for it."""
    here.gate.hold("a second 2")
    first = here.asks("gated_chat", asking("hello", "first"), intake=here.intake(run="a", **choices))
    await here.gate.reached("a second 2")
    return first


def second(here: Room, first: Asker, run_id: str = "second", **choices: Any) -> Asker:
    """Another input for the same thread."""
    given = asking("again", run_id, thread_id=first.thread_id)
    return here.asks("gated_chat", given, intake=here.intake(run="b", **choices))


# --- what is told, and when -------------------------------------------------------------------------------------------


async def test_a_word_is_told_while_the_run_goes_on(here: Room, agui_client: AguiClient) -> None:
    here.gate.hold("first 3")
    asker = here.asks("gated_chat", asking("hello", "r"))
    await asker.sees("One two three ")
    assert "first 4" not in here.gate.passed
    here.gate.open("*")
    await asker.over()
    assert (asker.run_ids, asker.ends, asker.cut) == (["r"], ["success"], [])
    assert_holds(agui_client, asker, await here.values(asker.thread_id))


async def test_a_run_that_failed_is_tried_again_where_it_failed(here: Room) -> None:
    first = await here.asks("gated_raising", asking("hello", "r")).over()
    sent = {**first.given.model_dump(by_alias=True), "runId": "again", "messages": first.view.messages}
    again = RunAgentInput.model_validate(sent)
    await here.asks("gated_raising", again).over()
    counts = [here.gate.passed.count(f"{point} 0") for point in ("first", "second")]
    assert (first.ends, counts) == (["ValueError"], [1, 2])


# --- a second input ---------------------------------------------------------------------------------------------------


async def test_a_queued_run_is_waited_for_with_heartbeats(here: Room) -> None:
    first = await held(here)
    given = asking("again", "second", thread_id=first.thread_id)
    how: Any = {"intake": here.intake(run="b", busy="queue"), "heartbeat": 0.05}
    async with aclosing(run_sse(Platform(here.client, "gated_chat"), given, **how)) as frames:
        async for frame in frames:
            if frame == b": heartbeat\n\n":
                break
    assert "b first 0" not in here.gate.passed


@not_on(aegra="has no queue")
async def test_a_queued_run_happens_though_nobody_reads_any_more(here: Room) -> None:
    first = await held(here)
    queued = second(here, first, busy="queue")
    await queued.told("RUN_STARTED")
    await queued.leave()
    here.gate.hold("b second over")
    here.gate.open("a *")
    await here.gate.reached("b second over")
    assert await here.statuses(first.thread_id) == ["success", "running"]


# --- clients that go away ---------------------------------------------------------------------------------------------


# --- ids --------------------------------------------------------------------------------------------------------------


async def test_a_run_is_stopped_by_the_id_that_the_platform_has(here: Room) -> None:
    first = await held(here)
    await cancel(here.client, first.thread_id, (await here.client.runs.list(first.thread_id))[0]["run_id"])
    assert (await first.over()).end == "cancelled"


@pytest.mark.parametrize("run_id", [None, "first"])
async def test_who_connects_is_told_the_run_under_its_clients_id(here: Room, run_id: str | None) -> None:
    first = await held(here)
    guest = ReaderClient("1.0.0", None)
    async with aclosing(connect(here.client, first.thread_id, run_id=run_id)) as told:
        hearing = asyncio.create_task(guest.hear(told))
        await guest.sees(FIRST)
        here.gate.open("*")
        await asyncio.gather(guest.over(), first.over())
        await hearing
    assert (guest.run_ids, guest.ends) == (["first"], ["success"])


async def test_who_connects_later_is_told_the_run_under_its_clients_id(here: Room) -> None:
    first = await here.asks("gated_chat", asking("hello", "first")).over()
    guest = ReaderClient("1.0.0", None)
    await guest.hear(connect(here.client, first.thread_id))
    assert (guest.run_ids, guest.texts) == (["first"], BOTH)


async def test_who_watches_is_told_each_run_under_its_clients_id(here: Room) -> None:
    first = await here.asks("gated_chat", asking("hello", "first")).over()
    guest = ReaderClient("1.0.0", None)
    async with aclosing(watch(here.client, first.thread_id, poll=0.1)) as told:
        hearing = asyncio.create_task(guest.hear(told))
        await guest.told("RUN_FINISHED")
        await here.asks("gated_chat", asking("again", "second", thread_id=first.thread_id)).over()
        await guest.sees(lambda view: view.run_id == "second" and view.terminal is not None)
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
    assert guest.run_ids == ["first", "second"]


# --- what can't be run ------------------------------------------------------------------------------------------------


async def told_of(source: Platform, **given: Any) -> dict[str, Any]:
    """The only event of a run that can't be."""
    [event] = [event async for event in run_input(source, asking("hello", "r", **given), intake=Intake())]
    return event.model_dump(mode="json", by_alias=True)


async def test_a_platform_without_an_assistant_runs_nothing(here: Room) -> None:
    told = await told_of(Platform(here.client))
    assert (told["type"], told["code"], "assistant_id" in told["message"]) == ("RUN_ERROR", "invalid_input", True)


async def test_an_assistant_that_is_not_there_runs_nothing(here: Room) -> None:
    told = await told_of(Platform(here.client, "nobody"))
    assert (told["type"], told["code"]) == ("RUN_ERROR", "not_found")


@not_on(aegra="takes every thread id")
async def test_a_thread_id_that_the_server_does_not_take_is_told_so(here: Room) -> None:
    told = await told_of(Platform(here.client, "gated_chat"), thread_id="my-thread")
    assert (told["code"], told["message"]) == ("invalid", "Invalid thread ID: must be a UUID")
