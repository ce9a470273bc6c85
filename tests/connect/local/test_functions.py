"""Functions (`@entrypoint`) that give their answer alone and keep the conversation for themselves: a page has all of
it, on every turn, after a reload, an edit and a repetition."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Local, Runs
from langgraph_agui.translator import STREAM_MODES, ClientView

from fixtures.graphs.functional import remembering_flow
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.chatting import Chat, types_of
from tests.support.clients.locally import connected, played
from tests.support.streams.translator_runs import TranslatorRun, options_for, view_for

_ON: Any = {"configurable": {"thread_id": "t"}}


def _answer(heard: int) -> str:
    return f"A line about answer {heard}."


def _edit(chat: Chat, message_id: str, text: str) -> None:
    """The user changes a message, and drops what came after it."""
    place = next(place for place, message in enumerate(chat.messages) if message["id"] == message_id)
    chat.messages = [*chat.messages[:place], {**chat.messages[place], "content": text}]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_function_that_keeps_its_conversation_is_a_chat(version: str, agui_client: AguiClient) -> None:
    async with Runs() as runs:
        source = Local(remembering_flow(InMemorySaver()), runs=runs)
        chat = Chat(agui_client, source, version=version)

        async def has(*texts: str) -> None:
            """A page that stayed and one that comes have this conversation."""
            assert chat.texts == [*texts]
            assert played(agui_client, await connected(source, version=version), version).messages == chat.messages

        events = await chat.says("one", "u1")
        assert "MESSAGES_SNAPSHOT" not in types_of(events)
        await has("one", _answer(1))
        events = await chat.says("two", "u2")
        assert "MESSAGES_SNAPSHOT" not in types_of(events)
        await has("one", _answer(1), "two", _answer(3))
        _edit(chat, "u2", "edited")
        await chat.runs()
        await has("one", _answer(1), "edited", _answer(3))
        chat.messages.pop()  # the answer is to be made anew
        await chat.runs()
        await has("one", _answer(1), "edited", _answer(3))
        _edit(chat, "u1", "other")
        await chat.runs()
        await has("other", _answer(1))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("known", [True, False])
async def test_nothing_of_a_conversation_is_removed_for_the_value_of_a_function(
    known: bool, version: str, agui_client: AguiClient
) -> None:
    """Whatever the client of the stream is known to have, and for who joins it at any cut."""
    graph = remembering_flow(InMemorySaver())
    held: list[dict[str, Any]] = []
    for number in (1, 3):
        asked = {"id": f"u{number}", "role": "user", "content": "hi"}
        held.append(asked)
        run = TranslatorRun(options_for(version), view_for(version, held, {}) if known else None)
        views = [run.view.copy()]
        async for part in graph.astream({"messages": [asked]}, _ON, stream_mode=STREAM_MODES):
            run.feed(part)
            views.append(run.view.copy())
        run.finish()
        answer = agui_client.play(run.events, version=version, messages=held)
        assert (answer.accepted, answer.messages[: len(held)]) == (True, held)
        assert answer.messages[len(held) :] == [
            {"id": answer.messages[-1]["id"], "role": "assistant", "content": _answer(number)}
        ]
        for cut, view in enumerate(views, 1) if known else ():
            rest = [event for feed in run.feeds[cut:] for event in feed]
            late = agui_client.play([*view.catch_up(ClientView(version=protocol(version))), *rest], version=version)
            assert late.messages == answer.messages
        held = answer.messages
