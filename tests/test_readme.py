"""What the README says, done: its code runs, its links lead somewhere."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from fixtures import FIXTURES
from fixtures.run import Conversation

from .agui_client import AguiClient

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


async def test_the_wrap_tells_what_a_graph_does(conversation: Conversation) -> None:
    given = await conversation.given(conversation.fixture.turns[0])
    told = [event async for event in block("events").events(conversation.graph, given, conversation.config)]
    assert [told[0].type.value, told[-1].type.value] == ["RUN_STARTED", "RUN_FINISHED"]


@pytest.mark.parametrize(("version", "declared"), [("1.0.0", {"protocolVersion": "1.0"}), ("0.0.59", {})])
async def test_the_recipe_serves_a_client(
    conversation: Conversation, agui_client: AguiClient, version: str, declared: dict[str, str]
) -> None:
    question = {"id": "user-1", "role": "user", "content": "hi"}
    body = {"threadId": "t", "runId": "r", "messages": [question], "state": {}, **declared}
    more: dict[str, Any] = {"tools": [], "context": [], "forwardedProps": {}}
    transport = httpx.ASGITransport(block("serve").serve(conversation.graph))
    async with httpx.AsyncClient(transport=transport, base_url="http://agent") as client:
        answer = await client.post("/agent", json=body | more)
    played = agui_client.play(frames=answer.content, version=version, messages=[question])
    state = await conversation.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert played.accepted
    assert [message["id"] for message in played.messages] == [message.id for message in state.values["messages"]]


async def test_the_recipe_resumes_an_interrupted_run(agui_client: AguiClient) -> None:
    graph = Conversation(FIXTURES["interrupt_in_node"]).graph
    question = {"id": "user-1", "role": "user", "content": "hi"}
    body = {"threadId": "t", "runId": "r", "messages": [question], "state": {}, "protocolVersion": "1.0"}
    more: dict[str, Any] = {"tools": [], "context": [], "forwardedProps": {}}
    transport = httpx.ASGITransport(block("serve").serve(graph))
    async with httpx.AsyncClient(transport=transport, base_url="http://agent") as client:
        asked = agui_client.play(frames=(await client.post("/agent", json=body | more)).content, messages=[question])
        (interrupt,) = asked.pending_interrupts
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": "yes"}]
        held = {"messages": asked.messages, "state": asked.state}
        answer = await client.post("/agent", json=body | more | held | {"runId": "r-2", "resume": resume})
    answered = agui_client.play(frames=answer.content, messages=asked.messages, state=asked.state)
    assert (answered.accepted, answered.pending_interrupts) == (True, [])


async def test_a_thread_is_shown_without_a_run(conversation: Conversation, agui_client: AguiClient) -> None:
    await conversation.run(conversation.fixture.turns[0])
    state = await conversation.graph.aget_state(conversation.config)
    frames = block("frames").frames([("values", state.values)])
    played = agui_client.play(frames=b"".join(frames))
    assert [message["id"] for message in played.messages] == [message.id for message in state.values["messages"]]


async def test_the_state_machine_is_used_by_hand(conversation: Conversation, agui_client: AguiClient) -> None:
    parts = [part async for part in conversation.stream(conversation.fixture.turns[0])]
    frames = block("frames").frames(parts, error=RuntimeError("cut"))
    assert agui_client.play(frames=b"".join(frames)).accepted


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!https?:)([^)]+)\)", README))))
def test_a_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).exists()
