"""Answers to interrupts from CopilotKit's client: whatever becomes of them, its chat takes the next message.

That client keeps what it answered until a `RUN_FINISHED` comes, so each stream is played to it as well.
"""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, Limits, agui_app

from fixtures.fixture import Graph
from fixtures.gates import passing
from tests.browser.planner import planner
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.copilotkit import JSON, asked
from tests.support.servers.gates import Gates
from tests.support.servers.serving import events_of, served, told, until

RUN = "/agent/default/run"


@pytest.fixture
async def client(gate: Gates) -> AsyncIterator[httpx.AsyncClient]:
    agent = Agent(source=planner(InMemorySaver()), intake=Intake(config=gate.config()))
    async with served(agui_app(agent)) as server, server.client() as client:
        yield client


async def question(client: httpx.AsyncClient, said: str = "book") -> str:
    """The id of the question that saying this raises."""
    events = events_of((await client.post(RUN, json=asked("t", said))).text)
    return str(events[-1]["outcome"]["interrupts"][0]["id"])


def answered(interrupt_id: str, said: str = "book", payload: Any = "yes", **more: Any) -> dict[str, Any]:
    """The answer to it, as the client sends it: under the same run id."""
    resume = [{"interruptId": interrupt_id, "status": "resolved", "payload": payload}]
    return asked("t", said, resume=resume, **more)


def ends(events: list[dict[str, Any]]) -> list[str]:
    """The starts and ends of runs."""
    return [event["type"] for event in events if event["type"].startswith("RUN_")]


async def test_an_answer_under_the_same_run_id_goes_on(client: httpx.AsyncClient) -> None:
    events = events_of((await client.post(RUN, json=answered(await question(client)))).text)
    assert ends(events) == ["RUN_STARTED", "RUN_FINISHED"]
    assert "booked" in "".join(event.get("delta", "") for event in events if isinstance(event.get("delta"), str))


async def test_an_answered_run_that_is_stopped_ends_plainly(client: httpx.AsyncClient, gate: Gates) -> None:
    interrupt_id = await question(client)
    gate.hold("booked 2")
    async with client.stream("POST", RUN, json=answered(interrupt_id)) as run:
        await gate.reached("booked 2")
        await client.post("/agent/default/stop/t", headers=JSON)
        events = [event async for event in told(run)]
    assert ends(events) == ["RUN_STARTED", "RUN_FINISHED"]
    assert "outcome" not in events[-1]


async def test_an_answered_run_that_fails_is_told_as_failed_and_frees_the_client(
    client: httpx.AsyncClient, agui_client: AguiClient
) -> None:
    body = answered(await question(client, "overbook"), "overbook")
    answer = await client.post(RUN, json=body)
    events = events_of(answer.text)
    assert ends(events) == ["RUN_STARTED", "RUN_ERROR", "RUN_STARTED", "RUN_FINISHED"]
    played = agui_client.play(frames=answer.content, version="0.0.59", messages=body["messages"])
    assert (played.accepted, played.pending_interrupts) == (True, [])


def asking() -> Graph:
    """A node that asks, and then is long about it. Point: `thinks`."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        interrupt({"question": "Sure?"})
        await passing("thinks")
        return {}

    return StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=InMemorySaver())


async def test_a_question_that_is_open_again_after_a_stop_is_shown_again(gate: Gates, agui_client: AguiClient) -> None:
    agent = Agent(source=asking(), intake=Intake(config=gate.config()))
    async with served(agui_app(agent)) as server, server.client() as client:
        interrupt_id = await question(client)
        gate.hold("thinks")
        async with client.stream("POST", RUN, json=answered(interrupt_id)) as run:
            await gate.reached("thinks")
            await client.post("/agent/default/stop/t", headers=JSON)
            events = [event async for event in told(run)]
    assert ends(events) == ["RUN_STARTED", "RUN_FINISHED", "RUN_STARTED", "RUN_FINISHED"]
    played = agui_client.play(events, version="0.0.59")
    assert [pending["id"] for pending in played.pending_interrupts] == [interrupt_id]


async def test_an_answer_that_comes_too_late_is_told_so_and_follows_the_run(
    client: httpx.AsyncClient, gate: Gates
) -> None:
    interrupt_id = await question(client)
    gate.hold("booked 2")
    async with client.stream("POST", RUN, json=answered(interrupt_id)) as first:
        await gate.reached("booked 2")
        async with client.stream("POST", RUN, json=answered(interrupt_id, run_id="run-2")) as second:
            events = told(second)
            assert (await until(events, "RUN_ERROR"))["code"] == "conflict"
            assert (await until(events, "RUN_STARTED"))["runId"] == "run-1"
            gate.open("booked 2")
            await until(events, "RUN_FINISHED")
        assert ends([event async for event in told(first)])[-1] == "RUN_FINISHED"


async def test_an_answer_that_finds_no_room_leaves_the_question_open(gate: Gates, agui_client: AguiClient) -> None:
    agent = Agent(source=planner(InMemorySaver()), intake=Intake(config=gate.config()))
    async with served(agui_app(agent, limits=Limits(runs=1))) as server, server.client() as client:
        interrupt_id = await question(client)
        gate.hold("talk 0")
        async with client.stream("POST", RUN, json=asked("another", "talk")):
            await gate.reached("talk 0")
            answer = await client.post(RUN, json=answered(interrupt_id))
            gate.open("talk 0")
    assert events_of(answer.text)[0]["code"] == "too_many_runs"
    played = agui_client.play(frames=answer.content, version="0.0.59")
    assert [pending["id"] for pending in played.pending_interrupts] == [interrupt_id]


async def test_a_second_run_that_answers_nothing_is_refused(client: httpx.AsyncClient, gate: Gates) -> None:
    gate.hold("talk 3")
    async with client.stream("POST", RUN, json=asked("t", "talk")):
        await gate.reached("talk 3")
        answer = await client.post(RUN, json=asked("t", "talk", "talk", run_id="run-2"))
    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")


async def test_a_client_that_declares_its_version_is_told_the_end_as_it_is(
    client: httpx.AsyncClient, gate: Gates
) -> None:
    interrupt_id = await question(client)
    gate.hold("booked 2")
    async with client.stream("POST", RUN, json=answered(interrupt_id, protocolVersion="1.0")) as run:
        await gate.reached("booked 2")
        await client.post("/agent/default/stop/t", headers=JSON)
        events = [event async for event in told(run)]
    assert events[-1]["outcome"] == {"type": "cancelled"}


async def test_an_older_clients_answer_goes_on(client: httpx.AsyncClient) -> None:
    await question(client)
    command = {"resume": "yes", "interruptEvent": '{"question": "Shall I book the tower?"}'}
    events = events_of((await client.post(RUN, json=asked("t", "book", forwardedProps={"command": command}))).text)
    assert "booked" in "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


async def test_an_older_client_of_the_plain_routes_is_freed_as_well(client: httpx.AsyncClient) -> None:
    body = answered(await question(client, "overbook"), "overbook")
    events = events_of((await client.post("/default", json=body)).text)
    assert ends(events) == ["RUN_STARTED", "RUN_ERROR", "RUN_STARTED", "RUN_FINISHED"]


def reviewing() -> Graph:
    """A node that asks for an approval, as LangChain's middleware does."""

    def ask(state: MessagesState) -> dict[str, Any]:
        configs = [{"action_name": "book", "allowed_decisions": ["approve"]}]
        return {
            "messages": [AIMessage(str(interrupt({"action_requests": [{"name": "book"}], "review_configs": configs})))]
        }

    return StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=InMemorySaver())


async def test_an_answer_that_does_not_fit_is_refused_and_its_question_shown_again(agui_client: AguiClient) -> None:
    async with served(agui_app(Agent(source=reviewing()))) as server, server.client() as client:
        interrupt_id = await question(client)
        body = answered(interrupt_id, payload=False)
        plain = await client.post("/default", json={**body, "protocolVersion": "1.0"})
        assert (plain.status_code, plain.json()["error"]) == (422, "invalid_input")
        answer = await client.post(RUN, json=body)
        played = agui_client.play(frames=answer.content, version="0.0.59", messages=body["messages"])
        assert (played.accepted, [each["id"] for each in played.pending_interrupts]) == (True, [interrupt_id])
        events = events_of((await client.post(RUN, json=answered(interrupt_id, payload=True))).text)
    assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == [
        "{'decisions': [{'type': 'approve'}]}"
    ]
