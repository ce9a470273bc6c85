"""A guide for the pages of `examples/copilotkit`: it calls a tool that only the page has, and asks before it books.

    guide -> (the page runs show_on_map) -> guide -> book (asks the user) -> guide

The page sends its tools with every run. They reach the graph where it has a place for them: here in the field `tools`
of its runtime context. A call of one ends the run; the page runs it, and sends the result in the next run. The model is
scripted; put another in its place and nothing else changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from langgraph_agui.connect.testing import ScriptedChatModel, tool_call

Stops = dict[str, dict[str, Any]]


class Visit(MessagesState):
    """What the graph keeps, beside the messages."""

    stops: Annotated[Stops, lambda before, new: {**before, **new}]


@dataclass
class Page:
    """What the page brings to a run."""

    tools: Sequence[dict[str, Any]] = field(default_factory=list)


_BOOK = {"name": "book", "description": "Books a place.", "parameters": {"type": "object", "properties": {}}}


def city_guide(pause: float = 0.025) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph; its model waits `pause` seconds between two tokens."""
    model = ScriptedChatModel(turns=[_SHOW, _OFFER, _DONE], delay=pause)

    async def guide(state: Visit, runtime: Runtime[Page]) -> dict[str, Any]:
        tools = runtime.context.tools if runtime.context else []
        return {"messages": [await model.bind_tools([*tools, _BOOK]).ainvoke(state["messages"])]}

    async def book(state: Visit) -> dict[str, Any]:
        last = state["messages"][-1]
        assert isinstance(last, AIMessage)
        call = last.tool_calls[0]
        place, cost = call["args"]["place"], call["args"]["cost"]
        answer = interrupt({"question": f"Shall I book {place} for {cost} euros?"})
        if answer != "yes":
            return {"messages": [ToolMessage(f"{place} is not booked.", tool_call_id=call["id"])]}
        booked = ToolMessage(f"{place} is booked.", tool_call_id=call["id"])
        return {"stops": {place: {"at": "09:30", "cost": cost}}, "messages": [booked]}

    def after(state: Visit) -> str:
        last = state["messages"][-1]
        called = [call["name"] for call in last.tool_calls] if isinstance(last, AIMessage) else []
        return "book" if "book" in called else END

    graph = StateGraph(Visit, context_schema=Page).add_node("guide", guide).add_node("book", book)
    graph.add_edge(START, "guide").add_conditional_edges("guide", after, ["book", END]).add_edge("book", "guide")
    return graph.compile()


_SHOW = "This is the tower that I mean.", tool_call("show_on_map", {"place": "Belém Tower"}, "call_map")
_OFFER = (
    "It has a ticket left for half past nine.",
    tool_call("book", {"place": "Belém Tower", "cost": 10}, "call_book"),
)
_DONE = "What else would you like to see?"

graph = city_guide()
"""The graph as it is served: `langgraph-agui serve examples.guide:graph --origin http://localhost:5173`."""
