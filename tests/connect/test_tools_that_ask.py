"""What a page knows of tools that ask and of tools that fail, however it came to the run: it has started the run, or
joined it, or is loaded later, or has other messages then. The interrupt names the tool's call, and the failed tool's
result says that it failed, and why."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, tool_call

from fixtures.fixture import Graph
from tests.support.clients.live_client import LiveClients
from tests.support.servers.serving import served

NAMES = ("approve", "refuse")


def asking(place: str, pause: Pause) -> Graph:
    """An agent that calls two tools at once: one fails, and the other asks when the pause is open. `place`: whether it
    is the graph, a node in it, or called by a tool (`call_research`) next to which one fails."""

    @tool
    async def approve() -> str:
        """Asks."""
        await pause()
        return str(interrupt("Really?"))

    @tool
    async def refuse() -> str:
        """Fails."""
        raise ToolException("no money")

    refuse.handle_tool_error = True
    calls = [tool_call(name, {}, f"call_{name}", index=index) for index, name in enumerate(NAMES)]
    model, saver = ScriptedChatModel(turns=[["Let me see. ", *calls], "Done."]), InMemorySaver()
    if place == "graph":
        return create_agent(model, [approve, refuse], checkpointer=saver)
    agent: Any = create_agent(model, [approve, refuse])
    if place == "node":
        graph: Any = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent")
        compiled: Graph = graph.compile(saver)
        return compiled

    @tool
    async def research() -> str:
        """Asks an agent."""
        return str((await agent.ainvoke({"messages": [("user", "go")]}))["messages"][-1].content)

    outer = [tool_call(name, {}, f"call_{name}", index=index) for index, name in enumerate(("research", "refuse"))]
    asked = ScriptedChatModel(turns=[["Let me see. ", *outer], "Done."])
    return create_agent(asked, [research, refuse], checkpointer=saver)


@pytest.mark.parametrize("place", ["graph", "node", "tool"])
async def test_the_interrupt_names_the_call_and_the_result_the_failure_in_every_view(
    place: str, live: LiveClients
) -> None:
    pause = Pause()
    async with served(agui_app({"a": asking(place, pause)})) as server:
        page, other = [await live.agent(f"{server.url}/a", "t") for _ in range(2)]
        run = page.says("go")
        await pause.reached.wait()
        joining = other.connects()
        await other.shows("Let me see.")
        pause.open.set()
        views = {"streamed": await run, "joined": await joining}
        stale = [{"id": "gone", "role": "assistant", "content": "What was removed."}]
        for name, messages in {"loaded": [], "stale": stale}.items():
            views[name] = await (await live.agent(f"{server.url}/a", "t", messages=messages)).connects()
    for name, view in views.items():
        asking_calls = [each["toolCallId"] for each in view.interrupts]
        assert asking_calls == ["call_research" if place == "tool" else "call_approve"], name
        (failed,) = (each for each in view.messages if each.get("toolCallId") == "call_refuse")
        assert (failed["content"], failed["metadata"]) == ("no money", {"status": "error", "error": "no money"}), name
        is_snapshot = (place, name) == ("graph", "stale")  # the event of a result has no field for the error
        assert failed.get("error", "" if is_snapshot else "no money") == "no money"
