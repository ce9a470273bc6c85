"""Clients of both versions leave, come back, and share threads: what each of them holds in the end."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app

from fixtures.gated import FIRST, GATED, SECOND
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import LiveClients
from tests.support.servers.gates import Gates
from tests.support.servers.serving import Served, served
from tests.support.streams.chats import asking, counting, failing_once

BOTH = pytest.mark.parametrize("version", VERSIONS)
HALF = "One two three four five "
WHOLE = ["hi", FIRST, SECOND]


def gated(name: str, gate: Gates) -> Agent:
    """A gated graph, as an agent."""
    return Agent(source=GATED[name](InMemorySaver()), intake=Intake(config=gate.config()))


def chat(server: Served) -> str:
    """Where its agent is."""
    return f"{server.url}/chat"


@BOTH
async def test_a_thread_that_is_not_there_is_empty(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        ended = await (await live.agent(chat(server), version=version)).connects()
    assert (ended.error, ended.events, ended.messages) == (None, [], [])


@BOTH
async def test_an_idle_thread_is_told_at_once(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        before = await live.agent(chat(server), version=version)
        ran = await before.says("one")
        after = await (await live.agent(chat(server), version=version)).connects()
    assert (after.messages, after.state) == (ran.messages, ran.state)


@BOTH
async def test_a_client_that_holds_everything_holds_it_once_after_connecting(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        agent = await live.agent(chat(server), version=version)
        await agent.says("one")
        ended = await agent.connects()
    assert ended.texts == ["one", "1: one"]


@BOTH
async def test_an_interrupted_thread_tells_what_it_waits_for(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        asked = await (await live.agent(chat(server), version=version)).says("go")
        ended = await (await live.agent(chat(server), version=version)).connects()
    assert ended.interrupts == asked.interrupts != []


@BOTH
async def test_a_run_that_failed_is_told_as_one(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": failing_once()})) as server:
        await (await live.agent(chat(server), version=version)).says("one")
        ended = await (await live.agent(chat(server), version=version)).connects()
    assert (ended.error, ended.kinds[-1], ended.texts[0]) == (None, "RUN_ERROR", "one")
    assert [message["role"] for message in ended.messages] == ["user", "activity"]


@BOTH
async def test_one_runs_another_connects_and_both_end_with_the_same(
    gate: Gates, live: LiveClients, version: str
) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        one = await live.agent(chat(server), version=version)
        running = one.says("hi")
        await one.shows(HALF)
        other = await live.agent(chat(server), version=version)
        following = other.connects()
        await other.shows(HALF)
        gate.open("first 5")
        assert (await following).messages == (await running).messages


@BOTH
async def test_a_run_goes_on_when_its_client_aborts(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        agent = await live.agent(chat(server), version=version)
        running = agent.says("hi")
        await agent.shows(HALF)
        await agent.aborts()
        aborted = await running
        following = agent.connects()
        gate.open("first 5")
        assert (aborted.error, aborted.texts, (await following).texts) == (None, ["hi", HALF], WHOLE)


@BOTH
async def test_a_connection_is_aborted_and_made_again(gate: Gates, live: LiveClients, version: str) -> None:
    gate.hold("first 5", "second 2")
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        one = await live.agent(chat(server), version=version)
        running = one.says("hi")
        other = await live.agent(chat(server), version=version)
        await one.shows(HALF)
        first = other.connects()
        await other.shows(HALF)
        await other.aborts()
        left = await first
        gate.open("first 5")
        await gate.reached("second 2")
        again = other.connects()
        await other.shows("Alpha beta ")
        gate.open("second 2")
        assert (left.texts, (await again).messages) == (["hi", HALF], (await running).messages)


@BOTH
async def test_the_next_turn_begins_where_a_connection_ended(gate: Gates, live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        await (await live.agent(chat(server), version=version)).says("hi")
        agent = await live.agent(chat(server), version=version)
        await agent.connects()
        ended = await agent.says("again")
    assert ended.texts == [*WHOLE, "again", FIRST, SECOND]


async def test_a_run_that_is_stopped_ends_for_everybody(gate: Gates, live: LiveClients) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        one = await live.agent(chat(server))
        running = one.says("hi")
        await one.shows(HALF)
        other = await live.agent(chat(server))
        following = other.connects()
        await other.shows(HALF)
        await other.calls("stop")
        ends = [(await each).last for each in (running, following)]
    assert [end["outcome"] for end in ends] == [{"type": "cancelled"}] * 2


async def test_after_a_stop_an_older_client_goes_on(gate: Gates, live: LiveClients) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        agent = await live.agent(chat(server), version=VERSIONS[1])
        running = agent.says("hi")
        await agent.shows(HALF)
        await agent.calls("stop")
        stopped = await running
        gate.open("first 5")
        ended = await agent.says("again")
    assert (stopped.error, stopped.last["type"]) == (None, "RUN_ERROR")
    assert (ended.error, ended.texts[-2:]) == (None, [FIRST, SECOND])


@BOTH
async def test_where_nothing_runs_a_stop_is_no_error(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        ended = await (await live.agent(chat(server), version=version)).calls("stop")
    assert ended.error is None


async def test_clients_of_both_versions_share_a_thread(live: LiveClients) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        newer = await live.agent(chat(server), version=VERSIONS[0])
        older = await live.agent(chat(server), version=VERSIONS[1])
        await newer.says("one")
        await older.connects()
        await older.says("two")
        ended = await newer.connects()
    assert ended.texts == ["one", "1: one", "two", "2: two"]


async def test_an_event_source_sees_runs_come_and_go(gate: Gates, live: LiveClients) -> None:
    gate.hold("first 5")
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        agent = await live.agent(chat(server))
        running = agent.says("hi")
        await agent.shows(HALF)
        watch = await live.watch(f"{server.url}/watch/t")
        [snapshot] = [event for event in await watch.seen("TEXT_MESSAGE_START") if event["type"] == "MESSAGES_SNAPSHOT"]
        gate.open("first 5")
        await running
        await agent.says("again")
        events = await watch.seen("RUN_FINISHED", times=2)
    said = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert [message["content"] for message in snapshot["messages"]] == ["hi", HALF]
    assert said == f"{FIRST.removeprefix(HALF)}{SECOND}again{FIRST}{SECOND}"


async def test_an_event_source_may_wait_for_a_threads_first_run(live: LiveClients) -> None:
    async with served(agui_app({"chat": counting()})) as server:
        watch = await live.watch(f"{server.url}/watch/t")
        await (await live.agent(chat(server))).says("one")
        events = await watch.seen("RUN_FINISHED")
    assert "1: one" in [event.get("delta") for event in events]
