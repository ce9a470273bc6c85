"""An agent for an editor, on a scripted model, so that no key is needed: it plans, reads a file of the session's
folder, and asks before it writes one. `langgraph-agui acp examples.editor.agent:agent` is the line for the editor.

With a model of a provider in place of `MODEL` it is an agent of your own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, TodoListMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, tool
from langgraph_agui.connect.acp import AcpAgent, Command, Mode, Session
from langgraph_agui.connect.acp.middleware import SessionTools
from langgraph_agui.connect.testing import ScriptedChatModel, reasoning, tool_call

NOTES = "NOTES.md"
TODOS = ("Look for notes", "Write a note")


def _todos(done: int) -> dict[str, object]:
    statuses = ["completed"] * done + ["in_progress"] + ["pending"] * len(TODOS)
    return {"todos": [{"content": text, "status": status} for text, status in zip(TODOS, statuses, strict=False)]}


MODEL = ScriptedChatModel(
    turns=[
        [reasoning("First I make a plan. "), "I look for notes. ", tool_call("write_todos", _todos(0), "plan_1")],
        [tool_call("read_file", {"path": NOTES}, "read_1")],
        [tool_call("write_todos", _todos(1), "plan_2")],
        ["I add one. ", tool_call("write_file", {"path": NOTES, "content": "Water the plants.\n"}, "write_1")],
        [tool_call("write_todos", _todos(2), "plan_3")],
        "That is all.",
    ],
    turn_of=lambda messages: sum(1 for message in _last_turn(messages) if message.type == "ai"),
)


def _last_turn(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """The messages behind the last one of the user."""
    last = max((index for index, message in enumerate(messages) if message.type == "human"), default=0)
    return messages[last:]


def file_tools(session: Session) -> list[BaseTool]:
    """The tools for the files of a session's folder, and of no other."""
    folder = Path(session.cwd).resolve()

    def inside(path: str) -> Path:
        file = (folder / path).resolve()
        if not file.is_relative_to(folder):
            raise ValueError(f"{path} is not in {folder}")
        return file

    @tool
    def read_file(path: str) -> str:
        """Reads a file."""
        file = inside(path)
        return file.read_text(encoding="utf-8") if file.is_file() else f"There is no {path}."

    @tool
    def write_file(path: str, content: str) -> str:
        """Writes a file."""
        inside(path).write_text(content, encoding="utf-8")
        return f"Wrote {path}."

    return [read_file, write_file]


def graph(session: Session) -> Any:
    """The graph of one session."""
    asks = HumanInTheLoopMiddleware({"write_file": True})
    middleware: list[Any] = [TodoListMiddleware(), asks, SessionTools()]
    return create_agent(MODEL, file_tools(session), middleware=middleware)


agent = AcpAgent(
    graph,
    name="notes",
    modes=[
        Mode(id="write", name="Write"),
        Mode(id="ask", name="Ask", description="Changes nothing", allowed_tools=frozenset({"read_file"})),
    ],
    commands=[Command(name="where", description="Names the folder", run=lambda session, rest: session.cwd)],
)
