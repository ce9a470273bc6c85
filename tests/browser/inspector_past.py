"""A traveller's agent, served by the command from a folder that outlives it.

`python -m tests.browser.inspector_past PORT GATE FOLDER [OPTION...]`. The folder has the agent's project, and the file
of its threads.
"""

import json
import os
import sys
from pathlib import Path

_AGENT = """
import operator
from typing import Annotated, Any

from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel


class State(MessagesState):
    city: str
    days: int
    notes: Annotated[list[str], operator.add]


async def choose(state: State) -> dict[str, Any]:
    city = "Atlantis" if "sea" in state["messages"][-1].text else "Porto"
    return {"city": city, "days": len(state["messages"]), "notes": ["chosen"]}


async def look(state: State) -> dict[str, Any]:
    if state["city"] == "Atlantis":
        raise LookupError("no way leads to Atlantis")
    return {"notes": [f"looked at {state['city']}"]}


async def write(state: State) -> dict[str, Any]:
    model = ScriptedChatModel(turns=[f"Go to {state['city']} for {state['days']} days."], delay=0.02)
    return {"messages": [await model.ainvoke(state["messages"])], "notes": ["written"]}


graph = StateGraph(State).add_sequence([choose, look, write]).add_edge(START, "choose").compile()
"""


def main(port: str, folder: Path, *options: str) -> None:
    """Serves until a signal comes."""
    (folder / "agent.py").write_text(_AGENT)
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": {"trip": "./agent.py:graph"}}))
    os.chdir(folder)
    sys.argv[1:] = ["serve", "--port", port, "--sqlite", "threads.db", *options]
    from langgraph_agui.connect.cli import main as command

    command()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[3]), *sys.argv[4:])
