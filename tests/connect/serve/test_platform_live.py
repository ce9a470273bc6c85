"""An app in front of real LangGraph servers: runs, readers, stopping; its end, which stops no run there; and threads
and schemas, as the inspector uses them."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph_agui.connect import Intake, Platform
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_sdk.client import LangGraphClient
from starlette.applications import Starlette

from fixtures.gated import FIRST, SECOND
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.serving import BEARER, TOKEN, events_of, kinds_of, posted, served, told, until


@pytest.fixture
async def platform(backend: Backend) -> AsyncIterator[LangGraphClient]:
    async with backend.client() as client:
        yield client


def app_of(client: LangGraphClient, gate: Gates, **how: Any) -> Starlette:
    agent = Agent(
        source=Platform(client, "gated_chat"), intake=Intake(config=gate.config()), headers=("authorization",)
    )
    return agui_app(agent, **how)


def new_id() -> str:
    return str(uuid.uuid4())


async def test_a_run_is_told_to_its_end_and_can_be_come_back_to(platform: LangGraphClient, gate: Gates) -> None:
    thread = new_id()
    async with served(app_of(platform, gate)) as server, server.client() as client:
        body = (await client.post("/", json=posted(thread, "hi", run_id=new_id()))).text
        asked = posted(thread, run_id=new_id())
        again = (await client.post("/default/connect", json=asked)).text
        # events of a server have no ids, so one that a client has from elsewhere means nothing
        late = (await client.post("/default/connect", json=asked, headers={"Last-Event-ID": "1-5"})).text
    said = "".join(event["delta"] for event in events_of(body) if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert said == FIRST + SECOND
    assert kinds_of(body)[-1] == kinds_of(again)[-1] == "RUN_FINISHED"
    assert FIRST in again
    assert events_of(late) == events_of(again)


async def test_a_run_is_stopped_on_the_platform(platform: LangGraphClient, gate: Gates) -> None:
    gate.hold("first 3")
    thread = new_id()
    async with (
        served(app_of(platform, gate)) as server,
        server.client() as client,
        client.stream("POST", "/", json=posted(thread, "hi", run_id=new_id())) as run,
    ):
        await gate.reached("first 3")
        assert (await client.post("/default/stop", json={"threadId": thread})).json() == {"stopped": True}
        await gate.left("first 3")
        assert events_of(await run.aread())[-1]["outcome"]["type"] == "cancelled"


async def test_a_run_goes_on_when_the_app_that_told_it_ends(platform: LangGraphClient, gate: Gates) -> None:
    gate.hold("first 3")
    thread = new_id()
    async with (
        served(app := app_of(platform, gate, grace=0)) as server,
        server.client() as client,
        client.stream("POST", "/", json=posted(thread, "hi", run_id=new_id())) as run,
    ):
        await gate.reached("first 3")
        await app.state.closing.aclose()
        last = events_of(await run.aread())[-1]
    assert (last["code"], "continues" in last["message"]) == ("shutdown", True)
    async with (
        served(app_of(platform, gate)) as server,
        server.client() as client,
        client.stream("POST", "/default/connect", json=posted(thread, run_id=new_id())) as came,
    ):
        events = told(came)
        await until(events, "RUN_STARTED")
        gate.open("first 3")
        await until(events, "RUN_FINISHED")
        await events.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize("field", ["threadId", "runId"])
async def test_ids_that_can_be_none_in_a_platforms_url_are_refused(
    platform: LangGraphClient, gate: Gates, field: str
) -> None:
    given = {**posted(new_id(), "hi", run_id=new_id()), field: "../assistants"}
    async with served(app_of(platform, gate)) as server, server.client() as client:
        answer = await client.post("/", json=given)
    assert answer.status_code == 422


async def test_the_threads_of_a_platform_are_listed_page_by_page(platform: LangGraphClient, gate: Gates) -> None:
    threads = [new_id() for _ in range(3)]
    async with served(app_of(platform, gate, token=TOKEN)) as server, server.client(headers=BEARER) as client:
        for thread in threads:
            await client.post("/", json=posted(thread, "hi", run_id=new_id()))
        listed: list[str] = []
        cursor: str | None = ""
        while cursor is not None and not set(threads) <= set(listed):
            page = (await client.get("/threads", params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
            listed += [each["id"] for each in page["threads"]]
            cursor = page["nextCursor"]
        assert [each for each in listed if each in threads] == threads[::-1]
        refused = await client.get("/threads?cursor=none")
        assert (refused.status_code, refused.json()["error"]) == (422, "invalid_input")


AGENTS = {"chat": "gated_chat", "asking": "gated_asking"}
STATUSES = {"chat": "idle", "asking": "waiting"}


@pytest.mark.services
async def test_the_inspector_does_with_a_platforms_threads_what_it_does_with_those_of_a_graph(
    platform: LangGraphClient, gate: Gates
) -> None:
    """It describes the input, and searches, filters, reads, renames, archives and deletes threads."""
    intake = Intake(config=gate.config(), state="without_messages")
    agents = {name: Agent(Platform(platform, graph, agent=name), intake=intake) for name, graph in AGENTS.items()}
    async with served(agui_app(agents, token=TOKEN)) as server, server.client(headers=BEARER) as client:

        async def listed(agent: str, **query: str) -> list[str]:
            page = (await client.get("/threads", params={"agent": agent, "limit": "50", **query})).json()
            return [each["id"] for each in page["threads"] if each["id"] in threads.values()]

        schemas = {name: (await client.get(f"/{name}/schemas")).json() for name in agents}
        for described in schemas.values():
            assert (described["messages"], described["input"]["properties"]) == (True, {})
        assert (await client.get("/nobody/schemas")).status_code == 404

        threads = {name: new_id() for name in agents}
        for name, thread in threads.items():
            asked = posted(thread, "Where is it?", run_id=thread)
            assert kinds_of((await client.post(f"/{name}", json=asked)).content)[-1] == "RUN_FINISHED"
        for name, thread in threads.items():
            own = [thread]
            info = (await client.get(f"/threads/{thread}?agent={name}")).json()
            assert (info["name"], info["agentId"], info["status"]) == ("Where is it?", name, STATUSES[name])
            assert await listed(name) == own
            assert await listed(name, search="where it") == own
            assert await listed(name, search=thread[:13].upper()) == own
            assert await listed(name, search="nowhere") == []
            for status in ("idle", "waiting", "running", "failed"):
                assert await listed(name, status=status) == (own if status == STATUSES[name] else []), status
            (run,) = (await client.get(f"/threads/{thread}/runs?agent={name}")).json()["runs"]
            assert (run["runId"], run["kept"]) == (thread, False)
            asked_for = {"Accept": "application/x-ndjson"}
            lines = await client.get(f"/threads/{thread}/events?agent={name}&run={thread}", headers=asked_for)
            assert '"RUN_STARTED"' in lines.text.partition("\n")[0]
            assert '"RUN_FINISHED"' in lines.text.splitlines()[-1]
            checkpoints = (await client.get(f"/threads/{thread}/checkpoints?agent={name}")).json()["checkpoints"]
            assert checkpoints[0]["asks"] == (STATUSES[name] == "waiting")

        path = f"/threads/{threads['chat']}?agent=chat"
        renamed = (await client.patch(path, json={"name": "Lunch at noon"})).json()
        assert (renamed["name"], (await client.get(path)).json()) == ("Lunch at noon", renamed)
        assert await listed("chat", search="noon lunch") == [threads["chat"]]
        assert await listed("chat", search="where") == []
        assert (await client.patch(path, json={"archived": True})).json()["archived"] is True
        assert [await listed("chat", **query) for query in ({}, {"archived": "only"})] == [[], [threads["chat"]]]
        assert (await client.get(path)).json()["name"] == "Lunch at noon"
        assert FIRST in (await client.get(f"/threads/{threads['chat']}/messages?agent=chat")).text
        assert (await client.patch(path, json={"archived": False, "name": ""})).json()["name"] == "Where is it?"
        assert await listed("chat", search="where") == [threads["chat"]]
        assert [(await client.delete(path)).status_code for _ in range(2)] == [204, 404]
        assert ((await client.get(path)).status_code, await listed("chat")) == (404, [])
        assert (await client.patch(path, json={"name": "Gone"})).status_code == 404


@pytest.mark.parametrize(
    "cursor",
    [
        "1_2026-01-01T00:00:00_x",  # a date without a zone compares with none
        f"{10**10}_2026-01-01T00:00:00+00:00_x",
        f"{10**30}_2026-01-01T00:00:00+00:00_x",
        "-1_2026-01-01T00:00:00+00:00_x",
        "1_9999-99-99_x",
        "none",
    ],
)
async def test_a_cursor_that_no_page_has_is_refused(platform: LangGraphClient, gate: Gates, cursor: str) -> None:
    await platform.threads.create(thread_id=new_id(), graph_id="gated_chat")
    async with served(app_of(platform, gate, token=TOKEN)) as server, server.client(headers=BEARER) as client:
        refused = await client.get("/threads", params={"cursor": cursor})
    message = "cursor: expected the nextCursor of the page before."
    assert (refused.status_code, refused.json()) == (422, {"error": "invalid_input", "message": message})
