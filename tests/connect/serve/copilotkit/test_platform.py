"""CopilotKit's client in front of a platform, whose runs have ids of their own."""

from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
import pytest
from langgraph_agui.connect import Intake, Platform
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_sdk import get_client

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.copilotkit import JSON, asked
from tests.support.servers.gates import Gates
from tests.support.servers.serving import events_of, served, told

RUN = "/agent/default/run"


@pytest.fixture
async def client(dev_server: str, gate: Gates) -> AsyncIterator[httpx.AsyncClient]:
    async with get_client(url=dev_server) as platform:
        agent = Agent(source=Platform(platform, "gated_asking"), intake=Intake(config=gate.config()))
        async with served(agui_app(agent)) as server, server.client() as client:
            yield client


async def question(client: httpx.AsyncClient, thread_id: str) -> str:
    """The id of the question that a first message raises."""
    events = events_of((await client.post(RUN, json=asked(thread_id, "hi", run_id=str(uuid4())))).text)
    return str(events[-1]["outcome"]["interrupts"][0]["id"])


async def test_an_answered_run_that_is_stopped_ends_plainly(
    client: httpx.AsyncClient, gate: Gates, agui_client: AguiClient
) -> None:
    thread_id = str(uuid4())
    resume = [{"interruptId": await question(client, thread_id), "status": "resolved", "payload": "yes"}]
    gate.hold("second 2")
    async with client.stream("POST", RUN, json=asked(thread_id, "hi", resume=resume)) as run:
        await gate.reached("second 2")
        body = b'{"runId": "run-1"}'
        stopped = await client.post(f"/agent/default/stop/{thread_id}", content=body, headers=JSON)
        assert stopped.json() == {"stopped": True}
        events = [event async for event in told(run)]
    played = agui_client.play(events, version="0.0.59")
    assert [event["type"] for event in events if event["type"].startswith("RUN_")] == ["RUN_STARTED", "RUN_FINISHED"]
    assert (played.accepted, played.pending_interrupts) == (True, [])


async def test_a_question_is_told_again_when_the_page_is_loaded(client: httpx.AsyncClient) -> None:
    thread_id = str(uuid4())
    interrupt_id = await question(client, thread_id)
    last = events_of((await client.post("/agent/default/connect", json=asked(thread_id))).text)[-1]
    assert last["outcome"]["interrupts"][0]["id"] == interrupt_id


async def test_a_page_stops_a_run_whose_id_it_does_not_know(client: httpx.AsyncClient, gate: Gates) -> None:
    thread_id = str(uuid4())
    gate.hold("first 3")
    async with client.stream("POST", RUN, json=asked(thread_id, "hi")) as run:
        await gate.reached("first 3")
        await client.post(f"/agent/default/stop/{thread_id}", headers=JSON)
        await gate.left("first 3")
        events = [event async for event in told(run)]
    assert (events[-1]["type"], events[-1].get("code")) == ("RUN_ERROR", "abort")
