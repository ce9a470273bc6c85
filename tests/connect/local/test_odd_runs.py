"""Inputs that few clients send, to threads and graphs that few have; in this process."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.types import Send, interrupt
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.serve import agui_app

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.asking import Asker, asked
from tests.support.clients.chatting import Chat, types_of
from tests.support.servers.serving import kinds_of, posted, served
from tests.support.streams.chats import ON, Graph, asking, calling, counting, said

SAVED_AT_THE_END = Intake(config={"configurable": {"__pregel_durability": "exit"}})
"""As a graph is run with `durability="exit"`."""


def edit(chat: Chat, message_id: str, text: str) -> None:
    """The user changes a message, and drops what came after it."""
    place = next(place for place, message in enumerate(chat.messages) if message["id"] == message_id)
    chat.messages = [*chat.messages[:place], {**chat.messages[place], "content": text}]


async def test_an_edit_keeps_what_came_in_along_with_the_message(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    chat.messages.append({"id": "u1", "role": "user", "content": "one"})
    await chat.says("two", "u2")
    edit(chat, "u2", "edited")
    await chat.runs()
    assert await said(graph) == ["one", "edited", "2: edited"]


async def test_an_edit_keeps_a_conversation_that_was_brought_along(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    chat.messages = [
        {"id": "u1", "role": "user", "content": "one"},
        {"id": "a1", "role": "assistant", "content": "first"},
    ]
    await chat.says("two", "u2")
    edit(chat, "u2", "edited")
    await chat.runs()
    assert await said(graph) == ["one", "first", "edited", "2: edited"]


async def brought(graph: Graph) -> None:
    """A thread that its owner has written, all at once."""
    messages = [HumanMessage("one", id="u1"), AIMessage("first", id="a1"), HumanMessage("two", id="u2")]
    await graph.aupdate_state(ON, {"messages": [*messages, AIMessage("second", id="a2")]})


async def test_a_message_of_a_thread_that_its_owner_wrote_can_be_edited(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await brought(graph)
    chat.messages = [
        {"id": "u1", "role": "user", "content": "one"},
        {"id": "a1", "role": "assistant", "content": "first"},
    ]
    await chat.says("edited", "u2")
    assert (await said(graph), chat.texts) == (["one", "first", "edited", "2: edited"],) * 2


async def test_a_question_of_a_thread_that_its_owner_wrote_is_answered_anew(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await brought(graph)
    chat.messages = [{"id": "u1", "role": "user", "content": "one"}]
    await chat.runs()
    assert await said(graph) == ["one", "1: one"]


async def test_a_question_is_answered_anew_where_runs_are_saved_at_their_end_only(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph, intake=SAVED_AT_THE_END)
    await chat.says("one", "u1")
    await chat.says("two", "u2")
    edit(chat, "u2", "two")
    await chat.runs()
    assert (await said(graph), (await graph.aget_state(ON)).values["turns"]) == (
        ["one", "1: one", "two", "2: two"],
        ["one", "two"],
    )


async def test_a_first_message_can_be_edited_where_runs_are_saved_at_their_end_only(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph, intake=SAVED_AT_THE_END)
    await chat.says("one", "u1")
    await chat.says("two", "u2")
    edit(chat, "u1", "edited")
    await chat.runs()
    assert (await said(graph), chat.texts) == (["edited", "1: edited"],) * 2


async def test_white_space_around_a_text_is_no_edit(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one\r\nmore \n", "u1")
    chat.messages[0]["content"] = "one\nmore"
    await chat.says("two", "u2")
    assert (await said(graph))[2:] == ["two", "2: two"]


async def test_messages_are_added_where_the_channel_has_no_reducer(agui_client: AguiClient) -> None:
    class Plain(TypedDict):
        messages: list[Any]

    def answer(state: Plain) -> dict[str, Any]:
        return {"messages": [*state["messages"], AIMessage(f"heard {len(state['messages'])}", id=str(uuid.uuid4()))]}

    graph: Graph = StateGraph(Plain).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())
    chat = Chat(agui_client, graph)
    await chat.says("one", "u1")
    await chat.says("two", "u2")
    assert await said(graph) == ["one", "heard 1", "two", "heard 3"]


def remembering(*, asks: bool = False) -> Graph:
    """A function that keeps the conversation in what it returns; `asks`: and asks before it answers."""

    @entrypoint(checkpointer=InMemorySaver())
    def flow(given: dict[str, Any], *, previous: Any = None) -> dict[str, Any]:
        heard: Any = add_messages((previous or {}).get("messages", []), given["messages"])
        tone = f" {interrupt('how?')}" if asks else ""
        return {"messages": add_messages(heard, AIMessage(f"heard {len(heard)}{tone}"))}

    return flow


async def test_a_function_that_was_answered_is_not_asked_again(agui_client: AguiClient) -> None:
    graph = remembering(asks=True)
    chat = Chat(agui_client, graph)
    for number in (1, 2):
        await chat.says("go", f"u{number}")
        await chat.answers("well")
    assert (await said(graph), chat.interrupts) == (["go", "heard 1 well", "go", "heard 3 well"], [])


async def test_a_functions_question_is_answered_anew(agui_client: AguiClient) -> None:
    graph = remembering()
    chat = Chat(agui_client, graph)
    await chat.says("one", "u1")
    await chat.says("two", "u2")
    edit(chat, "u2", "two")
    await chat.runs()
    assert await said(graph) == ["one", "heard 1", "two", "heard 3"]


async def test_an_edit_waits_for_the_answer_too(agui_client: AguiClient) -> None:
    chat = Chat(agui_client, asking("really?"))
    await chat.says("go", "u1")
    edit(chat, "u1", "edited")
    events = await chat.runs()
    assert events[1]["value"]["messageIds"] == ["u1"]


async def test_an_edit_that_waited_forks_after_the_answer(agui_client: AguiClient) -> None:
    graph = asking("really?")
    chat = Chat(agui_client, graph)
    await chat.says("go", "u1")
    edit(chat, "u1", "edited")
    await chat.runs()
    await chat.answers("yes")
    assert ((await graph.aget_state(ON)).values["messages"][0].content, len(chat.interrupts)) == ("edited", 1)


@pytest.mark.parametrize("answer", [None, False, 0, "", [], {}, {"id": None}])
async def test_an_answer_may_be_nothing(agui_client: AguiClient, answer: Any) -> None:
    graph = asking("really?")
    chat = Chat(agui_client, graph)
    await chat.says("go")
    await chat.answers(answer)
    assert await said(graph) == ["go", f"really? {answer}"]


async def test_an_owners_answer_that_raises_is_no_fault_of_the_thread(agui_client: AguiClient) -> None:
    def raises(value: Any) -> Any:
        raise LookupError("secret")

    chat = Chat(agui_client, asking("really?"), intake=Intake(answer_cancelled=raises))
    await chat.says("go")
    assert [(event["code"], event["message"]) for event in await chat.answers(...)] == [
        ("internal_error", "The run failed.")
    ]


async def test_calls_that_wait_for_the_front_end_are_not_run_over(agui_client: AguiClient) -> None:
    graph = calling()
    chat = Chat(agui_client, graph)
    await chat.says("paint it")
    events = await chat.runs()
    assert (types_of(events)[-1], await said(graph)) == ("RUN_FINISHED", ["paint it", ""])


class Call(TypedDict):
    """What a task is sent to do."""

    id: str
    name: str


def acting_in_parallel() -> Graph:
    """Makes two calls at once, of which one has a result and the other one raises."""

    def answer(state: MessagesState) -> dict[str, Any]:
        if len(state["messages"]) > 1:
            return {"messages": [AIMessage("heard")]}
        calls: list[Any] = [{"name": name, "args": {}, "id": name} for name in ("look", "break")]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    async def act(state: Call) -> dict[str, Any]:
        if state["name"] == "break":
            await looked.wait()
            raise ValueError("broken")
        looked.set()
        return {"messages": [ToolMessage("seen", tool_call_id=state["id"])]}

    def then(state: MessagesState) -> Any:
        last: Any = state["messages"][-1]
        return [Send("act", call) for call in last.tool_calls] or END

    looked = asyncio.Event()
    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    graph.add_node("act", act)
    return graph.add_conditional_edges("answer", then, ["act", END]).compile(InMemorySaver())


async def test_the_result_of_one_call_is_kept_though_another_one_failed(agui_client: AguiClient) -> None:
    graph = acting_in_parallel()
    chat = Chat(agui_client, graph)
    await chat.says("go", "u1")
    await chat.says("and", "u2")
    assert [message.tool_call_id for message in (await graph.aget_state(ON)).values["messages"][2:4]] == [
        "look",
        "break",
    ]


async def told(source: Local, askers: Sequence[Asker]) -> list[str]:
    """What the thread holds when all have been told."""
    await asyncio.gather(*(each.task for each in askers))
    return await said(source.graph)


class Unsteady(InMemorySaver):
    """Takes the longer for an answer, the sooner it was asked."""

    turns = 60

    async def aget_tuple(self, config: Any) -> Any:
        self.turns -= 1
        for _ in range(self.turns):
            await asyncio.sleep(0)
        return await super().aget_tuple(config)


async def test_queued_inputs_keep_their_order() -> None:
    async with Runs() as runs:
        source = Local(counting(Unsteady()), runs=runs)
        askers = [Asker(source, asked(str(each), f"run-{each}"), Intake(busy="queue")) for each in range(20)]
        assert (await told(source, askers))[::2] == [str(each) for each in range(20)]


async def test_of_inputs_that_take_each_others_place_the_last_one_stays() -> None:
    async with Runs() as runs:
        source = Local(counting(Unsteady()), runs=runs)
        askers = [Asker(source, asked(str(each), f"run-{each}"), Intake(busy="cancel")) for each in range(20)]
        await told(source, askers)
        assert [asker.events[-1].get("code") for asker in askers] == ["cancelled"] * 19 + [None]


async def test_a_message_of_a_run_that_was_stopped_at_once_is_not_lost() -> None:
    async with Runs() as runs:
        source = Local(counting(), runs=runs)
        same = asked("hello", "first")
        inputs = [same.model_copy(update={"run_id": f"run-{each}"}) for each in range(3)]
        askers = [Asker(source, each, Intake(busy="cancel")) for each in inputs]
        assert await told(source, askers) == ["hello", "1: hello"]


class Counted(InMemorySaver):
    """Counts the checkpoints that it lists."""

    listed = 0

    async def alist(self, *args: Any, **how: Any) -> AsyncIterator[Any]:
        async for each in super().alist(*args, **how):
            self.listed += 1
            yield each


async def long(saver: Counted) -> tuple[Graph, list[dict[str, Any]]]:
    """A thread of 60 turns, and its messages."""
    graph = counting(saver)
    for turn in range(60):
        await graph.ainvoke({"messages": [HumanMessage(str(turn), id=f"u{turn}")]}, ON)
    roles = {"human": "user", "ai": "assistant"}
    held = (await graph.aget_state(ON)).values["messages"]
    return graph, [{"id": each.id, "role": roles[each.type], "content": each.content} for each in held]


async def test_a_turn_does_not_read_the_history(agui_client: AguiClient) -> None:
    saver = Counted()
    graph, held = await long(saver)
    chat = Chat(agui_client, graph)
    chat.messages = held
    await chat.says("more", "new")
    assert saver.listed == 0


async def test_an_edit_reads_no_more_of_the_history_than_it_needs(agui_client: AguiClient) -> None:
    saver = Counted()
    graph, held = await long(saver)
    chat = Chat(agui_client, graph)
    chat.messages = held
    edit(chat, "u59", "edited")
    await chat.runs()
    assert ((await said(graph))[-1], saver.listed < 20) == ("60: edited", True)


def with_a_memory_inside() -> Graph:
    """A graph whose inner one keeps a memory of its own."""
    inner = StateGraph(MessagesState).add_node("ask", lambda state: {"messages": [AIMessage(interrupt("inner?"))]})
    within = inner.add_edge(START, "ask").compile(checkpointer=True)
    return StateGraph(MessagesState).add_node("inner", within).add_edge(START, "inner").compile(InMemorySaver())


async def test_a_question_in_a_subgraph_with_a_memory_of_its_own_is_answered(agui_client: AguiClient) -> None:
    graph = with_a_memory_inside()
    chat = Chat(agui_client, graph)
    for number in (1, 2):
        await chat.says("go", f"u{number}")
        await chat.answers(f"yes {number}")
    assert (await said(graph), chat.interrupts) == (["go", "yes 1", "go", "yes 2"], [])


async def test_the_schema_of_a_graphs_input_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = remembering()
    made, make = 0, graph.get_input_jsonschema

    def counted(**given: Any) -> dict[str, Any]:
        nonlocal made
        made += 1
        return make(**given)

    monkeypatch.setattr(graph, "get_input_jsonschema", counted)
    app = agui_app(graph)
    async with served(app) as server, server.client() as client:
        for run_id in ("one", "two", "three"):
            body = (await client.post("/", json=posted(run_id, "hello", run_id=run_id))).content
            assert kinds_of(body)[-1] == "RUN_FINISHED"
    assert made == 1
