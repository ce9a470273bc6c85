"""The Python code of the documents runs, and does what their text says. A block is found by a name that it defines."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from ag_ui.core import EventType
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import start
from langgraph_agui.connect.local.store.sqlite import SqliteRunStore
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.translator import PLATFORM_STREAM_MODES, ClientView, encode
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.requests import HTTPConnection

from fixtures import FIXTURES
from fixtures.gated import GATED
from fixtures.recordings import REPORTED
from fixtures.run import Conversation
from fixtures.scripts import end
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.batch_readers import until
from tests.support.documents import block, blocks
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.gates import asked, gates
from tests.support.servers.proxy import proxied
from tests.support.servers.serving import events_of, kinds_of, served


@pytest.fixture
def conversation() -> Conversation:
    return Conversation(FIXTURES["agent_one_tool"])


QUESTION = {"id": "user-1", "role": "user", "content": "hi"}
WIRE = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
DECLARED = [("1.0.0", {"protocolVersion": "1.0"}), ("0.0.59", {})]


@asynccontextmanager
async def serving(graph: Any, may_use: Any = None, user_of: Any = bool) -> AsyncIterator[httpx.AsyncClient]:
    """A client of what the documents serve of a graph."""
    transport = httpx.ASGITransport(block("served").served(graph, user_of, may_use))
    async with httpx.AsyncClient(transport=transport, base_url="http://app/agents/planner") as client:
        yield client


def ids(messages: Iterable[Any]) -> list[str]:
    return [message["id"] if isinstance(message, dict) else message.id for message in messages]


def viewed(events: Iterable[dict[str, Any]]) -> ClientView:
    """What a client without anything has after these events."""
    view = ClientView()
    for event in events:
        view.apply(event)
    return view


async def stored(graph: Any) -> list[str]:
    """The ids of the thread's messages."""
    return ids((await graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"])


async def test_the_first_graph_answers() -> None:
    first = block("answer")
    first.model.delay = 0
    async with served(agui_app({"planner": first.graph})) as server, server.client() as client:
        answer = await client.post("/planner", json=WIRE | {"messages": [QUESTION]})
    assert "Belém" in answer.text
    assert '"outcome":{"type":"success"}' in answer.text


async def test_a_page_of_another_origin_is_let_in(conversation: Conversation) -> None:
    asked = {"Origin": "http://localhost:5173", "Access-Control-Request-Method": "POST"}
    app = block("served").served(conversation.graph, bool, None)
    block("let_in").let_in(app)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        allowed = await client.options("/agents/planner", headers=asked)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, asked["Origin"])


async def test_a_graph_is_started_and_connected_to(conversation: Conversation) -> None:
    given = await conversation.given(conversation.fixture.turns[0])
    events = [event async for event in block("events").events(conversation.graph, given, conversation.config)]
    assert [events[0].type.value, events[-1].type.value] == ["RUN_STARTED", "RUN_FINISHED"]


@pytest.mark.parametrize(("version", "declared"), DECLARED)
async def test_the_mounted_app_serves_a_client(
    conversation: Conversation, agui_client: AguiClient, version: str, declared: dict[str, str]
) -> None:
    async with serving(conversation.graph) as client:
        answer = await client.post("", json=WIRE | declared | {"messages": [QUESTION]})
    played = agui_client.play(frames=answer.content, version=version, messages=[QUESTION])
    assert played.accepted
    assert ids(played.messages) == await stored(conversation.graph)


async def test_a_reloaded_page_gets_the_active_run(agui_client: AguiClient) -> None:
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


async def test_authorize_refuses_a_user(conversation: Conversation) -> None:
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


class Keys(AuthenticationBackend):
    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        name = conn.headers.get("authorization")
        return name and (AuthCredentials(["authenticated"]), SimpleUser(name))  # type: ignore[return-value]


async def test_users_of_starlettes_middleware_are_those_of_authorize(conversation: Conversation) -> None:
    users: list[Any] = []

    def may_use(user: Any, *_: Any) -> bool:
        users.append(user)
        return bool(user.username == "ada")

    transport = httpx.ASGITransport(block("app_with_users").app_with_users(conversation.graph, Keys(), may_use))
    async with httpx.AsyncClient(transport=transport, base_url="http://app/agents/planner") as client:
        given = WIRE | {"messages": [QUESTION], "protocolVersion": "1.0"}
        for name, status in ((None, 401), ("bob", 403), ("ada", 200)):
            headers = {"authorization": name} if name else {}
            assert (await client.post("", json=given, headers=headers)).status_code == status
    assert [user.username for user in users] == ["bob", "ada"]


async def test_a_framework_of_ones_own_sends_frames(conversation: Conversation, agui_client: AguiClient) -> None:
    body = json.dumps(WIRE | {"protocolVersion": "1.0", "messages": [QUESTION]}).encode()
    frames = b"".join([frame async for frame in block("frames_of").frames_of(conversation.graph, body)])
    played = agui_client.play(frames=frames, messages=[QUESTION])
    assert played.accepted
    assert ids(played.messages) == await stored(conversation.graph)


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
    assert (title, [each.value for each in interrupts], len(messages)) == ("Go on.", [{"question": "really"}], 2)


async def test_a_thread_of_a_platform_is_joined_in_the_middle_of_its_run(
    dev_server: str, platform: LangGraphClient, agui_client: AguiClient
) -> None:
    thread_id = (await platform.threads.create())["thread_id"]
    async with gates() as gate:
        gate.hold("first 3")
        modes: Any = PLATFORM_STREAM_MODES
        how: Any = {"input": asked(), "config": gate.config(), "stream_mode": modes, "stream_resumable": True}
        await platform.runs.create(thread_id, "gated_chat", **how)
        await gate.reached("first 3")
        events = []
        async for event in block("thread_events").thread_events(dev_server, thread_id):
            events.append(event)
            gate.open("first 3")
    played = agui_client.play(frames=b"".join(map(encode, events)), mode="connect")
    state: Any = await platform.threads.get_state(thread_id)
    assert played.accepted
    assert ids(played.messages) == ids(state["values"]["messages"])


async def test_the_tokens_of_a_crons_runs_are_watched(platform: LangGraphClient) -> None:
    thread_id = (await platform.threads.create())["thread_id"]
    events = block("runs_to_come").runs_to_come(platform, thread_id)
    async with aclosing(events), asyncio.timeout(60):
        waiting = asyncio.create_task(anext(events))
        await block("schedule").schedule(platform, thread_id, "gated_chat", "* * * * * *")
        try:
            kinds = [(await waiting).type]
            while EventType.RUN_FINISHED not in kinds:
                kinds.append((await anext(events)).type)
        finally:
            for cron in await platform.crons.search(thread_id=thread_id):
                await platform.crons.delete(cron["cron_id"])
    assert kinds.count(EventType.TEXT_MESSAGE_START) == 2
    assert kinds.count(EventType.TEXT_MESSAGE_CONTENT) > 10


async def test_a_server_that_is_lost_and_is_back_is_reported(dev_server: str, platform: LangGraphClient) -> None:
    thread_id = (await platform.threads.create())["thread_id"]
    await platform.runs.wait(thread_id, "gated_chat", input=asked())
    said, changed, has_ended = list[str](), asyncio.Event(), asyncio.Event()

    def warn(text: str) -> None:
        said.append(text.partition(":")[0])
        changed.set()

    def show(event: Any) -> None:
        if event.type is EventType.RUN_FINISHED:
            has_ended.set()

    async with proxied(dev_server) as way, get_client(url=way.url) as client, asyncio.timeout(60):
        watching = asyncio.create_task(block("watched").watched(client, thread_id, show, warn))
        await has_ended.wait()
        way.close()
        await changed.wait()
        way.open()
        while said != ["lost", "back"]:
            changed.clear()
            await changed.wait()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_a_stream_is_translated(conversation: Conversation) -> None:
    given = await conversation.given(conversation.fixture.turns[0])
    events = [event async for event in block("translated").translated(conversation.graph, given, conversation.config)]
    assert [events[0].type.value, events[-1].type.value] == ["RUN_STARTED", "RUN_FINISHED"]


@pytest.mark.parametrize(("graph", "outcome"), [("gated_chat", "success"), ("gated_asking", "interrupt")])
async def test_a_platforms_stream_ends_as_its_run_did(platform: LangGraphClient, graph: str, outcome: str) -> None:
    thread_id = (await platform.threads.create())["thread_id"]
    events = [event async for event in block("platform_run").platform_run(platform, thread_id, asked(), graph)]
    assert (events[-1].type.value, events[-1].outcome.type) == ("RUN_FINISHED", outcome)


async def test_the_state_machine_is_used_by_hand(conversation: Conversation, agui_client: AguiClient) -> None:
    parts = [part async for part in conversation.stream(conversation.fixture.turns[0])]
    frames = block("frames").frames(parts, error=RuntimeError("lost"))
    assert agui_client.play(frames=b"".join(frames)).accepted


async def test_a_graph_of_ones_own_is_tested() -> None:
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    def build_agent(model: Any) -> Any:
        return create_agent(model, [add], checkpointer=InMemorySaver())

    await block("test_the_agent_adds").test_the_agent_adds(build_agent)


def test_a_recorded_run_is_a_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tmp_path / "tests/runs"
    runs.mkdir(parents=True)
    for file in REPORTED.glob("*.jsonl"):
        (runs / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    block("test_recorded_runs_are_valid").test_recorded_runs_are_valid()


async def test_a_platform_is_served(platform: LangGraphClient) -> None:
    app = block("platform_app").platform_app(platform, "gated_chat")
    given = WIRE | {"threadId": str(uuid4()), "messages": [QUESTION], "protocolVersion": "1.0"}
    async with served(app) as server, server.client() as client:
        assert kinds_of((await client.post("/agent", json=given)).text)[-1] == "RUN_FINISHED"


async def test_a_run_is_marked_for_pages_of_use_stream(platform: LangGraphClient, dev_server: str) -> None:
    """They read the thread's events, which have no messages of other runs."""
    app = agui_app({"agent": block("shared_agent").shared_agent(platform, "gated_writer")})
    given = WIRE | {"threadId": (thread_id := str(uuid4())), "messages": [QUESTION], "protocolVersion": "1.0"}
    async with served(app) as server, server.client() as client, httpx.AsyncClient(base_url=dev_server) as other:
        kinds = kinds_of((await client.post("/agent", json=given)).text)
        assert kinds[-1] == "RUN_FINISHED"
        assert not {"STEP_STARTED", "CUSTOM"} & set(kinds)
        path, channels = f"/threads/{thread_id}/stream/events", {"channels": ["messages"]}
        async with other.stream("POST", path, json=channels, timeout=30) as response:
            tokens = (line async for line in response.aiter_lines() if "content-block-delta" in line)
            assert "text-delta" in await anext(tokens)


async def test_a_saver_is_opened_in_the_lifespan(tmp_path: Path) -> None:
    builder = StateGraph(MessagesState).add_sequence([("answer", lambda state: {"messages": [("ai", "Hello.")]})])
    builder.add_edge(START, "answer")
    for run in ("first", "second"):  # the second app finds the first one's thread in the file
        app = block("app_with_saver").app_with_saver(builder, str(tmp_path / "threads.db"))
        async with served(app) as server, server.client() as client:
            given = WIRE | {"runId": run, "messages": [QUESTION | {"id": run}], "protocolVersion": "1.0"}
            events = events_of((await client.post("/agents/planner", json=given)).text)
            kept = events_of((await client.post("/agents/planner/connect", json=given | {"messages": []})).text)
        assert events[-1]["outcome"] == {"type": "success"}
        roles = [message["role"] for message in viewed(kept).messages]
    assert roles == ["user", "assistant"] * 2


async def test_several_processes_share_a_database_and_a_redis(
    redis_server: RedisServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_POSTGRES_URL", database)
    monkeypatch.setenv("AGUI_REDIS_URL", redis_server.url)
    async with AsyncPostgresSaver.from_conn_string(database) as saver:
        await saver.setup()
    builder = StateGraph(MessagesState).add_sequence([("answer", lambda state: {"messages": [("ai", "Hello.")]})])
    builder.add_edge(START, "answer")
    apps = [block("app_of_one_process").app_of_one_process(builder) for _ in range(2)]
    async with AsyncExitStack() as lifetime:
        one, other = [(await lifetime.enter_async_context(served(app))).client() for app in apps]
        async with one, other:
            given = WIRE | {"messages": [QUESTION], "protocolVersion": "1.0"}
            assert kinds_of((await one.post("/agents/planner", json=given)).text)[-1] == "RUN_FINISHED"
            kept = events_of((await other.post("/agents/planner/connect", json=given | {"messages": []})).text)
    assert [message["role"] for message in viewed(kept).messages] == ["user", "assistant"]


async def test_an_app_with_the_inspector_shows_data_to_known_users_alone(conversation: Conversation) -> None:
    def allowed(*_: Any) -> bool:
        return True

    app = block("inspected_app").inspected_app(conversation.graph, lambda request: request.headers.get("user"), allowed)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        statuses = [(await client.get(path)).status_code for path in ("/", "/info")]
        known = await client.get("/threads", headers={"user": "ann"})
    assert (statuses, known.status_code) == ([200, 401], 200)


async def test_a_graph_for_each_run_has_the_tools_of_its_user() -> None:
    users = []

    @asynccontextmanager
    async def tools_of(user: Any) -> AsyncIterator[list[Any]]:
        users.append(user)
        yield []

    def current_user(request: Any) -> str:
        return str(request.headers["x-user"])

    model = ScriptedChatModel(turns=["Hello."])
    app = block("served_for_each").served_for_each(InMemorySaver(), model, tools_of, current_user)
    async with served(app) as server, server.client() as client:
        answer = await client.post("/assistant", json=WIRE | {"messages": [QUESTION]}, headers={"x-user": "ada"})
        assert "Hello" in answer.text
    assert users == [None, "ada"]


def test_each_block_of_python_is_run_by_a_test() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    run = set(re.findall(r'block\("(\w+)"\)', tests))
    assert [str(each) for each in blocks("python") if not each.title and not run & {*each.defines}] == []


async def test_a_tool_has_the_run_and_the_attempt_of_a_run_that_may_be_continued(tmp_path: Path) -> None:
    model = ScriptedChatModel(
        turns=[[*tool_call("charge", {"cents": 5}, "call-1"), *end("tool_calls")], [*text("Paid.")]]
    )
    graph = create_agent(model, [block("charge").charge], checkpointer=InMemorySaver())
    app = block("app_of").app_of(graph, SqliteRunStore(tmp_path / "runs.db"))
    async with served(app) as server, server.client() as client:
        answer = await client.post("/chat", json={**WIRE, "messages": [QUESTION]})
    (result,) = [event for event in events_of(answer.content) if event["type"] == "TOOL_CALL_RESULT"]
    assert result["content"] == "charged 5, key r/call-1, attempt 1"
