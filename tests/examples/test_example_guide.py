"""The example's guide: it calls the page's tool, asks before it books, and books only after a yes."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from examples.guide import city_guide
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat

_TOOL = {
    "name": "show_on_map",
    "description": "Shows the user a place on the map.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}


@pytest.mark.parametrize(("answer", "stops"), [("yes", ["Belém Tower"]), ("no", []), (..., [])])
async def test_it_calls_the_pages_tool_and_books_after_a_yes_only(
    agui_client: AguiClient, caplog: pytest.LogCaptureFixture, answer: Any, stops: list[str]
) -> None:
    graph = city_guide(pause=0)
    graph.checkpointer = InMemorySaver()
    chat = Chat(agui_client, graph)

    await chat.says("Where shall I go?", tools=[_TOOL])
    [call] = chat.messages[-1]["toolCalls"]
    assert call["function"] == {"name": "show_on_map", "arguments": '{"place": "Belém Tower"}'}

    result = {"id": "shown", "role": "tool", "toolCallId": call["id"], "content": '{"shown": "Belém Tower"}'}
    chat.messages.append(result)
    await chat.runs(tools=[_TOOL])
    [question] = chat.interrupts
    assert question["message"] == "Shall I book Belém Tower for 10 euros?"

    await chat.answers(answer, tools=[_TOOL])
    assert chat.messages[-1]["content"] == "What else would you like to see?"
    assert list(chat.state.get("stops", {})) == stops
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []
