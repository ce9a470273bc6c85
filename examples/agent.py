"""A day planner as one would write it: a compiled graph that knows nothing of AG-UI.

    set_out -> planner -> add_up

`planner` is a LangChain agent, a subgraph with a model and two tools: `look_up_weather` answers in text, `add_stop`
writes to a channel of the state. It calls each several times in parallel. The model is scripted; put another in its
place and nothing else changes.
"""

import asyncio
from typing import Annotated, Any

from langchain.agents import AgentState, create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from langgraph_agui.connect.testing import ScriptedChatModel, reasoning, tool_call, usage

QUESTION = "Plan me a day in Lisbon, for 40 euros."

Stops = dict[str, dict[str, Any]]
_WEATHER = {"morning": "17 degrees, clear sky", "afternoon": "24 degrees, rain from four o'clock"}


def _merged(before: Stops, new: Stops) -> Stops:
    return {**before, **new}


class Day(AgentState[Any]):
    """What the graph and the agent in it share, beside the messages."""

    stops: Annotated[Stops, _merged]
    budget: dict[str, int]


def day_planner(pause: float = 0.025) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph; its model waits `pause` seconds between two tokens, and its tools ten times that."""

    @tool
    async def look_up_weather(part_of_day: str) -> str:
        """Looks up the weather in a part of the day."""
        await asyncio.sleep(10 * pause)
        return _WEATHER[part_of_day]

    @tool
    async def add_stop(name: str, at: str, cost: int, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Adds a stop to the plan."""
        await asyncio.sleep(10 * pause)
        added = ToolMessage(f"{name} is in the plan.", tool_call_id=call_id)
        return Command(update={"stops": {name: {"at": at, "cost": cost}}, "messages": [added]})

    tools: list[BaseTool] = [look_up_weather, add_stop]
    agent = create_agent(
        ScriptedChatModel(turns=[_LOOK, _PLAN, _ANSWER, _THATS_ALL], delay=pause),
        tools,
        state_schema=Day,
        name="planner",
    )
    graph = StateGraph(Day)
    graph.add_node("set_out", _set_out)
    graph.add_node("planner", agent)
    graph.add_node("add_up", _add_up)
    graph.add_edge(START, "set_out")
    graph.add_edge("set_out", "planner")
    graph.add_edge("planner", "add_up")
    return graph.compile()


def _set_out(state: Day) -> dict[str, Any]:
    return {"budget": {"euros": 40, "spent": 0}, "stops": {"Hotel": {"at": "09:00", "cost": 0}}}


def _add_up(state: Day) -> dict[str, Any]:
    return {"budget": {**state["budget"], "spent": sum(stop["cost"] for stop in state["stops"].values())}}


_LOOK = (
    reasoning("Whether to begin outdoors depends on the weather. Both parts of the day can be looked up at once."),
    "I look at the weather first.",
    tool_call("look_up_weather", {"part_of_day": "morning"}, "call_1"),
    tool_call("look_up_weather", {"part_of_day": "afternoon"}, "call_2", index=1),
    usage(61, 48),
)
_PLAN = (
    reasoning("Rain from four: the tower in the morning, the museum late. 10 + 4 + 12 euros is within 40."),
    "Clear in the morning, rain later: outdoors first.",
    tool_call("add_stop", {"name": "Belém Tower", "at": "09:30", "cost": 10}, "call_3", fragments=8),
    tool_call("add_stop", {"name": "Tram 28", "at": "13:00", "cost": 4}, "call_4", index=1, fragments=8),
    tool_call("add_stop", {"name": "Tile Museum", "at": "16:00", "cost": 12}, "call_5", index=2, fragments=8),
    usage(143, 87),
)
_ANSWER = (
    "Your day in Lisbon: Belém Tower at half past nine while the sky is clear, Tram 28 through Alfama after lunch, and "
    "the Tile Museum when the rain comes. 26 of your 40 euros; the rest is for custard tarts.",
    usage(236, 49),
)
_THATS_ALL = "That was the whole script; ask again in another thread."

graph = day_planner()
"""The graph as it is served: `langgraph-agui serve examples.agent:graph`."""
