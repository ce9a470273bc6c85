"""A project with a `langgraph.json`, served by the command: `python -m tests.browser.inspector_project PORT`."""

import json
import os
import sys
import tempfile
from pathlib import Path

_AGENT = """
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect.testing import ScriptedChatModel

SEARCH = "I look for a table by the window, and not too near to the kitchen. " * 8


class State(MessagesState):
    bookings: list[str]


async def look(state: State) -> dict[str, Any]:
    model = ScriptedChatModel(turns=[SEARCH], delay=0.02)
    return {"messages": [await model.ainvoke(state["messages"])], "bookings": []}


async def book(state: State) -> dict[str, Any]:
    if not interrupt({"question": "Shall I book it?", "responseSchema": {"type": "boolean"}}):
        return {"messages": [AIMessage("I do not book it.")]}
    return {"messages": [AIMessage("It is booked.")], "bookings": ["a table for two"]}


builder = StateGraph(State).add_node("look", look).add_node("book", book)
graph = builder.add_edge(START, "look").add_edge("look", "book").compile()
"""


def main(port: str, folder: Path) -> None:
    """Serves until a signal comes."""
    (folder / "agent.py").write_text(_AGENT)
    (folder / "langgraph.json").write_text(
        json.dumps({"dependencies": ["."], "graphs": {"waiter": "./agent.py:graph"}})
    )
    os.chdir(folder)
    os.environ.pop("AGUI_TOKEN", None)  # the command makes one, and prints it
    sys.argv[1:] = ["serve", "--port", port]
    from langgraph_agui.connect.cli import main as command

    command()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(sys.argv[1], Path(made))
