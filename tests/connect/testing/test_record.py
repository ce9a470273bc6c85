"""What a user's test of a graph is made of: a scripted model, a recorded run, its checks. Real graphs, and the examples
of the docstrings."""

import asyncio
import inspect
import re
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, cast

import pytest
from ag_ui.core import RunAgentInput
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, interrupt
from langgraph_agui.connect import options_for, testing
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import (
    Pause,
    ScriptedChatModel,
    assert_ends_as,
    check_stream,
    reasoning,
    record,
    text,
    tool_call,
    usage,
)
from langgraph_agui.connect.testing.recording import record_stream
from langgraph_agui.translator import STREAM_MODES, ClientView
from pydantic import BaseModel

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.batch_readers import until

Graph = Pregel[Any, Any, Any, Any]
ON: Any = {"configurable": {"thread_id": "1"}}


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def agent(*turns: Any, **more: Any) -> Graph:
    graph: Graph = create_agent(ScriptedChatModel(turns=turns), [add], checkpointer=InMemorySaver(), **more)
    return graph


def deltas(events: list[dict[str, Any]], kind: str = "TEXT_MESSAGE_CONTENT") -> list[str]:
    return [event["delta"] for event in events if event["type"] == kind]


async def test_an_agent_streams_what_is_written_and_ends_as_its_thread(agui_client: AguiClient) -> None:
    turns = [["Let me see. ", tool_call("add", {"a": 1, "b": 2}), usage(7, 3)], [reasoning("So it is."), "It is 3."]]
    graph = agent(*turns)
    events = await record(graph, "1 + 2?", ON)
    view = check_stream(events)
    assert_ends_as(events, await graph.aget_state(ON), options_for(graph))
    assert deltas(events) == ["Let ", "me ", "see. ", "It ", "is ", "3."]
    assert deltas(events, "TOOL_CALL_ARGS") == ['{"a": ', '1, "b"', ": 2}"]
    assert deltas(events, "REASONING_MESSAGE_CONTENT") == ["So ", "it ", "is."]
    assert [message["role"] for message in view.messages] == ["user", "assistant", "tool", "reasoning", "assistant"]
    assert events[-1]["usage"][0]["totalTokens"] == 10
    played = agui_client.play(events)
    assert (played.accepted, played.messages) == (True, view.messages)

    more = await record(graph, "Again?", ON, before=view)
    assert_ends_as(more, await graph.aget_state(ON), options_for(graph), before=view)
    assert [message["role"] for message in check_stream(more, before=view).messages][5:] == [
        "user",
        "reasoning",
        "assistant",
    ]


async def test_calls_without_an_id_get_one_each() -> None:
    both = [tool_call("add", {"a": 1, "b": 2}), tool_call("add", {"a": 3, "b": 4}, index=1)]
    graph = agent(both, both, "Done.")
    view = check_stream(await record(graph, "Add."))
    calls = [call["id"] for message in view.messages for call in message.get("toolCalls", ())]
    assert calls == ["call_1_0", "call_1_1", "call_2_0", "call_2_1"]
    results = {message["toolCallId"]: message["content"] for message in view.messages if message["role"] == "tool"}
    assert results == dict(zip(calls, ["3", "7"] * 2, strict=True))  # they come as the tools return, in their threads


async def test_a_run_waits_at_a_pause_and_is_cancelled_there() -> None:
    pauses = [Pause(), Pause()]
    graph = agent(["One ", pauses[0], "two."])
    task = asyncio.create_task(record(graph, "Count.", ON))
    await pauses[0].reached.wait()
    assert not task.done()
    pauses[0].open.set()
    assert deltas(await task) == ["One ", "two."]

    graph = agent(["One ", pauses[1], "two."])
    task = asyncio.create_task(record(graph, "Count.", ON))
    await pauses[1].reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: pauses[1].is_cancelled)


async def test_an_error_of_a_model_is_the_end_of_the_stream() -> None:
    events = await record(agent(["One ", ValueError("no more")]), "Count.")
    check_stream(events)
    assert (deltas(events), events[-1]["message"]) == (["One "], "no more")


async def test_an_interrupt_and_its_answer() -> None:
    async def ask(state: MessagesState) -> dict[str, Any]:
        answer = await ScriptedChatModel(turns=["Shall I?"]).ainvoke(state["messages"])
        interrupt("Shall I?")
        return {"messages": [answer]}

    inner = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile()
    graph = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner").compile(InMemorySaver())
    events = await record(graph, {"messages": [HumanMessage("Do it.", id="u")]}, ON)
    assert events[-1]["outcome"]["type"] == "interrupt"
    assert_ends_as(events, await graph.aget_state(ON, subgraphs=True))
    view = check_stream(events)
    events = await record(graph, Command(resume=True), ON, before=view)
    assert_ends_as(events, await graph.aget_state(ON), before=view)
    assert check_stream(events, before=view, may_remove=True).outcome == {"type": "success"}


async def test_a_front_ends_request_is_recorded() -> None:
    graph = agent("Hello.")
    given = {"threadId": "1", "runId": "r", "protocolVersion": "1.0"}
    message = {"id": "u", "role": "user", "content": "Hi!"}
    request = RunAgentInput.model_validate({**given, "messages": [message], "state": {}, "tools": [], "context": []})
    events = await record(graph, request)
    assert (events[0]["runId"], deltas(events)) == ("r", ["Hello."])
    assert_ends_as(events, await graph.aget_state(ON), before=ClientView([message], {}))


def test_a_model_answers_whole_synchronously_and_with_structured_output() -> None:
    class Sum(BaseModel):
        total: int

    model = ScriptedChatModel(turns=[text("It is 3.")], disable_streaming=True)
    assert [chunk.text for chunk in model.stream("1 + 2?")] == ["It is 3."]
    assert ScriptedChatModel(turns=[AIMessageChunk(content="Hi.")]).invoke("Hi!").text == "Hi."
    assert ScriptedChatModel(turns=[tool_call("Sum", {"total": 3})]).with_structured_output(Sum).invoke("?") == Sum(
        total=3
    )
    with pytest.raises(RuntimeError, match="ainvoke or astream"):
        ScriptedChatModel(turns=[Pause()]).invoke("Hi!")
    with pytest.raises(TypeError, match="got int"):
        ScriptedChatModel(turns=[1]).invoke("Hi!")


async def test_an_agent_gives_structured_output() -> None:
    class Sum(BaseModel):
        """The sum."""

        total: int

    events = await record(agent(tool_call("Sum", {"total": 3}), response_format=Sum), "1 + 2?")
    assert events[-1]["result"] == {"total": 3}


# --- the examples -----------------------------------------------------------------------------------------------------

EXAMPLES = {
    name: dedent(found[1])
    for name in testing.__all__
    if (found := re.search(r"^Example:\n((?: .*\n?|\n)+)", inspect.getdoc(getattr(testing, name)) or "", re.MULTILINE))
}


def test_every_name_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted({*testing.__all__} - {"Expected"})


@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_example_of_a_docstring_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the recording of a run, `fault.jsonl`."""
    monkeypatch.chdir(tmp_path)
    await _recorded(tmp_path / "fault.jsonl")
    names = {each: getattr(testing, each) for each in testing.__all__}
    names |= {"asyncio": asyncio, "create_agent": create_agent, "HumanMessage": HumanMessage, "add": add}
    names |= {"agui_app": agui_app}
    names["graph"] = agent("Hello there.")
    exec(f"async def example():\n{indent(EXAMPLES[name], '    ')}", names)
    await cast(Any, names["example"])()


async def _recorded(file: Path) -> None:
    graph = agent("Hello there.")
    parts = graph.astream({"messages": [HumanMessage("hi")]}, ON, stream_mode=[*STREAM_MODES], subgraphs=True)
    with file.open("wb") as out:
        await record_stream(parts, out.write, thread_id="1", run_id="1", options=options_for(graph))
