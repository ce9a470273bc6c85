"""An interrupt that was raised inside a tool names the tool's call: in the run, and to a client that connects later."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Interrupt, Send, interrupt
from langgraph_agui.connect.asking_tools import with_calls
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.connect.testing.scripts import Chunks

from fixtures.graphs.subagents import deep, specialist, task
from fixtures.graphs.teams import asking
from fixtures.scripts import end
from tests.support.clients.batch_readers import BatchReader
from tests.support.clients.locally import connected
from tests.support.streams.pausing_graphs import HELLO, Graph, on


@tool
async def ask(about: str) -> str:
    """Asks a person."""
    return str(interrupt({"question": about}))


@tool
async def look(at: str) -> str:
    """Looks at something."""
    return at


@tool
async def ask_for(about: str) -> str:
    """Asks a person for another call."""
    return str(interrupt({"question": about, "tool_call_id": "call_other"}))


def calls(*wanted: str) -> Chunks:
    """A message with calls, each given as `tool id`. Each tool is asked about the id of its call."""
    made: Chunks = []
    for index, each in enumerate(wanted):
        name, call_id = each.split()
        made += tool_call(name, {"at" if name == "look" else "about": call_id}, call_id, index=index)
    return made + end("tool_calls")


def agent(*wanted: str, saver: Any = None, **options: Any) -> Any:
    model = ScriptedChatModel(turns=[calls(*wanted), text("Done.") + end()])
    return create_agent(model, [ask, look, ask_for], checkpointer=saver, **options)


def within(graph: Any, saver: Any = None, **others: Any) -> Any:
    """A graph with this subgraph, and other nodes next to it."""
    builder: Any = StateGraph(MessagesState)
    for name, node in {"inner": graph, **others}.items():
        builder.add_node(name, node).add_edge(START, name)
    return builder.compile(saver)


def calling(*wanted: str) -> Any:
    """A node that makes these calls, given as `tool id`."""
    made: list[Any] = [{"name": each.split()[0], "id": each.split()[1]} for each in wanted]
    listed = [{**call, "args": {"at" if call["name"] == "look" else "about": call["id"]}} for call in made]
    return lambda _: {"messages": [AIMessage("", id="calls", tool_calls=listed)]}


def stock(*wanted: str, node: str = "tools", saver: Any = None) -> Any:
    """A `ToolNode` that runs all calls in one task."""
    builder: Any = StateGraph(MessagesState).add_node("model", calling(*wanted))
    builder.add_node(node, ToolNode([ask, look])).add_edge(START, "model").add_edge("model", node)
    return builder.compile(saver)


def reviewed(saver: Any) -> Any:
    """One of three calls has its result before the tools run."""

    def review(_: MessagesState) -> dict[str, Any]:
        return {"messages": [ToolMessage("No.", tool_call_id="call_1", id="refused")]}

    def send(state: MessagesState) -> list[Send]:
        made: Any = next(message for message in state["messages"] if isinstance(message, AIMessage))
        return [Send("tools", [call]) for call in made.tool_calls if call["id"] != "call_1"]

    builder: Any = StateGraph(MessagesState).add_node("model", calling("look call_1", "look call_2", "ask call_3"))
    builder.add_node("review", review).add_node("tools", ToolNode([ask, look])).add_edge(START, "model")
    return builder.add_edge("model", "review").add_conditional_edges("review", send, ["tools"]).compile(saver)


def with_context(saver: Any) -> Any:
    """Each call is sent together with the state, as `create_agent` of older versions of LangChain does."""

    def send(state: MessagesState) -> list[Send]:
        made: Any = state["messages"][-1]
        mark = {"__type": "tool_call_with_context", "state": state}
        return [Send("tools", {**mark, "tool_call": call}) for call in made.tool_calls]

    builder: Any = StateGraph(MessagesState).add_node("model", calling("look call_1", "ask call_2", "ask call_3"))
    builder.add_node("tools", ToolNode([ask, look])).add_edge(START, "model")
    return builder.add_conditional_edges("model", send, ["tools"]).compile(saver)


def backwards(saver: Any) -> Any:
    """The calls are sent in another order than that of their message."""

    def send(state: MessagesState) -> list[Send]:
        made: Any = state["messages"][-1]
        return [Send("tools", [call]) for call in reversed(made.tool_calls)]

    builder: Any = StateGraph(MessagesState).add_node("model", calling("ask call_1", "ask call_2"))
    builder.add_node("tools", ToolNode([ask, look])).add_edge(START, "model")
    return builder.add_conditional_edges("model", send, ["tools"]).compile(saver)


def expert(saver: Any) -> Any:
    """A tool that asks, and one that calls an agent whose tool asks; the calls of both agents have the same id."""
    turn = tool_call("ask", {"about": "first"}, "call_1") + tool_call("expert", {"question": "?"}, "call_2", index=1)
    model = ScriptedChatModel(turns=[turn + end("tool_calls"), text("Done.") + end()])
    return create_agent(model, [ask, asking("expert", agent("ask call_1"))], checkpointer=saver)


def delegating(saver: Any) -> Any:
    """Two subagents, one of which asks."""
    turn = task("quiet", "be quiet", "call_1") + task("loud", "be loud", "call_2", 1) + end("tool_calls")
    quiet = specialist(text("Quiet.") + end(), name="quiet")
    loud = specialist(calls("look call_3", "ask call_4"), text("Loud.") + end(), name="loud", tools=[ask, look])
    built: Any = deep(turn, text("Done.") + end(), subagents=[quiet, loud])(saver)
    return built


def speaking(_: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("Next to it.", id="next")]}


CASES: dict[str, tuple[Callable[[Any], Any], dict[str, str | None]]] = {
    "one call": (lambda saver: agent("ask call_1", saver=saver), {"call_1": "call_1"}),
    "several calls": (
        lambda saver: agent("look call_1", "ask call_2", "look call_3", "ask call_4", saver=saver),
        {"call_2": "call_2", "call_4": "call_4"},
    ),
    "a value that names a call": (lambda saver: agent("ask_for call_1", saver=saver), {"call_1": "call_other"}),
    "a subgraph": (
        lambda saver: within(agent("look call_1", "ask call_2"), saver, speaking=speaking),
        {"call_2": "call_2"},
    ),
    "a subgraph of a subgraph": (
        lambda saver: within(within(agent("ask call_1", "ask call_2")), saver),
        {"call_1": "call_1", "call_2": "call_2"},
    ),
    "two agents with calls of the same tool": (
        lambda saver: within(agent("ask call_1"), saver, other=agent("look call_2", "ask call_3")),
        {"call_1": "call_1", "call_3": "call_3"},
    ),
    "one task for one call": (lambda saver: stock("ask call_1", saver=saver), {"call_1": "call_1"}),
    "one task for two calls": (lambda saver: stock("ask call_1", "look call_2", saver=saver), {"call_1": None}),
    "one task of another name": (lambda saver: stock("ask call_1", node="run", saver=saver), {"call_1": None}),
    "a call that was answered before": (reviewed, {"call_3": "call_3"}),
    "calls with their context": (with_context, {"call_2": "call_2", "call_3": "call_3"}),
    "calls in another order": (backwards, {"call_1": "call_1", "call_2": "call_2"}),
    "a tool that calls an agent": (expert, {"first": "call_1", "call_1": "call_2"}),
    "a subagent": (delegating, {"call_4": "call_2"}),
}


def named(listener: BatchReader) -> dict[str, str | None]:
    """By question: the call that the item names."""
    items = listener.events[-1]["outcome"]["interrupts"]
    return {item["message"]: item.get("toolCallId") for item in items}


async def both(graph: Graph, runs: Runs, given: Any, run_id: str) -> list[dict[str, str | None]]:
    """What a reader of the run is told, and a client that connects after it."""
    run = await runs.start(graph, given, on("t"), run_id=run_id)
    watched = BatchReader()
    await watched.hear(run.attach(watched.reader))
    return [named(watched), named(await connected(Local(graph, runs=runs)))]


@pytest.mark.newest
@pytest.mark.parametrize("case", CASES)
async def test_an_interrupt_of_a_tool_names_its_call_in_the_run_and_after_it(case: str) -> None:
    build, wanted = CASES[case]
    async with Runs() as runs:
        assert await both(build(InMemorySaver()), runs, HELLO, "r") == [wanted, wanted]


async def test_interrupts_that_still_wait_after_an_answer_name_their_calls() -> None:
    graph = agent("ask call_1", "look call_2", "ask call_3", saver=InMemorySaver())
    async with Runs() as runs:
        assert await both(graph, runs, HELLO, "r1") == [{"call_1": "call_1", "call_3": "call_3"}] * 2
        asked = (await graph.aget_state(on("t"))).interrupts
        first = next(each for each in asked if each.value["question"] == "call_1")
        assert await both(graph, runs, Command(resume={first.id: "yes"}), "r2") == [{"call_3": "call_3"}] * 2


async def test_the_path_of_a_task_has_the_position_of_its_send() -> None:
    """What `asking_tools` stands on; see LangGraph's `pregel/_algo.py`."""
    saver = InMemorySaver()
    graph = agent("look call_1", "ask call_2", "ask call_3", saver=saver)
    await graph.ainvoke(HELLO, on("t"))
    state = await graph.aget_state(on("t"))
    kept = await saver.aget_tuple(state.config)
    assert kept is not None
    sent = [send.arg for send in kept.checkpoint["channel_values"]["__pregel_tasks"]]
    paths = [task.path[:2] for task in state.tasks]
    assert sorted(paths) == [("__pregel_push", position) for position in range(3)]
    asked = {task.interrupts[0].value["question"]: task.path[1] for task in state.tasks if task.interrupts}
    assert asked == {"call_2": 1, "call_3": 2}
    found = [(each if isinstance(each, list) else [each["tool_call"]])[0]["id"] for each in sent]
    assert found == ["call_1", "call_2", "call_3"]


# --- states that do not say which call it is --------------------------------------------------------------------------

CALLED = AIMessage("", tool_calls=[{"name": "ask", "args": {}, "id": f"call_{number}"} for number in (1, 2)])


def pushed(position: int, **fields: Any) -> dict[str, Any]:
    return {"id": str(position), "name": "tools", "path": ["__pregel_push", position, False], **fields}


def asks(name: str = "i") -> dict[str, Any]:
    return {"interrupts": [{"id": name, "value": "?"}]}


def answers(call_id: str) -> dict[str, Any]:
    return {"result": {"messages": [{"type": "tool", "content": "", "tool_call_id": call_id}]}}


def calls_of(tasks: Sequence[Any], *messages: AnyMessage, ids: Sequence[str] = ("i",)) -> list[str | None]:
    state = {"values": {"count": 1, "messages": [CALLED, *messages]}, "tasks": tasks}
    found = with_calls([Interrupt("?", id=name) for name in ids], state)
    return [each["tool_call_id"] if isinstance(each, dict) else None for each in found]


@pytest.mark.parametrize(
    ("tasks", "wanted"),
    [
        ([pushed(0, **asks()), pushed(1, **answers("call_2"))], "call_1"),
        ([pushed(1, **asks()), pushed(0, **answers("call_1"))], "call_2"),
        ([pushed(0, **asks()), pushed(1, **answers("call_1"))], None),  # sent in another order
        ([pushed(0, **asks())], None),  # not all calls were sent
        ([pushed(0, **asks()), pushed(1, name="other")], None),  # to several nodes
        ([pushed(0, name="review", **asks()), pushed(1, name="review")], None),  # other work, not these calls
        ([pushed(0, **asks()), pushed(1, **asks())], None),  # an id that does not tell them apart
        ([{"id": "0", "name": "tools", **asks()}], None),
        ([], None),
    ],
)
def test_a_call_is_named_only_if_it_is_certain(tasks: Any, wanted: str | None) -> None:
    assert calls_of(tasks) == [wanted]


def test_a_channel_that_was_written_several_times_has_its_answers() -> None:
    one = {"type": "tool", "content": "", "tool_call_id": "call_1"}
    result = {"result": {"messages": {"$writes": [[one]]}}}
    assert calls_of([pushed(0, **result), pushed(1, **asks())], ToolMessage("", tool_call_id="call_1")) == ["call_2"]
