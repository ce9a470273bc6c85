"""An agent that summarises its conversation: what clients have of it during its runs and when they come back, and what
becomes of the messages that they send then. The middleware, the checkpoints and the client are the real ones."""

from contextlib import aclosing
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, connect_sse, options_for
from langgraph_agui.translator import ClientView

from fixtures.graphs.history import summarising
from tests.support.clients.agui_client import AguiClient, Answer
from tests.support.clients.chatting import Chat
from tests.support.streams.pausing_graphs import Graph, on

pytestmark = pytest.mark.newest  # the mark of a summary is newer than the middleware
SUMMARY = "Here is a summary of the conversation to date:\n\nThey greeted each other."
TURNS = [("u1", "a0"), ("u2", "a1"), ("u3", "a1"), ("u4", "a1")]
"""Each question, and its answer: the model counts the user messages that it is given."""
VISIBLE: dict[str, list[list[str]]] = {
    "mirror": [["u1", "a0"], ["u1", "a0", "u2", "a1"], ["a1", "u3", "a1"], ["a1", "u4", "a1"]],
    "keep": [[text for turn in TURNS[: count + 1] for text in turn] for count in range(len(TURNS))],
}
"""By `history`: the texts that a client has after each turn. The agent keeps two messages and a summary."""


def short(text: str) -> str:
    return f"a{text.split()[1]}" if text.startswith("Answer") else text


async def reloaded(graph: Graph, client: AguiClient, chat: Chat, history: Any, *, is_known: bool) -> Answer:
    """What a client has that connects with the messages of `chat`, or with none."""
    view = ClientView(chat.messages, chat.state) if is_known else None
    frames = b""
    async with aclosing(connect_sse(graph, "t", options=options_for(graph, history=history), view=view)) as stream:
        async for frame in stream:
            frames += frame
    assert SUMMARY not in frames.decode()
    return client.play(frames=frames, mode="connect", messages=chat.messages if is_known else [])


@pytest.mark.parametrize("shortened", ["continue", "fork"])
@pytest.mark.parametrize("history", ["mirror", "keep"])
async def test_a_summary_is_hidden_and_a_client_without_it_continues_its_thread(
    agui_client: AguiClient, history: Any, shortened: Any
) -> None:
    graph = summarising(InMemorySaver())
    chat = Chat(agui_client, graph, options=options_for(graph, history=history), intake=Intake(shortened=shortened))
    for (question, _), visible, stored in zip(TURNS, VISIBLE[history], VISIBLE["mirror"], strict=True):
        events = await chat.says(question, question)
        assert "They greeted" not in str(events)
        assert list(map(short, chat.texts)) == visible
        for is_known in (True, False):
            answer = await reloaded(graph, agui_client, chat, history, is_known=is_known)
            assert answer.accepted
            texts = [short(message["content"]) for message in answer.messages]
            assert texts[-len(stored) :] == stored
            assert len({message["id"] for message in answer.messages}) == len(texts)
    states = [state async for state in graph.aget_state_history(on("t"))]  # type: ignore[arg-type]
    assert [short(message.text) for message in states[0].values["messages"]] == [SUMMARY, "a1", "u4", "a1"]
    parents = [state.parent_config["configurable"]["checkpoint_id"] for state in states if state.parent_config]
    assert parents == [state.config["configurable"]["checkpoint_id"] for state in states[1:]]  # no forks
