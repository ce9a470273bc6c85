"""JSON that a model of a server's graph says is held, and not any more once its node was seen to save it."""

from uuid import uuid4

from langgraph_agui.connect import Platform

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.chatting import Chat
from tests.support.clients.platform.chats import room
from tests.support.servers.platforms.backend import Backend

PIECES = ['{"name": ', '"Ada", ', '"age": ', "36}"]


async def test_json_that_a_node_saves_streams_from_the_second_run_on(backend: Backend, agui_client: AguiClient) -> None:
    async with room(backend) as here:
        source = Platform(here.client, "structured_by_provider")
        runs = []
        for _ in range(2):
            chat = Chat(agui_client, source, str(uuid4()))
            events = await chat.says("who?")
            runs.append([event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"])
            assert chat.texts == ["who?", "".join(PIECES)]
        assert runs == [["".join(PIECES)], PIECES]
