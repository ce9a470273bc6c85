"""Who gets in: the owner's hook on every route, pages of other origins, and the headers that go on to a platform."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Platform
from langgraph_agui.connect.serve import Action, Agent, Authorize, agui_app
from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from fixtures.gated import GATED
from tests.support.servers.serving import Served, posted, served

ROUTES = [
    ("run", "POST", "/chat"),
    ("read", "POST", "/chat/connect"),
    ("stop", "POST", "/chat/stop"),
    ("read", "GET", "/watch/t?agent=chat"),
    ("read", "HEAD", "/watch/t?agent=chat"),
    ("run", "POST", "/agent/chat/run"),
    ("read", "POST", "/agent/chat/connect"),
    ("stop", "POST", "/agent/chat/stop/t"),
]
"""What each is, its method and its path."""
PAGE = {"Origin": "https://page.example"}
ASKS = {**PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-mine"}


class Untouched(InMemorySaver):
    """A checkpointer from which nothing may be read."""

    async def aget_tuple(self, config: Any) -> Any:
        raise AssertionError("the thread was read")


def app_of(authorize: Authorize | None = None, origins: tuple[str, ...] = ()) -> Starlette:
    return agui_app({"chat": GATED["gated_chat"](InMemorySaver())}, authorize=authorize, origins=origins)


async def ask(client: httpx.AsyncClient, method: str, path: str) -> httpx.Response:
    """The head of what is answered, or all of it if it is no stream."""
    given = posted("t", "hi") if method == "POST" else None
    async with client.stream(method, path, json=given, headers={"Content-Type": "application/json"}) as answer:
        if answer.headers["content-type"] == "application/json":
            await answer.aread()
    return answer


def by_header(request: Request) -> str | None:
    return request.headers.get("x-user")


async def test_every_route_is_authorized_by_its_action_before_anything_is_read() -> None:
    """Also CopilotKit's single route, whose action is in the body."""
    actions: list[Any] = []

    def authorize(*what: Any) -> bool:
        actions.append(what)
        return False

    graph = GATED["gated_chat"](Untouched())
    app = agui_app({"chat": graph}, authenticate=by_header, authorize=authorize)
    async with served(app) as server, server.client(headers={"x-user": "ada"}) as client:
        for action, method, path in ROUTES:
            answer = await ask(client, method, path)
            assert answer.status_code == 403
            assert method == "HEAD" or answer.json()["error"] == "forbidden"
            assert actions.pop() == ("ada", action, "chat", "t")
        for action, method in (("run", "agent/run"), ("read", "agent/connect"), ("stop", "agent/stop")):
            for name in ("chat", "default"):
                params = {"agentId": name, "threadId": "t"}
                envelope = {"method": method, "params": params, "body": posted("t", "hi")}
                assert (await client.post("/", json=envelope)).status_code == 403
                assert actions.pop() == ("ada", action, "chat", "t")
        for answer in (await client.get("/info"), await client.post("/", json={"method": "info"})):
            assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
            assert actions.pop() == ("ada", "list", "chat", None)
    assert not actions


async def test_agents_that_a_user_may_not_list_are_named_nowhere() -> None:
    async def authorize(user: Any, action: Action, agent: str, thread_id: str | None) -> bool:
        if agent == "secret":
            raise HTTPException(403)
        return True

    agents = {"chat": GATED["gated_chat"](InMemorySaver()), "secret": GATED["gated_chat"](InMemorySaver())}
    async with served(agui_app(agents, authorize=authorize)) as server, server.client() as client:
        assert [*(await client.get("/info")).json()["agents"]] == ["chat"]
        wrong = [await client.get(path) for path in ("/watch/t", "/no/where", "/watch/t?agent=no")]
        wrong += [await client.post(path, json=posted("t", "hi")) for path in ("/", "/no", "/agent/no/run")]
        assert {each.status_code for each in wrong} == {400, 404}
        assert "secret" not in "".join(each.text for each in wrong)
    async with served(agui_app(agents)) as server, server.client() as client:
        assert "chat, secret" in (await client.post("/no", json=posted("t", "hi"))).json()["message"]


async def test_a_user_who_is_let_in_is_answered() -> None:
    async def authorize(*what: Any) -> bool:
        return True

    async with served(app_of(authorize)) as server, server.client() as client:
        for _, method, path in ROUTES:
            assert (await ask(client, method, path)).status_code == 200


@pytest.mark.parametrize("given", [None, 0, 1, "yes", "", ["yes"]])
async def test_only_true_lets_a_user_in(given: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with served(app_of(lambda *what: given)) as server, server.client() as client:
        assert (await ask(client, "POST", "/chat")).status_code == 403
    assert f"authorize returned {type(given).__name__}, and 'run' is refused" in caplog.text
    assert "agent 'chat', thread 't'" in caplog.text


async def test_a_hook_may_answer_by_itself() -> None:
    async def authorize(*what: Any) -> bool:
        raise HTTPException(401, "Say who you are.", {"WWW-Authenticate": "Bearer"})

    async with served(app_of(authorize)) as server, server.client() as client:
        for answer in (await ask(client, "POST", "/chat"), await client.get("/info")):
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert answer.json() == {"error": "unauthorized", "message": "Say who you are."}


async def test_a_hook_that_raises_lets_no_user_in(caplog: pytest.LogCaptureFixture) -> None:
    def authorize(*what: Any) -> bool:
        raise RuntimeError("the users are away")

    async with served(app_of(authorize)) as server, server.client() as client:
        for answer in (await ask(client, "POST", "/chat"), await client.get("/info")):
            assert answer.status_code == 500
            assert "away" not in answer.text
    assert "away" in caplog.text


async def test_pages_of_other_origins_get_nothing_unless_they_are_named() -> None:
    async with served(app_of()) as server, server.client() as client:
        assert (await client.options("/chat", headers=ASKS)).status_code == 204
        answer = await client.post("/chat", json=posted("t", "hi"), headers=PAGE)
    assert "access-control-allow-origin" not in answer.headers


async def test_a_page_of_a_named_origin_may_ask_with_the_users_credentials() -> None:
    async with served(app_of(origins=("https://page.example",))) as server, server.client() as client:
        before = await client.options("/chat", headers=ASKS)
        answer = await client.post("/chat", json=posted("t", "hi"), headers=PAGE)
        wrong = await client.post("/nobody", json=posted("t", "hi"), headers=PAGE)
    assert before.status_code == 200
    assert before.headers["access-control-allow-headers"].endswith("x-mine")
    for each in (before, answer, wrong):
        assert each.headers["access-control-allow-origin"] == "https://page.example"
        assert each.headers["access-control-allow-credentials"] == "true"


async def test_pages_of_any_origin_get_no_credentials() -> None:
    async with served(app_of(origins=("*",))) as server, server.client() as client:
        answer = await client.post("/chat", json=posted("t", "hi"), headers=PAGE)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers


async def test_an_origin_that_is_not_named_is_not_let_in() -> None:
    async with served(app_of(origins=("https://other.example",))) as server, server.client() as client:
        answer = await client.post("/chat", json=posted("t", "hi"), headers=PAGE)
    assert "access-control-allow-origin" not in answer.headers


def test_origins_are_several() -> None:
    with pytest.raises(ValueError, match="origins"):
        agui_app(GATED["gated_chat"](None), origins="https://page.example")


def test_hosts_are_several() -> None:
    with pytest.raises(ValueError, match="hosts"):
        agui_app(GATED["gated_chat"](None), hosts="page.example")


@pytest.mark.parametrize("path", ["/info", "/nowhere", "/chat"])
@pytest.mark.parametrize(
    "host", ["page.example", "page.example:8000", "localhost.page.example", "localhost@x", "[", ""]
)
async def test_a_page_whose_name_leads_here_is_refused(path: str, host: str) -> None:
    app = agui_app(
        {"chat": GATED["gated_chat"](InMemorySaver())}, hosts=["localhost"], origins=["https://page.example"]
    )
    async with served(app) as server, server.client(headers={"Host": host}) as client:
        answer = await client.post(path, json=posted("t", "hi"))
    assert (answer.status_code, answer.json()["error"]) == (421, "unknown_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "[::1]", "[::1]:8000"])
async def test_a_server_may_be_asked_under_its_names_on_any_port(host: str) -> None:
    app = agui_app({"chat": GATED["gated_chat"](InMemorySaver())}, hosts=["localhost", "::1"])
    async with served(app) as server, server.client(headers={"Host": host}) as client:
        assert (await client.get("/health")).status_code == 200


# --- headers that are sent on -----------------------------------------------------------------------------------------


class Heard:
    """What a platform was asked with; it knows no thread, gives everybody a cookie, and counts connections."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.clients: set[Any] = set()
        self.app = Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "POST"])])

    def _answer(self, request: Request) -> JSONResponse:
        self.headers.append(dict(request.headers))
        self.clients.add(request.client)
        cookie = f"session={request.headers.get('authorization', 'of-nobody').removeprefix('Bearer ')}; Path=/"
        return JSONResponse({"detail": "no such thread"}, 404, {"Set-Cookie": cookie})


@asynccontextmanager
async def forwarding(names: tuple[str, ...]) -> AsyncIterator[tuple[Heard, Served]]:
    """An app whose agent is on a platform that listens, and gets these headers."""
    heard = Heard()
    async with served(heard.app, lifespan="off") as platform:
        headers = {"authorization": "Bearer of-the-server"}
        async with get_client(url=platform.url, api_key="key-of-the-server", headers=headers) as sdk:
            agent = Agent(source=Platform(sdk, "agent"), headers=names)
            async with served(agui_app({"chat": agent})) as server:
                yield heard, server


async def connect(server: Served, **headers: str) -> None:
    async with server.client(headers=headers) as client:
        await client.post("/chat/connect", json=posted("t", "hi"))


def of(heard: Heard, name: str) -> set[str | None]:
    return {headers.get(name) for headers in heard.headers}


async def test_a_named_header_goes_on_to_the_platform() -> None:
    async with forwarding(("Authorization", "x-tenant")) as (heard, server):
        await connect(server, authorization="Bearer of-ada", **{"x-tenant": "acme", "x-other": "secret"})
    assert of(heard, "authorization") == {"Bearer of-ada"}
    assert of(heard, "x-tenant") == {"acme"}
    assert of(heard, "x-api-key") == {"key-of-the-server"}


@pytest.mark.parametrize("name", ["x-other", "cookie", "origin", "user-agent", "x-forwarded-for"])
async def test_a_header_that_is_not_named_does_not(name: str) -> None:
    async with forwarding(("authorization",)) as (heard, server):
        await connect(server, authorization="Bearer of-ada", **{name: "of=ada"})
    assert "of=ada" not in of(heard, name)


@pytest.mark.parametrize("user", ["of-bob", None])
async def test_one_request_sends_nothing_of_another_nor_of_the_server(user: str | None) -> None:
    async with forwarding(("authorization",)) as (heard, server):
        await connect(server, authorization="Bearer of-ada")
        heard.headers.clear()
        await connect(server, **({} if user is None else {"authorization": f"Bearer {user}"}))
    assert of(heard, "authorization") == {None if user is None else f"Bearer {user}"}
    assert of(heard, "cookie") <= {None, f"session={user or 'of-nobody'}"}


async def test_requests_with_headers_of_their_own_share_the_connections() -> None:
    async with forwarding(("authorization",)) as (heard, server):
        for user in ("ada", "bob", "eve", "dan", "kim"):
            await connect(server, authorization=f"Bearer of-{user}")
    assert len(heard.headers) >= 5
    assert len(heard.clients) <= 2


@pytest.mark.parametrize("name", ["Host", "content-length", "connection", "transfer-encoding", "", "a b", "a:b"])
def test_a_header_that_can_not_be_sent_on_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="headers"):
        Agent(source=get_client(url="http://localhost"), headers=(name,))


def test_headers_go_to_no_graph_of_this_process() -> None:
    with pytest.raises(ValueError, match="headers"):
        Agent(source=GATED["gated_chat"](None), headers=("authorization",))


def test_headers_are_several() -> None:
    with pytest.raises(ValueError, match="headers"):
        Agent(source=get_client(url="http://localhost"), headers="authorization")  # type: ignore[arg-type]
