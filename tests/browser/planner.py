"""The agent that the browser tests talk to. What the user says decides what it does; each model's pace is the gates'.

talk     eight words (points `talk 0`, `talk 1`, ...)
plan     a tool that adds a stop to the state, and to what was to do
more     the same with another stop
map      a tool of the browser; its result is answered
tour     a tool of the browser next to one of the server, called by an agent that is a node (`PageTools`)
guided   the same tool of the browser, called by an agent that a tool of the server has called
sold     a tool of the browser, next to one of the server that asks (an interrupt)
cancel   a tool of the server that LangChain's `HumanInTheLoopMiddleware` asks about
book     asks (an interrupt); says what was answered (`booked 0`, ...)
surface  a tool that asks a model for an A2UI surface (points `surface 0`, ...)
overbook asks, and fails when it is answered (`overbooked 0`, ...)
fail     says two words and fails
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from ag_ui_langgraph import get_a2ui_tools
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect.page_tools import PageState, PageTools
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.connect.testing.scripts import Script, steps

from fixtures.fixture import Checkpointer, Graph
from fixtures.gated import GatedModel
from fixtures.scripts import end

STOPS = {"Belém Tower": {"at": "09:30", "cost": 10}, "Ribeira Market": {"at": "12:15", "cost": 25}}
_BROKEN = ValueError("the booking office is closed")

_TURNS: dict[str, list[Any]] = {
    "talk": [*text("One two three four five six seven eight."), *end()],
    "plan": [*text("Let me see. "), *tool_call("add_stop", {"name": "Belém Tower"}, "call-stop"), *end("tool_calls")],
    "more": [*text("And then? "), *tool_call("add_stop", {"name": "Ribeira Market"}, "call-more"), *end("tool_calls")],
    "planned": [*text("It is in the plan."), *end()],
    "map": [*text("Look here. "), *tool_call("show_on_map", {"place": "Belém Tower"}, "call-map"), *end("tool_calls")],
    "mapped": [*text("You can see it on the map."), *end()],
    "booked": [*text("It is booked for you now."), *end()],
    "refused": [*text("It is not booked."), *end()],
    "overbooked": [*text("I call them. "), _BROKEN],
    "fail": [*text("I try. "), _BROKEN],
}


MAP: dict[str, Any] = {"place": "Belém Tower"}
SURFACE: dict[str, Any] = {
    "surfaceId": "stops",
    "components": [
        {"id": "root", "component": "Row", "children": {"componentId": "stop", "path": "/items"}},
        {"id": "stop", "component": "Text", "text": {"path": "name"}},
    ],
    "data": {"items": [{"name": f"Stop number {number} of the tour"} for number in range(8)]},
}
"""More than half of it is data."""
_CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "tour": [("price", {}), ("show_on_map", MAP)],
    "guided": [("ask_guide", {})],
    "guide": [("show_on_map", MAP)],
    "sold": [("pay", {}), ("show_on_map", MAP)],
    "surface": [("generate_a2ui", {"intent": "create"})],
    "cancel": [("cancel_trip", {"why": "rain"})],
}
"""What an agent calls that is asked for this."""


class AgentModel(ScriptedChatModel):
    """Calls what it is asked for, and says what has come of it."""

    turns: Sequence[Any] = ()

    def script(self, messages: Sequence[BaseMessage]) -> Script:
        asked = next(place for place in reversed(range(len(messages))) if isinstance(messages[place], HumanMessage))
        results = [message for message in messages[asked:] if isinstance(message, ToolMessage)]
        if results:
            return list(steps([", ".join(f"{each.name}: {each.content}" for each in results)]))
        word = str(messages[asked].content)
        calls = [
            tool_call(name, args, f"call-{word}-{asked}-{index}", index=index)
            for index, (name, args) in enumerate(_CALLS[word])
        ]
        return list(steps(["I look. ", *calls]))


@tool
def price() -> str:
    """Says what a ticket costs."""
    return "10 €"


@tool
def pay() -> str:
    """Pays for a ticket, if the user agrees."""
    return "paid" if interrupt({"question": "Shall I pay?"}) is True else "not paid"


@tool
def cancel_trip(why: str) -> str:
    """Cancels the trip."""
    return "It is cancelled."


@tool
async def ask_guide() -> str:
    """Asks a guide."""
    guide = create_agent(AgentModel(), [], middleware=[PageTools()])
    asked: Any = {"messages": [("user", "guide")]}
    answer = await guide.ainvoke(asked)
    return str(answer["messages"][-1].content)


class Planned(PageState):
    """What the page is shown."""

    stops: Annotated[dict[str, Any], lambda held, new: {**held, **new}]
    answer: str
    todos: list[dict[str, str]]


def _turn(messages: Sequence[BaseMessage]) -> str:
    """What comes next, read off the conversation."""
    asked = next(place for place in reversed(range(len(messages))) if isinstance(messages[place], HumanMessage))
    said = str(messages[asked].text)  # without what is attached
    is_answered = any(isinstance(message, ToolMessage) for message in messages[asked:])
    return {"plan": "planned", "more": "planned", "map": "mapped"}[said] if is_answered else said


def planner(checkpointer: Checkpointer) -> Graph:
    """The graph; where it waits is told by its model's points."""

    def model(name: str) -> GatedModel:
        return GatedModel(turns=[_TURNS[name]], names=[name], turn_of=lambda messages: 0)

    async def speak(state: Planned) -> dict[str, Any]:
        turn = _turn(state["messages"])
        if turn in ("book", "overbook"):
            turn = "overbooked" if turn == "overbook" else "booked" if state["answer"] else "refused"
        return {"messages": [await model(turn).ainvoke(state["messages"])]}

    async def ask(state: Planned) -> dict[str, Any]:
        answer = interrupt({"question": "Shall I book the tower?"})
        return {"answer": "yes" if answer is True or answer == "yes" else ""}

    async def add_stop(state: Planned) -> dict[str, Any]:
        last = state["messages"][-1]
        assert isinstance(last, AIMessage)
        asked = last.tool_calls[0]
        name = asked["args"]["name"]
        message = ToolMessage(f"{name} is in the plan.", tool_call_id=asked["id"])
        todos = [{"content": f"Add {name}", "status": "completed"}]
        return {"stops": {name: STOPS[name]}, "todos": todos, "messages": [message]}

    def first(state: Planned) -> Literal["agent", "approver", "ask", "speak"]:
        if state["messages"][-1].text in _CALLS:
            return "approver" if state["messages"][-1].text == "cancel" else "agent"
        return "ask" if _turn(state["messages"]) in ("book", "overbook") else "speak"

    def after(state: Planned) -> str:
        last = state["messages"][-1]
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        return "add_stop" if any(each["name"] == "add_stop" for each in calls) else END

    drawn = tool_call("render_a2ui", SURFACE, "call-render", fragments=8)
    artist = GatedModel(turns=[drawn], names=["surface"], turn_of=lambda messages: 0)
    tools = [price, pay, ask_guide, get_a2ui_tools({"model": artist})]

    graph = StateGraph(Planned).add_node("speak", speak).add_node("ask", ask).add_node("add_stop", add_stop)
    graph.add_node("agent", create_agent(AgentModel(), tools, middleware=[PageTools()]))
    approved = HumanInTheLoopMiddleware(interrupt_on={"cancel_trip": True})
    graph.add_node("approver", create_agent(AgentModel(), [cancel_trip], middleware=[approved]))
    graph.add_conditional_edges(START, first, ["agent", "approver", "ask", "speak"]).add_edge("ask", "speak")
    graph.add_conditional_edges("speak", after, ["add_stop", END]).add_edge("add_stop", "speak")
    return graph.compile(checkpointer=checkpointer)
