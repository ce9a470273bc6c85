"""The example's guide: its plan follows the budget, it books after an approval only, and it calls the page's tool."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake

from examples.guide import city_guide
from examples.guide_script import resting
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat

_TOOL = {
    "name": "show_on_map",
    "description": "Shows the user a place on the map.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}
_BOOKED = {"at": "09:30", "cost": 20, "booked": True}
_EDITED = {"name": "book", "args": {"place": "Belém Tower", "at": "11:00", "people": 3}}


@pytest.fixture
def chat(agui_client: AguiClient) -> Chat:
    """A conversation with the guide, whose page writes the plan."""
    graph = city_guide(resting(0)).copy({"checkpointer": InMemorySaver()})
    return Chat(agui_client, graph, intake=Intake(state={"stops", "budget"}))


@pytest.mark.parametrize(
    ("answer", "booked", "said"),
    [
        (True, _BOOKED, "It is done. You find it in your plan."),
        (
            {"decisions": [{"type": "edit", "edited_action": _EDITED}]},
            {"at": "11:00", "cost": 30, "booked": True},
            "It is done. You find it in your plan.",
        ),
        (False, None, "Then I leave it. The plan stays as it is."),
        (..., None, "Then I leave it. The plan stays as it is."),
    ],
)
async def test_it_books_what_was_approved(chat: Chat, answer: Any, booked: dict[str, Any] | None, said: str) -> None:
    await chat.says("Book the tower")
    [question] = chat.interrupts
    assert question["metadata"]["value"]["action_requests"][0]["args"]["people"] == 2
    await chat.answers(answer)
    assert chat.messages[-1]["content"] == said
    assert chat.state["stops"].get("Belém Tower") == booked


async def test_its_plan_follows_the_budget_that_the_page_has_changed(chat: Chat) -> None:
    await chat.says("Plan my day")
    assert list(chat.state["stops"]) == ["Belém Tower", "Tram 28", "Tile Museum"]
    chat.state = {**chat.state, "stops": {}, "budget": 16}
    await chat.says("Plan my day again")
    assert list(chat.state["stops"]) == ["Belém Tower", "Tram 28"]
    assert "14 of your 16 euros" in chat.messages[-1]["content"]


async def test_it_calls_the_pages_tool_again_and_again(chat: Chat, caplog: pytest.LogCaptureFixture) -> None:
    for question, place in (("Show me the tower on the map", "Belém Tower"), ("Where is the castle?", "Castle")):
        await chat.says(question, tools=[_TOOL])
        [call] = chat.messages[-1]["toolCalls"]
        assert call["function"] == {"name": "show_on_map", "arguments": f'{{"place": "{place}"}}'}
        result = {
            "id": f"shown-{place}",
            "role": "tool",
            "toolCallId": call["id"],
            "content": f'{{"shown": "{place}"}}',
        }
        chat.messages.append(result)
        await chat.runs(tools=[_TOOL])
        assert chat.messages[-1]["content"].startswith(f"You see {place} on the map now.")
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []
