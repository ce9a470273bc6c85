"""Who lists, changes and deletes threads where there is no `authorize`: who sends the app's token, and nobody else."""

import logging
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect import Platform
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.serve.inspector import built_files
from langgraph_sdk import get_client

from fixtures.gated import GATED
from tests.support.servers.platforms.fault_server import answered, faulty
from tests.support.servers.serving import BEARER, TOKEN, WITHIN, app_process, kinds_of, posted, served

MANAGING: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/threads", None),
    ("HEAD", "/threads", None),
    ("GET", "/threads/?agent=default", None),
    ("PATCH", "/threads/t", {"name": "mine now"}),
    ("POST", "/threads/t/archive", {}),
    ("DELETE", "/threads/t", None),
)
"""Requests that name threads that the client did not name, or that change one."""

STRANGERS: tuple[Mapping[str, Any] | list[tuple[str, Any]], ...] = (
    {},
    {"host": "localhost"},
    {"host": "127.0.0.1", "x-forwarded-for": "127.0.0.1", "x-real-ip": "::1", "forwarded": "for=127.0.0.1"},
    {"authorization": ""},
    {"authorization": "Bearer"},
    {"authorization": "Bearer "},
    {"authorization": TOKEN},
    {"authorization": f"Basic {TOKEN}"},
    {"authorization": f"Bearer{TOKEN}"},
    {"authorization": f"Bearer {TOKEN[:-1]}"},
    {"authorization": f"Bearer {TOKEN}."},
    {"authorization": f"Bearer {TOKEN.upper()}"},
    {"authorization": f"Bearer {TOKEN}, Bearer {TOKEN}"},
    {"authorization": b"Bearer \xe4\xff"},
    {"authorization": f"Bearer {TOKEN}".encode() + b"\xa0"},
    [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")],
    [("authorization", f"Bearer {TOKEN}"), ("authorization", f"Bearer {TOKEN}")],
    {"cookie": f"token={TOKEN}; authorization=Bearer {TOKEN}"},
    {"x-authorization": f"Bearer {TOKEN}", "proxy-authorization": f"Bearer {TOKEN}", "x-api-key": TOKEN},
)


def chat(**how: Any) -> Any:
    graph: Any = GATED["gated_chat"](InMemorySaver())
    return agui_app(graph.copy({"store": InMemoryStore()}), **how)


async def ran(client: httpx.AsyncClient, thread: str = "t") -> None:
    answer = await client.post("/", json=posted(thread, "hi"))
    assert kinds_of(answer.content)[-1] == "RUN_FINISHED"


async def refusals(client: httpx.AsyncClient, headers: Any = None, query: str = "") -> set[tuple[int, str]]:
    """What these requests are answered; HEAD has no body."""
    found = set()
    for method, path, body in MANAGING:
        answer = await client.request(method, path + query, json=body, headers=headers)
        found.add((answer.status_code, "" if method == "HEAD" else answer.json()["error"]))
    return found


def straight(app: Any) -> httpx.AsyncClient:
    """A client whose headers no HTTP library looks at, on its way or on the server's."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


async def test_without_the_token_nobody_lists_changes_or_deletes_a_thread() -> None:
    app = chat(token=TOKEN)
    async with served(app) as server, server.client() as client, straight(app) as other:
        await ran(client)
        for headers in STRANGERS:
            expected = {(403, "token_expected"), (403, "")}
            assert await refusals(other, headers) == expected, headers
            info = (await other.get("/info", headers=headers)).json()["threadEndpoints"]
            assert (info["list"], info["mutations"]) == (False, False)
        assert await refusals(client) == expected
        query = {(await client.get(f"/threads?{name}={TOKEN}")).status_code for name in ("token", "access_token")}
        assert query == {403}
        thread = (await client.get("/threads/t")).json()  # who knows its id reads it, and runs it
        assert (thread["name"], thread["archived"]) == ("hi", False)
        await ran(client)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
async def test_with_the_token_threads_are_listed_changed_and_deleted(scheme: str) -> None:
    headers = {"authorization": f"{scheme} {TOKEN}"}
    async with served(chat(token=TOKEN)) as server, server.client(headers=headers) as client:
        await ran(client)
        info = (await client.get("/info")).json()["threadEndpoints"]
        assert (info["list"], info["mutations"]) == (True, True)
        assert [each["id"] for each in (await client.get("/threads")).json()["threads"]] == ["t"]
        assert (await client.head("/threads")).status_code == 200
        assert (await client.patch("/threads/t", json={"name": "Lunch"})).json()["name"] == "Lunch"
        assert (await client.post("/threads/t/archive", json={})).json()["archived"] is True
        assert (await client.delete("/threads/t")).status_code == 204


async def test_an_app_without_a_token_says_which_line_gives_it_one() -> None:
    async with served(chat()) as server, server.client(headers={"host": "localhost"}) as client:
        await ran(client)
        for headers in ({}, BEARER, {"authorization": "Bearer"}):
            assert await refusals(client, headers) == {(403, "forbidden"), (403, "")}
        text = (await client.get("/threads")).json()["message"]
        for line in ("token=", "AGUI_TOKEN", "authorize="):
            assert line in text


async def test_an_app_takes_the_token_of_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGUI_TOKEN", TOKEN)
    other = {"authorization": "Bearer other"}
    for app, listing, refused in ((chat(), BEARER, other), (chat(token="other"), other, BEARER)):
        async with served(app) as server, server.client() as client:
            assert (await client.get("/threads", headers=listing)).status_code == 200
            assert (await client.get("/threads", headers=refused)).status_code == 403
    async with served(chat(authorize=lambda *_: False)) as server, server.client() as client:
        assert (await client.get("/threads", headers=BEARER)).json()["error"] == "forbidden"  # it alone decides
    for text in ("", " ", "two words", "bell\a", "schön"):
        monkeypatch.setenv("AGUI_TOKEN", text)
        with pytest.raises(ValueError, match="AGUI_TOKEN: expected a string of visible ASCII"):
            chat()


@pytest.mark.services
def test_all_workers_of_a_server_take_one_token() -> None:
    """Each has threads of its own, in memory: so both have answered once a list was empty, and another was not."""
    with app_process(
        "tests.support.servers.served_app:app", "--workers", "2", environment={"AGUI_TOKEN": TOKEN}
    ) as two:
        assert httpx.post(f"{two.url}/gated_chat", json=posted("t", "hi"), timeout=WITHIN).status_code == 200
        listed: set[int] = set()
        while listed != {0, 1}:  # each request has a connection of its own, which one of the workers takes
            answer = httpx.get(f"{two.url}/threads?agent=gated_chat", headers=BEARER, timeout=WITHIN)
            assert answer.status_code == 200, answer.text
            listed.add(len(answer.json()["threads"]))
            assert httpx.get(f"{two.url}/threads?agent=gated_chat", timeout=WITHIN).status_code == 403


@pytest.mark.parametrize("token", ["", " ", "\t\n", "two words", "end\n", "schön", b"bytes"])
def test_a_token_that_no_header_can_carry_is_refused_at_the_start(token: Any) -> None:
    with pytest.raises(ValueError, match="token: expected a string of visible ASCII") as refused:
        chat(token=token)
    assert not token.strip() or str(token) not in str(refused.value)


def test_an_app_with_authorize_takes_no_token_beside_it() -> None:
    with pytest.raises(ValueError, match="token: expected no token together with authorize"):
        chat(token=TOKEN, authorize=lambda *_: True)


async def test_whoever_authenticate_does_not_know_needs_more_than_the_token() -> None:
    app = chat(token=TOKEN, authenticate=lambda request: request.headers.get("x-user"))
    async with served(app) as server, server.client(headers=BEARER) as client:
        assert (await client.get("/threads")).status_code == 401
        assert (await client.get("/threads", headers={"x-user": "ada"})).status_code == 200


async def test_the_token_is_in_no_answer_no_file_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    app = chat(token=TOKEN, inspector=True, origins=["http://page.example"])
    async with served(app, access_log=True) as server, server.client(headers=BEARER) as client:
        await ran(client)
        answers = [await client.post("/", json={"method": method, "params": {}}) for method in ("info", "threads/list")]
        for headers in (BEARER, {"authorization": "Bearer wrong"}, {"origin": "http://page.example"}):
            for path in ("/", "/info", "/threads", "/threads/t", "/threads/t/messages", "/threads/t/state", "/nothing"):
                answers += [await client.request(each, path, headers=headers) for each in ("GET", "OPTIONS", "PUT")]
        answers.append(await client.post("/default/connect", json=posted("t")))
    assert caplog.records
    assert TOKEN not in caplog.text
    for answer in answers:
        assert TOKEN not in answer.text + str(answer.headers)
        assert "set-cookie" not in answer.headers
    assert not [name for name, file in built_files().items() if TOKEN.encode() in file.content]


async def test_the_token_is_not_sent_on_to_a_platform() -> None:
    seen: list[str | None] = []

    async def asked(request: httpx.Request) -> None:
        seen.append(request.headers.get("authorization"))

    async with faulty({"/threads/search": [answered([])] * 2}) as platform:
        client = get_client(url=platform.url, api_key=None)
        client.http.client.event_hooks["request"].append(asked)
        agent = Agent(Platform(client, "agent"), headers=("authorization",))
        async with served(agui_app(agent, token=TOKEN)) as server, server.client() as asking:
            assert (await asking.get("/threads", headers=BEARER)).status_code == 200
            assert (await asking.get("/threads/t", headers={"authorization": "Bearer theirs"})).status_code != 401
        await client.aclose()
    assert TOKEN not in str(seen)
    assert "Bearer theirs" in seen
