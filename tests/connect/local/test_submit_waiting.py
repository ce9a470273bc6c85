"""Inputs to threads that wait for an answer, in a graph of this process."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.human_in_the_loop import DecisionType
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect import Local, Runs, cancel
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, text, tool_call
from langgraph_agui.translator import Options

from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.chatting import Chat, types_of
from tests.support.streams.chats import ON, Graph, asking, asking_then_failing_once, said, stopping


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_answer_resumes_the_run(agui_client: AguiClient, version: str) -> None:
    graph = asking("really?")
    chat = Chat(agui_client, graph, version=version)
    await chat.says("go")
    await chat.answers("yes")
    assert (await said(graph), chat.interrupts) == (["go", "really? yes"], [])


async def test_a_resumed_run_may_have_the_interrupted_ones_id(agui_client: AguiClient) -> None:
    graph = asking("really?")
    chat = Chat(agui_client, graph)
    await chat.says("go", runId="same")
    await chat.answers("yes", runId="same")
    assert await said(graph) == ["go", "really? yes"]


async def test_several_questions_are_answered_at_once(agui_client: AguiClient) -> None:
    graph = asking("really?", "surely?")
    chat = Chat(agui_client, graph)
    await chat.says("go")
    await chat.answers("yes", "no")
    assert sorted(await said(graph)) == ["go", "really? yes", "surely? no"]


async def test_of_several_questions_one_may_be_answered(agui_client: AguiClient) -> None:
    graph = asking("really?", "surely?")
    chat = Chat(agui_client, graph)
    await chat.says("go")
    waiting = chat.interrupts[1]["id"]
    await chat.answers("yes")
    assert [interrupt["id"] for interrupt in chat.interrupts] == [waiting]


async def test_a_cancelled_question_is_no_answer_of_null(agui_client: AguiClient) -> None:
    for answer, heard in ((..., {"status": "cancelled"}), (None, None)):
        graph = asking("really?")
        chat = Chat(agui_client, graph)
        await chat.says("go")
        await chat.answers(answer)
        assert await said(graph) == ["go", f"really? {heard}"]


def approving(*allowed: DecisionType, calls: int = 1, **how: Any) -> tuple[Graph, list[str]]:
    """An agent whose tool is approved before each call; and what it was called with."""
    called: list[str] = []

    @tool
    def delete(name: str) -> str:
        """Deletes something."""
        called.append(name)
        return "deleted"

    asked = [
        each
        for place in range(calls)
        for each in tool_call("delete", {"name": f"n{place}"}, f"call-{place}", index=place)
    ]
    model = ScriptedChatModel(turns=[[*asked, *end("tool_calls")], [*text("Left."), *end()]])
    approval = HumanInTheLoopMiddleware(interrupt_on={"delete": {"allowed_decisions": [*allowed]}}, **how)
    graph: Any = create_agent(model, [delete], middleware=[approval], checkpointer=InMemorySaver())
    return graph, called


APPROVED: Any = {"type": "approve"}
EDITED: Any = {"type": "edit", "edited_action": {"name": "delete", "args": {"name": "else"}}}


@pytest.mark.parametrize(
    ("allowed", "answer", "called"),
    [
        (("approve", "reject"), {"decisions": [APPROVED] * 2}, ["n0", "n1"]),
        (("approve", "reject"), True, ["n0", "n1"]),
        (("approve", "reject"), "approve", ["n0", "n1"]),
        (("approve", "reject"), False, []),
        (("approve", "reject"), "reject", []),
        (("approve", "edit"), {"decisions": [APPROVED, EDITED]}, ["n0", "else"]),
        (("approve", "reject"), ..., []),
    ],
)
async def test_an_approval_takes(
    allowed: tuple[DecisionType, ...], answer: Any, called: list[str], agui_client: AguiClient
) -> None:
    graph, did = approving(*allowed, calls=2)
    chat = Chat(agui_client, graph)
    await chat.says("clean up")
    await chat.answers(answer)
    assert (sorted(did), chat.texts[-1], chat.interrupts) == (sorted(called), "Left.", [])


REFUSED: list[Any] = [
    "maybe",
    None,
    1,
    [],
    {},
    {"decisions": [APPROVED]},
    {"decisions": [APPROVED] * 3},
    {"decisions": [APPROVED, "approve"]},
    {"decisions": [APPROVED, {"type": "delete"}]},
    {"decisions": [APPROVED, {"type": "edit"}]},
    {"decisions": [APPROVED, {"type": "edit", "edited_action": {"name": "delete", "args": 1}}]},
    {"decisions": [APPROVED, {"type": "reject"}]},
    False,
    "reject",
    ...,
]
"""What the approval of two calls can't be answered with, that may be approved and edited only."""


async def test_an_answer_that_an_approval_can_not_take_is_refused_and_another_one_taken(
    agui_client: AguiClient,
) -> None:
    graph, called = approving("approve", "edit", calls=2)
    chat = Chat(agui_client, graph)
    await chat.says("clean up")
    waiting, before = chat.interrupts, await graph.aget_state(ON)
    for answer in REFUSED:
        chat.interrupts = waiting
        events = await chat.answers(answer)
        assert [event.get("code") for event in events] == ["invalid_input"], answer
        assert "maybe" not in events[0]["message"]
    assert await graph.aget_state(ON) == before
    chat.interrupts = waiting
    await chat.answers({"decisions": [APPROVED, EDITED]})
    assert (sorted(called), chat.texts[-1]) == (["else", "n0"], "Left.")


@pytest.mark.newest
async def test_a_cancelled_approval_that_takes_no_rejection_is_responded_to(agui_client: AguiClient) -> None:
    graph, called = approving("respond")
    chat = Chat(agui_client, graph)
    await chat.says("clean up")
    await chat.answers(...)
    assert (called, (await said(graph))[-2:]) == ([], ["The user did not answer.", "Left."])


async def test_an_older_clients_answer_is_checked_as_well(agui_client: AguiClient) -> None:
    graph, called = approving("approve", "reject")
    chat = Chat(agui_client, graph, version=VERSIONS[1], options=Options(interrupts="legacy"))
    await chat.says("clean up")
    events = await chat.runs(forwardedProps={"command": {"resume": "maybe"}})
    assert [event.get("code") for event in events] == ["invalid_input"]
    await chat.runs(forwardedProps={"command": {"resume": "true"}})
    assert (called, chat.texts[-1]) == (["n0"], "Left.")


@pytest.mark.newest
async def test_an_answer_that_does_not_fit_langgraphs_own_schema_is_refused_before_anything_runs(
    agui_client: AguiClient,
) -> None:
    @dataclass
    class Size:
        width: int

    done: list[str] = []

    def asks(name: str, **how: Any) -> Any:
        def node(state: MessagesState) -> dict[str, Any]:
            answer = interrupt(name, **how)
            done.append(name)
            return {"messages": [AIMessage(f"{name} {getattr(answer, 'width', answer)}")]}

        return node

    graph = StateGraph(MessagesState)
    for name, how in (("size", {"response_schema": Size}), ("free", {})):
        graph.add_node(name, asks(name, **how)).add_edge(START, name)
    compiled = graph.compile(InMemorySaver())
    chat = Chat(agui_client, compiled)
    await chat.says("go")
    chat.interrupts = waiting = sorted(chat.interrupts, key=lambda each: str(each["message"]))
    for answer in ("wide", {"width": "wide"}, {}, ...):
        chat.interrupts = waiting
        events = await chat.answers("anything", answer)
        assert ([event.get("code") for event in events], done) == (["invalid_input"], []), answer
    chat.interrupts = waiting
    await chat.answers("anything", {"width": "7"})
    assert sorted(await said(compiled)) == ["free anything", "go", "size 7"]


@pytest.mark.parametrize("name", ["responseSchema", "response_schema"])
@pytest.mark.parametrize(
    ("asked", "wrong", "right", "taken"),
    [
        ({}, ("wide", {"width": "wide"}, {}), {"width": 7}, {"width": 7}),
        ({}, ("wide",), ..., {"status": "cancelled"}),
        ({"nullable": True}, (), ..., None),
        ({"type": "tool_approval"}, (True, "approve"), {"width": 7}, {"width": 7}),
    ],
)
async def test_an_answer_that_does_not_fit_the_schema_in_its_value_is_refused_before_anything_runs(
    asked: Any, wrong: Any, right: Any, taken: Any, name: str, agui_client: AguiClient
) -> None:
    size = {"type": "object", "properties": {"width": {"type": "integer"}}, "required": ["width"]}
    schema = {"anyOf": [size, {"type": "null"}]} if "nullable" in asked else size
    done: list[Any] = []

    def ask(state: MessagesState) -> dict[str, Any]:
        done.append(interrupt({**asked, name: schema}))
        return {"messages": [AIMessage("Taken.")]}

    chat = Chat(agui_client, StateGraph(MessagesState).add_node(ask).add_edge(START, "ask").compile(InMemorySaver()))
    await chat.says("go")
    waiting = chat.interrupts
    assert [item["responseSchema"] for item in waiting] == [schema]
    for answer in wrong:
        chat.interrupts = waiting
        events = await chat.answers(answer)
        assert ([event.get("code") for event in events], done) == (["invalid_input"], []), answer
    chat.interrupts = waiting
    await chat.answers(right)
    assert (done, chat.texts[-1]) == ([taken], "Taken.")


@pytest.mark.newest
@pytest.mark.parametrize(
    ("answer", "called"), [(True, ["n0", "n1"]), (False, []), (..., []), ({"type": "approve"}, ["n0", "n1"])]
)
async def test_approvals_of_one_call_each_take(answer: Any, called: list[str], agui_client: AguiClient) -> None:
    graph, did = approving("approve", "reject", calls=2, interrupt_mode="per_call")
    chat = Chat(agui_client, graph)
    await chat.says("clean up")
    waiting = chat.interrupts
    events = await chat.answers(True, {"decisions": [APPROVED]})
    assert ([event.get("code") for event in events], did) == (["invalid_input"], [])
    chat.interrupts = waiting
    await chat.answers(answer, answer)
    assert (sorted(did), chat.texts[-1], chat.interrupts) == (called, "Left.", [])


@pytest.mark.parametrize("answer", ["yes", '"yes"'])
async def test_older_clients_answer_in_forwarded_props(agui_client: AguiClient, answer: str) -> None:
    graph = asking("really?")
    chat = Chat(agui_client, graph, version=VERSIONS[1], options=Options(interrupts="legacy"))
    await chat.says("go")
    await chat.runs(forwardedProps={"command": {"resume": answer, "interruptEvent": "really?"}})
    assert await said(graph) == ["go", "really? yes"]


async def test_an_older_clients_answer_goes_to_the_question_it_was_shown(agui_client: AguiClient) -> None:
    graph = asking("really?", "surely?")
    chat = Chat(agui_client, graph, version=VERSIONS[1], options=Options(interrupts="legacy"))
    await chat.says("go")
    await chat.runs(forwardedProps={"command": {"resume": "no", "interruptEvent": "surely?"}})
    state = await graph.aget_state(ON)
    assert [interrupt.value for interrupt in state.interrupts] == ["really?"]


async def test_an_answer_to_one_of_several_must_say_to_which(agui_client: AguiClient) -> None:
    chat = Chat(agui_client, asking("really?", "surely?"), version=VERSIONS[1], options=Options(interrupts="legacy"))
    await chat.says("go")
    events = await chat.runs(forwardedProps={"command": {"resume": "no"}})
    assert [(event["type"], event["code"]) for event in events] == [("RUN_ERROR", "invalid_input")]


async def test_a_message_without_an_answer_is_told_what_waits(agui_client: AguiClient) -> None:
    chat = Chat(agui_client, asking("really?"))
    await chat.says("go")
    waiting = chat.interrupts
    events = await chat.says("hello?", "u2")
    assert (types_of(events), chat.interrupts) == (["RUN_STARTED", "CUSTOM", "RUN_FINISHED"], waiting)


async def test_it_is_told_which_messages_wait_for_what(agui_client: AguiClient) -> None:
    chat = Chat(agui_client, asking("really?"))
    await chat.says("go")
    ids = [interrupt["id"] for interrupt in chat.interrupts]
    events = await chat.says("hello?", "u2")
    assert (events[1]["name"], events[1]["value"]) == ("interrupt_pending", {"interruptIds": ids, "messageIds": ["u2"]})


async def test_a_message_without_an_answer_is_told_which_calls_the_tools_that_wait_were_called_for(
    agui_client: AguiClient,
) -> None:
    @tool
    def book(place: str) -> str:
        """Books a place."""
        return str(interrupt(f"Book {place}?"))

    calls = [tool_call("book", {"place": place}, f"call_{place}", index=at) for at, place in enumerate("ab")]
    model = ScriptedChatModel(turns=[[chunk for call in calls for chunk in call] + end("tool_calls")])
    chat = Chat(agui_client, create_agent(model, [book], checkpointer=InMemorySaver()))
    for words in ("go", "well?"):
        await chat.says(words)
        called = {item["message"]: item["toolCallId"] for item in chat.interrupts}
        assert called == {"Book a?": "call_a", "Book b?": "call_b"}


async def test_a_message_that_waits_stays_with_the_client(agui_client: AguiClient) -> None:
    chat = Chat(agui_client, asking("really?"))
    await chat.says("go")
    await chat.says("hello?", "u2")
    assert chat.texts == ["go", "hello?"]


async def test_a_message_that_waited_is_run_after_the_answer(agui_client: AguiClient) -> None:
    graph = asking("really?")
    chat = Chat(agui_client, graph)
    await chat.says("go")
    await chat.says("hello?", "u2")
    events = await chat.answers("yes")
    assert (await said(graph), chat.texts, types_of(events).count("RUN_STARTED")) == (
        ["go", "really? yes", "hello?"],
        ["go", "really? yes", "hello?"],
        2,
    )


async def test_a_question_that_was_answered_elsewhere_is_not_asked_again(
    agui_client: AguiClient, caplog: pytest.LogCaptureFixture
) -> None:
    graph = asking("really?")
    chat, other = Chat(agui_client, graph), Chat(agui_client, graph)
    await chat.says("go")
    other.messages, other.interrupts = list(chat.messages), chat.interrupts
    await chat.answers("yes")
    assert caplog.messages == []
    events = await other.answers("no")
    assert (await said(graph), other.texts, other.interrupts) == (["go", "really? yes"], ["go", "really? yes"], [])
    run = f"thread 't', run {events[0]['runId']!r}"
    assert caplog.messages == [f"An answer is ignored: its interrupt is not pending ({run})."]


async def test_an_answer_to_an_unknown_interrupt_is_in_the_log(
    agui_client: AguiClient, caplog: pytest.LogCaptureFixture
) -> None:
    chat = Chat(agui_client, asking("really?"))
    await chat.says("go")
    chat.interrupts = [{**chat.interrupts[0], "id": "another"}]
    events = await chat.answers("yes")
    assert events[-1]["outcome"]["type"] == "interrupt"
    run = f"thread 't', run {events[0]['runId']!r}"
    assert caplog.messages == [f"An answer is ignored: its interrupt is not pending ({run})."]


async def test_a_breakpoint_is_passed(agui_client: AguiClient) -> None:
    chat = Chat(agui_client, stopping())
    await chat.says("go")
    await chat.answers(None)
    assert (chat.texts, chat.interrupts) == (["go", "at last: go"], [])


async def test_a_breakpoint_that_was_told_again_is_passed(agui_client: AguiClient) -> None:
    chat = Chat(agui_client, stopping())
    await chat.says("go")
    await chat.says("hello?", "u2")
    events = await chat.answers(None)
    assert (chat.texts[:2], types_of(events).count("RUN_STARTED")) == (["go", "at last: go"], 2)


async def test_a_cancelled_breakpoint_drops_what_is_left(agui_client: AguiClient) -> None:
    graph = stopping()
    chat = Chat(agui_client, graph)
    await chat.says("go")
    await chat.answers(...)
    state = await graph.aget_state(ON)
    assert (state.next, chat.texts, chat.interrupts) == ((), ["go"], [])


async def test_after_a_cancelled_breakpoint_the_conversation_goes_on(agui_client: AguiClient) -> None:
    graph = stopping()
    chat = Chat(agui_client, graph)
    await chat.says("go")
    await chat.answers(...)
    await chat.says("again", "u2")
    await chat.answers(None)
    assert await said(graph) == ["go", "again", "at last: again"]


def asking_then_waiting(point: Pause) -> Graph:
    """Asks in one node, and waits in the next."""

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"really? {interrupt('really?')}")]}

    async def wait(state: MessagesState) -> dict[str, Any]:
        await point()
        return {"messages": [AIMessage("waited")]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_node("wait", wait)
    return graph.add_edge(START, "ask").add_edge("ask", "wait").compile(InMemorySaver())


async def test_a_late_answer_does_not_start_what_was_stopped(agui_client: AguiClient) -> None:
    point = Pause()
    async with Runs() as runs:
        source = Local(asking_then_waiting(point), runs=runs)
        chat, other = Chat(agui_client, source), Chat(agui_client, source)
        await chat.says("go")
        other.messages, other.interrupts = list(chat.messages), chat.interrupts
        resumed = asyncio.get_running_loop().create_task(chat.answers("yes"))
        await point.reached.wait()
        await cancel(source, "t")
        await resumed
        point.reached.clear()
        await other.answers("no")
        assert not point.reached.is_set()


async def test_an_answer_that_failed_is_tried_again(agui_client: AguiClient) -> None:
    graph = asking_then_failing_once()
    chat = Chat(agui_client, graph)
    await chat.says("go")
    asked = chat.interrupts
    events = await chat.answers("yes")
    chat.interrupts = asked
    await chat.answers("yes")
    assert (events[-1]["type"], await said(graph)) == ("RUN_ERROR", ["go", "try 2: yes"])


async def test_a_run_id_may_be_as_long_as_any(agui_client: AguiClient) -> None:
    graph = asking("really?")
    chat = Chat(agui_client, graph)
    await chat.says("go", runId="r" * 512)
    chat.messages.append({"id": "u2", "role": "user", "content": "hello?"})
    await chat.answers("yes", runId="r" * 512)
    assert await said(graph) == ["go", "really? yes", "hello?"]
