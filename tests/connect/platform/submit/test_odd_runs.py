"""Edits that few clients make, on a platform: of threads that have no checkpoint to fork at, of several messages at
once, and while an answer is waited for."""

from collections.abc import AsyncIterator

import pytest

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat
from tests.support.clients.platform.chats import Room, room
from tests.support.servers.platforms.backend import Backend

SAID = [FIRST, SECOND]


@pytest.fixture
async def here(backend: Backend, agui_client: AguiClient) -> AsyncIterator[Room]:
    async with room(backend, agui_client) as here:
        yield here


async def written(here: Room) -> Chat:
    """A client of a thread that its owner has written, all at once."""
    chat = here.chat("gated_chat")
    chat.messages = [
        {"id": "u1", "role": "user", "content": "one"},
        {"id": "a1", "role": "assistant", "content": "first"},
        {"id": "u2", "role": "user", "content": "two"},
    ]
    await here.client.threads.create(thread_id=chat.thread_id, graph_id="gated_chat")
    await here.client.threads.update_state(
        chat.thread_id, {"messages": [*chat.messages, {"id": "a2", "role": "assistant", "content": "second"}]}
    )
    return chat


async def test_an_edit_keeps_what_came_in_along_with_the_message(here: Room) -> None:
    chat = here.chat("gated_chat")
    chat.messages.append({"id": "u1", "role": "user", "content": "one"})
    await chat.says("two", "u2")
    chat.messages = [chat.messages[0], {**chat.messages[1], "content": "edited"}]
    await chat.runs()
    assert await here.said(chat.thread_id) == chat.texts == ["one", "edited", *SAID]


async def test_a_message_of_a_thread_that_its_owner_wrote_can_be_edited(here: Room) -> None:
    chat = await written(here)
    chat.messages[-1]["content"] = "edited"
    await chat.runs()
    assert await here.said(chat.thread_id) == chat.texts == ["one", "first", "edited", *SAID]


async def test_a_question_of_a_thread_that_its_owner_wrote_is_answered_anew(here: Room) -> None:
    chat = await written(here)
    await chat.runs()
    assert await here.said(chat.thread_id) == chat.texts == ["one", "first", "two", *SAID]
