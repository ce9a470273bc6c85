"""Stock clients run every graph there is over HTTP, without an error or a warning, and a client that comes later holds
what the first one does. Each graph has a client of one version, in turn, and in a sweep of both.

One server has them all, each as often as it is run: some of their models remember what they were asked.
"""

import copy
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
import pytest_asyncio
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app

from fixtures import FIXTURES, Fixture
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import LiveClients
from tests.support.servers.serving import Served, served
from tests.support.sweeps import one_each

pytestmark = pytest.mark.asyncio(loop_scope="module")


def questions(fixture: Fixture) -> list[str]:
    """What the user says until an answer is asked for; nothing, where the fixture's input is another."""
    said: list[str] = []
    for turn in fixture.turns:
        messages = turn.input.get("messages") if isinstance(turn.input, dict) and len(turn.input) == 1 else None
        if turn.answer is not None or not isinstance(messages, list) or len(messages) != 1:
            break
        content = messages[0].get("content") if isinstance(messages[0], dict) else None
        if not isinstance(content, str):
            break
        said.append(content)
        if turn.ends == "interrupt":
            break
    return said


ASKED = [fixture for fixture in FIXTURES.values() if questions(fixture)]
SAVED = {each.name for each in ASKED if each.checkpointed and all(turn.ends != "error" for turn in each.turns)}


UNSAVED = {"interrupt_after_speech": ["Shall I really do it?"]}
"""What a node of the root said before its interrupt, by fixture. The client that watched keeps it, as it keeps all
that an interrupt finds displayed; no checkpoint has it until the node returns, so a later client cannot have it."""


def agent_of(fixture: Fixture) -> Agent:
    """The fixture's graph, as an agent."""
    graph = fixture.build(InMemorySaver() if fixture.checkpointed else None)
    return Agent(source=graph, intake=Intake(config=fixture.config))


def kept(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a thread keeps of messages.

    That is no activity, and nothing that a subagent said in a thread of its own; of arguments it is what they say, not
    how it was written. Nor are names compared: no event of a call has its message's. The `error` of a failed tool's
    message is compared in its metadata, which has the same text: no event has the field, only a snapshot has (as in
    `connect/testing/expected.py`).
    """
    root = [each for each in messages if each["role"] != "activity" and "subagentRunId" not in each]
    kept = copy.deepcopy(root)
    for message in kept:
        message.pop("name", None)
        message["content"] = message.get("content") or None
        if message["role"] == "tool" and "error" in message:
            assert message.pop("error") == message["metadata"]["error"]
        for call in message.get("toolCalls", ()):
            with suppress(ValueError):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return kept


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Served]:
    """A server with all that are asked here: some need newer libraries than are at hand."""
    asked = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    fixtures = [fixture for fixture in ASKED if fixture.name in asked]
    agents = {f"{fixture.name}-{each}": agent_of(fixture) for fixture in fixtures for each in VERSIONS}
    async with served(agui_app(agents)) as server:
        yield server


@pytest.mark.parametrize(("name", "version"), one_each([each.name for each in ASKED], VERSIONS, begin=1, of=6))
async def test_a_graph_is_run_without_a_word_and_who_comes_later_holds_the_same(
    server: Served, live: LiveClients, name: str, version: str
) -> None:
    fixture, url = FIXTURES[name], f"{server.url}/{name}-{version}"
    agent = await live.agent(url, version=version)
    ended = [(await agent.says(question)) for question in questions(fixture)]
    expected = ["RUN_ERROR" if turn.ends == "error" else "RUN_FINISHED" for turn in fixture.turns][: len(ended)]
    assert [(each.error, each.kinds[-1]) for each in ended] == [(None, kind) for kind in expected]
    if name in SAVED:
        later = await (await live.agent(url, version=version)).connects()
        watched, unsaved = kept(ended[-1].messages), UNSAVED.get(name, [])
        assert [each["content"] for each in watched if each["content"] in unsaved] == unsaved
        saved = [each for each in watched if each["content"] not in unsaved]
        assert (kept(later.messages), later.state) == (saved, ended[-1].state)
