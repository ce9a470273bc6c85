"""An assistant of a real server as an agent of an editor: its threads are sessions, and its runs are joined."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from langgraph_agui.connect import Intake, Platform
from langgraph_agui.connect.acp import AcpAgent, Mode, Setting
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from fixtures.gated import FIRST
from tests.support.clients.editors.editor import chosen, editor_of
from tests.support.clients.editors.view import differences
from tests.support.clients.platform.runs import started
from tests.support.servers.gates import Gates


@pytest.fixture
async def client(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
        yield client


async def test_a_session_is_a_thread_of_the_server(client: LangGraphClient) -> None:
    modes = [Mode(id="ask", name="Ask"), Mode(id="write", name="Write")]
    settings = [Setting(id="model", name="Model", values={"small": "Small", "large": "Large"})]
    agent = AcpAgent(Platform(client, "agent_one_tool"), name="agent", modes=modes, settings=settings)
    async with editor_of(agent) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "What is 1 + 2?") == {"stopReason": "end_turn"}
        await editor.request("session/set_mode", sessionId=session, modeId="write")
        await editor.request("session/set_config_option", sessionId=session, configId="model", value="large")
        await editor.prompt(session, "And 2 + 3?")
        live = editor.view(session)
        assert [call["status"] for call in live.calls.values()] == ["completed"]
        thread = await client.threads.get(session)
        assert (thread["metadata"] or {})["agui_cwd"] == "/work"
        listed = (await editor.request("session/list", cwd="/work"))["sessions"]
        assert session in [each["sessionId"] for each in listed]
    async with editor_of(agent) as editor:
        result = await editor.load(session)
        assert [each["currentValue"] for each in result["configOptions"]] == ["write", "large"]
        loaded = editor.view(session)
        assert differences(live, loaded) == []
        assert [text for (kind, _), text in loaded.texts.items() if kind == "user_message"] == [
            "What is 1 + 2?",
            "And 2 + 3?",
        ]


async def test_an_approval_on_a_server_is_asked_about_its_call(client: LangGraphClient) -> None:
    async with editor_of(AcpAgent(Platform(client, "review_approved"), name="agent")) as editor:
        editor.ask = chosen("approve")
        session = await editor.new()
        assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        assert [params["toolCall"]["toolCallId"] for _, params in editor.asked] == ["call_add", "call_slow"]
        assert {call["status"] for call in editor.view(session).calls.values()} == {"completed"}


async def test_a_run_of_another_client_is_joined_by_a_load(client: LangGraphClient, gate: Gates) -> None:
    gate.hold("first 3")
    run = await started(client, "gated_chat", gate)
    await gate.reached("first 3")
    async with editor_of(AcpAgent(Platform(client, "gated_chat"), name="agent")) as editor:
        await editor.load(run.thread_id)
        texts = [text for (kind, _), text in editor.view(run.thread_id).texts.items() if kind == "agent_message"]
        assert all(FIRST.startswith(text) for text in texts)
        gate.open("*")
        async with asyncio.timeout(60):
            await editor.until(lambda: FIRST in editor.view(run.thread_id).texts.values())


async def test_a_cancel_stops_the_run_on_the_server(client: LangGraphClient, gate: Gates) -> None:
    gate.hold("first 3")
    agent = AcpAgent(Platform(client, "gated_chat"), name="agent", intake=Intake(config=gate.config()))
    async with editor_of(agent) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        await gate.reached("first 3")
        editor.notify("session/cancel", sessionId=session)
        assert await ending == {"stopReason": "cancelled"}
        await gate.left("first 3")
        gate.open("*")
        assert await editor.prompt(session, "again") == {"stopReason": "end_turn"}
