"""An agent that stays on its thread (`watch` in clients/typescript): what an open page shows, moment by moment."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Platform, RetryPolicy
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.translator import PLATFORM_STREAM_MODES
from langgraph_sdk import get_client

from fixtures.gated import FIRST, GATED, SECOND
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import LiveAgent, LiveClients
from tests.support.servers.gates import Gates, asked
from tests.support.servers.proxy import Way, proxied
from tests.support.servers.serving import Served, served
from tests.support.streams.chats import ON, asking, counting

BOTH = pytest.mark.parametrize("version", VERSIONS)
HALF = "One two three four five "
WHOLE = ["hi", FIRST, SECOND]


def gated(gate: Gates) -> Agent:
    """The gated chat, as an agent."""
    return Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))


async def page(live: LiveClients, url: str, version: str, **given: Any) -> LiveAgent:
    """A page that was loaded, and has its thread."""
    agent = await live.agent(f"{url}/chat", version=version, **given)
    await agent.stays()
    await agent.until(connection="live")
    return agent


@BOTH
async def test_a_page_shows_the_run_of_another_while_it_runs(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated(gate)})) as server:
        one, other = await page(live, server.url, version), await page(live, server.url, version)
        running = one.calls("send", "hi")
        await other.until(texts=["hi", HALF], running=True)
        gate.open("first 5")
        ended = await running
        shown = await other.until(texts=WHOLE, running=False)
        assert shown.messages == ended.messages


@BOTH
async def test_its_own_run_is_read_once(gate: Gates, live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": gated(gate)})) as server:
        one, other = await page(live, server.url, version), await page(live, server.url, version)
        own = await one.calls("send", "hi")
        await other.until(texts=WHOLE, running=False)
        await other.calls("send", "again")  # until the report of this one has come, that of the own run has too
        shown = await one.until(texts=[*WHOLE, "again", FIRST, SECOND], running=False)
    assert own.texts == WHOLE
    assert len(shown.starts) == 3  # it was loaded, it ran, it connected to the other's run


@BOTH
async def test_a_page_that_is_loaded_in_mid_run_shows_it(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated(gate)})) as server:
        running = (await live.agent(f"{server.url}/chat", version=version)).says("hi")
        await gate.reached("first 5")
        loaded = await live.agent(f"{server.url}/chat", version=version)
        await loaded.stays()
        await loaded.until(texts=["hi", HALF], running=True, connection="live")
        gate.open("first 5")
        assert (await loaded.until(running=False)).messages == (await running).messages


@BOTH
async def test_runs_of_nobody_and_changes_appear(live: LiveClients, version: str) -> None:
    graph = counting()
    async with served(agui_app({"chat": graph})) as server:
        shown = await page(live, server.url, version)
        await graph.ainvoke({"messages": [("human", "by a cron")]}, ON)
        await shown.until(texts=["by a cron", "1: by a cron"], running=False)
        await graph.aupdate_state(ON, {"messages": [("ai", "by hand")]})
        await shown.until(texts=["by a cron", "1: by a cron", "by hand"], running=False)


@BOTH
async def test_a_question_that_another_answers_disappears(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        one, other = await page(live, server.url, version), await page(live, server.url, version)
        await one.calls("send", "go")
        await other.until(interrupts=1, running=False)
        await other.calls("answer", "yes")
        await one.until(interrupts=0, texts=["go", "really? yes"], running=False)


@asynccontextmanager
async def behind(server: Served) -> AsyncIterator[Way]:
    async with proxied(server.url) as way:
        yield way


@BOTH
async def test_a_lost_connection_is_said_and_made_up_for(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("second 2")
    async with served(agui_app({"chat": gated(gate)})) as server, behind(server) as way:
        shown = await page(live, way.url, version)
        one = await live.agent(f"{server.url}/chat", version=version)
        running = one.says("hi")
        await shown.until(texts=["hi", FIRST, "Alpha beta "])
        way.close()
        await shown.until(connection="lost", running=False)
        gate.open("second 2")
        ended = await running
        await one.says("again")
        for _ in range(2):
            way.refused.clear()
            await way.refused.wait()
        way.open()
        await shown.retries()
        back = await shown.until(connection="live", caughtUp=4, running=False)
        assert (back.messages[: len(ended.messages)], len(back.texts)) == (ended.messages, 6)
        assert len(back.starts) == 3  # it was loaded, it connected to the run, and again at its return
        way.cut()
        await shown.until(connection="lost")
        await shown.retries()
        idle = await shown.until(connection="live", caughtUp=0)
    assert idle.starts == back.starts  # nothing had happened: it did not connect
    assert all(each["connection"] != "lost" or "error" in each for each in back.states)


@BOTH
async def test_an_own_run_whose_connection_is_lost_goes_on(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("first 5", "second 2")
    async with served(agui_app({"chat": gated(gate)})) as server, behind(server) as way:
        shown = await page(live, way.url, version)
        running = shown.calls("send", "hi")
        await shown.shows(HALF)
        way.cut()
        assert (await running).error is not None
        gate.open("first 5")
        await shown.until(connection="live", running=True, texts=["hi", FIRST, "Alpha beta "])
        gate.open("second 2")
        await shown.until(texts=WHOLE, running=False)


@BOTH
async def test_a_thread_that_is_refused_waits_for_the_user(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        shown = await live.agent(f"{server.url}/nobody", version=version)
        await shown.stays()
        refused = await shown.until(connection="refused")
        await shown.retries()
        again = await shown.until(connection="refused", running=False)
    assert "unknown_agent" in refused.states[-1]["error"]
    states = [state for state, _ in groupby(each["connection"] for each in again.states)]
    assert states[-5:] == ["connecting", "refused", "lost", "connecting", "refused"]


@BOTH
async def test_a_page_that_leaves_reads_nothing_more(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated(gate)})) as server:
        shown = await page(live, server.url, version)
        running = (await live.agent(f"{server.url}/chat", version=version)).says("hi")
        await shown.shows(HALF)
        await shown.leaves()
        left = await shown.until(running=False)
        gate.open("first 5")
        await running
    assert left.texts == ["hi", HALF]


@BOTH
async def test_a_message_that_is_sent_while_another_run_is_read(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("first 5")
    agent = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config(), busy="queue"))
    async with served(agui_app({"chat": agent})) as server:
        shown = await page(live, server.url, version)
        first = (await live.agent(f"{server.url}/chat", version=version)).says("hi")
        await shown.shows(HALF)
        own = shown.calls("send", "again")
        gate.open("first 5")
        await first
        ended = await own
        idle = await shown.until(running=False)
    assert (ended.error, ended.texts) == (None, [*WHOLE, "again", FIRST, SECOND])
    assert {each["connection"] for each in idle.states} == {"connecting", "live"}


@BOTH
async def test_a_message_that_is_refused_leaves_the_page_on_the_active_run(
    gate: Gates, live: LiveClients, version: str
) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated(gate)})) as server:
        shown = await page(live, server.url, version)
        running = (await live.agent(f"{server.url}/chat", version=version)).says("hi")
        await shown.shows(HALF)
        assert (await shown.calls("send", "again")).status == 409
        gate.open("first 5")
        await running
        ended = await shown.until(running=False, texts=WHOLE)
    assert ended.connection == "live"


async def test_a_page_shows_that_the_langgraph_server_is_lost_and_is_exact_when_it_is_back(
    dev_server: str, gate: Gates, live: LiveClients
) -> None:
    """The app that it reads stays, and tries again by itself."""
    thread_id = str(uuid4())
    async with proxied(dev_server) as way, get_client(url=way.url) as platform, get_client(url=dev_server) as direct:
        retry = RetryPolicy(initial_delay=0.01, max_delay=0.05)
        chat = Agent(source=Platform(platform, "gated_chat"), intake=Intake(config=gate.config()), retry=retry)
        async with served(agui_app({"chat": chat})) as server:
            shown = await live.agent(f"{server.url}/chat", thread_id)
            await shown.stays()
            await shown.until(connection="live")
            await shown.calls("send", "hi")
            way.close()
            await shown.until(connection="lost")
            await direct.runs.wait(thread_id, "gated_chat", input=asked("at nine"), config=gate.config())
            way.open()
            await shown.until(connection="live", texts=[*WHOLE, "at nine", FIRST, SECOND], running=False)


async def test_runs_of_a_langgraph_server_appear_and_own_ones_are_read_once(
    dev_server: str, gate: Gates, live: LiveClients
) -> None:
    thread_id = str(uuid4())
    async with get_client(url=dev_server) as platform:
        chat = Agent(source=Platform(platform, "gated_chat"), intake=Intake(config=gate.config()))
        async with served(agui_app({"chat": chat})) as server:
            shown = await live.agent(f"{server.url}/chat", thread_id)
            await shown.stays()
            await shown.until(connection="live")
            await shown.calls("send", "hi")
            gate.hold("first 5")
            cron = await platform.runs.create(
                thread_id,
                "gated_chat",
                input=asked("at nine"),
                config=gate.config(),
                stream_mode=PLATFORM_STREAM_MODES,
                stream_resumable=True,
            )
            await shown.until(texts=[*WHOLE, "at nine", HALF], running=True)
            gate.open("first 5")
            await platform.runs.join(thread_id, cron["run_id"])
            ended = await shown.until(texts=[*WHOLE, "at nine", FIRST, SECOND], running=False)
    assert len(ended.starts) == 3  # it was loaded, it ran, it connected to the server's run
