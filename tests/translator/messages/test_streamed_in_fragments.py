"""A visible message that streams in n pieces is shown in n pieces, whatever its node is called and whatever ran in a
node of that name before, to late joiners too. What a model says inside a tool stays hidden."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, Send
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from pydantic import BaseModel

from fixtures.fixture import Checkpointer, Graph, user
from fixtures.graphs.speech import said, speaker
from fixtures.graphs.subagents import deep, task
from fixtures.graphs.toolbox import add
from fixtures.run import MODES
from fixtures.scripts import end
from tests.support.streams.translator_runs import Event, TranslatorRun, run_parts

SIX = "One two three four five six."
PRIVATE = "For the tool alone."
_SIX = text(SIX) + end()
_PRIVATE = text(PRIVATE) + end()


class Plan(BaseModel):
    """A plan."""

    steps: int


_PLAN = text("I plan this now. ") + tool_call("Plan", {"steps": 3}, "call_plan") + end("tool_calls")


def _calls(name: str, call_id: str, **args: Any) -> Any:
    return text("I call it now. ") + tool_call(name, args, call_id) + end("tool_calls")


def _made(state: MessagesState) -> list[Any]:
    """The tool calls of the last message."""
    last: Any = state["messages"][-1]
    return list(last.tool_calls) if last.type == "ai" else []


def _planning(*turns: Any) -> Any:
    """An agent whose node `model` returns a tool result: that of structured output."""
    return create_agent(ScriptedChatModel(turns=list(turns)), [], response_format=ToolStrategy(Plan))


@tool
async def ask_planner(question: str) -> str:
    """Asks an agent, which plans by structured output and is asked twice."""
    agent: Any = create_agent(
        ScriptedChatModel(turns=[_PRIVATE[:-1] + tool_call("Plan", {"steps": 1}, "call_inner") + end("tool_calls")]),
        [],
        response_format=ToolStrategy(Plan),
    )
    for _ in range(2):
        await agent.ainvoke({"messages": [user(question)]})
    return "Planned."


@tool
async def ask_expert(question: str) -> str:
    """Asks another model, which streams."""
    await ScriptedChatModel(turns=[_PRIVATE]).ainvoke([user(question)])
    return "Asked."


def _planner_and_writer(saver: Checkpointer) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("planner", _planning(_PLAN)).add_node("writer", create_agent(_one(_SIX), [add]))
    graph.add_edge(START, "planner").add_edge("planner", "writer").add_edge("writer", END)
    return graph.compile(checkpointer=saver)


def _planner_twice(saver: Checkpointer) -> Graph:
    second = text("I plan once more. ") + tool_call("Plan", {"steps": 4}, "call_plan_2") + end("tool_calls")
    graph = StateGraph(MessagesState)
    graph.add_node("planner", _planning(_PLAN)).add_node("writer", _planning(_PLAN, second))
    graph.add_edge(START, "planner").add_edge("planner", "writer").add_edge("writer", END)
    return graph.compile(checkpointer=saver)


def _one(turn: Any) -> ScriptedChatModel:
    return ScriptedChatModel(turns=[turn])


def _agent(*turns: Any, tools: Any) -> Callable[[Checkpointer], Graph]:
    return lambda saver: create_agent(ScriptedChatModel(turns=list(turns)), tools, checkpointer=saver)


def _retry(saver: Checkpointer) -> Graph:
    """The first plan does not fit its schema: `model` answers its own call with an error and speaks again."""
    wrong = text("I plan this badly. ") + tool_call("Plan", {"steps": "many"}, "call_wrong") + end("tool_calls")
    model = ScriptedChatModel(turns=[wrong, _PLAN])
    return create_agent(model, [add], response_format=ToolStrategy(Plan), checkpointer=saver)


def _hand_off(saver: Checkpointer) -> Graph:
    """A supervisor answers its own call, hands over by `Command`, and has the last word."""
    model = ScriptedChatModel(turns=[_calls("to_writer", "call_to"), _SIX, _SIX])

    async def supervisor(state: MessagesState) -> Command[Any]:
        answer = await model.ainvoke(state["messages"])
        if not answer.tool_calls:
            return Command(goto=END, update={"messages": [answer]})
        result = ToolMessage("handed over", tool_call_id="call_to", id="result_to")
        return Command(goto="writer", update={"messages": [answer, result]})

    graph = StateGraph(MessagesState).add_node("supervisor", supervisor).add_node("writer", speaker(said(SIX)))
    return graph.add_edge(START, "supervisor").add_edge("writer", "supervisor").compile(checkpointer=saver)


def _swarm(saver: Checkpointer) -> Graph:
    """An agent's tool hands over to its parent's next agent."""

    @tool
    async def to_writer(state: Annotated[dict[str, Any], InjectedState]) -> Command[Any]:
        """Hands over."""
        result = ToolMessage("handed over", tool_call_id="call_to", id="result_to")
        return Command(goto="writer", graph=Command.PARENT, update={"messages": [*state["messages"], result]})

    graph = StateGraph(MessagesState)
    graph.add_node("lead", create_agent(_one(_calls("to_writer", "call_to")), [to_writer]))
    graph.add_node("writer", create_agent(ScriptedChatModel(turns=[_SIX]), [add]))
    return graph.add_edge(START, "lead").compile(checkpointer=saver)


def _loop(saver: Checkpointer) -> Graph:
    """One node that calls its model, and runs the tools of its calls when it comes round again."""
    model = ScriptedChatModel(turns=[_calls("add", "call_1", a=1, b=2), _calls("add", "call_2", a=1, b=2), _SIX])

    async def work(state: MessagesState) -> dict[str, Any]:
        calls = _made(state)
        results = [ToolMessage("3", tool_call_id=each["id"], id=f"result_{each['id']}") for each in calls]
        return {"messages": results or [await model.ainvoke(state["messages"])]}

    def ahead(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "work" if last.type == "tool" or _made(state) else END

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work")
    return graph.add_conditional_edges("work", ahead).compile(checkpointer=saver)


def _answering_worker(saver: Checkpointer) -> Graph:
    """A node answers another node's call and returns what its model says, round after round."""
    lead = ScriptedChatModel(turns=[_calls("ask", "call_1"), _SIX, _calls("ask", "call_2"), _SIX])
    worker = said("The worker says this here.")

    async def work(state: MessagesState) -> dict[str, Any]:
        asked = _made(state)[0]["id"]
        answer = await worker.ainvoke(state["messages"])
        return {"messages": [ToolMessage("done", tool_call_id=asked, id=f"result_{asked}"), answer]}

    graph = StateGraph(MessagesState).add_node("lead", speaker(lead)).add_node("work", work)
    graph.add_edge(START, "lead").add_edge("work", "lead")
    graph.add_conditional_edges("lead", lambda state: "work" if _made(state) else END)
    return graph.compile(checkpointer=saver)


def _side_by_side(saver: Checkpointer) -> Graph:
    """Two planners at once whose models number their calls alike, and then both again."""
    graph = StateGraph(MessagesState)
    for name in ("left", "right"):
        graph.add_node(name, _planning(_PLAN))
        graph.add_node(f"{name}_again", create_agent(_one(_SIX), [add])).add_edge(START, name)
    graph.add_edge(["left", "right"], "left_again").add_edge(["left", "right"], "right_again")
    return graph.compile(checkpointer=saver)


def _own_tool_node(saver: Checkpointer) -> Graph:
    """An agent made by hand, whose tool node has a name of its own and is run twice, a task for each call."""
    turns = [_calls("ask_expert", "call_1", question="?"), _calls("ask_expert", "call_2", question="?"), _SIX]
    tools: list[BaseTool] = [ask_expert]
    graph = StateGraph(MessagesState).add_node("think", speaker(ScriptedChatModel(turns=turns)))
    graph.add_node("act", ToolNode(tools)).add_edge(START, "think").add_edge("act", "think")

    def ahead(state: MessagesState) -> Any:
        calls = _made(state)
        return [Send("act", [each]) for each in calls] or END

    return graph.add_conditional_edges("think", ahead, ["act", END]).compile(checkpointer=saver)


GRAPHS: dict[str, Callable[[Checkpointer], Graph]] = {
    "planner, writer": _planner_and_writer,
    "planner twice": _planner_twice,
    "agent asked by a tool": _agent(_calls("ask_planner", "call_a", question="?"), _SIX, tools=[ask_planner]),
    "asked twice": _agent(
        _calls("ask_planner", "call_a", question="?"), _calls("ask_planner", "call_b", question="?"), _SIX,
        tools=[ask_planner],
    ),
    "retried plan": _retry,
    "deep agent": deep(
        text("I delegate this. ") + task("researcher", "find birds", "call_task") + end("tool_calls"),
        _SIX,
        subagents=[
            {
                "name": "researcher",
                "description": "A researcher.",
                "system_prompt": "Work.",
                "model": ScriptedChatModel(turns=[_PLAN]),
                "tools": [],
                "response_format": ToolStrategy(Plan),
            }
        ],
    ),
    "hand-off by Command": _hand_off,
    "hand-off by a tool": _swarm,
    "loop in one node": _loop,
    "worker that answers": _answering_worker,
    "side by side": _side_by_side,
    "tool node of another name": _own_tool_node,
}  # fmt: skip


async def _stream(build: Callable[[Checkpointer], Graph], modes: list[str]) -> list[Any]:
    graph = build(InMemorySaver())
    given: Any = {"messages": [user("go", "user-1")]}
    config: Any = {"configurable": {"thread_id": "t"}}
    return [part async for part in graph.astream(given, config, stream_mode=modes, subgraphs=True)]  # type: ignore[arg-type]


def _streamed(parts: list[Any], telling: TranslatorRun) -> tuple[dict[str, int], dict[str, int]]:
    """By message of a model call whose first chunk is in `parts`: how many pieces it has, and in how many it is shown;
    of those that are visible in the end."""
    pieces: dict[str, int] = {}
    for part in parts:
        if part[1] == "messages" and part[2][0].type == "AIMessageChunk" and part[2][0].text:
            pieces[part[2][0].id] = pieces.get(part[2][0].id, 0) + 1
    visible = {message["id"] for message in telling.view.messages if message["role"] == "assistant"}
    shown: dict[str, int] = {}
    for event in telling.events:
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            shown[event["messageId"]] = shown.get(event["messageId"], 0) + 1
    wanted = {item: count for item, count in pieces.items() if item in visible}
    return wanted, {item: shown.get(item, 0) for item in wanted}


def _unopened(events: list[Event]) -> list[str]:
    """Calls with a result and no start."""
    started = {event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"}
    answered = {event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_RESULT"}
    return sorted(answered - started)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("modes", [MODES, [*MODES, "tasks"]], ids=["", "tasks"])
async def test_every_visible_piece_is_shown_when_it_comes(name: str, modes: list[str]) -> None:
    parts = await _stream(GRAPHS[name], modes)
    telling = run_parts(parts)
    pieces, shown = _streamed(parts, telling)
    assert len(pieces) >= 2 or name.startswith("planner")
    assert shown == pieces
    assert _unopened(telling.events) == []
    texts = "".join(event["delta"] for event in telling.events if event["type"] == "TEXT_MESSAGE_CONTENT")
    unknown_at_first = name == "tool node of another name" and "tasks" not in modes
    assert texts.count(PRIVATE) == (1 if unknown_at_first else 0)


@pytest.mark.parametrize("name", GRAPHS)
async def test_a_late_joiner_is_shown_every_piece_of_what_begins_then(name: str) -> None:
    """At every cut: a translator that knows nothing but the newest values."""
    parts = await _stream(GRAPHS[name], MODES)
    values = None
    for cut, part in enumerate(parts):
        telling = TranslatorRun()
        telling.feeds.append(telling.translator.apply_checkpoint(values))
        for later in parts[cut:]:
            telling.feed(later)
        telling.finish()
        seen = {before[2][0].id for before in parts[:cut] if before[1] == "messages"}
        begun = [each for each in parts[cut:] if each[1] != "messages" or each[2][0].id not in seen]
        pieces, shown = _streamed(begun, telling)
        assert shown == pieces, cut
        if part[0] == () and part[1] == "values":
            values = part[2]
