"""What becomes of a client's messages in a graph of this process: what is added, what forks, what is run again."""

import pytest
from langgraph_agui.connect import Intake

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.chatting import Chat, types_of
from tests.support.streams.chats import (
    ON,
    Graph,
    calling,
    counting,
    failing_once,
    forgetting,
    paying_in_the_end,
    rewriting,
    said,
)


async def ids(graph: Graph) -> list[str]:
    return [str(message.id) for message in (await graph.aget_state(ON)).values["messages"]]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_second_turn_adds_what_the_thread_lacks(agui_client: AguiClient, version: str) -> None:
    graph = counting()
    chat = Chat(agui_client, graph, version=version)
    await chat.says("one")
    await chat.says("two")
    assert await said(graph) == ["one", "1: one", "two", "2: two"]


async def test_the_client_ends_with_what_the_thread_holds(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    await chat.says("two")
    assert [message["id"] for message in chat.messages] == await ids(graph)


async def test_a_client_keeps_its_own_ids(agui_client: AguiClient) -> None:
    graph = counting()
    await Chat(agui_client, graph).says("one", "mine")
    assert (await ids(graph))[0] == "mine"


async def test_the_run_is_told_under_the_id_that_was_asked_for(agui_client: AguiClient) -> None:
    events = await Chat(agui_client, counting()).says("one", runId="wanted", parentRunId="before")
    assert (events[0]["runId"], events[0]["parentRunId"]) == ("wanted", "before")


async def test_a_client_that_lost_its_last_turn_goes_on(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    held = list(chat.messages)
    await chat.says("two")
    chat.messages = held
    await chat.says("three", "u3")
    assert await said(graph) == ["one", "1: one", "two", "2: two", "three", "3: three"]


async def test_a_client_that_lost_its_last_turn_is_told_it(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    held = list(chat.messages)
    await chat.says("two")
    chat.messages = held
    await chat.says("three", "u3")
    assert chat.texts == await said(graph)


async def test_a_half_answer_that_was_never_saved_is_not_taken_from_a_client(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    chat.messages += [
        {"id": "lost-question", "role": "user", "content": "lost"},
        {"id": "half", "role": "assistant", "content": "I was ab"},
    ]
    await chat.says("three", "u3")
    assert await said(graph) == ["one", "1: one", "three", "2: three"]


async def test_a_conversation_can_be_brought_along_to_a_new_thread(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    chat.messages = [
        {"id": "hello", "role": "assistant", "content": "How can I help?"},
        {"id": "rules", "role": "developer", "content": "Be kind."},
    ]
    await chat.says("one")
    assert await said(graph) == ["How can I help?", "Be kind.", "one", "1: one"]


async def test_an_edited_message_forks_before_it(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    await chat.says("two")
    chat.messages = chat.messages[:3]
    chat.messages[2]["content"] = "edited"
    await chat.runs()
    assert (await said(graph), (await graph.aget_state(ON)).values["turns"]) == (
        ["one", "1: one", "edited", "2: edited"],
        ["one", "edited"],
    )


async def test_the_first_message_can_be_edited(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    await chat.says("two")
    chat.messages[0]["content"] = "edited"
    await chat.runs()
    assert await said(graph) == ["edited", "1: edited"]


async def test_after_an_edit_the_client_holds_the_fork(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    await chat.says("two")
    chat.messages[0]["content"] = "edited"
    await chat.runs()
    assert (chat.texts, chat.state["turns"]) == (["edited", "1: edited"], ["edited"])


async def test_an_edit_after_an_edit_forks_from_the_branch_the_client_is_on(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    await chat.says("two")
    chat.messages[2]["content"] = "edited"
    await chat.runs()
    chat.messages[0]["content"] = "anew"
    await chat.runs()
    await chat.says("then", "u-then")
    assert await said(graph) == ["anew", "1: anew", "then", "2: then"]


async def test_a_fork_keeps_the_callers_config(agui_client: AguiClient) -> None:
    chat = Chat(agui_client, counting(), intake=Intake(config={"configurable": {"tone": "!"}}))
    await chat.says("one")
    chat.messages[0]["content"] = "edited"
    await chat.runs()
    assert chat.texts == ["edited", "1: edited!"]


async def test_a_message_that_the_graph_rewrote_is_no_edit(agui_client: AguiClient) -> None:
    graph = rewriting()
    chat = Chat(agui_client, graph)
    await chat.says("my name")
    chat.messages[0]["content"] = "my name"  # as if it had not been told
    await chat.says("and then", "u2")
    assert await said(graph) == ["[hidden]", "heard my name", "[hidden]", "heard and then"]


async def test_what_the_graph_removed_is_not_brought_back(agui_client: AguiClient) -> None:
    graph = forgetting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    held = [dict(message) for message in chat.messages]
    await chat.says("two")
    chat.messages = held + chat.messages
    await chat.says("three", "u3")
    assert await said(graph) == ["three", "2 forgotten, three"]


async def test_a_shortened_list_that_ends_in_a_question_is_answered_anew(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    first = (await ids(graph))[1]
    await chat.says("two")
    chat.messages = chat.messages[:1]
    await chat.runs()
    assert (await said(graph), (await ids(graph))[1] == first) == (["one", "1: one"], False)


async def test_after_a_new_answer_the_client_holds_it_alone(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    chat.messages = chat.messages[:1]
    await chat.runs()
    assert [message["id"] for message in chat.messages] == await ids(graph)


async def test_what_a_client_leaves_out_can_mean_a_fork(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph, intake=Intake(shortened="fork"))
    await chat.says("one")
    await chat.says("two")
    chat.messages = chat.messages[:2]
    await chat.says("instead", "other")
    assert await said(graph) == ["one", "1: one", "instead", "2: instead"]


async def test_a_run_that_failed_is_tried_again(agui_client: AguiClient) -> None:
    graph = failing_once()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    await chat.runs()
    assert await said(graph) == ["one", "try 2: ['one']"]


async def test_after_a_run_that_failed_the_next_message_is_added(agui_client: AguiClient) -> None:
    graph = failing_once()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    await chat.says("two")
    assert await said(graph) == ["one", "two", "try 2: ['one', 'two']"]


async def test_an_input_without_anything_new_runs_the_graph(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    await chat.runs()
    assert await said(graph) == ["one", "1: one", "1: one"]


async def test_a_run_id_that_comes_again_is_run_again(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one", runId="same")
    await chat.says("two", runId="same")
    await chat.says("three", runId="same")
    assert (await said(graph))[1::2] == ["1: one", "2: two", "3: three"]


async def test_a_front_ends_tool_is_called_and_its_result_goes_on(agui_client: AguiClient) -> None:
    graph = calling()
    chat = Chat(agui_client, graph)
    events = await chat.says("paint it")
    chat.messages.append({"id": "r1", "role": "tool", "toolCallId": "call-paint", "content": "painted"})
    await chat.runs()
    assert ("TOOL_CALL_END" in types_of(events), "TOOL_CALL_RESULT" in types_of(events), chat.texts[-1]) == (
        True,
        False,
        "done: painted",
    )


async def test_a_call_that_nobody_answers_does_not_break_the_next_turn(agui_client: AguiClient) -> None:
    graph = calling()
    chat = Chat(agui_client, graph)
    await chat.says("paint it")
    await chat.says("never mind", "u2")
    assert chat.texts[-1] == "heard never mind"


async def test_of_two_calls_one_may_be_answered(agui_client: AguiClient) -> None:
    graph = calling(None, "paint", "frame")
    chat = Chat(agui_client, graph)
    await chat.says("paint it")
    chat.messages.append({"id": "r1", "role": "tool", "toolCallId": "call-frame", "content": "framed"})
    await chat.runs()
    assert chat.texts[-1].startswith("done: ")


async def test_a_result_that_no_call_waits_for_is_not_taken(agui_client: AguiClient) -> None:
    graph = calling()
    chat = Chat(agui_client, graph)
    await chat.says("hello")
    chat.messages.append({"id": "r1", "role": "tool", "toolCallId": "nobodys", "content": "approved"})
    await chat.says("and", "u2")
    assert await said(graph) == ["hello", "heard hello", "and", "heard and"]


@pytest.mark.parametrize("since", ["nothing", "a turn"])
async def test_a_result_that_comes_too_late_runs_nothing(
    since: str, agui_client: AguiClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Another tab answered the call, or the user went on without an answer."""
    graph = calling()
    chat, late = Chat(agui_client, graph), Chat(agui_client, graph)
    await chat.says("paint it")
    if since == "nothing":
        chat.messages.append({"id": "r1", "role": "tool", "toolCallId": "call-paint", "content": "painted"})
        await chat.runs()
    else:
        await chat.says("never mind", "u2")
    there, before = chat.messages, await graph.aget_state(ON)
    late.messages = [*there, {"id": "r2", "role": "tool", "toolCallId": "call-paint", "content": "painted too"}]
    events = await late.runs(runId="late")
    assert (events[-1]["type"], late.messages) == ("RUN_FINISHED", there)
    assert await graph.aget_state(ON) == before
    (line,) = [record.getMessage() for record in caplog.records if "too late" in record.getMessage()]
    assert "thread 't', run 'late'" in line


async def test_what_came_of_a_graphs_own_tool_is_not_the_clients_to_say(agui_client: AguiClient) -> None:
    graph = paying_in_the_end()
    chat = Chat(agui_client, graph)
    await chat.says("How much?")
    chat.messages.append({"id": "r1", "role": "tool", "toolCallId": "call-balance", "content": "a million"})
    await chat.runs()
    assert await said(graph) == ["How much?", "", "nothing", "There is nothing"]


async def test_a_graph_without_a_checkpointer_is_given_the_whole_conversation(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph.copy(update={"checkpointer": None}))
    await chat.says("one")
    await chat.says("two")
    assert chat.texts == ["one", "1: one", "two", "2: two"]


async def test_several_messages_that_the_graph_rewrote_are_no_edits(agui_client: AguiClient) -> None:
    graph = rewriting()
    chat = Chat(agui_client, graph)
    await chat.says("my name")
    await chat.says("my address")
    chat.messages[0]["content"], chat.messages[2]["content"] = "my name", "my address"
    await chat.says("and then", "u3")
    assert (await said(graph))[1::2] == ["heard my name", "heard my address", "heard and then"]


async def test_a_client_that_lost_the_end_of_an_answer_is_told_it(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one")
    chat.messages[-1]["content"] = "1: o"
    await chat.runs()
    assert (chat.texts, await said(graph)) == (["one", "1: one"], ["one", "1: one"])


async def test_a_request_that_comes_again_when_it_is_done_is_told_what_came_of_it(agui_client: AguiClient) -> None:
    graph = counting()
    chat = Chat(agui_client, graph)
    await chat.says("one", runId="same")
    answer = chat.messages[-1]["id"]
    chat.messages = chat.messages[:1]
    await chat.runs(runId="same")
    assert [message["id"] for message in chat.messages][1:] == [answer]
