"""Real adapters on canned HTTP, in a graph of one node and in an agent: the client ends with what is stored.

Each stream is told as the live objects it has and as the JSON a server would make of them.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import StructuredTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import STREAM_MODES, Options

from fixtures.providers import provider_models
from fixtures.recordings import part_of, row_of
from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.streams.translator_runs import Event, TranslatorRun, left_open, options_for, view_for

MODELS = provider_models()
QUESTION: Event = {"id": "user-1", "role": "user", "content": "hi"}
TOOLS = {
    "openai-chat-tools": ("weather", "clock"),
    "openai-chat-no-arguments": ("clock",),
    "google-calls": ("weather", "clock"),
    "google-calls-newer": ("weather", "clock"),
    "deepseek-reasoning-tools": ("weather",),
}
"""The tools that a model calls."""
RENAMED = {
    "openai-responses-reasoning-v0",
    "openai-responses-encrypted-v0",
    "openai-responses-silent-v0",
    "openai-responses-server-tools-v0",
}
"""Models that tell the id of their message after they have begun to say it: one snapshot more."""
SHAPES = ("live", "json")


@dataclass
class Case:
    """A stream told to clients that hold the question, and to ones of which nothing is known."""

    values: Any
    renamed: bool
    tellings: dict[tuple[str, str, str], TranslatorRun]
    """By client version, shape of the parts, and what was known."""


def one_node(model: BaseChatModel, names: tuple[str, ...]) -> Any:
    async def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("model", node).add_edge(START, "model").compile()


def agent(model: BaseChatModel, names: tuple[str, ...]) -> Any:
    """An agent that answers once; the canned answer would come again and again."""
    tools = [StructuredTool.from_function(answer, name=name, description="Answers.") for name in names]
    once = ModelCallLimitMiddleware(run_limit=1, exit_behavior="end")
    return create_agent(model, tools, middleware=[once])


def answer(city: str = "", **more: Any) -> str:
    return f"Fine in {city}."


GRAPHS = {"one node": one_node, "agent": agent}


async def told(graph: str, name: str) -> Case:
    tellings = {
        (version, shape, known): TranslatorRun(
            options_for(version), view_for(version, [QUESTION], {}) if known == "known" else None
        )
        for version in VERSIONS
        for shape in SHAPES
        for known in ("known", "unknown")
    }
    values: Any = None
    with MODELS[name]() as model:
        stream = GRAPHS[graph](model, TOOLS.get(name, ())).astream(
            {"messages": [QUESTION]}, stream_mode=STREAM_MODES, subgraphs=True
        )
        async for part in stream:
            as_json = part_of(row_of(part))
            for (_, shape, _), telling in tellings.items():
                telling.feed(part if shape == "live" else as_json)
            if part[1] == "values" and not part[0]:
                values = part[2]
    for telling in tellings.values():
        telling.finish()
    return Case(values, name in RENAMED, tellings)


CASES = [*(("one node", name) for name in MODELS), *(("agent", name) for name in TOOLS)]


@pytest.mark.parametrize(("graph", "name"), CASES)
async def test_an_adapters_stream_leaves_the_stored_messages_with_as_few_snapshots_as_it_can(
    graph: str, name: str, agui_client: AguiClient
) -> None:
    case = await told(graph, name)
    stored = comparable(expected(case.values, Options()).messages)
    for key, telling in case.tellings.items():
        said = agui_client.play(telling.events, version=key[0], messages=[QUESTION])
        assert (key, said.error, said.warnings) == (key, None, [])
        assert (key, left_open(telling.events)) == (key, [])
        assert (key, comparable(said.messages)) == (key, stored)
        assert (key, telling.view.messages) == (key, said.messages)
        snapshots = [event["type"] for event in telling.events].count("MESSAGES_SNAPSHOT")
        assert (key, snapshots) == (key, (key[2] == "unknown") + case.renamed)
