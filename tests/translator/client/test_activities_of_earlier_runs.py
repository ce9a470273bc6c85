"""Activities that a client has from earlier runs: its input never names them, so no snapshot may cost it them."""

from typing import Any

import pytest
from langgraph_agui.translator import ClientView, Options, Translator

from tests.support.clients.agui_client import AguiClient

QUESTION = {"id": "user-1", "role": "user", "content": "hi"}
PLAN = {"id": "plan-1", "role": "activity", "activityType": "PLAN", "content": {"step": 1}}
OLD_PICTURE = {"id": "old-media-0", "role": "activity", "activityType": "media", "content": {"type": "image"}}
PICTURE = {"type": "image", "url": "https://pictures.example/1.png"}


def emitted(messages: list[Any]) -> list[dict[str, Any]]:
    """A run over a conversation, for a client whose input named its question only."""
    run = Translator("t", "r", Options(), ClientView([QUESTION], {}))
    return [*run.start(), *run.feed(("values", {"messages": messages})), *run.finish()]


def answer(content: Any) -> list[dict[str, Any]]:
    return [
        {"type": "human", "id": "user-1", "content": "hi"},
        {"type": "ai", "id": "ai-1", "content": content},
    ]


@pytest.mark.parametrize("content", ["text", [PICTURE]], ids=["no activity", "media"])
def test_a_snapshot_leaves_a_client_the_activities_nodes_made(agui_client: AguiClient, content: Any) -> None:
    played = agui_client.play(emitted(answer(content)), messages=[QUESTION, PLAN])
    assert played.accepted
    assert PLAN in played.messages


def test_a_snapshot_with_media_drops_media_of_messages_that_are_gone(agui_client: AguiClient) -> None:
    played = agui_client.play(emitted(answer([PICTURE])), messages=[QUESTION, OLD_PICTURE])
    media = [message["id"] for message in played.messages if message["role"] == "activity"]
    assert media == ["ai-1-media-0"]
