"""A FastAPI app that has users, errors and a schema of its own, as such apps are written: what it says of requests goes
for the routes of agents too. (`test_embedded`: the routes on real servers.)"""

import warnings
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Security
from fastapi.routing import APIRoute
from fastapi.security import OAuth2PasswordBearer
from fastapi.testclient import TestClient
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.serve import add_agui_routes, agui_app
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from pydantic import BaseModel

from tests.support.servers.serving import posted

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
    app, router = FastAPI(**ids), APIRouter(prefix="/more")
    for owner, path in ((app, "/one"), (app, "/two"), (router, "/one"), (router, "")):
        add_agui_routes(owner, {"chat": greeter(), "other": greeter()}, path, websocket=True, inspector=True)
    app.include_router(router)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = app.openapi()
    validate(schema, cls=OpenAPIV31SpecValidator)
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations) > 4
    run = schema["paths"]["/more/one/{agent}"]["post"]
    assert [(each["name"], each["in"]) for each in run["parameters"]] == [("agent", "path")]
    assert run["requestBody"]["content"]["application/json"]["schema"]["title"] == "RunAgentInput"
    assert "text/event-stream" in run["responses"]["200"]["content"]
