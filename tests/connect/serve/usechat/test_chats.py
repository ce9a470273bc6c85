"""The chat of the Vercel AI SDK at a running server: tools of the server and of the page, approvals, questions, pages
that are loaded again, stops. What the page has in the end is what the server has of the thread."""

import asyncio
from typing import Any

import httpx
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.serve.usechat.inputs import request_of
from langgraph_agui.connect.testing import Pause

from fixtures.page_agents import ObedientModel, page_agent
from tests.connect.serve.usechat.test_streams import plain
from tests.support.clients.usechat import UiClient
from tests.support.servers.serving import served
from tests.support.streams.pausing_graphs import speaking

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS = [{"name": name, "description": "A tool of the page.", "parameters": NOTHING} for name in ("ask", "show")]
BY_NAME = {"ask": {"description": "A tool of the page.", "parameters": NOTHING}, "show": {"parameters": NOTHING}}
"""The same as assistant-ui sends them."""
POST = {"id": "chat", "trigger": "submit-message"}


def reviewed() -> Any:
    """An agent one of whose tools needs an approval."""

    @tool
    def weather() -> str:
        """Tells the weather."""
        return '{"sky": "sunny"}'

    @tool
    def refund() -> str:
        """Pays money back."""
        return "refunded"

    review = HumanInTheLoopMiddleware(interrupt_on={"refund": True})
    return create_agent(ObedientModel(), [weather, refund], middleware=[review], checkpointer=InMemorySaver())


def said(text: str, message_id: str = "user-1") -> dict[str, Any]:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


def states(messages: list[dict[str, Any]]) -> dict[str, str]:
    calls = (part for message in messages for part in message["parts"] if part["type"].startswith("tool-"))
    return {part["type"].removeprefix("tool-"): part["state"] for part in calls}


def shown(messages: list[dict[str, Any]]) -> list[Any]:
    """What a page shows: without the answers that only the page knows, and how a user's text came to an end."""
    found = [plain(message) for message in messages]
    for part in (part for message in found for part in message["parts"]):
        part.pop("approval", None)
        if part["type"] == "text":
            part.setdefault("state", "done")
    return found


async def loaded(client: httpx.AsyncClient, agent: str, thread: str = "chat") -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = (await client.get(f"/{agent}/ui/{thread}")).json()["messages"]
    return messages


CASES: dict[str, tuple[str, list[tuple[str, Any]], dict[str, str], str, int]] = {
    "a tool of the server": ("page", [("say", "weather")], {"weather": "output-available"}, "weather: sunny", 1),
    "tools of both": (
        "page",
        [("say", "weather ask show"), ("output", ["ask", "one", False]), ("output", ["show", "two", True])],
        {"weather": "output-available", "ask": "output-available", "show": "output-available"},
        "weather: sunny | ask: one | show: two",
        2,
    ),
    "a tool of the page that gets no answer": (
        "page",
        [("say", "ask"), ("say", "never mind")],
        {"ask": "input-available"},
        "You said never mind",
        2,
    ),
    "a question": ("page", [("say", "refund")], {"refund": "input-available"}, "Let me see. ", 1),
    "an approval": (
        "reviewed",
        [("say", "weather refund"), ("decide", ["refund", True, True])],
        {"weather": "output-available", "refund": "output-available"},
        'weather: {"sky": "sunny"} | refund: refunded',
        2,
    ),
    "two approvals": (
        "reviewed",
        [("say", "refund refund"), ("decide", ["refund", True, False]), ("decide", ["refund", True, True])],
        {"refund": "output-available"},
        "refund: refunded | refund: refunded",
        2,
    ),
    "a rejection": (
        "reviewed",
        [("say", "refund"), ("decide", ["refund", False, True])],
        {"refund": "output-error"},
        "refund: User rejected the tool call for `refund`",
        2,
    ),
    "the same again": (
        "page",
        [("say", "weather"), ("again", None), ("again", None)],
        {"weather": "output-available"},
        "weather: sunny",
        3,
    ),
}


async def test_a_page_has_what_the_thread_has(ui_client: UiClient) -> None:
    app = agui_app({"page": page_agent(InMemorySaver()), "reviewed": reviewed()})
    async with served(app) as server, server.client() as client:
        for name, (agent, steps, calls, answer, requests) in CASES.items():
            thread = name.replace(" ", "-")
            tools = BY_NAME if name == "tools of both" else TOOLS
            page = await ui_client.live(f"{server.url}/{agent}/ui", thread, steps, body={"tools": tools})
            assert (name, page["error"], page["warnings"]) == (name, None, [])
            assert (name, states(page["messages"])) == (name, calls)
            assert texts(page["messages"])[-1].startswith(answer), name
            assert (name, page["requests"], page["status"]) == (name, requests, "ready")
            has, has_thread = shown(page["messages"]), shown(await loaded(client, agent, thread))
            if name == "a tool of the page that gets no answer":  # a stream changes nothing before its answer
                has, has_thread = has[-2:], has_thread[-2:]
            assert (name, has) == (name, has_thread)


async def test_a_question_is_answered_from_a_page_that_was_loaded_again(ui_client: UiClient) -> None:
    app = agui_app({"page": page_agent(InMemorySaver())})
    async with served(app) as server, server.client() as client:
        url = f"{server.url}/page/ui"
        await ui_client.live(url, "chat", [("say", "refund")])
        messages = await loaded(client, "page")
        question = messages[-1]["parts"][-1]
        assert (question["type"], question["data"]["metadata"]["value"]) == (
            "data-interrupt",
            {"question": "Pay back?"},
        )
        answer = [("body", {"resume": [{"interruptId": question["id"], "payload": "yes"}]})]
        page = await ui_client.live(url, "chat", answer, messages=messages)
        assert (page["error"], texts(page["messages"])[-1]) == (None, "refund: refunded: yes")
        assert shown(page["messages"]) == shown(await loaded(client, "page"))


async def test_a_page_that_is_loaded_in_mid_answer_resumes_it(ui_client: UiClient) -> None:
    point = Pause()
    app = agui_app({"chat": speaking(point, InMemorySaver())})
    async with served(app) as server, server.client() as client:
        url = "/chat/ui/chat/stream"
        assert (await client.get(url)).status_code == 204
        body = {**POST, "messages": [said("hello")]}
        async with client.stream("POST", "/chat/ui", json=body) as first:
            assert first.headers["x-vercel-ai-ui-message-stream"] == "v1"
            await point.reached.wait()
        messages = await loaded(client, "chat")
        assert texts(messages) == ["hello", "one two "]
        async with client.stream("GET", url) as resumed:
            frames = b""
            async for piece in resumed.aiter_raw():
                frames += piece
                point.open.set()
        page = ui_client.chat(frames, messages)
        assert (page["error"], texts(page["messages"])) == (None, ["hello", "one two three four"])
        assert frames.endswith(b"data: [DONE]\n\n")
        assert shown(page["messages"]) == shown(await loaded(client, "chat"))
        assert (await client.get(url)).status_code == 204


async def test_an_aborted_request_stops_nothing_and_the_next_message_waits() -> None:
    point = Pause()
    app = agui_app({"chat": speaking(point, InMemorySaver())})
    async with served(app) as server, server.client() as client:
        body = {**POST, "messages": [said("hello")]}
        async with client.stream("POST", "/chat/ui", json=body):
            await point.reached.wait()
        second = {**POST, "messages": [said("hello"), said("and then?", "user-2")]}
        async with client.stream("POST", "/chat/ui", json=second) as answer:
            assert answer.status_code == 200
            point.open.set()
            assert b'"finish"' in await answer.aread()
        assert texts(await loaded(client, "chat")) == ["hello", "one two three four", "and then?", "one two three four"]


async def test_a_page_stops_a_run() -> None:
    point = Pause()
    app = agui_app({"chat": speaking(point, InMemorySaver())})
    async with served(app) as server, server.client() as client:
        body = {**POST, "messages": [said("hello")]}
        answer = asyncio.create_task(client.post("/chat/ui", json=body))
        await point.reached.wait()
        stopped = await client.post("/chat/ui/chat/stop", json={})
        assert (stopped.status_code, stopped.json()) == (200, {"stopped": True})
        assert '{"type":"abort"}' in (await answer).text
        assert point.is_cancelled
        assert (await client.post("/chat/ui/chat/stop", json={})).json() == {"stopped": False}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "Expected the body of a DefaultChatTransport"),
        ({"id": "chat"}, "messages: expected a list"),
        ({"id": "chat", "messages": [{"id": "1"}]}, "messages.0: expected a UIMessage"),
        ({"id": "chat", "messages": [{"id": "1", "role": "tool", "parts": []}]}, "messages.0.role: expected"),
        ({"id": "chat", "messages": [{"id": "1", "role": "user", "parts": [{"type": "text"}]}]}, "messages.0.parts"),
        ({"id": "chat", "messages": [said("hello")], "resume": {}}, "resume: expected a list"),
        ({"id": "chat", "messages": [said("hello")], "tools": {"ask": "me"}}, "tools"),
    ],
)
async def test_a_body_that_is_no_chats_is_refused(body: Any, message: str) -> None:
    async with served(agui_app({"chat": speaking(Pause(), InMemorySaver())})) as server, server.client() as client:
        answer = await client.post("/chat/ui", json=body)
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_input")
        assert message in answer.json()["message"]
        assert (await client.post("/nobody/ui", json=body)).status_code == 404
        assert (await client.get("/chat/ui/nothing")).status_code == 404


@pytest.mark.parametrize("descriptor", [None, [], {"metadata": [1]}, {"metadata": {"value": "Send it?"}}])
def test_an_approval_whose_description_was_changed_is_an_answer_all_the_same(descriptor: Any) -> None:
    approval = {"id": "asked:0:1", "approved": True, "descriptor": descriptor}
    part = {"type": "tool-mail", "toolCallId": "1", "state": "approval-responded", "input": {}, "approval": approval}
    body = {"id": "chat", "messages": [said("send it"), {"id": "2", "role": "assistant", "parts": [part]}]}
    (answer,) = request_of(body, "run").input["resume"]
    assert (answer["interruptId"], answer["status"]) == ("asked", "resolved")
