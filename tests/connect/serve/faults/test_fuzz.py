"""Whatever is posted to whatever route: no answer is a 500, none quotes what was sent, and each has its one shape."""

import asyncio
import json
from collections.abc import Iterator
from threading import Thread
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app

from tests.support.random.examples import examples
from tests.support.servers.serving import WITHIN, data_of, served
from tests.support.streams.chats import calling, counting

MARK = "zqxj"
JSON = {"Content-Type": "application/json"}
FUZZ = settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

texts = st.text(max_size=6).map(lambda text: text + MARK)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
ids = st.sampled_from(["t", "u", "a/b", "%2F", "..", " ", "\U0001f600"]) | st.text(max_size=5)
parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "binary", "audio", "x"])},
    optional={"text": anything, "source": anything, "mimeType": anything, "data": anything, "url": anything},
)
calls = st.fixed_dictionaries(
    {"id": ids, "type": st.just("function")},
    optional={"function": st.fixed_dictionaries({"name": texts, "arguments": texts | anything})},
)
messages = st.fixed_dictionaries(
    {"id": ids, "role": st.sampled_from(["user", "assistant", "tool", "system", "developer", "activity", "reasoning"])},
    optional={
        "content": texts | anything | st.lists(parts, max_size=2),
        "toolCallId": ids | anything,
        "toolCalls": st.lists(calls, max_size=2) | anything,
        "name": anything,
        "metadata": anything,
        "activityType": texts,
    },
)
resumes = st.fixed_dictionaries(
    {"interruptId": ids, "status": st.sampled_from(["resolved", "cancelled", "x"])}, optional={"payload": anything}
)
foreign = st.fixed_dictionaries(
    {},
    optional={
        name: anything | st.sampled_from([False, 0, 7, "", "ab", [7], [{}], [None], {}])
        for name in ("toolCalls", "toolCallId", "activityType", "error", "encryptedValue", "subagentRunId", "x")
    },
)
"""Fields of messages of other roles, of any kind."""
said = st.one_of(
    st.fixed_dictionaries({"id": ids, "role": st.just("user"), "content": texts | st.just("paint it")}),
    st.fixed_dictionaries({"id": ids, "role": st.sampled_from(["system", "developer", "reasoning"]), "content": texts}),
    st.fixed_dictionaries({"id": ids, "role": st.just("assistant"), "content": texts}),
    st.fixed_dictionaries({"id": ids, "role": st.just("tool"), "content": texts, "toolCallId": ids}),
    st.fixed_dictionaries({"id": ids, "role": st.just("activity"), "content": st.just({}), "activityType": texts}),
)
said = st.builds(lambda own, more: {**more, **own}, said, st.just({}) | foreign)
"""Messages that a role can have; what is no field of the role's may be anything."""
sound = st.fixed_dictionaries({"threadId": ids, "runId": ids, "messages": st.lists(said, max_size=3)})
fields: dict[str, st.SearchStrategy[Any]] = {
    "threadId": anything,
    "runId": anything,
    "messages": st.lists(messages, max_size=3) | anything,
    "state": anything | st.fixed_dictionaries({}, optional={"mood": anything, "turns": anything, "messages": anything}),
    "tools": anything | st.lists(st.fixed_dictionaries({"name": texts, "description": texts}), max_size=2),
    "context": anything | st.lists(st.fixed_dictionaries({"description": texts, "value": texts}), max_size=2),
    "forwardedProps": anything | st.fixed_dictionaries({}, optional={"command": anything, "toolChoice": anything}),
    "resume": st.lists(resumes, max_size=2) | anything,
    "protocolVersion": st.sampled_from(["1.0", "", "9"]) | anything,
    "parentRunId": ids | anything,
}
odd = st.lists(
    st.one_of([st.tuples(st.just(name), value) for name, value in fields.items()]), min_size=1, max_size=2
).map(dict)
inputs = st.builds(lambda sound, odd: {**sound, **odd}, sound, odd)
"""Inputs of which one or two fields may be anything."""
FOREIGN: Any = {"id": "q", "role": "user", "content": "hi", "toolCalls": False}
envelopes = st.fixed_dictionaries(
    {"method": st.sampled_from(["info", "agent/run", "agent/connect", "agent/stop", "x"]) | anything},
    optional={"params": anything | st.fixed_dictionaries({"agentId": ids, "threadId": ids}), "body": inputs | anything},
)
bodies = inputs | envelopes | anything
paths = st.sampled_from(
    [
        "/",
        "/counting",
        "/calling",
        "/counting/connect",
        "/calling/stop",
        "/agent/calling/run",
        "/agent/counting/connect",
    ]
) | st.tuples(
    st.sampled_from(["/", "/agent/counting/stop/", "/agent/", "/info/", "/health/"]),
    ids.map(lambda each: quote(each, safe="")),
).map("".join)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of a server that runs beside the test, in a thread of its own."""
    url: list[str] = []
    is_up, is_over = asyncio.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    agents = {
        "counting": Agent(source=counting(InMemorySaver()), intake=Intake(state={"mood", "turns"})),
        "calling": Agent(source=calling(InMemorySaver())),
    }

    async def serve() -> None:
        async with served(agui_app(agents)) as server:
            loops.append(asyncio.get_running_loop())
            url.append(server.url)
            is_up.set()
            await is_over.wait()

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    while not url:
        thread.join(0.01)
        assert thread.is_alive()
    with httpx.Client(base_url=url[0], timeout=WITHIN, trust_env=False) as client:
        yield client
    loops[0].call_soon_threadsafe(is_over.set)
    thread.join()


def judge(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
    kind = answer.headers.get("content-type", "")
    if answer.status_code >= 400:
        assert kind == "application/json"
        assert set(answer.json()) == {"error", "message"}
        assert MARK not in answer.text
    elif kind.startswith("text/event-stream"):
        told = [json.loads(data_of(frame)) for frame in answer.text.split("\n\n") if frame]
        assert not [event for event in told if event.get("code") == "internal_error"]


@settings(FUZZ, max_examples=examples(200))
@given(path=st.sampled_from(["/counting", "/calling", "/counting/connect", "/agent/calling/run"]), body=inputs)
@example(path="/counting", body={"threadId": "t", "runId": "r", "messages": [], "protocolVersion": ""})
@example(path="/counting", body={"threadId": "t", "runId": "r", "messages": [FOREIGN]})
def test_no_input_is_answered_with_a_500(client: httpx.Client, path: str, body: Any) -> None:
    judge(client.post(path, content=json.dumps(body).encode(), headers=JSON))


@FUZZ
@given(path=paths, body=bodies)
def test_no_body_is_answered_with_a_500(client: httpx.Client, path: str, body: Any) -> None:
    judge(client.post(path, content=json.dumps(body).encode(), headers=JSON))


@FUZZ
@given(path=paths, body=st.binary(max_size=40))
def test_no_bytes_are_answered_with_a_500(client: httpx.Client, path: str, body: bytes) -> None:
    judge(client.post(path, content=body, headers=JSON))


@FUZZ
@given(thread=st.text(max_size=20), agent=st.sampled_from(["counting", "", "nobody"]) | ids)
def test_no_watch_is_answered_with_a_500(client: httpx.Client, thread: str, agent: str) -> None:
    path = f"/watch/{quote(thread.encode('utf-8', 'replace'), safe='')}"
    with client.stream("GET", path, params={"agent": agent}) as answer:
        if answer.status_code >= 400:
            answer.read()
            judge(answer)


@FUZZ
@given(method=st.sampled_from(["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"]), path=paths)
def test_no_method_is_answered_with_a_500(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path)
    assert answer.status_code < 500
