"""The routes in an app that has other routes too, FastAPI's and Starlette's, on real servers: who may use them, and
that their runs end with the outer app."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request
from fastapi.security import APIKeyHeader
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.serve import Action, Agent, add_agui_routes, agui_app, agui_routes
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from fixtures.gated import GATED
from tests.support.servers.gates import Gates
from tests.support.servers.serving import WITHIN, events_of, kinds_of, posted, served

KEY = {"x-key": "ada"}
READS_NO_BODY = b"POST /agents/chat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"


async def user(request: Request) -> None:
    """A dependency that knows one key."""
    if request.headers.get("x-key") != "ada":
        raise HTTPException(401, "Who are you?")
    request.state.user = "ada"


def chat() -> Agent:
    return Agent(source=GATED["gated_chat"](InMemorySaver()))


def protected(path: str = "/agents", **more: Any) -> FastAPI:
    """Two agents behind a dependency, in an app that has a route of its own after them."""
    app = FastAPI()
    made = {"chat": chat(), "other": chat()}
    add_agui_routes(app, made, path, dependencies=[Depends(user)], **more)

    @app.get("/own")
    async def own() -> str:
        return "mine"

    return app


async def test_every_route_is_there_behind_the_dependencies_and_so_is_the_apps_own() -> None:
    users: list[Any] = []

    def authorize(user: Any, action: Action, agent: str, thread_id: str | None) -> bool:
        users.append(user)
        return agent == "chat" or action == "list"

    async with served(protected(authorize=authorize)) as server, server.client(headers=KEY) as client:
        for path in ("chat", "chat/", "agent/chat/run"):
            answer = await client.post(f"/agents/{path}", json=posted(path, "hi"))
            assert (answer.status_code, kinds_of(answer.text)[-1]) == (200, "RUN_FINISHED")
        assert kinds_of((await client.post("/agents/chat", json=posted("a/state", "hi"))).text)[-1] == "RUN_FINISHED"
        for path, name in (("a%2Fstate", "id"), ("a%2Fstate/state", "state")):
            assert name in (await client.get(f"/agents/threads/{path}?agent=chat")).json(), path
        assert kinds_of((await client.post("/agents/chat/connect", json=posted("chat"))).text)[-1] == "RUN_FINISHED"
        assert (await client.post("/agents/chat/stop", json={"threadId": "chat"})).json() == {"stopped": False}
        for path in ("/agents", "/agents/"):
            assert [*(await client.post(path, json={"method": "info"})).json()["agents"]] == ["chat", "other"]
        async with client.stream("GET", "/agents/watch/a/b?agent=chat") as watched:
            assert watched.status_code == 200
        assert (await client.post("/agents/other", json=posted("t", "hi"))).status_code == 403
        assert (await client.post("/agents/nobody", json=posted("t", "hi"))).json()["error"] == "unknown_agent"
        assert (await client.get("/own")).json() == "mine"
        assert {*users} == {"ada"}


async def test_a_dependency_refuses_before_a_body_is_read_and_a_load_balancer_needs_none() -> None:
    async with served(protected()) as server, server.client() as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(READS_NO_BODY)
        async with asyncio.timeout(WITHIN):
            assert b" 401 " in await reader.readline()
        writer.transport.abort()
        for method, path in (("GET", "info"), ("POST", "agent/chat/run"), ("GET", "watch/t?agent=chat"), ("POST", "")):
            answer = await client.request(method, f"/agents/{path}", json=posted("t", "hi"))
            assert (answer.status_code, answer.json()) == (401, {"detail": "Who are you?"}), path
        for method in ("GET", "HEAD"):
            assert (await client.request(method, "/agents/health")).status_code == 200


async def test_a_dependency_that_yields_is_left_when_the_stream_has_ended(gate: Gates) -> None:
    left = asyncio.Event()

    async def session() -> AsyncIterator[None]:
        yield
        left.set()

    gate.hold("first 3")
    app = FastAPI()
    agent = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    add_agui_routes(app, agent, dependencies=[Depends(session)])
    async with (
        served(app) as server,
        server.client() as client,
        client.stream("POST", "/agents/default", json=posted("t", "hi")) as response,
    ):
        await gate.reached("first 3")
        assert not left.is_set()
        gate.open("first 3")
        assert kinds_of(await response.aread())[-1] == "RUN_FINISHED"
        await asyncio.wait_for(left.wait(), WITHIN)


async def current_user(key: Annotated[str | None, Header(alias="x-key")] = None) -> dict[str, str] | None:
    """A dependency that returns the user, and lets nobody else in."""
    return {"identity": key} if key in ("ada", "bob") else None


async def test_a_dependency_that_returns_the_user_gives_it_to_authorize_and_to_the_graph() -> None:
    def authorize(user: Any, action: Action, agent: str, thread_id: str | None) -> Any:
        return {"owner": user["identity"]}

    def greet(state: Any, config: RunnableConfig) -> Any:
        return {"messages": [("ai", f"Hello, {config['configurable']['langgraph_auth_user']['identity']}!")]}

    graph = StateGraph(MessagesState).add_node("greet", greet).add_edge(START, "greet").compile(InMemorySaver())
    app = FastAPI()
    add_agui_routes(app, {"chat": graph}, authenticate=Depends(current_user), authorize=authorize)
    async with served(app, ws="websockets-sansio") as server, server.client() as client:
        for headers, status in (({}, 401), ({"x-key": "eve"}, 401), (KEY, 200), ({"x-key": "bob"}, 404)):
            answer = await client.post("/agents/chat", json=posted("t", "hi", run_id=str(status)), headers=headers)
            assert (answer.status_code, "Hello, ada!" in answer.text) == (status, status == 200)
        assert (await client.get("/agents/health")).status_code == 200
        url = f"ws://127.0.0.1:{server.port}/agents/chat/ws?thread=t"
        with pytest.raises(InvalidStatus, match="401"):
            await connect(url, proxy=None).__aenter__()
        for key, is_seen in (("ada", True), ("bob", False)):
            async with connect(url, proxy=None, additional_headers={"x-key": key}) as socket:
                await socket.send('{"do": "connect"}')
                lines = [str(await socket.recv())]
                while '"do"' not in lines[-1]:
                    lines.append(str(await socket.recv()))
            assert ("Hello, ada!" in "".join(lines)) is is_seen


async def test_a_value_that_nobody_takes_for_the_user_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    def authorize(user: Any, action: Action, agent: str, thread_id: str | None) -> bool:
        return user is None

    app = FastAPI()
    add_agui_routes(app, {"chat": chat()}, dependencies=[Depends(current_user)], authorize=authorize)
    async with served(app) as server, server.client(headers=KEY) as client:
        for thread_id in ("one", "two"):
            assert (await client.post("/agents/chat", json=posted(thread_id, "hi"))).status_code == 200
    lines = [record.getMessage() for record in caplog.records if "The dependency" in record.getMessage()]
    assert lines == [
        "The dependency current_user returned a dict, and authorize gets no user: if it is the user, write "
        "authenticate=Depends(current_user), or keep it as request.state.user."
    ]


@pytest.mark.parametrize("is_entered", [True, False])
async def test_a_lifespan_that_nobody_enters_is_an_error_in_the_log_once(
    caplog: pytest.LogCaptureFixture, is_entered: bool
) -> None:
    mounted = agui_app({"chat": chat()})

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with mounted.router.lifespan_context(mounted) if is_entered else nullcontext():
            yield

    app = Starlette(routes=[Mount("/agents", mounted)], lifespan=lifespan)
    async with served(app) as server, server.client() as client:
        for _ in range(2):
            assert (await client.get("/agents/health")).status_code == 200
    lines = [record for record in caplog.records if "was never entered" in record.getMessage()]
    assert [line.levelname for line in lines] == ([] if is_entered else ["ERROR"])
    for line in lines:
        assert "of agents chat was" in line.getMessage()
        assert "async with mounted.router.lifespan_context(mounted): yield" in line.getMessage()


PATHS = ("/agents/{agent}", "/agents")
"""What takes an input alone, and what takes an envelope too."""


def with_schema() -> FastAPI:
    """All routes, where each of them can be: behind dependencies that have parameters, in routers with a prefix."""

    async def of_the_path(agent: str = "chat", limit: int = 3) -> None:
        """It shares the names of parameters with the routes."""

    app = protected(inspector=True, websocket=True)
    inner, outer = APIRouter(prefix="/more"), APIRouter(prefix="/much")
    add_agui_routes(inner, chat(), authenticate=Depends(current_user), dependencies=[Depends(APIKeyHeader(name="x"))])
    outer.include_router(inner)
    app.include_router(outer, dependencies=[Depends(of_the_path)])
    return app


async def test_its_schema_is_valid_and_names_each_operation_once() -> None:
    app = with_schema()
    schema = app.openapi()
    assert schema["openapi"].startswith("3.1")
    validate(schema, cls=OpenAPIV31SpecValidator)
    paths = schema["paths"]
    operations = [operation for path in paths.values() for operation in path.values()]
    ours = [operation for operation in operations if operation.get("tags") == ["AG-UI"]]
    assert [each["description"] for each in ours] == [f"{each['summary']}." for each in ours]
    assert {"/agents", "/agents/{agent}", "/agents/{agent}/connect", "/agents/health"} < {*paths}
    summaries = [
        operation["summary"] for path, each in paths.items() for operation in each.values() if "much" not in path
    ]
    assert len(summaries) == len({*summaries})
    assert not [path for path in paths if path.endswith("/")]
    for operation in ours:
        (answer, *_) = operation["responses"].values()
        assert "content" in answer or "204" in operation["responses"], operation["summary"]
    bodies = [operation for path in paths.values() for name, operation in path.items() if name in ("post", "patch")]
    assert all("requestBody" in operation for operation in bodies)
    guarded = [paths[path] for path in paths if "/much" in path and not path.endswith(("/health", "/ready"))]
    assert all("security" in operation for methods in guarded for operation in methods.values())


async def test_what_its_schema_says_is_what_is_taken_and_answered() -> None:
    app = protected(authorize=lambda *_: True)
    paths = app.openapi()["paths"]

    def check(path: str, method: str, answer: httpx.Response, body: Any = None) -> None:
        operation = paths[path][method]
        if body is not None:
            OAS31Validator(operation["requestBody"]["content"]["application/json"]["schema"]).validate(body)
        expected = operation["responses"].get(str(answer.status_code)) or operation["responses"]["4XX"]
        kind = answer.headers.get("content-type", "").partition(";")[0]
        assert (kind in expected["content"]) if kind else ("content" not in expected)
        if kind == "application/json":
            OAS31Validator(expected["content"][kind]["schema"]).validate(answer.json())

    async with served(app) as server, server.client(headers=KEY) as client:
        given = posted("t", "hi")
        for path in ("/agents/{agent}", "/agents/{agent}/connect", "/agents/agent/{agent}/run"):
            answer = await client.post(path.format(agent="chat"), json=given)
            assert answer.status_code == 200
            check(path, "post", answer, given)
        wrong = await client.post("/agents/chat", json={})
        check("/agents/{agent}", "post", wrong)
        taken = [paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"] for path in PATHS]
        is_taken = [[OAS31Validator(schema).is_valid(body) for schema in taken] for body in ({}, {"method": "info"})]
        assert is_taken == [[False, False], [False, True]]
        check("/agents/info", "get", await client.get("/agents/info"))
        stop = {"threadId": "t", "runId": None}
        check("/agents/{agent}/stop", "post", await client.post("/agents/chat/stop", json=stop), stop)
        one, query = "/agents/threads/{thread}", "?agent=chat"
        for path in (one, f"{one}/messages", f"{one}/state", "/agents/threads", "/agents/ready"):
            check(path, "get", await client.get(path.format(thread="t") + query))
        change = {"name": "Named"}
        check(one, "patch", await client.patch(f"/agents/threads/t{query}", json=change), change)
        check(one, "delete", await client.delete(f"/agents/threads/t{query}"))


Build = Callable[[Any, Callable[[Any], Any]], Any]


def in_fastapi(agent: Agent, lifespan: Any) -> FastAPI:
    app = FastAPI(lifespan=lifespan)
    add_agui_routes(app, agent, grace=0)
    return app


def in_a_router(agent: Agent, lifespan: Any) -> FastAPI:
    router = APIRouter(prefix="/agents")
    add_agui_routes(router, agent, "", grace=0)
    app = FastAPI(lifespan=lifespan)
    app.include_router(router)
    return app


def in_a_lifespan(agent: Agent, lifespan: Any) -> FastAPI:
    @asynccontextmanager
    async def with_agent(app: FastAPI) -> AsyncIterator[None]:
        async with lifespan(app), add_agui_routes(app, agent, grace=0).lifespan(app):
            yield

    return FastAPI(lifespan=with_agent)


def in_starlette(agent: Agent, lifespan: Any) -> Starlette:
    routes = agui_routes(agent, grace=0)

    @asynccontextmanager
    async def both(app: Starlette) -> AsyncIterator[None]:
        async with lifespan(app), routes.lifespan(app):
            yield

    own = Route("/own", lambda request: PlainTextResponse("mine"))
    return Starlette(routes=[own, *routes], lifespan=both)


@pytest.mark.parametrize("build", [in_fastapi, in_a_router, in_a_lifespan, in_starlette])
async def test_runs_stop_with_the_outer_app_before_it_closes_what_they_use(gate: Gates, build: Build) -> None:
    gate.hold("first 3")
    running: list[int] = []
    async with Runs() as runs:
        source = Local(GATED["gated_chat"](InMemorySaver()), agent="graph", runs=runs)

        @asynccontextmanager
        async def lifespan(app: Any) -> AsyncIterator[dict[str, Any]]:
            yield {"pool": "open"}
            running.append(runs.running)

        app = build(Agent(source=source, intake=Intake(config=gate.config())), lifespan)
        async with served(app) as server:
            async with (
                server.client() as client,
                client.stream("POST", "/agents/default", json=posted("t", "hi")) as response,
            ):
                assert response.status_code == 200
                await gate.reached("first 3")
            assert runs.running == 1  # its reader has left, and it runs on
    assert running == [0]


async def test_an_outer_lifespans_state_reaches_requests() -> None:
    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[dict[str, Any]]:
        yield {"pool": "open"}

    pools: list[str] = []
    app = FastAPI(lifespan=lifespan)

    def intake(request: Any) -> Intake:
        pools.append(request.state.pool)
        return Intake()

    add_agui_routes(app, Agent(source=GATED["gated_chat"](InMemorySaver()), intake=intake))
    async with served(app) as server, server.client() as client:
        answer: httpx.Response = await client.post("/agents/default", json=posted("t", "hi"))
        assert events_of(answer.text)[-1]["type"] == "RUN_FINISHED"
    assert pools == ["open"]


def test_what_cannot_be_given_routes_says_so() -> None:
    wrong: Any = Starlette()
    with pytest.raises(TypeError, match=r"expected a FastAPI app or an APIRouter, got .*Starlette.*agui_routes"):
        add_agui_routes(wrong, chat())
    for path in ("agents", "/agents/", "/"):
        with pytest.raises(ValueError, match="path: expected a path such as '/agents'"):
            agui_routes(chat(), path=path)
