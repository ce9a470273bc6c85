"""A project with `auth` in its `langgraph.json`, on LangGraph's own server and on the command: the same users see, run
and delete the same threads; and what can't be loaded is not served at all."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.support.servers.platforms.dev_server import running_project
from tests.support.servers.processes.command import Serving, asking, command, one_line, serving

AUTH = """
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
def who(authorization, headers, path, method, query_params, path_params, request, unknown=None):
    assert path.startswith("/") and method in ("GET", "POST", "DELETE"), (path, method)
    assert headers.get(b"authorization", b"").decode() == (authorization or "") and unknown is None
    if not authorization:
        raise Auth.exceptions.HTTPException(401, "Who are you?")
    name, _, policy = authorization.partition("/")
    if name == "banned":
        raise Auth.exceptions.HTTPException(403, "Not you.")
    return {"identity": name, "policy": policy, "permissions": ["all"] if policy == "open" else []}


def decided(level, ctx, value):
    user, action = ctx.user, ctx.action
    assert user["identity"] == user.identity and user.is_authenticated and user.display_name == user.identity
    owner = {"owner": user.identity}
    match user["policy"]:
        case "open":
            return None if "all" in ctx.permissions else False
        case "owners":
            value.setdefault("metadata", {}).update(owner)
            return owner
        case "equal":
            value.setdefault("metadata", {}).update(owner)
            return {"owner": {"$eq": user.identity}}
        case "contained":
            if action in ("create", "create_run"):
                value["metadata"]["members"] = [user.identity]
            return {"members": {"$contains": user.identity}}
        case "reads":
            return action in ("read", "search")
        case "asserts":
            assert action != "delete", "Nothing is deleted."
        case "unstamped":
            return None if action == "create" else owner
        case "searches":
            if action == "search":
                value["metadata"]["owner"] = "ada"
        case "creates nothing":
            return action != "create"
        case "levels":
            raise Auth.exceptions.HTTPException(403, f"by {level}")
    return True


@auth.on
async def of_all(ctx, value):
    return decided("all", ctx, value)


@auth.on(actions="search")
async def of_searches(ctx, value):
    return decided("searches", ctx, value)


@auth.on.threads
async def of_threads(ctx, value):
    return decided("threads", ctx, value)


@auth.on.threads.delete
async def of_deletes(ctx, value):
    return decided("deletes", ctx, value)
"""
AGENT = """
from langgraph.graph import START, MessagesState, StateGraph


def answer(state, config):
    user = config["configurable"]["langgraph_auth_user"]
    return {"messages": [("ai", f"Hello, {user['identity']} ({user['policy']})")]}


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile()
"""
USERS = [
    "ada/owners",
    "bob/owners",
    "ada/equal",
    "cyd/contained",
    "eve/reads",
    "ada/unstamped",
    "fay/searches",
    "gus/creates nothing",
    "hal/asserts",
    "ada/levels",
    "banned",
    "",
    "root/open",
]
"""By name and policy; the last one may do everything, and clears up."""
UNSTAMPED = "ada/unstamped"
"""Who can't use a thread that this user has begun."""
FIRST = ["ada/owners", "bob/owners", "cyd/contained", "root/open"]
"""Whose threads there are."""


class Answer(NamedTuple):
    """What a user got: the status of what is refused, or what there was to see."""

    status: int
    found: Any = None


class Theirs:
    """What a user can do on LangGraph's own server."""

    def __init__(self, client: httpx.Client, user: str) -> None:
        self._client = client
        self._headers = {"Authorization": user} if user else {}

    def _ask(self, method: str, path: str, what: Callable[[Any], Any], **body: Any) -> Answer:
        answer = self._client.request(method, path, headers=self._headers, **body)
        if answer.is_error:
            said = answer.json().get("detail") or answer.json().get("message")
            return Answer(answer.status_code, said if said.startswith("by ") else None)
        is_json = answer.headers.get("content-type") == "application/json" and answer.content
        return Answer(200, what(answer.json()) if is_json else None)

    def list(self) -> Answer:
        return self._ask("POST", "/threads/search", lambda found: _ids(found, "thread_id"), json={"limit": 100})

    def read(self, thread_id: str) -> Answer:
        answer = self._ask("GET", f"/threads/{thread_id}/state", lambda found: _said(found["values"]))
        return answer if answer.found != [] else Answer(404)  # a thread that was never run

    def run(self, thread_id: str) -> Answer:
        given = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "hi"}]}}
        return self._ask("POST", f"/threads/{thread_id}/runs/wait", _nothing, json=given)

    def begin(self, thread_id: str) -> Answer:
        """As LangGraph's own clients begin: a thread is created, and then run."""
        made = self._ask("POST", "/threads", _nothing, json={"thread_id": thread_id, "if_exists": "do_nothing"})
        return self.run(thread_id) if made.status == 200 else made

    def delete(self, thread_id: str) -> Answer:
        return self._ask("DELETE", f"/threads/{thread_id}", _nothing)


class Ours(Theirs):
    """What the same user can do on ours."""

    _runs = count()

    def list(self) -> Answer:
        return self._ask("GET", "/threads?limit=100", lambda found: _ids(found["threads"], "id"))

    def read(self, thread_id: str) -> Answer:
        return self._ask("GET", f"/threads/{thread_id}/messages", _said)

    def run(self, thread_id: str) -> Answer:
        return self._ask("POST", "/agent", _nothing, json=asking("hi", thread_id, f"run-{next(self._runs)}"))

    def begin(self, thread_id: str) -> Answer:
        return self.run(thread_id)


def _ids(found: Any, name: str) -> list[str]:
    return sorted(each[name] for each in found)


def _said(found: Any) -> list[str]:
    return [message["content"] for message in found.get("messages", ())]


def _nothing(found: Any) -> None:
    return None


def thread(name: str) -> str:
    return str(uuid5(NAMESPACE_URL, name))


def whole(client: httpx.Client, kind: type[Theirs]) -> dict[str, Any]:
    """All that all users can do, in one order."""
    users = {user: kind(client, user) for user in USERS}
    seen: dict[str, Any] = {f"{user} begins": users[user].begin(thread(user)) for user in FIRST}
    for user, one in users.items():
        seen[f"{user} lists"] = one.list()
        for owner in FIRST:
            seen[f"{user} reads {owner}"] = one.read(thread(owner))
    for user, one in users.items():
        for owner in FIRST:
            seen[f"{user} runs {owner}"] = one.run(thread(owner))
        if user != UNSTAMPED:  # on LangGraph's server the thread is there then, and empty
            seen[f"{user} begins a thread"] = one.begin(thread(f"new of {user}"))
    root = users["root/open"]
    for name in [*FIRST, *(f"new of {user}" for user in USERS)]:
        seen[f"all of {name}"] = root.read(thread(name))
    for user, one in users.items():
        seen[f"{user} lists again"] = one.list()
    for user, one in users.items():
        for owner in reversed(FIRST):
            seen[f"{user} deletes {owner}"] = one.delete(thread(owner))
    seen["what is left"] = root.list()
    return seen


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "users.py").write_text(AUTH)
    (folder / "agent.py").write_text(AGENT)
    said = {"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, "auth": {"path": "./users.py:auth"}}
    (folder / "langgraph.json").write_text(json.dumps(said))
    return folder


@pytest.fixture(scope="module")
def ours(project: Path) -> Iterator[Serving]:
    with serving(cwd=project) as served:
        yield served


def client_of(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=60, trust_env=False)


def test_the_same_users_may_do_the_same(ours: Serving, project: Path) -> None:
    with running_project(project) as url, client_of(url) as client:
        theirs = whole(client, Theirs)
    with client_of(ours.url) as client:
        found = whole(client, Ours)
        unstamped = Ours(client, UNSTAMPED).begin(thread("unstamped"))
    different = {what: (theirs[what], found[what]) for what in theirs if theirs[what] != found[what]}
    assert different == {"gus/creates nothing begins a thread": (Answer(403), Answer(404))}
    assert found["ada/owners lists"].found == [thread("ada/owners")]
    assert len(found["root/open lists"].found) == len(FIRST)
    assert found["ada/levels deletes ada/owners"].found == "by deletes"
    assert unstamped == Answer(404)


def test_what_shows_a_thread_shows_it_to_its_users_alone(ours: Serving) -> None:
    mine = thread("seen by its owner")
    with client_of(ours.url) as client:
        assert Ours(client, "ada/owners").begin(mine) == Answer(200)
    for user, status, is_seen in (("ada/owners", 200, True), ("bob/owners", 200, False), ("", 401, False)):
        headers = {"Authorization": user, "X-Auth-Scheme": "langsmith"}
        with httpx.Client(base_url=ours.url, headers=headers, timeout=30, trust_env=False) as client:
            connected = client.post("/agent/connect", json=asking("hi", mine))
            assert (connected.status_code, "Hello, ada" in connected.text) == (status, is_seen)
            with client.stream("GET", f"/watch/{mine}?events=runs") as watched:
                assert watched.status_code == status
            assert client.get("/info").status_code == status
            assert client.get("/ready").status_code == 200
        url = f"ws{ours.url.removeprefix('http')}/agent/ws?thread={mine}"
        if status != 200:
            with pytest.raises(InvalidStatus, match=str(status)):
                connect(url, additional_headers=headers, proxy=None).__enter__()
            continue
        with connect(url, additional_headers=headers, proxy=None) as socket:
            socket.send('{"do": "connect"}')
            lines: list[str] = []
            while '"do"' not in (line := str(socket.recv(timeout=30))):
                lines.append(line)
        assert ("Hello, ada" in "".join(lines)) is is_seen


CANNOT_BE: list[tuple[Any, str, str]] = [
    ({"disable_studio_auth": True}, "", 'expected {"path": "./auth.py:auth"}'),
    ({"path": "./auth.ts:auth"}, "", "JavaScript"),
    ({"path": "./none.py:auth"}, "", "does not exist"),
    ({"path": "./users.py:none"}, AUTH, "has no 'none'"),
    ({"path": "./users.py:auth"}, "auth = 7", "expected a langgraph_sdk.Auth, got int"),
    ({"path": "./users.py:auth"}, "from langgraph_sdk import Auth; auth = Auth()", "expected a function with @auth"),
    ({"path": "./users.py:auth"}, AUTH.replace("unknown=None", "unknown"), "authenticate takes unknown"),
    ("./users.py:auth", "raise ImportError('a secret')", "can't be imported"),
]


def test_a_project_whose_users_can_not_be_known_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    for auth, source, expected in CANNOT_BE:
        (tmp_path / "users.py").write_text(source)
        said = {"graphs": {"agent": "./agent.py:graph"}, "auth": auth}
        (tmp_path / "langgraph.json").write_text(json.dumps(said))
        ran = command("serve", "--port", "0", cwd=tmp_path)
        assert ran.returncode in (1, 2)
        assert expected in one_line(ran)


def test_each_key_of_a_project_that_nothing_is_done_with_is_named_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT.replace("user['identity']", "7").replace("user['policy']", "7"))
    keys = {"http": {"app": "./app.py:app"}, "store": {"index": {"dims": 3}}, "ui": {"agent": "./ui.tsx"}, "new": 1}
    said = {"$schema": "x", "graphs": {"agent": "./agent.py:graph"}, "env": {}, "auth": None, "checkpointer": None}
    (tmp_path / "langgraph.json").write_text(json.dumps({**said, **keys}))
    with serving(cwd=tmp_path) as served:
        lines = [line for line in served.said if "is not used" in line]
    assert [line.partition("langgraph.json: ")[2].partition(" ")[0] for line in lines] == [repr(key) for key in keys]
    assert all(line.startswith("WARNING") for line in lines)
    assert "middleware" in lines[0]


def test_its_auth_decides_in_place_of_a_token(ours: Serving, project: Path) -> None:
    assert not [line for line in ours.said if "token" in line.lower()]
    ran = command("serve", "--port", "0", "--token", "t", cwd=project)
    assert ran.returncode == 2
    assert one_line(ran).startswith("--token can't be combined with the project's auth")
