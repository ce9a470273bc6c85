"""A thread whose state a server can't compute while a step of its graph is half done: its newest checkpoint takes the
place of the state, so that its question is shown, and can be answered."""

from uuid import uuid4

import httpx
import pytest
from langgraph_agui.connect import Platform, RetryPolicy, connect

from fixtures.gated import SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat
from tests.support.clients.platform.chats import room
from tests.support.servers.platforms.backend import Backend


@pytest.mark.services
@pytest.mark.parametrize(("asks_for", "status"), [("Note it.", 500), ("Criticize it.", 400)])
async def test_a_thread_whose_state_the_server_cannot_compute_waits_for_an_answer(
    dev_server: str, agui_client: AguiClient, asks_for: str, status: int
) -> None:
    async with room(Backend("dev", dev_server), agui_client) as here, httpx.AsyncClient(base_url=dev_server) as http:
        source = Platform(here.client, "gated_noting").retrying(RetryPolicy(initial_delay=0))
        chat = Chat(agui_client, source, str(uuid4()), intake=here.intake())
        asked = await chat.says(asks_for)
        assert (await http.get(f"/threads/{chat.thread_id}/state")).status_code == status
        *_, reloaded = [event async for event in connect(source, chat.thread_id)]
        assert reloaded.model_dump(mode="json", by_alias=True)["outcome"] == asked[-1]["outcome"]
        assert [each["message"] for each in chat.interrupts] == ["really"]
        await chat.answers("yes")
        assert chat.texts == await here.said(chat.thread_id)
        assert chat.texts[-1] == SECOND
