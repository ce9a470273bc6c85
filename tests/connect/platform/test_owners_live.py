"""Whose a thread of a platform is: two agents, and two users of one, and each sees its own threads alone."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest
from langgraph_agui.connect import Intake, Platform, RunNotFoundError, cancel, connect, watch
from langgraph_agui.connect.access import MARK
from langgraph_agui.connect.errors import ThreadNotFoundError
from langgraph_agui.connect.serve import Action, Agent, agui_app
from langgraph_sdk.client import LangGraphClient

from fixtures.gated import FIRST
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.serving import WITHIN, kinds_of, posted, served, told, until


@pytest.fixture
async def platform(backend: Backend) -> AsyncIterator[LangGraphClient]:
    async with backend.client() as client:
        yield client


def own(user: Any, action: Action, agent: str, thread_id: str | None) -> Any:
    """Users whose names begin with `=` have threads of their own, those with `+` take part in theirs."""
    if user.startswith("="):
        return {"person": {"$eq": user}}
    return {"persons": {"$contains": user}} if user.startswith("+") else True


@asynccontextmanager
async def two(platform: LangGraphClient, gate: Gates, **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app with two agents of one assistant."""
    source, intake = Platform(platform, "gated_chat"), Intake(config=gate.config())
    agents = {"private": Agent(source, intake=intake), "public": Agent(source, intake=intake, **how)}
    app = agui_app(agents, authenticate=lambda request: request.headers["x-user"], authorize=own, heartbeat=0.2)
    async with served(app) as server, server.client(headers={"x-user": "any"}) as client:
        yield client


def new_id() -> str:
    return str(uuid.uuid4())


def by(user: str) -> dict[str, str]:
    return {"x-user": user}


async def answers(client: httpx.AsyncClient, thread: str, agent: str, user: str = "any") -> list[Any]:
    """What a thread is for an agent and a user: the events of a connection, a run's status, what a stop answers."""
    body = posted(thread, "mine?", run_id=new_id())
    asked = [
        (f"/{agent}/connect", body),
        (f"/agent/{agent}/connect", body),
        (f"/{agent}", body),
        (f"/{agent}/stop", {"threadId": thread}),
        (f"/{agent}/stop", {"threadId": thread, "runId": new_id()}),
    ]
    found: list[Any] = []
    for path, given in asked:
        async with asyncio.timeout(WITHIN):
            answer = await client.post(path, json=given, headers=by(user))
        assert FIRST[:5] not in answer.text
        is_stream = answer.headers["content-type"].startswith("text/event-stream")
        found.append(kinds_of(answer.content) if is_stream else answer.json().get("stopped", answer.status_code))
    return found


HIDDEN = [[], [], 404, False, False]


async def run(client: httpx.AsyncClient, thread: str, agent: str, *texts: str, user: str = "any") -> None:
    ran = await client.post(f"/{agent}", json=posted(thread, *texts, run_id=new_id()), headers=by(user))
    assert kinds_of(ran.content)[-1] == "RUN_FINISHED"


async def has(client: httpx.AsyncClient, thread: str, agent: str, user: str = "any") -> bool:
    return FIRST in (await client.post(f"/{agent}/connect", json=posted(thread), headers=by(user))).text


async def test_a_thread_is_not_served_under_another_agent(platform: LangGraphClient, gate: Gates) -> None:
    """While its first run is running, when it has ended, and when the server alone knows."""
    gate.hold("first 3")
    thread = new_id()
    async with two(platform, gate) as client:
        given = posted(thread, "hi", run_id=new_id())
        async with client.stream("POST", "/private", json=given) as runs_now:
            await gate.reached("first 3")
            assert await answers(client, thread, "public") == HIDDEN
            async with client.stream("GET", f"/watch/{thread}?agent=public") as watched:
                pieces = watched.aiter_bytes()
                gate.open("first 3")
                assert kinds_of(await runs_now.aread())[-1] == "RUN_FINISHED"
                await run(client, thread, "private", "hi", "and")
                assert {(await anext(pieces)) for _ in range(5)} == {b": heartbeat\n\n"}
        assert await answers(client, thread, "public") == HIDDEN
    async with two(platform, gate) as client:
        assert await answers(client, thread, "public") == HIDDEN
        assert await has(client, thread, "private")
        async with client.stream("GET", f"/watch/{thread}?agent=private") as watched:
            assert (await until(told(watched), "RUN_FINISHED"))["type"] == "RUN_FINISHED"
    assert (await platform.threads.get(thread))["metadata"][MARK] == "private"  # type: ignore[index]


async def test_a_thread_of_no_agent_is_read_by_all_and_owned_by_the_next_that_runs_on_it(
    platform: LangGraphClient, gate: Gates
) -> None:
    thread = new_id()
    await platform.threads.create(thread_id=thread)
    given: Any = {"messages": [{"role": "user", "content": "hi"}]}
    await platform.runs.wait(thread, "gated_chat", input=given, config=gate.config())
    async with two(platform, gate) as client:
        for agent in ("private", "public", "private"):
            assert await has(client, thread, agent)
        await run(client, thread, "private", "and")
        assert await answers(client, thread, "public") == HIDDEN
        await platform.runs.wait(thread, "gated_chat", input=given, config=gate.config())
        assert await answers(client, thread, "public") == HIDDEN
        assert await has(client, thread, "private")


async def test_agents_may_share_threads(platform: LangGraphClient, gate: Gates) -> None:
    mine, shared = new_id(), new_id()
    async with two(platform, gate, shares_threads_with={"private"}) as client:
        await run(client, shared, "private", "hi")
        assert await has(client, shared, "public")
        await run(client, shared, "public", "hi", "and")
        await run(client, shared, "private", "hi", "and", "more")
        await run(client, mine, "public", "hi")
        assert await answers(client, mine, "private") == HIDDEN
    assert (await platform.threads.get(shared))["metadata"][MARK] == "private"  # type: ignore[index]


@pytest.mark.parametrize("kind", ["=", "+"])
async def test_a_thread_does_not_exist_for_another_user(platform: LangGraphClient, gate: Gates, kind: str) -> None:
    thread, ada, bob = new_id(), f"{kind}ada", f"{kind}bob"
    async with two(platform, gate) as client:
        await run(client, thread, "private", "hi", user=ada)
        assert await answers(client, thread, "private", bob) == HIDDEN
        assert await has(client, thread, "private", ada)
        await run(client, thread, "private", "hi", "and", user="any")
        assert await answers(client, thread, "private", bob) == HIDDEN
        await run(client, thread, "private", "hi", "and", "more", user=ada)
        where = {user: own(user, "list", "private", None) for user in (ada, bob)}
        mine, other = (Platform(platform, "gated_chat", agent="private").for_user(None, where[user]) for user in where)
        for source, expected in ((mine, True), (other, False)):
            assert (thread in {each.thread_id for each in (await source.threads.search()).threads}) is expected
            assert (await source.threads.get(thread) is not None) is expected
            assert (await source.thread(thread) is not None) is expected
            assert bool(await source.threads.history(thread)) is expected
        with pytest.raises(ValueError, match="can't be written"):
            await mine.threads.update(thread, {"person": bob, "persons": [bob]})
        for refused in (other.threads.update(thread, {"title": "mine"}), other.threads.delete(thread)):
            with pytest.raises(ThreadNotFoundError):
                await refused
        now = {"person": bob} if kind == "=" else {"persons": [ada, bob]}
        await platform.threads.update(thread, metadata=now)
        assert await has(client, thread, "private", bob)
        assert await has(client, thread, "private", ada) is (kind == "+")


async def test_of_two_users_who_create_a_thread_at_once_one_has_it(platform: LangGraphClient, gate: Gates) -> None:
    thread = new_id()
    async with two(platform, gate) as client:
        given = [(posted(thread, "hi", run_id=new_id()), by(user)) for user in ("=ada", "=bob")]
        found = await asyncio.gather(*(client.post("/private", json=body, headers=who) for body, who in given))
    assert sorted(each.status_code for each in found) == [200, 404]


async def test_the_functions_too_keep_to_the_threads_of_a_platforms_agent(
    platform: LangGraphClient, gate: Gates
) -> None:
    gate.hold("first 3")
    thread = new_id()
    mine, other = (Platform(platform, "gated_chat", agent=name) for name in ("private", "public"))
    async with (
        two(platform, gate) as client,
        client.stream("POST", "/private", json=posted(thread, "hi", run_id=new_id())) as runs_now,
    ):
        await gate.reached("first 3")
        assert [event async for event in connect(other, thread)] == []
        with pytest.raises(RunNotFoundError):
            await cancel(other, thread)
        async with aclosing(watch(mine, thread)) as events:
            assert (await anext(events)).type == "RUN_STARTED"
        gate.open("first 3")
        await runs_now.aread()


async def test_an_owned_thread_costs_a_connection_no_request_more(
    platform: LangGraphClient, backend: Backend, gate: Gates
) -> None:
    thread = new_id()
    async with two(platform, gate) as client:
        await run(client, thread, "private", "hi")
    asked: list[list[str]] = []

    async def note(request: httpx.Request) -> None:
        asked[-1].append(f"{request.method} {request.url.path}")

    async with httpx.AsyncClient(base_url=backend.url, event_hooks={"request": [note]}, timeout=WITHIN) as http:
        for agent in (None, "private"):
            asked.append([])
            events = [event.type async for event in connect(Platform(LangGraphClient(http), agent=agent), thread)]
            assert events[-1] == "RUN_FINISHED"
    assert asked[0] == asked[1]
