"""The routes of plain AG-UI: what each answers, mounted or not, and what a path may look like."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from starlette.applications import Starlette
from starlette.routing import Mount

from fixtures.gated import FIRST, GATED, SECOND
from tests.support.servers.gates import Gates
from tests.support.servers.serving import WITHIN, Served, events_of, kinds_of, posted, served, told, until


def chat(gate: Gates | None = None) -> Agent:
    """The gated chat, as an agent."""
    intake = Intake() if gate is None else Intake(config=gate.config())
    return Agent(source=GATED["gated_chat"](InMemorySaver()), intake=intake)


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served(agui_app({"chat": chat(), "other": chat()})) as server:
        yield server


@pytest.fixture
async def client(server: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with server.client() as client:
        yield client


def texts(body: str) -> str:
    return "".join(event["delta"] for event in events_of(body) if event["type"] == "TEXT_MESSAGE_CONTENT")


async def test_a_run_is_told_from_its_start_to_its_end(client: httpx.AsyncClient) -> None:
    answer = await client.post("/chat", json=posted("t", "hi"))
    kinds = kinds_of(answer.text)
    assert (answer.status_code, kinds[0], kinds[-1]) == (200, "RUN_STARTED", "RUN_FINISHED")
    assert texts(answer.text) == FIRST + SECOND


async def test_the_event_stream_is_kept_from_every_buffer(client: httpx.AsyncClient) -> None:
    headers = (await client.post("/chat", json=posted("t", "hi"))).headers
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-store, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert headers["x-content-type-options"] == "nosniff"
    assert (await client.get("/health")).headers["x-content-type-options"] == "nosniff"
    assert "content-length" not in headers


async def test_frames_end_in_line_feeds_alone(client: httpx.AsyncClient) -> None:
    assert b"\r" not in (await client.post("/chat", json=posted("t", "hi"))).content


async def test_agents_keep_threads_of_their_own(client: httpx.AsyncClient) -> None:
    await client.post("/chat", json=posted("t", "hi"))
    assert (await client.post("/other/connect", json=posted("t"))).content == b""


async def test_connecting_tells_what_the_thread_holds(client: httpx.AsyncClient) -> None:
    await client.post("/chat", json=posted("t", "hi"))
    answer = await client.post("/chat/connect", json=posted("t", run_id="another"))
    assert kinds_of(answer.text)[-1] == "RUN_FINISHED"
    assert FIRST in answer.text


async def test_connecting_tells_a_client_only_what_it_lacks(client: httpx.AsyncClient) -> None:
    first = events_of((await client.post("/chat", json=posted("t", "hi"))).text)
    said = [
        {"id": event["messageId"], "role": "assistant", "content": content}
        for event, content in zip([e for e in first if e["type"] == "TEXT_MESSAGE_START"], (FIRST, SECOND), strict=True)
    ]
    holds = posted("t", "hi")
    holds["messages"] += said
    answer = await client.post("/chat/connect", json={**holds, "state": {}})
    assert kinds_of(answer.text) == ["RUN_STARTED", "RUN_FINISHED"]


async def test_connecting_to_an_unknown_thread_is_an_empty_stream(client: httpx.AsyncClient) -> None:
    answer = await client.post("/chat/connect", json=posted("nobody-knows"))
    assert (answer.status_code, answer.content) == (200, b"")


async def test_a_client_without_a_version_is_told_nothing_of_1_0(client: httpx.AsyncClient) -> None:
    given = posted("t", "hi")
    del given["protocolVersion"]
    first, *_, last = events_of((await client.post("/chat", json=given)).text)
    assert "protocolVersion" not in first
    assert last["outcome"] == {"type": "success"}


async def test_health_says_that_all_is_well(client: httpx.AsyncClient) -> None:
    answer = await client.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_two_clients_read_one_run(gate: Gates) -> None:
    gate.hold("first 4")
    async with (
        served(agui_app({"chat": chat(gate)})) as server,
        server.client() as client,
        client.stream("POST", "/chat", json=posted("t", "hi")) as asked,
    ):
        await gate.reached("first 4")
        async with client.stream("POST", "/chat/connect", json=posted("t")) as came:
            joined = told(came)
            await until(joined, "RUN_STARTED")
            gate.open("first 4")
            await until(joined, "RUN_FINISHED")
            await joined.aclose()  # type: ignore[attr-defined]
        assert kinds_of(await asked.aread())[-1] == "RUN_FINISHED"


async def test_a_second_run_on_a_thread_is_a_conflict_and_the_first_goes_on(gate: Gates) -> None:
    """That a thread has one run is tested for each store in `local/store/test_run_store.py`, for each source in
    `test_backends.py`, and for several processes in `processes/test_one_run.py`."""
    gate.hold("first 0")
    async with (
        served(agui_app({"chat": chat(gate)})) as server,
        server.client() as client,
        client.stream("POST", "/chat", json=posted("t", "hi")) as first,
    ):
        await gate.reached("first 0")
        answer = await client.post("/chat", json=posted("t", "hi", "again", run_id="run-2"))
        gate.open("first 0")
        assert kinds_of(await first.aread())[-1] == "RUN_FINISHED"
    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")


async def test_stopping_ends_the_run_for_its_readers(gate: Gates) -> None:
    gate.hold("first 2")
    async with (
        served(agui_app({"chat": chat(gate)})) as server,
        server.client() as client,
        client.stream("POST", "/chat", json=posted("t", "hi")) as asked,
    ):
        await gate.reached("first 2")
        stopped = await client.post("/chat/stop", json={"threadId": "t", "runId": "run-1"})
        last = events_of(await asked.aread())[-1]
    assert stopped.json() == {"stopped": True}
    assert last["outcome"]["type"] == "cancelled"


async def test_a_run_whose_synchronous_node_has_not_returned_is_stopping_and_its_readers_have_its_end() -> None:
    begun, returned = threading.Event(), threading.Event()

    def node(state: MessagesState) -> dict[str, Any]:
        begun.set()
        returned.wait()
        return {}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(InMemorySaver())
    app = agui_app({"chat": graph}, limits=Limits(stop_timeout=0.01))
    try:
        async with (
            served(app) as server,
            server.client() as client,
            client.stream("POST", "/chat", json=posted("t", "hi")) as run,
        ):
            await asyncio.to_thread(begun.wait)
            stopped = await client.post("/chat/stop", json={"threadId": "t"})
            last = events_of(await run.aread())[-1]
            returned.set()
    finally:
        returned.set()
    assert (stopped.status_code, stopped.json()) == (202, {"stopped": False, "stopping": True})
    assert last["outcome"]["type"] == "cancelled"


@pytest.mark.parametrize("body", [{"threadId": "t"}, {"threadId": "t", "runId": "no-such"}, {"threadId": "nobody"}])
async def test_there_may_be_nothing_to_stop(client: httpx.AsyncClient, body: dict[str, str]) -> None:
    await client.post("/chat", json=posted("t", "hi"))
    answer = await client.post("/chat/stop", json=body)
    assert (answer.status_code, answer.json()) == (200, {"stopped": False})


async def test_watching_tells_what_is_and_every_run_to_come(client: httpx.AsyncClient) -> None:
    await client.post("/chat", json=posted("t", "hi"))
    headers = {"Last-Event-ID": "17", "Accept": "text/event-stream"}
    async with client.stream("GET", "/watch/t?agent=chat", headers=headers) as watched:
        events = told(watched)
        assert (await until(events, "RUN_FINISHED"))["runId"] == "run-1"
        await client.post("/chat", json=posted("t", "hi", "and on", run_id="run-2"))
        assert (await until(events, "RUN_STARTED"))["runId"] == "run-2"
        await until(events, "RUN_FINISHED")
        await events.aclose()  # type: ignore[attr-defined]


async def test_the_starts_and_ends_of_runs_are_watched_alone(client: httpx.AsyncClient) -> None:
    await client.post("/chat", json=posted("t", "hi"))
    async with client.stream("GET", "/watch/t?agent=chat&events=runs") as watched:
        events = told(watched)
        before = [await anext(events), await anext(events)]
        await client.post("/chat", json=posted("t", "hi", "and on", run_id="run-2"))
        after = [await anext(events), await anext(events)]
        await events.aclose()  # type: ignore[attr-defined]
    both = ["RUN_STARTED", "RUN_FINISHED"]
    assert [(each["type"], each["runId"]) for each in before] == [(kind, "run-1") for kind in both]
    assert [(each["type"], each["runId"]) for each in after] == [(kind, "run-2") for kind in both]
    refused = await client.get("/watch/t?agent=chat&events=text")
    assert (refused.status_code, refused.json()["error"]) == (422, "invalid_input")


async def test_watching_names_its_agent_where_there_are_several(client: httpx.AsyncClient) -> None:
    answer = await client.get("/watch/t")
    assert (answer.status_code, answer.json()["error"]) == (400, "agent_expected")
    assert "chat, other" in answer.json()["message"]


async def test_a_single_agent_is_asked_without_its_name() -> None:
    async with served(agui_app(chat())) as server, server.client() as client:
        for path in ("/", "/connect"):
            answer = await client.post(path, json=posted("t", "hi"))
            assert texts(answer.text) == FIRST + SECOND
        assert (await client.post("/stop", json={"threadId": "t"})).json() == {"stopped": False}
        async with client.stream("GET", "/watch/t") as watched:
            events = told(watched)
            await until(events, "RUN_FINISHED")
            await events.aclose()  # type: ignore[attr-defined]


async def test_several_agents_are_asked_by_their_names(client: httpx.AsyncClient) -> None:
    answer = await client.post("/", json=posted("t", "hi"))
    assert (answer.status_code, answer.json()["error"]) == (404, "agent_expected")


@pytest.mark.parametrize("path", ["/nobody", "/nobody/connect", "/nobody/stop"])
async def test_an_unknown_agent_is_answered_with_those_that_there_are(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.post(path, json=posted("t", "hi"))
    assert (answer.status_code, answer.json()["error"]) == (404, "unknown_agent")
    assert "chat, other" in answer.json()["message"]


@pytest.mark.parametrize("path", ["/chat/what", "/a/b/c/d", "/health/deep"])
async def test_an_unknown_path_is_answered_with_the_routes(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    assert "GET /watch/{thread}" in answer.json()["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/chat", "POST, OPTIONS"),
        ("DELETE", "/chat/connect", "POST, OPTIONS"),
        ("PUT", "/chat/stop", "POST, OPTIONS"),
        ("POST", "/health", "GET, HEAD, OPTIONS"),
        ("POST", "/watch/t", "GET, HEAD, OPTIONS"),
        ("GET", "/", "POST, OPTIONS"),
    ],
)
async def test_a_wrong_method_is_answered_with_the_right_ones(
    client: httpx.AsyncClient, method: str, path: str, allowed: str
) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.json()["error"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


async def test_options_says_what_may_be_asked(client: httpx.AsyncClient) -> None:
    answer = await client.options("/chat")
    assert (answer.status_code, answer.headers["allow"]) == (204, "POST, OPTIONS")


async def test_a_head_of_a_watch_ends_at_once(client: httpx.AsyncClient) -> None:
    answer = await client.head("/watch/t?agent=chat")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


@pytest.mark.parametrize("path", ["/chat/", "/chat/connect/", "/chat/stop/"])
async def test_a_slash_at_the_end_changes_nothing(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.post(path, json=posted("t", "hi"))).status_code == 200


@pytest.mark.parametrize("thread", ["a/b", "a b", "ü", "100%", "t/", "a?b#c"])
async def test_a_thread_may_have_any_name_that_can_be_written(client: httpx.AsyncClient, thread: str) -> None:
    await client.post("/chat", json=posted(thread, "hi"))
    path = f"/watch/{quote(thread, safe='')}?agent=chat"
    async with client.stream("GET", path) as watched:
        events = told(watched)
        assert (await until(events, "RUN_STARTED"))["threadId"] == thread
        await events.aclose()  # type: ignore[attr-defined]


async def test_a_slash_after_a_thread_is_none_of_its_name(client: httpx.AsyncClient) -> None:
    await client.post("/chat", json=posted("t", "hi"))
    async with client.stream("GET", "/watch/t/?agent=chat") as watched:
        events = told(watched)
        assert (await until(events, "RUN_STARTED"))["threadId"] == "t"
        await events.aclose()  # type: ignore[attr-defined]


async def test_an_agent_may_have_a_name_that_is_escaped_in_a_url() -> None:
    app = agui_app({"wörter": chat(), "other": chat()})
    async with served(app) as server, server.client() as client:
        answer = await client.post("/" + quote("wörter"), json=posted("t", "hi"))
    assert kinds_of(answer.text)[-1] == "RUN_FINISHED"


@pytest.mark.parametrize("name", ["info", "health", "watch", "", "a/b", "a b", "..", "a%62", "a?b", "a\nb", 7])
def test_a_name_that_is_a_route_or_none_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="agents"):
        agui_app({name: chat()})


def test_no_agents_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        agui_app({})


def test_what_is_no_source_is_refused() -> None:
    with pytest.raises(TypeError, match="compiled graph"):
        agui_app({"chat": object()})  # type: ignore[dict-item]


def mounted_in_starlette(app: Starlette) -> Any:
    return Starlette(routes=[Mount("/deep/agui", app=app)])


def mounted_in_fastapi(app: Starlette) -> Any:
    outer = FastAPI()
    outer.mount("/deep/agui", app)
    return outer


@pytest.mark.parametrize("mounted", [mounted_in_starlette, mounted_in_fastapi])
@pytest.mark.parametrize("root", ["", "/proxied"])
async def test_it_can_be_mounted_where_its_lifespan_is_never_run(mounted: Any, root: str) -> None:
    app = agui_app({"chat": chat()})
    outer = mounted(app)
    async with served(outer, root_path=root) as server, server.client() as client:
        answer = await client.post("/deep/agui/chat", json=posted("t", "hi"))
        assert kinds_of(answer.text)[-1] == "RUN_FINISHED"
        async with client.stream("GET", "/deep/agui/watch/t") as watched:
            events = told(watched)
            assert (await until(events, "RUN_STARTED"))["threadId"] == "t"
            await events.aclose()  # type: ignore[attr-defined]
        assert (await client.get("/deep/agui/nothing/at/all")).json()["error"] == "not_found"
        assert (await client.post("/deep/agui/", json=posted("u", "hi"))).status_code == 200


async def test_http_1_0_is_told_the_stream_to_the_connections_end() -> None:
    body = b'{"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "hi"}]}'
    asked = b"POST /chat HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with served(agui_app({"chat": chat()}), http="h11") as server:  # uvicorn's other parser answers in chunks
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(asked + body)
        head, _, told_ = (await asyncio.wait_for(reader.read(), WITHIN)).partition(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()
    assert b"chunked" not in head
    assert kinds_of(told_)[-1] == "RUN_FINISHED"


async def test_an_agent_may_be_called_agent() -> None:
    async with served(agui_app({"agent": chat(), "other": chat()})) as server, server.client() as client:
        assert kinds_of((await client.post("/agent", json=posted("t", "hi"))).text)[-1] == "RUN_FINISHED"
        assert kinds_of((await client.post("/agent/connect", json=posted("t"))).text)[-1] == "RUN_FINISHED"


async def test_a_graph_that_is_named_is_found_by_its_name() -> None:
    agent = Agent(source=Local(GATED["gated_chat"](InMemorySaver()), agent="named"))
    async with served(agui_app({"chat": agent})) as server, server.client() as client:
        assert kinds_of((await client.post("/chat", json=posted("t", "hi"))).text)[-1] == "RUN_FINISHED"
