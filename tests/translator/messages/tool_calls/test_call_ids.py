"""Ids of tool calls that repeat: under which id each call is emitted, and which call a result answers.

A client knows a call by its id alone, and lets no agent open what another opened.
"""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph_agui.translator import ClientView

from tests.support.clients.agui_client import AguiClient
from tests.support.streams.event_lines import lines
from tests.support.streams.translator_runs import TranslatorRun

ASKED = HumanMessage("go", id="u")


def call(name: str, call_id: str, **args: Any) -> Any:
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def task(call_id: str, what: str) -> Any:
    return call("task", call_id, subagent_type="helper", description=what)


def in_task(number: int, message: Any) -> Any:
    """A message in the subagent of a `tools` task: a chunk of its model, or a result of its tools."""
    node = "tools" if isinstance(message, ToolMessage) else "model"
    metadata = {"langgraph_node": node, "langgraph_checkpoint_ns": f"tools:{number}|{node}:1", "ls_model_type": "chat"}
    return ((f"tools:{number}",), "messages", (message, metadata))


def calls(message_id: str, call_id: str) -> AIMessageChunk:
    fragment: Any = {"name": "look", "args": "{}", "id": call_id, "index": 0, "type": "tool_call_chunk"}
    return AIMessageChunk(content="", id=message_id, tool_call_chunks=[fragment], chunk_position="last")


def answers(call_id: str, result_id: str) -> ToolMessage:
    return ToolMessage("found", tool_call_id=call_id, id=result_id, name="look")


def begun(*tasks: str, view: ClientView | None = None) -> TranslatorRun:
    """A run whose main agent has called a helper for each of `tasks`."""
    run = TranslatorRun(view=view or ClientView([{"id": "u", "role": "user", "content": "go"}], {}))
    made = [task(f"task-{number}", what) for number, what in enumerate(tasks, 1)]
    run.feed(((), "values", {"messages": [ASKED, AIMessage("", id="main", tool_calls=made)]}))
    for number, what in enumerate(tasks, 1):
        run.feed(((f"tools:{number}",), "values", {"messages": [HumanMessage(what, id=f"h{number}")]}))
    return run


def of_look(run: TranslatorRun) -> list[str]:
    """The calls of the tool `look` and the results, in words, as they were emitted."""
    return [line for line in lines(run.events) if " calls look " in line or " answers " in line]


def test_a_result_of_a_subagent_answers_its_latest_call_of_that_id(agui_client: AguiClient) -> None:
    run = begun("Help.")
    for turn in (1, 2):
        run.feed(in_task(1, calls(f"m{turn}", "c")))
        run.feed(in_task(1, answers("c", f"r{turn}")))
    run.finish()
    assert of_look(run) == [
        *("c calls look in m1", "r1 answers c: found"),
        *("m2-c calls look in m2", "r2 answers m2-c: found"),
    ]
    assert agui_client.play(run.events, messages=[{"id": "u", "role": "user", "content": "go"}]).accepted


def test_subagents_that_use_one_id_have_a_call_each(agui_client: AguiClient) -> None:
    run = begun("Help.", "Help too.")
    for number in (1, 2):
        run.feed(in_task(number, calls(f"m{number}", "c")))
    for number in (2, 1):
        run.feed(in_task(number, answers("c", f"r{number}")))
    run.finish()
    assert of_look(run) == [
        *("c calls look in m1", "m2-c calls look in m2"),
        *("r2 answers m2-c: found", "r1 answers c: found"),
    ]
    assert agui_client.play(run.events, messages=[{"id": "u", "role": "user", "content": "go"}]).accepted


PLAN = {"langgraph_node": "plan", "langgraph_checkpoint_ns": "plan:1", "ls_model_type": "chat"}
REMOVED = AIMessage("", id="scratch", tool_calls=[call("look", "c")])


@pytest.mark.parametrize(
    "part",
    [
        ((), "messages", (calls("scratch", "c"), PLAN)),
        ((), "values", {"messages": [ASKED, REMOVED]}),
        ((), "values", {"messages": [REMOVED, ASKED]}),
    ],
    ids=["streamed and not stored", "stored and removed", "in a snapshot and removed"],
)
def test_an_id_of_a_call_that_was_removed_again_stays_that_of_its_agent(part: Any, agui_client: AguiClient) -> None:
    """A model of the root graph called under the id; its message goes, and then a subagent uses the id."""
    run = TranslatorRun(view=ClientView([{"id": "u", "role": "user", "content": "go"}], {}))
    run.feed(((), "values", {"messages": [ASKED]}))
    run.feed(part)
    assert run.view.message_of_call("c") is not None
    run.feed(((), "values", {"messages": [ASKED, AIMessage("", id="main", tool_calls=[task("task-1", "Help.")])]}))
    assert run.view.message_of_call("c") is None
    run.feed((("tools:1",), "values", {"messages": [HumanMessage("Help.", id="h1")]}))
    run.feed(in_task(1, calls("m1", "c")))
    run.feed(in_task(1, answers("c", "r1")))
    run.finish()
    assert of_look(run)[-2:] == ["m1-c calls look in m1", "r1 answers m1-c: found"]
    assert agui_client.play(run.events, messages=[{"id": "u", "role": "user", "content": "go"}]).accepted


def test_a_result_of_a_call_that_the_client_does_not_have_is_not_emitted() -> None:
    run = begun("Help.")
    run.feed(in_task(1, answers("elsewhere", "r1")))
    assert of_look(run) == []
