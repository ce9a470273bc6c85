"""A FastAPI app that has users, errors and a schema of its own, as such apps are written: what it says of requests goes
for the routes of agents too. (`test_embedded`: the routes on real servers.)"""

import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.security import OAuth2PasswordBearer
from fastapi.testclient import TestClient
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import InvalidThreadIdError
from langgraph_agui.connect.serve import Action, add_agui_routes, agui_app, agui_routes
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.testclient import WebSocketDenialResponse

from tests.support.servers.serving import kinds_of, posted

ADA = {"Authorization": "Bearer ada"}


class User(BaseModel):
    """The user of the app, which is a model of its own."""

    identity: str


async def current_user(token: Annotated[str, Depends(OAuth2PasswordBearer(tokenUrl="token"))]) -> User:
    """A dependency that knows one user."""
    if token != "ada":
        raise HTTPException(401, "Who are you?", {"WWW-Authenticate": "Bearer"})
    return User(identity=token)


CurrentUser = Annotated[User, Depends(current_user)]


def by_header(key: str = Header()) -> str:
    return key


def greet(state: Any, config: RunnableConfig) -> Any:
    user = config["configurable"].get("langgraph_auth_user")
    return {"messages": [("ai", f"Hello, {user.identity if user else 'stranger'}!")]}


def greeter() -> Any:
    """A graph that greets the user of its run."""
    return StateGraph(MessagesState).add_node("greet", greet).add_edge(START, "greet").compile(InMemorySaver())


@pytest.mark.parametrize("authenticate", [Depends(current_user), Security(current_user), CurrentUser])
def test_the_dependency_that_returns_the_user_is_taken_as_apps_write_it(authenticate: Any) -> None:
    app = FastAPI()
    add_agui_routes(app, {"chat": greeter()}, authenticate=authenticate)
    with TestClient(app) as client:
        assert client.post("/agents/chat", json=posted("t", "hi")).status_code == 401
        answer = client.post("/agents/chat", json=posted("t", "hi"), headers=ADA)
        assert (answer.status_code, "Hello, ada!" in answer.text) == (200, True)


@pytest.mark.parametrize("dependency", [current_user, by_header])
def test_a_dependency_that_nobody_would_call_is_an_error_when_the_routes_are_made(dependency: Any) -> None:
    name = dependency.__name__
    for given, message in (
        ({"authenticate": dependency}, rf"write authenticate=Depends\({name}\)"),
        ({"dependencies": [dependency]}, rf"dependencies: expected Depends\({name}\), got {name} without Depends"),
        ({"dependencies": [CurrentUser]}, r"dependencies: expected Depends\(.*\), got .* without Depends"),
    ):
        with pytest.raises(TypeError, match=message):
            add_agui_routes(FastAPI(), {"chat": greeter()}, **given)
    wrong: Any
    for wrong in (Depends(dependency), CurrentUser):
        with pytest.raises(TypeError, match=r"authenticate: expected a function, got .*; add_agui_routes"):
            agui_app({"chat": greeter()}, authenticate=wrong)


def by_tag_and_name(route: APIRoute) -> str:
    """As FastAPI's documentation names the operations of a client that is generated."""
    return f"{route.tags[0]}-{route.name}"


@pytest.mark.parametrize("ids", [{}, {"generate_unique_id_function": by_tag_and_name}])
def test_operations_of_several_agents_and_of_several_mounts_have_ids_of_their_own(ids: Any) -> None:
    app, router = FastAPI(**ids), APIRouter(prefix="/{tenant}")
    for owner, path in ((app, "/one"), (app, "/two"), (router, "/one"), (router, "")):
        add_agui_routes(owner, {"chat": greeter(), "other": greeter()}, path, websocket=True, inspector=True)
    app.include_router(router)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = app.openapi()
    if not ids:
        validate(schema, cls=OpenAPIV31SpecValidator)
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) > 4
    run = schema["paths"]["/{tenant}/one/{agent}"]["post"]
    assert [(each["name"], each["in"]) for each in run["parameters"]] == [("tenant", "path"), ("agent", "path")]
    assert run["requestBody"]["content"]["application/json"]["schema"]["title"] == "RunAgentInput"
    assert "text/event-stream" in run["responses"]["200"]["content"]


class NotPaidError(Exception):
    """An error of the app's own."""


def may_use(user: Any, action: Action, agent: str, thread_id: str | None) -> bool:
    if thread_id == "unpaid":
        raise NotPaidError("This is not paid.")
    if thread_id == "broken":
        raise RuntimeError("This is broken.")
    if thread_id == "teapot":
        raise HTTPException(418, {"tea": "pot"})
    return thread_id != "secret"


def with_handlers(*kinds: Any) -> FastAPI:
    """An app with exception handlers of these kinds, which say what they got."""

    async def answer(request: Request, error: Exception) -> JSONResponse:
        status = error.status_code if isinstance(error, StarletteHTTPException) else 402
        cause = error.__cause__
        code = getattr(cause, "code", None)
        said = error.detail if isinstance(error, StarletteHTTPException) else str(error)
        headers = error.headers if isinstance(error, StarletteHTTPException) else None
        return JSONResponse({"mine": said, "code": code}, status, headers)

    app = FastAPI(exception_handlers=dict.fromkeys(kinds, answer))
    add_agui_routes(app, {"chat": greeter()}, authenticate=Depends(current_user), authorize=may_use)
    return app


REQUESTS: dict[str, tuple[str, Any, dict[str, str], int]] = {
    "no user": ("/agents/chat", posted("t", "hi"), {}, 401),
    "no agent": ("/agents/other", posted("t", "hi"), ADA, 404),
    "no input": ("/agents/chat", {}, ADA, 422),
    "no thread": ("/agents/chat", posted("\n", "hi"), ADA, 422),
    "not allowed": ("/agents/chat", posted("secret", "hi"), ADA, 403),
    "a teapot": ("/agents/chat", posted("teapot", "hi"), ADA, 418),
    "not paid": ("/agents/chat", posted("unpaid", "hi"), ADA, 500),
    "broken": ("/agents/chat", posted("broken", "hi"), ADA, 500),
}
"""What is refused before a stream begins, and its status in an app without handlers."""


def answers_of(app: FastAPI) -> dict[str, Any]:
    """The status and the body of the answer to each of `REQUESTS`."""
    with TestClient(app, raise_server_exceptions=False) as client:
        answers = {
            name: client.post(path, json=body, headers=headers) for name, (path, body, headers, _) in REQUESTS.items()
        }
        return {name: (answer.status_code, answer.json()) for name, answer in answers.items()}


def test_an_app_without_handlers_leaves_the_answers_to_the_routes() -> None:
    for kinds in ((), (KeyError,), (RequestValidationError,)):
        answers = answers_of(with_handlers(*kinds))
        assert {name: status for name, (status, _) in answers.items()} == {
            name: status for name, (*_, status) in REQUESTS.items()
        }
        assert {name: body.get("error") for name, (_, body) in answers.items()} == {
            "no user": None,  # FastAPI's own answer to what a dependency raises
            "no agent": "unknown_agent",
            "no input": "invalid_input",
            "no thread": "invalid_thread_id",
            "not allowed": "forbidden",
            "a teapot": "im_a_teapot",
            "not paid": "internal_error",
            "broken": "internal_error",
        }


@pytest.mark.parametrize("kind", [StarletteHTTPException, HTTPException])
def test_a_handler_of_http_exceptions_answers_every_refusal(kind: Any) -> None:
    answers = answers_of(with_handlers(kind))
    assert {name: status for name, (status, _) in answers.items()} == {
        name: status for name, (*_, status) in REQUESTS.items()
    }
    assert {name: body["code"] for name, (_, body) in answers.items() if "mine" in body} == {
        "no user": None,
        "no agent": "unknown_agent",
        "no input": "invalid_input",
        "no thread": "invalid_thread_id",
        "not allowed": "forbidden",
        "a teapot": None,
    }
    assert answers["no user"][1]["mine"] == "Not authenticated"
    assert answers["no agent"][1]["mine"].startswith("There is no such agent")
    assert answers["a teapot"][1]["mine"] == {"tea": "pot"}


def test_a_handler_answers_the_errors_of_its_type_or_status_alone() -> None:
    for kind, handled in (
        (NotPaidError, {"not paid": (402, "This is not paid.")}),
        (InvalidThreadIdError, {"no thread": (402, None)}),
        (404, {"no agent": (404, None)}),
        (Exception, {"not paid": (402, "This is not paid."), "broken": (402, "This is broken.")}),
        (500, {"not paid": (402, "This is not paid."), "broken": (402, "This is broken.")}),
    ):
        answers = answers_of(with_handlers(kind))
        mine = {name: (status, body["mine"]) for name, (status, body) in answers.items() if "mine" in body}
        assert mine.keys() == handled.keys(), kind
        for name, (status, said) in handled.items():
            assert mine[name] == (status, said or mine[name][1])
            others = {other for other in answers if other not in handled}
            assert {other: answers[other][0] for other in others} == {other: REQUESTS[other][3] for other in others}


def test_handlers_answer_the_handshakes_of_sockets_too() -> None:
    sockets = {"no user": ("chat", {}, 401), "no agent": ("other", ADA, 404), "a socket": ("chat", ADA, None)}
    for kinds in ((), (StarletteHTTPException,)):
        with TestClient(with_handlers(*kinds)) as client:
            for name, (agent, headers, status) in sockets.items():
                if status is None:
                    assert said_over_a_socket(client, "t") == "Hello, ada!"
                    continue
                opening = client.websocket_connect(f"/agents/{agent}/ws?thread=t", headers=headers)
                with pytest.raises(WebSocketDenialResponse) as refused, opening:
                    pass
                assert refused.value.status_code == status, name
                assert ("mine" in refused.value.json()) is bool(kinds)


def test_handlers_of_a_starlette_app_answer_too() -> None:
    async def answer(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, StarletteHTTPException)
        return JSONResponse({"mine": error.detail}, error.status_code)

    for handlers, key in (({}, "error"), ({StarletteHTTPException: answer}, "mine")):
        routes = agui_routes({"chat": greeter()})
        app = Starlette(routes=routes, lifespan=routes.lifespan, exception_handlers=handlers)
        with TestClient(app) as client:
            refused = client.post("/agents/other", json=posted("t", "hi"))
            assert (refused.status_code, key in refused.json()) == (404, True)


async def keep_user(request: Request, user: CurrentUser) -> None:
    request.state.user = user


def of_the_app(**how: Any) -> FastAPI:
    app = FastAPI(dependencies=[Depends(keep_user)])
    add_agui_routes(app, {"chat": greeter()}, **how)
    return app


def of_the_router(**how: Any) -> FastAPI:
    app, router = FastAPI(), APIRouter(dependencies=[Depends(keep_user)])
    add_agui_routes(router, {"chat": greeter()}, **how)
    app.include_router(router)
    return app


def of_the_inclusion(**how: Any) -> FastAPI:
    app, router = FastAPI(), APIRouter()
    add_agui_routes(router, {"chat": greeter()}, **how)
    app.include_router(router, dependencies=[Depends(keep_user)])
    return app


def of_the_routes(**how: Any) -> FastAPI:
    app = FastAPI()
    add_agui_routes(app, {"chat": greeter()}, dependencies=[Depends(keep_user)], **how)
    return app


def that_authenticates(**how: Any) -> FastAPI:
    app = FastAPI()
    add_agui_routes(app, {"chat": greeter()}, authenticate=Depends(current_user), **how)
    return app


def said_over_a_socket(client: TestClient, thread_id: str) -> str:
    """What a run says over a socket of Ada's."""
    text = ""
    with client.websocket_connect(f"/agents/chat/ws?thread={thread_id}", headers=ADA) as socket:
        socket.send_json({"do": "run", "input": posted(thread_id, "hi")})
        while "do" not in (said := socket.receive_json()):
            text += said.get("delta", "")
    assert said == {"do": "run", "status": 200}
    return text


@pytest.mark.parametrize("build", [of_the_app, of_the_router, of_the_inclusion, of_the_routes, that_authenticates])
def test_dependencies_protect_every_route_and_their_user_reaches_authorize_and_the_graph(build: Any) -> None:
    users: list[Any] = []

    def authorize(user: Any, action: Action, agent: str, thread_id: str | None) -> bool:
        users.append(user)
        return True

    app = build(authorize=authorize, websocket=True)
    with TestClient(app) as client:
        operations = [(method, path) for path, each in app.openapi()["paths"].items() for method in each]
        assert len(operations) > 15
        for method, path in operations:
            is_open = path in ("/agents/health", "/agents/ready") and build in (of_the_routes, that_authenticates)
            url = path.format(agent="chat", thread="t")
            assert client.request(method, url).status_code == (200 if is_open else 401), (method, path)
        with pytest.raises(WebSocketDenialResponse), client.websocket_connect("/agents/chat/ws?thread=t"):
            pass
        assert users == []
        assert "Hello, ada!" in client.post("/agents/chat", json=posted("t", "hi"), headers=ADA).text
        assert said_over_a_socket(client, "u") == "Hello, ada!"
        assert client.get("/agents/threads/t?agent=chat", headers=ADA).status_code == 200
    assert len(users) > 2
    assert {user.identity for user in users} == {"ada"}


def test_a_test_client_gets_a_stream_to_its_end_with_a_lifespan_and_without() -> None:
    app = that_authenticates()
    plain, entered = TestClient(app), TestClient(app)

    def check(client: TestClient, thread_id: str) -> None:
        for number in range(2):
            sent = posted(thread_id, "hi", run_id=f"run-{number}")
            sent["messages"][0]["id"] = f"said-{number}"
            answer = client.post("/agents/chat", json=sent, headers=ADA)
            assert (answer.status_code, kinds_of(answer.text)[-1]) == (200, "RUN_FINISHED")
        state = client.get(f"/agents/threads/{thread_id}/messages?agent=chat", headers=ADA)
        assert [each["role"] for each in state.json()["messages"]] == ["user", "assistant"] * 2
        assert said_over_a_socket(client, f"{thread_id}-socket") == "Hello, ada!"

    check(plain, "before")
    for thread_id in ("one", "two"):
        with entered as client:
            check(client, thread_id)
    check(plain, "after")


def test_an_app_that_never_runs_the_lifespan_of_its_routes_is_told_what_to_write(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @asynccontextmanager
    async def adding(app: FastAPI) -> AsyncIterator[None]:
        add_agui_routes(app, {"chat": greeter()})
        yield

    @asynccontextmanager
    async def entering(app: FastAPI) -> AsyncIterator[None]:
        async with add_agui_routes(app, {"chat": greeter()}).lifespan(app):
            yield

    inner, outer = FastAPI(), FastAPI()
    add_agui_routes(inner, {"chat": greeter()})
    outer.mount("/sub", inner)
    routes = agui_routes({"chat": greeter()})
    add = "write there: async with add_agui_routes(app, ...).lifespan(app): yield"
    mount = "write in the lifespan of the outer app: async with mounted.router.lifespan_context(mounted): yield"
    for app, prefix, message in (
        (FastAPI(lifespan=adding), "", add),
        (outer, "/sub", mount),
        (Starlette(routes=routes), "", "write Starlette(routes=routes, lifespan=routes.lifespan)"),
        (FastAPI(lifespan=entering), "", None),
    ):
        caplog.clear()
        with TestClient(app) as client:
            for thread_id in ("one", "two"):
                answer = client.post(f"{prefix}/agents/chat", json=posted(thread_id, "hi"))
                assert kinds_of(answer.text)[-1] == "RUN_FINISHED"
        errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        assert len(errors) == (0 if message is None else 1)
        assert all("of agents chat was never entered" in each and str(message) in each for each in errors)
