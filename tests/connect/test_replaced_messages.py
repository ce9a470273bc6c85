"""`Options(history="keep")` after a reload: a new client gets what summaries replaced, as one has that stayed."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Checkpoint, Local, Platform, Runs, connect_sse, watch_sse
from langgraph_agui.connect.replaced_messages import MOST, ReplacedMessages
from langgraph_agui.translator import Options
from langgraph_sdk import get_client

from fixtures import FIXTURES
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat

KEEP = Options(history="keep", first_state="delta")
TURNS = 5


async def talked(chat: Chat) -> list[str]:
    """A chat of several turns, with two summaries; what the client has of it."""
    for number in range(TURNS):
        await chat.says(f"Question {number}.")
    assert [text for text in chat.texts if text.startswith("Question")] == [f"Question {n}." for n in range(TURNS)]
    assert not any("greeted" in text for text in chat.texts)
    return chat.texts


async def reloaded(chat: Chat, source: Any, options: Options, stream: Any = connect_sse) -> list[str]:
    """What a client has that connects to the thread with nothing."""
    new = Chat(chat._client, source, chat.thread_id)
    frames = b""
    async for piece in stream(source, chat.thread_id, options=options):
        frames += piece
        if b"RUN_FINISHED" in piece:
            break
    new.hears(frames.decode())
    return new.texts


async def sent_again(chat: Chat) -> None:
    """The last request comes again, from a client that did not get the answer: nothing runs."""
    chat.messages.pop()
    await chat.runs(runId=f"run-{TURNS}")


@pytest.mark.newest
async def test_a_reload_shows_what_summaries_replaced(agui_client: AguiClient) -> None:
    graph = FIXTURES["summarization_middleware"].build(InMemorySaver())
    async with Runs() as runs:
        source = Local(graph, runs=runs)
        chat = Chat(agui_client, source, options=KEEP)
        texts = await talked(chat)
        assert await reloaded(chat, source, KEEP) == texts
        assert await reloaded(chat, source, KEEP, watch_sse) == texts
        assert len(await reloaded(chat, source, replace(KEEP, history="mirror"))) < len(texts)
        await sent_again(chat)
        assert chat.texts == texts


@pytest.mark.newest
async def test_a_reload_shows_what_summaries_replaced_on_a_platform(dev_server: str, agui_client: AguiClient) -> None:
    async with get_client(url=dev_server) as client:
        source = Platform(client, "summarization_middleware")
        chat = Chat(agui_client, source, str(uuid4()), options=KEEP)
        texts = await talked(chat)
        assert await reloaded(chat, source, KEEP) == texts
        await sent_again(chat)
        assert chat.texts == texts


@pytest.mark.parametrize("as_json", [False, True])
def test_the_search_follows_one_branch_and_has_an_end(as_json: bool) -> None:
    def message(name: str) -> Any:
        marks = {"lc_source": "summarization"} if name.startswith("s") else {}
        made = HumanMessage(name, id=name, additional_kwargs=marks) if marks else AIMessage(name, id=name)
        return {**made.model_dump(), "id": name} if as_json else made

    def checkpoint(number: int, *names: str, parent: int | None = None) -> Checkpoint:
        parent_id = None if number == 0 else str(number - 1 if parent is None else parent)
        values = {"messages": [message(name) for name in names]}
        return Checkpoint(id=str(number), parent_id=parent_id, values=values, metadata={})

    def found(search: ReplacedMessages) -> list[str]:
        return [each["id"] if as_json else each.id for each in search.values["messages"]]

    search = ReplacedMessages(KEEP, {"messages": [message("s2"), message("e")]})
    for each in (
        checkpoint(6, "s2", "e", parent=4),
        checkpoint(5, "s1", "c", "another branch"),
        checkpoint(4, "s1", "c", "d", "e", parent=2),
        checkpoint(2, "a", "b", "c"),
    ):
        assert not search.is_complete
        search.feed(each)
    assert search.is_complete
    assert found(search) == ["a", "b", "s1", "c", "d", "s2", "e"]

    endless = ReplacedMessages(KEEP, {"messages": [message("s")]})
    fed = 0
    while not endless.is_complete:
        endless.feed(checkpoint(1_000 - fed, "s", f"m{fed}"))
        fed += 1
    assert fed == MOST
    assert ReplacedMessages(KEEP, {"messages": [message("a")]}).is_complete
    assert ReplacedMessages(Options(), {"messages": [message("s")]}).is_complete
