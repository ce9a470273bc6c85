"""A `langgraph_sdk.Auth` as the hooks of an app: which handler decides, what a user may be, and what a run creates.
That LangGraph's own server decides alike is in `tests/connect/cli/test_auth.py`."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.access import Access, AuthUser, Grant
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.serve.requests.langgraph_auth import LangGraphAuth
from langgraph_sdk import Auth
from pydantic import BaseModel
from starlette.requests import Request

from tests.support.servers.serving import posted

ADA = AuthUser("ada")


def known(auth: Auth) -> LangGraphAuth:
    """The hooks of an `Auth`, whose users are what their requests say."""

    @auth.authenticate
    async def who(authorization: str | None) -> Any:
        return authorization

    return LangGraphAuth(auth)


@pytest.mark.parametrize(
    ("levels", "decides"),
    [
        ([], None),
        (["all"], "all"),
        (["all", "action"], "action"),
        (["all", "action", "resource"], "resource"),
        (["all", "action", "resource", "both"], "both"),
        (["action", "other"], "action"),
        (["other"], None),
    ],
)
async def test_the_most_specific_handler_decides(levels: list[str], decides: str | None) -> None:
    auth, asked = Auth(), []
    registered: dict[str, Callable[[Any], Any]] = {
        "all": auth.on,
        "action": auth.on(actions="read"),
        "resource": auth.on.threads,
        "both": auth.on.threads.read,
        "other": auth.on.assistants,
    }
    for level in levels:

        async def handler(ctx: Auth.types.AuthContext, value: dict[str, Any], level: str = level) -> bool:
            asked.append((level, ctx.resource, ctx.action, ctx.user.identity, value))
            return True

        registered[level](handler)
    assert await known(auth).authorize(ADA, "read", "chat", "t") == {}
    assert asked == ([] if decides is None else [(decides, "threads", "read", "ada", {"thread_id": "t"})])


async def test_each_action_is_one_of_langgraphs() -> None:
    auth, asked = Auth(), []

    @auth.on
    async def handler(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
        asked.append((ctx.action, value.get("thread_id")))

    hooks = known(auth)
    for action in ("list", "read", "run", "stop", "update", "delete"):
        await hooks.authorize(ADA, action, "chat", None if action == "list" else "t")
    actions = ["read", "create_run", "create", "update", "update", "delete"]
    assert asked == [("search", None), *((action, "t") for action in actions)]


class Model(BaseModel):
    identity: str
    team: str = "red"


class Plain:
    identity = "ada"
    permissions = ("read",)
    secret = "kept"


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("ada", {"permissions": []}),
        ({"identity": "ada", "team": "red"}, {"team": "red"}),
        (Model(identity="ada"), {"team": "red"}),
        (Plain(), {"permissions": ("read",)}),
        ((["write"], "ada"), {"permissions": ["write"]}),
        ((["write"], {"identity": "ada", "permissions": []}), {"permissions": ["write"]}),
        ({"identity": "ada", "is_authenticated": False}, {"is_authenticated": False}),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_user_is_what_langgraphs_server_takes_for_one(returned: Any, expected: Any, is_async: bool) -> None:
    async def who() -> Any:
        return returned

    at_once: Any = lambda: returned  # noqa: E731 - its type is none that the SDK declares, and its server takes it
    auth = Auth()
    auth.authenticate(who if is_async else at_once)
    user = await LangGraphAuth(auth).authenticate(Request({"type": "http", "headers": []}))
    assert user is not None
    assert dict(user) == {
        "identity": "ada",
        "is_authenticated": True,
        "display_name": "ada",
        "permissions": user.permissions,
        **expected,
    }
    assert (user.identity, getattr(user, "secret", None)) == ("ada", "kept" if isinstance(returned, Plain) else None)


async def test_what_is_no_user_is_let_in_by_nobody() -> None:
    for wrong in (7, {"name": "ada"}, {"identity": 7}, object()):
        auth = Auth()
        auth.authenticate(lambda wrong=wrong: wrong)
        with pytest.raises(TypeError, match="expected a user with an identity"):
            await LangGraphAuth(auth).authenticate(Request({"type": "http", "headers": []}))


async def test_what_a_run_creates_is_what_the_handlers_wrote() -> None:
    auth = Auth()

    @auth.on.threads.create_run
    async def runs(ctx: Auth.types.AuthContext, value: Any) -> Any:
        value["metadata"].update(team="blue", by="a run")
        return {"team": "blue"}

    @auth.on.threads.create
    async def creates(ctx: Auth.types.AuthContext, value: Any) -> None:
        value["metadata"].update(team="red", owner=ctx.user.identity)

    grant = await known(auth).authorize(ADA, "run", "chat", "t")
    assert grant == Grant({"team": "blue"}, {"team": "red", "by": "a run", "owner": "ada"})
    assert isinstance(grant, Grant)
    access = Access("chat", frozenset(), *grant)
    assert access.stamp == {"agui_agent": "chat", "team": "red", "by": "a run", "owner": "ada"}
    assert not access.allows(None)  # it would be created, and then not be found
    assert Access("chat", where={"team": "red"}, creates=access.creates).allows(None)
    assert not Access("chat", creates=False).allows(None)
    with pytest.raises(ValueError, match="agui_agent"):
        Access("chat", creates={"agui_agent": "other"})


async def test_what_search_writes_and_what_it_returns_both_count() -> None:
    for written, returned, expected in (
        ({"team": "red"}, {"owner": "ada"}, {"team": "red", "owner": "ada"}),
        ({"owner": "ada"}, {"owner": {"$eq": "ada"}}, {"owner": {"$eq": "ada"}}),
        ({"owner": "bob"}, {"owner": "ada"}, False),
    ):
        auth = Auth()

        @auth.on
        async def handler(ctx: Any, value: Any, written: Any = written, returned: Any = returned) -> Any:
            value["metadata"].update(written)
            return returned

        assert await known(auth).authorize(ADA, "list", "chat", None) == expected


def greet(state: Any, config: RunnableConfig) -> dict[str, Any]:
    user = config["configurable"]["langgraph_auth_user"]
    return {"messages": [("ai", f"Hello, {user['identity']} of {user.team}!")]}


@asynccontextmanager
async def client_of(hooks: LangGraphAuth) -> AsyncIterator[httpx.AsyncClient]:
    graph = StateGraph(MessagesState).add_node("greet", greet).add_edge(START, "greet").compile(InMemorySaver())
    app = agui_app({"chat": graph}, authenticate=hooks.authenticate, authorize=hooks.authorize)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        yield client


async def test_refusals_have_the_status_of_the_handler_and_what_it_returns_wrongly_lets_nobody_in() -> None:
    auth = Auth()

    @auth.authenticate
    async def who(headers: dict[bytes, bytes]) -> dict[str, str]:
        if b"x-user" not in headers:
            raise Auth.exceptions.HTTPException(401, "Who are you?", {"WWW-Authenticate": "Mine"})
        return {"identity": headers[b"x-user"].decode(), "team": "red"}

    @auth.on
    async def handler(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Any:
        match ctx.user.identity:
            case "teapot":
                raise Auth.exceptions.HTTPException(418)
            case "asserts":
                raise AssertionError
            case "wrong":
                return "wrong"
            case "denied":
                return False
        return {"$or": [{"a": "b"}, {"c": "d"}]} if ctx.user.identity == "either" else None

    async with client_of(LangGraphAuth(auth)) as client:
        anonymous = await client.post("/chat", json=posted("t", "hi"))
        assert (anonymous.status_code, anonymous.json()["message"]) == (401, "Who are you?")
        assert (anonymous.headers["www-authenticate"], anonymous.headers["connection"]) == ("Mine", "close")
        statuses = {"teapot": 418, "asserts": 403, "wrong": 500, "denied": 403, "either": 403, "ada": 200}
        for user, status in statuses.items():
            answer = await client.post("/chat", json=posted("t", "hi"), headers={"x-user": user})
            assert (user, answer.status_code) == (user, status)
        assert "Hello, ada of red!" in answer.text
