"""The routes in an app that has other routes too, FastAPI's and Starlette's, on real servers: who may use them, and
that their runs end with the outer app."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.serve import Action, Agent, add_agui_routes, agui_routes
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

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


async def test_its_schema_names_each_operation_once() -> None:
    async with served(protected()) as server, server.client() as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    operations = [operation for path in paths.values() for operation in path.values()]
    summaries = [operation["summary"] for operation in operations]
    ours = [operation for operation in operations if operation.get("tags") == ["AG-UI"]]
    assert [each["description"] for each in ours] == [f"{each['summary']}." for each in ours]
    assert not any("content" in each["responses"]["200"] for each in ours)  # most stream events
    assert {"/agents", "/agents/{agent}", "/agents/{agent}/connect", "/agents/health"} < {*paths}
    assert len(summaries) == len({*summaries})
    assert not [path for path in paths if path.endswith("/")]


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
