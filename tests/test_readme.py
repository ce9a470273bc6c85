"""What the README says, done: its code runs, its links lead somewhere."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from ag_ui.core import EventType
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import start
from langgraph_agui.translator import PLATFORM_STREAM_MODES, encode
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from fixtures import FIXTURES
from fixtures.gated import GATED
from fixtures.run import Conversation
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.listening import until
from tests.support.servers.gates import asked, gates

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def block(name: str) -> Any:
    """The names that the code block which defines `name` defines."""
    (code,) = [block for block in BLOCKS if re.search(rf"def {name}\b", block)]
    names: dict[str, Any] = {}
    exec(compile(code, f"README.md: {name}", "exec", dont_inherit=True), names)
    return SimpleNamespace(**names)


@pytest.fixture
def conversation() -> Conversation:
    return Conversation(FIXTURES["agent_one_tool"])


# --- wrap a graph -----------------------------------------------------------------------------------------------------

QUESTION = {"id": "user-1", "role": "user", "content": "hi"}
WIRE = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
DECLARED = [("1.0.0", {"protocolVersion": "1.0"}), ("0.0.59", {})]


@asynccontextmanager
async def serving(graph: Any, may_use: Any = None, user_of: Any = bool) -> AsyncIterator[httpx.AsyncClient]:
    """A client of what the README serves of a graph."""
    transport = httpx.ASGITransport(block("served").served(graph, user_of, may_use))
    async with httpx.AsyncClient(transport=transport, base_url="http://app/agents/planner") as client:
        yield client


def ids(messages: Iterable[Any]) -> list[str]:
    return [message["id"] if isinstance(message, dict) else message.id for message in messages]


async def stored(graph: Any) -> list[str]:
    """The ids of what the thread holds."""
    return ids((await graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"])


async def test_the_wrap_tells_what_a_graph_does(conversation: Conversation) -> None:
    given = await conversation.given(conversation.fixture.turns[0])
    told = [event async for event in block("events").events(conversation.graph, given, conversation.config)]
    assert [told[0].type.value, told[-1].type.value] == ["RUN_STARTED", "RUN_FINISHED"]


@pytest.mark.parametrize(("version", "declared"), DECLARED)
async def test_the_mounted_app_serves_a_client(
    conversation: Conversation, agui_client: AguiClient, version: str, declared: dict[str, str]
) -> None:
    async with serving(conversation.graph) as client:
        answer = await client.post("", json=WIRE | declared | {"messages": [QUESTION]})
    played = agui_client.play(frames=answer.content, version=version, messages=[QUESTION])
    assert played.accepted
    assert ids(played.messages) == await stored(conversation.graph)


async def test_the_mounted_app_tells_a_reloaded_page_the_run_that_is_going_on(agui_client: AguiClient) -> None:
    graph = GATED["gated_chat"](InMemorySaver())
    async with gates() as gate, serving(graph) as client:
        gate.hold("first 3")
        run = await start(graph, asked(), gate.config("t"))
        await gate.reached("first 3")
        reloaded = asyncio.create_task(client.post("/connect", json=WIRE | {"messages": []}))
        await until(lambda: run.readers == 1)
        gate.open("first 3")
        played = agui_client.play(frames=(await reloaded).content, version="0.0.59", mode="connect")
    assert played.accepted
    assert ids(played.messages) == await stored(graph)


async def test_the_mounted_app_lets_in_those_whom_authorize_allows(conversation: Conversation) -> None:
    async with serving(conversation.graph, lambda user, action, agent, thread: False) as client:
        answer = await client.post("", json=WIRE | {"messages": [QUESTION]})
    assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")


async def test_users_have_threads_of_their_own(conversation: Conversation) -> None:
    async def user_of_token(token: str | None) -> dict[str, str] | None:
        return token and {"identity": token}  # type: ignore[return-value]

    transport = httpx.ASGITransport(block("app_for_users").app_for_users(conversation.graph, user_of_token))
    async with httpx.AsyncClient(transport=transport, base_url="http://app/planner") as client:
        given = WIRE | {"messages": [QUESTION], "protocolVersion": "1.0"}
        assert (await client.post("", json=given)).status_code == 401
        by = {name: {"authorization": name} for name in ("ada", "bob", "admin")}
        assert "RUN_FINISHED" in (await client.post("", json=given, headers=by["ada"])).text
        read = {name: (await client.post("/connect", json=given, headers=by[name])).text for name in by}
        assert {name for name in by if "RUN_FINISHED" in read[name]} == {"ada", "admin"}
        assert read["bob"] == ""
        assert (await client.post("", json=given | {"runId": "s"}, headers=by["bob"])).status_code == 404


async def test_a_framework_of_ones_own_sends_frames(conversation: Conversation, agui_client: AguiClient) -> None:
    body = json.dumps(WIRE | {"protocolVersion": "1.0", "messages": [QUESTION]}).encode()
    frames = b"".join([piece async for piece in block("frames_of").frames_of(conversation.graph, body)])
    played = agui_client.play(frames=frames, messages=[QUESTION])
    assert played.accepted
    assert ids(played.messages) == await stored(conversation.graph)


# --- reconnect to a platform thread, watch cron runs ------------------------------------------------------------------


@pytest.fixture
async def platform(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
        yield client


async def test_the_threads_that_wait_are_listed() -> None:
    graph = GATED["gated_asking"](InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}, "metadata": {"user": "ann"}}
    await graph.ainvoke(asked(), config)
    ((title, _, interrupts, messages),) = [
        each async for each in block("waiting_questions").waiting_questions(graph, "ann")
    ]
    assert (title, [each.value for each in interrupts], len(messages)) == (None, [{"question": "really"}], 2)


async def test_a_thread_of_a_platform_is_told_from_the_middle_of_its_run(
    dev_server: str, platform: LangGraphClient, agui_client: AguiClient
) -> None:
    thread_id = (await platform.threads.create())["thread_id"]
    async with gates() as gate:
        gate.hold("first 3")
        modes: Any = PLATFORM_STREAM_MODES
        how: Any = {"input": asked(), "config": gate.config(), "stream_mode": modes, "stream_resumable": True}
        await platform.runs.create(thread_id, "gated_chat", **how)
        await gate.reached("first 3")
        told = []
        async for event in block("thread_events").thread_events(dev_server, thread_id):
            told.append(event)
            gate.open("first 3")
    played = agui_client.play(frames=b"".join(map(encode, told)), mode="connect")
    state: Any = await platform.threads.get_state(thread_id)
    assert played.accepted
    assert ids(played.messages) == ids(state["values"]["messages"])


async def test_the_tokens_of_a_crons_runs_are_watched(platform: LangGraphClient) -> None:
    thread_id = (await platform.threads.create())["thread_id"]
    told = block("runs_to_come").runs_to_come(platform, thread_id)
    async with aclosing(told), asyncio.timeout(60):
        waiting = asyncio.create_task(anext(told))
        await block("schedule").schedule(platform, thread_id, "gated_chat", "* * * * * *")
        try:
            kinds = [(await waiting).type]
            while EventType.RUN_FINISHED not in kinds:
                kinds.append((await anext(told)).type)
        finally:
            for cron in await platform.crons.search(thread_id=thread_id):
                await platform.crons.delete(cron["cron_id"])
    assert kinds.count(EventType.TEXT_MESSAGE_START) == 2
    assert kinds.count(EventType.TEXT_MESSAGE_CONTENT) > 10


# --- by hand ----------------------------------------------------------------------------------------------------------


async def test_a_stream_is_translated(conversation: Conversation) -> None:
    given = await conversation.given(conversation.fixture.turns[0])
    told = [event async for event in block("translated").translated(conversation.graph, given, conversation.config)]
    assert [told[0].type.value, told[-1].type.value] == ["RUN_STARTED", "RUN_FINISHED"]


@pytest.mark.parametrize(("graph", "outcome"), [("gated_chat", "success"), ("gated_asking", "interrupt")])
async def test_a_platforms_stream_ends_as_its_run_did(platform: LangGraphClient, graph: str, outcome: str) -> None:
    thread_id = (await platform.threads.create())["thread_id"]
    events = [event async for event in block("platform_run").platform_run(platform, thread_id, asked(), graph)]
    assert (events[-1].type.value, events[-1].outcome.type) == ("RUN_FINISHED", outcome)


async def test_the_state_machine_is_used_by_hand(conversation: Conversation, agui_client: AguiClient) -> None:
    parts = [part async for part in conversation.stream(conversation.fixture.turns[0])]
    frames = block("frames").frames(parts, error=RuntimeError("cut"))
    assert agui_client.play(frames=b"".join(frames)).accepted


async def test_a_graph_of_ones_own_is_tested() -> None:
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    def build_agent(model: Any) -> Any:
        return create_agent(model, [add], checkpointer=InMemorySaver())

    await block("test_the_agent_adds").test_the_agent_adds(build_agent)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!https?:)([^)]+)\)", README))))
def test_a_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).exists()
