"""Structured output is no conversation: with real adapters on canned HTTP, in runs that we start."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, StructuredOutputMarker
from langgraph_agui.connect.testing import ScriptedChatModel, reasoning, tool_call
from langgraph_agui.translator import STREAM_MODES, Options
from pydantic import BaseModel, Field

from fixtures.providers.structured import JSON, MODELS, TEXT
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat, Event
from tests.support.streams.chats import Graph
from tests.support.sweeps import one_each

ANSWER = "".join(TEXT)
METHODS = ["json_schema", "function_calling", "json_mode"]
SPEECH = ("TEXT_", "TOOL_", "REASONING_", "ACTIVITY_")


class Route(BaseModel):
    """Where to."""

    to: str
    why: str


class Routed(MessagesState):
    to: str


class Bindable(ScriptedChatModel):
    """Keeps what is bound to it among its invocation parameters, as the models of providers do."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """With the names of the tools."""
        return self.bind(tools=[getattr(each, "name", str(each)) for each in tools], **kwargs)


@tool
def look(city: str) -> str:
    """Looks."""
    return "Fine."


RESPONSE_FORMAT: Any = ProviderStrategy(Route).to_model_kwargs()["response_format"]
BOUND = {"google": {"response_mime_type": "application/json", "response_json_schema": Route.model_json_schema()}}


def routing(model: BaseChatModel, method: str, bound: dict[str, Any]) -> Graph:
    """Routes in a node and in a subgraph, then answers."""

    async def route(state: Routed) -> dict[str, Any]:
        if method == "bound":
            said = await model.bind(**bound).ainvoke(state["messages"])
            return {"to": Route.model_validate_json(said.text).to}
        found: Any = await model.with_structured_output(Route, method=method).ainvoke(state["messages"])
        return {"to": found.to}

    async def answer(state: Routed) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    below = StateGraph(Routed).add_node("inner", route).add_edge(START, "inner").compile()
    graph = StateGraph(Routed).add_node("route", route).add_node("below", below).add_node("answer", answer)
    graph.add_edge(START, "route").add_edge("route", "below").add_edge("below", "answer")
    return graph.compile(InMemorySaver())


def one_node(node: Any) -> Graph:
    return StateGraph(Routed).add_node("route", node).add_edge(START, "route").compile(InMemorySaver())


def spoken(events: list[Event]) -> list[str]:
    """The types of the events of messages."""
    return [event["type"] for event in events if event["type"].startswith(SPEECH)]


@pytest.mark.parametrize(("provider", "method"), one_each(MODELS, [*METHODS, "bound"]))
@pytest.mark.filterwarnings("ignore:Pydantic serializer", "ignore:Cannot use method", "ignore:Unrecognized struct")
async def test_a_router_is_silent_and_an_answer_streams(provider: str, method: str, agui_client: AguiClient) -> None:
    bound = BOUND.get(provider, {"response_format": RESPONSE_FORMAT})
    with MODELS[provider]() as model:
        chat = Chat(agui_client, Local(routing(model, method, bound)))
        events = await chat.says("Go.")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert spoken(events) == ["TEXT_MESSAGE_START", *["TEXT_MESSAGE_CONTENT"] * len(TEXT), "TEXT_MESSAGE_END"]
    assert chat.texts == ["Go.", ANSWER]


class Serializable(ScriptedChatModel):
    """A model that callbacks get with its fields, as they get those of most providers."""

    model_kwargs: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True


async def test_a_model_that_was_made_for_json_is_silent(agui_client: AguiClient) -> None:
    """The format is a field of the model, and not among the invocation parameters."""
    with MODELS["google"]() as google:
        made = [
            google.model_copy(update={"response_mime_type": "application/json"}),
            Serializable(turns=[JSON], model_kwargs={"response_format": {"type": "json_object"}}),
        ]

        async def route(state: Routed) -> dict[str, Any]:
            return {"to": [(await model.ainvoke(state["messages"])).text for model in made][-1]}

        chat = Chat(agui_client, Local(one_node(route)))
        events = await chat.says("Go.")
    assert (events[-1]["type"], chat.state["to"], spoken(events)) == ("RUN_FINISHED", JSON, [])


async def test_a_format_that_is_bound_counts_instead_of_that_of_the_model(agui_client: AguiClient) -> None:
    model = Serializable(turns=["Hi."], model_kwargs={"response_format": {"type": "json_object"}})

    async def say(state: Routed) -> dict[str, Any]:
        return {"messages": [await model.bind(response_format={"type": "text"}).ainvoke(state["messages"])]}

    events = await Chat(agui_client, Local(one_node(say))).says("Go.")
    assert spoken(events) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]


@pytest.mark.parametrize("whole", [False, True])
async def test_what_the_graph_saves_comes_once_and_whole(whole: bool, agui_client: AguiClient) -> None:
    model = Bindable(turns=[[reasoning("Hm, let me"), JSON]], disable_streaming=whole)

    async def route(state: Routed) -> dict[str, Any]:
        return {"messages": [await model.bind(response_format=RESPONSE_FORMAT).ainvoke(state["messages"])]}

    chat = Chat(agui_client, Local(one_node(route)))
    events = await chat.says("Go.")
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == [JSON]
    assert chat.texts == ["Go.", JSON]


async def test_an_agent_with_an_output_schema_thinks_and_calls_tools_in_view(agui_client: AguiClient) -> None:
    """Its text is structured, and nothing else is; all is saved, and comes with the values."""
    model = Bindable(turns=[[reasoning("Let me see."), tool_call("look", {"city": "Paris"})], JSON])
    agent = create_agent(model, [look], response_format=ProviderStrategy(Route), checkpointer=InMemorySaver())
    chat = Chat(agui_client, Local(agent))
    events = await chat.says("Go.")
    types = [event["type"] for event in events]
    assert types.index("REASONING_MESSAGE_CONTENT") < types.index("TOOL_CALL_START") < types.index("TOOL_CALL_RESULT")
    assert types.count("REASONING_MESSAGE_CONTENT") == 3
    assert types.count("TOOL_CALL_ARGS") == 3
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == [JSON]
    assert [each["role"] for each in chat.messages] == ["user", "reasoning", "assistant", "tool", "assistant"]


SHOWN = {
    "the option says stream": {"options": Options(visibility={"route": "stream"})},
    "the call says stream": {"mark": "stream"},
    "nothing is marked": {"intake": Intake(mark_structured_output=False)},
    "tool is what the default is": {"options": Options(visibility={"route": "tool"}), "shown": False},
    "by default": {"shown": False},
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("case", SHOWN.values(), ids=SHOWN)
async def test_what_is_shown_can_be_chosen(case: dict[str, Any], whole: bool, agui_client: AguiClient) -> None:
    case = {"shown": True, "mark": None, **case}
    config: Any = {"metadata": {"agui_visibility": case["mark"]}} if case["mark"] else {}

    async def route(state: Routed) -> dict[str, Any]:
        model = Bindable(turns=[JSON], disable_streaming=whole).bind(response_format=RESPONSE_FORMAT)
        return {"to": str(await model.with_config(config).ainvoke(state["messages"]))}

    how = {name: case[name] for name in ("options", "intake") if name in case}
    chat = Chat(agui_client, Local(one_node(route)), **how)
    events = await chat.says("Go.")
    assert bool(spoken(events)) is case["shown"]
    assert chat.texts == ["Go."]


@pytest.mark.parametrize("compiled", [True, False])
async def test_a_graph_that_is_streamed_by_hand_is_marked_part_by_part(compiled: bool) -> None:
    """The mark is in each part of a call, and every call has one: a recording of them says all."""
    model = Bindable(turns=[JSON])
    forced = model.bind_tools([look], tool_choice="any")
    asked = {
        "text": model.bind(response_format=RESPONSE_FORMAT),
        "call": model.bind(ls_structured_output_format={"kwargs": {"method": "json_mode"}, "schema": {"title": "R"}}),
        "none": forced,
    }

    async def route(state: Routed) -> dict[str, Any]:
        for expected, bound in asked.items():
            await bound.with_config(metadata={"expected": expected}).ainvoke(state["messages"])
        await model.bind(response_format={"type": "text"}).with_config(metadata={"expected": "none"}).ainvoke("hi")
        await model.with_config(metadata={"expected": "mine", "agui_structured": "mine"}).ainvoke("hi")
        return {"to": "x"}

    marker: Any = {"callbacks": [StructuredOutputMarker()], "configurable": {"thread_id": "t"}}
    graph: Any = one_node(route).with_config(callbacks=marker.pop("callbacks")) if compiled else one_node(route)
    marks = []
    async for mode, data in graph.astream({"messages": ["hi"]}, marker, stream_mode=STREAM_MODES):
        if mode == "messages" and data[0].type == "AIMessageChunk":
            marks.append((data[1]["expected"], data[1].get("agui_structured")))
    assert {expected for expected, _ in marks} == {"text", "call", "none", "mine"}
    assert all(expected == mark for expected, mark in marks)
