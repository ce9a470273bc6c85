"""Answers of pages that send back what they were shown: a graph that says what it does not save runs once, however its
questions are answered. Real clients over HTTP, graphs of this process and of servers."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END
from langgraph_agui.connect import Intake, Platform
from langgraph_agui.connect.serve import Agent, agui_app

from fixtures.gated import FIRST, GATED, SECOND
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import Ended, LiveAgent, LiveClients
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.serving import served

ONCE = ["plan", "check", "write"]
GRAPHS = ("gated_planning", "gated_planning_chat", "gated_planning_topic")
"""Without messages; with them; with messages that its input does not take."""
TAKES = "gated_planning_chat"


@dataclass
class Page:
    """Clients of one thread of one graph."""

    live: LiveClients
    url: str
    thread_id: str
    values: Any
    """Reads what the thread has."""

    async def opened(self, version: str = VERSIONS[0]) -> LiveAgent:
        """A client that holds nothing."""
        return await self.live.agent(self.url, self.thread_id, version=version)

    async def ran(self) -> list[str]:
        """The nodes that have run."""
        ran: list[str] = (await self.values()).get("ran", [])
        return ran

    async def said(self) -> list[str]:
        """What the thread has of a conversation."""
        messages = (await self.values()).get("messages", [])
        return [message["content"] if isinstance(message, Mapping) else message.content for message in messages]


@asynccontextmanager
async def here(name: str, gate: Gates, live: LiveClients, begun: Any = None, **choices: Any) -> AsyncIterator[Page]:
    """A page of a graph of this process. `begun`: what its owner has written into the thread."""
    graph, thread_id = GATED[name](InMemorySaver()), str(uuid4())
    if begun is not None:
        await graph.aupdate_state({"configurable": {"thread_id": thread_id}}, begun, as_node="plan")
        await graph.aupdate_state({"configurable": {"thread_id": thread_id}}, None, as_node=END)

    async def values() -> Any:
        return (await graph.aget_state({"configurable": {"thread_id": thread_id}})).values

    async with served(agui_app({"a": Agent(graph, intake=Intake(config=gate.config(), **choices))})) as server:
        yield Page(live, f"{server.url}/a", thread_id, values)


@asynccontextmanager
async def there(name: str, gate: Gates, live: LiveClients, backend: Backend, **choices: Any) -> AsyncIterator[Page]:
    """A page of a graph of a server."""
    thread_id = str(uuid4())
    async with backend.client() as client:

        async def values() -> Any:
            return (await client.threads.get_state(thread_id))["values"]

        agent = Agent(Platform(client, name), intake=Intake(config=gate.config(), **choices))
        async with served(agui_app({"a": agent})) as server:
            yield Page(live, f"{server.url}/a", thread_id, values)


def user(text: str) -> dict[str, Any]:
    return {"id": f"user-{text}", "role": "user", "content": text}


def answering(ended: Ended, answer: str = "yes") -> list[dict[str, Any]]:
    return [{"interruptId": each["id"], "status": "resolved", "payload": answer} for each in ended.interrupts]


async def is_answered_once(page: Page, name: str, version: str) -> None:
    """Two questions in a row, of which the first is asked after an unsaved text; then nothing new."""
    agent = await page.opened(version)
    first = await agent.runs(user("topic"))
    assert FIRST in first.texts
    second = await agent.answers("yes")
    assert (second.kinds.count("RUN_STARTED"), len(second.interrupts)) == (1, 1)
    third = await agent.answers("yes")
    assert (third.kinds.count("RUN_STARTED"), third.interrupts) == (1, [])
    assert "".join(each["delta"] for each in third.events if each["type"] == "TEXT_MESSAGE_CONTENT") == SECOND
    assert (SECOND in third.texts) == (name != "gated_planning")  # which keeps no messages
    assert await page.ran() == ONCE
    assert await page.said() == {TAKES: ["topic", SECOND], "gated_planning": []}.get(name, [SECOND])


async def is_answered_in_two_tabs(page: Page) -> None:
    """Both answer the same question; the later one after a reload too."""
    first, second = await page.opened(), await page.opened()
    asked = await first.runs(user("topic"))
    held = await second.connects()
    assert len(held.interrupts) == 1
    await first.runs(resume=answering(asked))
    late = await second.runs(*(each for each in asked.messages if each["role"] == "user"), resume=answering(held))
    assert len(late.interrupts) == 1
    reloaded = await page.opened()
    await reloaded.connects()
    ended = await reloaded.answers("yes")
    again = await second.runs(resume=answering(late))
    assert (ended.interrupts, again.interrupts, await page.ran()) == ([], [], ONCE)
    assert FIRST not in await page.said()


async def is_answered_with_a_message(page: Page, name: str) -> None:
    """The message runs after the answers, if the graph takes it; it waits for both."""
    agent = await page.opened()
    asked = await agent.runs(user("topic"))
    second = await agent.runs(user("more"), resume=answering(asked))
    assert len(second.interrupts) == 1
    third = await agent.runs(resume=answering(second))
    if name != TAKES:
        assert (third.interrupts, await page.ran()) == ([], ONCE)
        return
    assert (len(third.interrupts), await page.ran()) == (1, ONCE)
    await agent.answers("yes")
    ended = await agent.answers("yes")
    assert (ended.interrupts, await page.ran()) == ([], [*ONCE, *ONCE])
    assert await page.said() == ["topic", SECOND, "more", SECOND]


@pytest.mark.parametrize("name", GRAPHS)
async def test_a_graph_runs_once_whatever_a_page_sends_back(name: str, gate: Gates, live: LiveClients) -> None:
    for version in VERSIONS:
        async with here(name, gate, live) as page:
            await is_answered_once(page, name, version)
    async with here(name, gate, live) as page:
        await is_answered_in_two_tabs(page)
    async with here(name, gate, live) as page:
        await is_answered_with_a_message(page, name)


@pytest.mark.parametrize("name", GRAPHS)
async def test_a_graph_of_a_server_runs_once_whatever_a_page_sends_back(
    name: str, gate: Gates, backend: Backend, live: LiveClients
) -> None:
    async with there(name, gate, live, backend) as page:
        await is_answered_once(page, name, VERSIONS[0])
    async with there(name, gate, live, backend) as page:
        await is_answered_in_two_tabs(page)
    async with there(name, gate, live, backend) as page:
        await is_answered_with_a_message(page, name)


@pytest.mark.parametrize("choices", [{"shortened": "fork"}, {"busy": "queue"}, {"busy": "cancel"}])
async def test_it_runs_once_whatever_its_owner_chose(choices: dict[str, Any], gate: Gates, live: LiveClients) -> None:
    for name in GRAPHS:
        async with here(name, gate, live, **choices) as page:
            await is_answered_once(page, name, VERSIONS[0])
        async with here(name, gate, live, **choices) as page:
            await is_answered_in_two_tabs(page)


async def test_a_request_that_comes_twice_runs_a_graph_without_messages_once(gate: Gates, live: LiveClients) -> None:
    async with here("gated_planning", gate, live) as page:
        agent = await page.opened()
        first = await agent.runs(user("topic"))
        second = await agent.runs(resume=answering(first))
        ended = await agent.runs(resume=answering(second), runId="same")
        again = await agent.runs(runId="same")
        assert (ended.interrupts, again.interrupts, await page.ran()) == ([], [], ONCE)


async def test_what_was_shown_is_not_written_into_a_thread_that_has_no_messages(gate: Gates, live: LiveClients) -> None:
    """What an assistant said is taken by a new thread alone."""
    brought = [user("before"), {"id": "a", "role": "assistant", "content": "brought"}]
    async with here("gated_planning_chat", gate, live) as page:
        agent = await page.opened()
        ended = await agent.runs(*brought, user("topic"))
        assert (await page.said(), len(ended.interrupts)) == (["before", "brought", "topic"], 1)
    async with here("gated_planning_chat", gate, live, begun={"ran": []}) as page:
        agent = await page.opened()
        await agent.runs(user("before"), {"id": "a", "role": "assistant", "content": "shown"}, user("topic"))
        assert await page.said() == ["topic"]
