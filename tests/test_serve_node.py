"""Stock clients of both versions run agents over HTTP: what they hold afterwards, without an error or a warning."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app

from fixtures.gated import FIRST, GATED, SECOND

from .agui_client import VERSIONS
from .gates import Gates
from .live_client import LiveClients
from .serving import served

BOTH = pytest.mark.parametrize("version", VERSIONS)


def gated(name: str, gate: Gates, **how: Any) -> Agent:
    """A gated graph, as an agent."""
    return Agent(source=GATED[name](InMemorySaver()), intake=Intake(config=gate.config(), **how))


@BOTH
async def test_an_answer_is_held_as_it_was_said(gate: Gates, live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": gated("gated_chat", gate)})) as server:
        agent = await live.agent(f"{server.url}/chat", version=version)
        ended = await agent.says("hi")
    assert (ended.error, ended.texts) == (None, ["hi", FIRST, SECOND])
