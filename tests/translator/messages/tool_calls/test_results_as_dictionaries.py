"""Tool results that a node returns as dictionaries: emitted when the node's step ends, within a subgraph too."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import STREAM_MODES, ClientView

from fixtures.fixture import Graph
from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.streams.translator_runs import TranslatorRun, options_for, view_for

_WRITES = text("I write. ") + tool_call("write", {"to": "Ann"}, "call_1") + tool_call("ask", {}, "call_2", index=1)
_TURNS = [_WRITES + end("tool_calls"), tool_call("done", {}, "call_3") + end("tool_calls"), text("It is done.") + end()]
_ASKED = {"id": "u1", "role": "user", "content": "Write to Ann."}


def _assistant(depth: int) -> Graph:
    """A model and a node that runs its tools, as tutorials for email assistants write them, in so many graphs."""
    model = ScriptedChatModel(turns=_TURNS)

    async def llm_call(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def tool_handler(state: MessagesState) -> dict[str, Any]:
        calls = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        return {"messages": [{"role": "tool", "content": f"{c['name']}!", "tool_call_id": c["id"]} for c in calls]}

    def go_on(state: MessagesState) -> str:
        return "tool_handler" if state["messages"][-1].tool_calls else END  # type: ignore[union-attr]

    inner = StateGraph(MessagesState).add_node(llm_call).add_node(tool_handler).add_edge(START, "llm_call")
    inner.add_conditional_edges("llm_call", go_on, ["tool_handler", END]).add_edge("tool_handler", "llm_call")
    for level in range(depth):
        inner = StateGraph(MessagesState).add_node(f"agent_{level}", inner.compile()).add_edge(START, f"agent_{level}")
    return inner.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("depth", [0, 1, 2])
async def test_each_comes_with_its_step_and_stays(depth: int, version: str, agui_client: AguiClient) -> None:
    graph: Any = _assistant(depth)
    config: Any = {"configurable": {"thread_id": "t"}}
    run = TranslatorRun(options_for(version), view_for(version, [_ASKED], {}))
    views = [run.view.copy()]
    async for part in graph.astream({"messages": [_ASKED]}, config, stream_mode=STREAM_MODES, subgraphs=True):
        run.feed(part)
        views.append(run.view.copy())
    run.finish()
    kinds = [event["type"] for event in run.events]
    order = [event["toolCallId"] for event in run.events if event["type"] in ("TOOL_CALL_START", "TOOL_CALL_RESULT")]
    assert order == ["call_1", "call_2", "call_1", "call_2", "call_3", "call_3"]
    assert "MESSAGES_SNAPSHOT" not in kinds
    answer = agui_client.play(run.events, version=version, messages=[_ASKED])
    assert answer.accepted
    wanted = comparable(expected((await graph.aget_state(config)).values).messages)
    assert comparable(answer.messages) == wanted
    for cut, view in enumerate(views, 1):
        rest = [event for feed in run.feeds[cut:] for event in feed]
        late = agui_client.play([*view.catch_up(ClientView(version=protocol(version))), *rest], version=version)
        assert comparable(late.messages) == wanted
