"""What becomes of a client's messages on a platform: what is added, what forks, what is run again, what a front end's
tools and state become. Real clients, which take every stream without a word."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph_agui.translator import Options

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.chatting import types_of
from tests.support.clients.platform.chats import Room, room
from tests.support.servers.platforms.backend import Backend

PAINT: Any = [{"name": "paint", "description": "Paints.", "parameters": {"type": "object", "properties": {}}}]
TWO: Any = [*PAINT, {"name": "draw", "description": "Draws.", "parameters": {"type": "object", "properties": {}}}]
SAID = [FIRST, SECOND]


@pytest.fixture
async def here(backend: Backend, agui_client: AguiClient) -> AsyncIterator[Room]:
    async with room(backend, agui_client) as here:
        yield here


def answer(call: str, result: str) -> dict[str, Any]:
    return {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": result}


# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_second_turn_adds_what_the_thread_lacks(here: Room, version: str) -> None:
    chat = here.chat("gated_chat", version=version)
    await chat.says("one")
    await chat.says("two")
    assert await here.said(chat.thread_id) == chat.texts == ["one", *SAID, "two", *SAID]


async def test_a_client_keeps_its_own_ids_and_ends_with_the_threads(here: Room) -> None:
    chat = here.chat("gated_chat")
    await chat.says("one", "mine")
    held = await here.ids(chat.thread_id)
    assert (held[0], held) == ("mine", [message["id"] for message in chat.messages])


async def test_the_run_is_told_under_the_ids_that_were_asked_for(here: Room) -> None:
    events = await here.chat("gated_chat").says("one", runId="wanted", parentRunId="before")
    assert (events[0]["runId"], events[0]["parentRunId"], events[-1]["runId"]) == ("wanted", "before", "wanted")


async def test_what_the_client_holds_is_not_told_again_or_taken_back(here: Room) -> None:
    chat = here.chat("gated_chat")
    await chat.says("one")
    assert not {"MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"} & set(types_of(await chat.says("two")))


async def test_a_client_that_lost_its_last_turn_goes_on_and_is_told_it(here: Room) -> None:
    chat = here.chat("gated_chat")
    await chat.says("one")
    held = list(chat.messages)
    await chat.says("two")
    chat.messages = held
    await chat.says("three", "u3")
    assert await here.said(chat.thread_id) == chat.texts == ["one", *SAID, "two", *SAID, "three", *SAID]


async def test_a_conversation_may_be_brought_along(here: Room) -> None:
    chat = here.chat("gated_fronted")
    chat.messages = [
        {"id": "a", "role": "user", "content": "early"},
        {"id": "b", "role": "assistant", "content": "said elsewhere"},
    ]
    await chat.says("late")
    assert await here.said(chat.thread_id) == ["early", "said elsewhere", "late", "human: late"]


async def test_an_edited_message_forks_the_thread_with_the_owners_choices(here: Room) -> None:
    chat = here.chat("gated_fronted", context={"tone": "!"})
    await chat.says("one", "first")
    await chat.says("two", "second")
    chat.messages = [{**each, "content": "other"} if each["id"] == "second" else each for each in chat.messages]
    await chat.runs()
    told = ["one", "human: one!", "other", "human: other!"]
    assert (await here.said(chat.thread_id), chat.texts) == (told, told)


async def test_a_shortened_history_is_answered_anew(here: Room) -> None:
    chat = here.chat("gated_fronted", context={"tone": "!"})
    await chat.says("one", "first")
    await chat.says("two", "second")
    chat.messages = chat.messages[:1]
    await chat.runs()
    values = await here.values(chat.thread_id)
    told = [message["content"] for message in values["messages"]]
    assert (told, chat.texts, values["notes"]) == (["one", "human: one!"], ["one", "human: one!"], ["spoke"])


# --- a front end's tools, state and context ---------------------------------------------------------------------------


async def test_a_front_ends_call_is_answered_by_its_next_input(here: Room) -> None:
    chat = here.chat("gated_fronted")
    await chat.says("paint it", tools=PAINT)
    call = chat.messages[-1]["toolCalls"][0]["id"]
    chat.messages.append(answer(call, "red"))
    await chat.runs(tools=PAINT)
    assert await here.said(chat.thread_id) == ["paint it", "", "red", "tool: red"]


async def test_a_call_that_was_left_unanswered_does_not_break_the_next_turn(here: Room) -> None:
    chat = here.chat("gated_fronted")
    await chat.says("paint it", tools=TWO)
    call = chat.messages[-1]["toolCalls"][0]["id"]
    chat.messages.append(answer(call, "red"))
    await chat.says("never mind", "u2")
    values = await here.values(chat.thread_id)
    results = [message["status"] for message in values["messages"] if message["type"] == "tool"]
    assert (results, chat.texts[-1]) == (["success", "error"], "human: never mind")


async def test_a_front_ends_context_reaches_the_graphs_context(here: Room) -> None:
    chat = here.chat("gated_fronted", context={"tone": "!"})
    await chat.says("hello", context=[{"description": "where", "value": "on page 3"}])
    assert chat.texts[-1] == "human: hello on page 3!"


async def test_a_state_that_comes_back_changes_nothing(here: Room) -> None:
    chat = here.chat("gated_fronted", state={"notes", "mood"})
    for text in ("one", "two", "three"):
        await chat.says(text, text)
    assert (await here.values(chat.thread_id))["notes"] == chat.state["notes"] == ["spoke", "spoke", "spoke"]


async def test_a_clients_state_replaces_what_the_owner_lets_it(here: Room) -> None:
    chat = here.chat("gated_fronted", state={"notes"}, replaced={"notes"})
    await chat.says("one")
    chat.state = {"notes": ["mine"], "mood": "grim"}
    await chat.says("two", "u2")
    values = await here.values(chat.thread_id)
    assert (values["notes"], values.get("mood"), chat.state["notes"]) == (["mine", "spoke"], None, ["mine", "spoke"])


async def test_without_the_owners_word_a_clients_state_stays_outside(here: Room) -> None:
    chat = here.chat("gated_fronted")
    chat.state = {"notes": ["mine"], "mood": "grim"}
    await chat.says("one")
    assert {name: value for name, value in (await here.values(chat.thread_id)).items() if name != "messages"} == (
        {"notes": ["spoke"], "tools": []}
    )


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_answer_resumes_the_run(here: Room, version: str) -> None:
    chat = here.chat("gated_asking", version=version)
    await chat.says("go")
    await chat.answers("yes")
    assert (await here.said(chat.thread_id), chat.texts, chat.interrupts) == (
        ["go", FIRST, "really: yes", SECOND],
        ["go", FIRST, "really: yes", SECOND],
        [],
    )


async def test_several_questions_are_answered_at_once(here: Room) -> None:
    chat = here.chat("gated_asking_twice")
    await chat.says("go")
    await chat.answers("yes", "no")
    assert await here.said(chat.thread_id) == ["go", "really: yes", "surely: no", SECOND]


async def test_of_several_questions_one_may_be_answered(here: Room) -> None:
    chat = here.chat("gated_asking_twice")
    await chat.says("go")
    waiting = chat.interrupts[1]["id"]
    await chat.answers("yes")
    assert [interrupt["id"] for interrupt in chat.interrupts] == [waiting]
    await chat.answers("no")
    assert await here.said(chat.thread_id) == chat.texts == ["go", "really: yes", "surely: no", SECOND]


async def test_a_cancelled_question_is_no_answer_of_null(here: Room) -> None:
    chat = here.chat("gated_asking")
    await chat.says("go")
    await chat.answers(...)
    assert "really: {'status': 'cancelled'}" in await here.said(chat.thread_id)


@pytest.mark.parametrize(("graph", "count"), [("review_approved", 1), ("review_per_call", 2)])
async def test_an_answer_that_an_approval_can_not_take_is_refused_and_another_one_taken(
    here: Room, graph: str, count: int
) -> None:
    chat = here.chat(graph)
    await chat.says("go")
    waiting = chat.interrupts
    assert len(waiting) == count
    assert all("responseSchema" in each for each in waiting)
    bad: list[Any] = ["maybe", None, {"decisions": []}]
    for answer in bad:
        chat.interrupts = waiting
        events = await chat.answers(*[True] * (count - 1), answer)
        assert [event.get("code") for event in events] == ["invalid_input"]
    chat.interrupts = waiting
    await chat.answers(*[True] * count)
    assert ("3" in await here.said(chat.thread_id), chat.interrupts) == (True, [])


async def test_an_older_clients_answer_goes_to_the_question_it_was_shown(here: Room) -> None:
    chat = here.chat("gated_asking_twice", version=VERSIONS[1], options=Options(interrupts="legacy"))
    await chat.says("go")
    await chat.runs(forwardedProps={"command": {"resume": "no", "interruptEvent": {"question": "surely"}}})
    state = await here.client.threads.get_state(chat.thread_id)
    assert [interrupt["value"] for interrupt in state["interrupts"]] == [{"question": "really"}]


async def test_a_message_without_an_answer_runs_nothing_and_is_told_what_waits(here: Room) -> None:
    chat = here.chat("gated_asking")
    await chat.says("go")
    waiting = chat.interrupts
    events = await chat.says("hello?", "u2")
    what = {"interruptIds": [waiting[0]["id"]], "messageIds": ["u2"]}
    assert (types_of(events), events[1]["value"], chat.interrupts) == (
        ["RUN_STARTED", "CUSTOM", "RUN_FINISHED"],
        what,
        waiting,
    )
    assert await here.statuses(chat.thread_id) in (["success"], ["interrupted"])


async def test_a_message_that_waited_is_run_after_the_answer(here: Room) -> None:
    chat = here.chat("gated_asking_twice")
    await chat.says("go")
    await chat.says("hello?", "u2")
    await chat.answers("yes")
    assert "hello?" in chat.texts
    events = await chat.answers("no")
    told = ["go", "really: yes", "surely: no", SECOND, "hello?"]
    assert (await here.said(chat.thread_id), chat.texts, types_of(events).count("RUN_STARTED")) == (told, told, 2)


async def test_a_question_that_was_answered_elsewhere_is_not_asked_again(here: Room) -> None:
    chat, other = here.chat("gated_asking"), here.chat("gated_asking")
    await chat.says("go")
    other.thread_id, other.messages, other.interrupts = chat.thread_id, list(chat.messages), chat.interrupts
    await chat.answers("yes")
    await other.answers("no")
    assert (other.texts, other.interrupts) == (["go", FIRST, "really: yes", SECOND], [])


async def test_a_breakpoint_is_passed(here: Room) -> None:
    chat = here.chat("gated_stopping")
    await chat.says("go")
    assert chat.texts == ["go", FIRST]
    await chat.answers(None)
    assert (await here.said(chat.thread_id), chat.texts, chat.interrupts) == (["go", *SAID], ["go", *SAID], [])


async def test_a_cancelled_breakpoint_drops_what_is_left(here: Room) -> None:
    chat = here.chat("gated_stopping")
    await chat.says("go")
    await chat.answers(...)
    state = await here.client.threads.get_state(chat.thread_id)
    assert (state["next"], chat.texts, chat.interrupts) == ([], ["go", FIRST], [])


async def test_after_a_cancelled_breakpoint_the_conversation_goes_on(here: Room) -> None:
    chat = here.chat("gated_stopping")
    await chat.says("go")
    await chat.answers(...)
    await chat.says("again", "u2")
    await chat.answers(None)
    assert await here.said(chat.thread_id) == ["go", FIRST, "again", *SAID]
