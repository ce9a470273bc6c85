"""A city guide for the page of `examples/copilotkit`: one stock agent, and everything that a page can show of one.

    langgraph-agui serve examples.guide:graph --state stops --state budget --origin http://localhost:5173

| what the page shows | what does it here |
|---|---|
| what the guide is about to do, and has done | LangChain's `TodoListMiddleware`; `plan="todos"` in `examples/page.py` |
| progress of a slow tool | `compare_tickets` writes to LangGraph's stream writer |
| the plan beside the conversation | the channels `stops` and `budget`; the page changes them too |
| a card that approves, changes or rejects a booking | LangChain's `HumanInTheLoopMiddleware` |
| a map | `show_on_map`, a tool of the page: `PageTools` gives it to the model, and waits for its result |

The model is scripted (`examples/guide_script.py`); put another in its place and nothing else changes.
"""

from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelRequest,
    TodoListMiddleware,
    dynamic_prompt,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.config import get_stream_writer
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from langgraph_agui.connect.page_tools import PageTools

from .guide_script import PACE, PRICES, Rest, ScriptedGuide

Stops = dict[str, dict[str, Any]]


class Visit(AgentState[Any]):
    """What the graph and the page share, beside the messages."""

    stops: NotRequired[Annotated[Stops, lambda before, new: {**before, **new}]]
    budget: NotRequired[int]


@dynamic_prompt
def _with_plan(request: ModelRequest[Any]) -> str:
    """What the model is told of the state, which the page may have changed since the last run."""
    state: Any = request.state
    budget, stops = state.get("budget", 40), ", ".join(state.get("stops", {})) or "nothing"
    return f"You are a guide to Lisbon. The budget is {budget} euros. In the plan: {stops}."


def city_guide(rest: Rest = PACE) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph. `rest`: what its scripted model waits for before each token, and its tools while they work."""

    @tool
    async def compare_tickets(places: list[str], call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Asks for the price of each place."""
        write = get_stream_writer()
        for done, place in enumerate(places):
            progress = {"now": place, "done": done, "of": len(places)}
            write({"name": "agui_tool_progress", "value": {"tool_call_id": call_id, "progress": progress}})
            await rest(f"compare_tickets {done}", 30)
        return ", ".join(f"{place}: {PRICES[place]} euros" for place in places)

    @tool
    async def add_stop(place: str, at: str, cost: int, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Adds a stop to the plan."""
        await rest(f"add_stop {place}", 8)
        added = ToolMessage(f"{place} is in the plan.", tool_call_id=call_id)
        return Command(update={"stops": {place: {"at": at, "cost": cost}}, "messages": [added]})

    @tool
    async def book(place: str, at: str, people: int, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Books a place."""
        await rest(f"book {place}", 12)
        booked = ToolMessage(f"{place} is booked at {at} for {people}.", tool_call_id=call_id)
        stop = {"at": at, "cost": PRICES.get(place, 10) * people, "booked": True}
        return Command(update={"stops": {place: stop}, "messages": [booked]})

    tools: list[BaseTool] = [compare_tickets, add_stop, book]
    approval = HumanInTheLoopMiddleware(interrupt_on={"book": {"allowed_decisions": ["approve", "edit", "reject"]}})
    middleware: list[AgentMiddleware[Any, Any, Any]] = [PageTools(), _with_plan, TodoListMiddleware(), approval]
    return create_agent(
        ScriptedGuide(rest=rest),
        tools,
        state_schema=Visit,
        middleware=middleware,
        name="guide",
    )


graph = city_guide()
"""The graph as it is served: `langgraph-agui serve examples.guide:graph`, or with its page: `make example`."""
