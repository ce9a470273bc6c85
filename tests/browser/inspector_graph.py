"""Serves agents whose graphs the inspector draws: `python -m tests.browser.inspector_graph PORT GATE`.

shop     plans, searches in a subgraph, checks, searches again once, and charges; a message "fail" lets it fail there
shut     the same, whose graph pauses before it charges; pages may not say where its runs pause

Whoever has the token of AGUI_TOKEN may say where runs of both pause.
"""

import asyncio
import os
import sys
from typing import Any

import uvicorn
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app

from fixtures.fixture import Graph
from fixtures.gates import passing


def _node(name: str) -> Any:
    async def node(state: MessagesState) -> dict[str, Any]:
        await passing(name)
        if name == "charge" and state["messages"][0].content == "fail":
            raise ValueError("The card was declined.")
        return {"messages": [("ai", f"{name} is done")]}

    return node


def shop(**how: Any) -> Graph:
    """The graph of both agents."""
    search = StateGraph(MessagesState).add_sequence([("find", _node("find")), ("read", _node("read"))])
    builder = StateGraph(MessagesState).add_node("plan", _node("plan"))
    builder.add_node("search", search.add_edge(START, "find").compile())
    builder.add_node("check", _node("check")).add_node("charge", _node("charge"))
    builder.add_edge(START, "plan").add_edge("plan", "search").add_edge("search", "check")

    def again(state: MessagesState) -> str:
        checked = sum(message.content == "check is done" for message in state["messages"])
        return "search" if checked < 2 else "charge"

    builder.add_conditional_edges("check", again, {"search": "search", "charge": "charge"})
    graph: Graph = builder.add_edge("charge", END).compile(InMemorySaver(), **how)
    return graph


async def serve(port: int, gate: int) -> None:
    """Serves until a signal comes."""
    intake = Intake(config={"configurable": {"gate": {"port": gate, "run": ""}}})
    agents = {
        "shop": Agent(shop(), intake=intake),
        "shut": Agent(shop(interrupt_before=["charge"]), intake=intake),
    }
    app = agui_app(agents, token=os.environ["AGUI_TOKEN"], inspector=True)
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")).serve()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
