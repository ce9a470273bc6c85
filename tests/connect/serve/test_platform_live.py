"""An app in front of a real `langgraph dev` server: runs, readers, stopping; and its end, which stops no run there."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph_agui.connect import Intake, Platform
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from starlette.applications import Starlette

from fixtures.gated import FIRST, SECOND
from tests.support.servers.gates import Gates
from tests.support.servers.serving import BEARER, TOKEN, events_of, kinds_of, posted, served, told, until


@pytest.fixture
async def platform(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
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
        again = (await client.post("/default/connect", json=posted(thread, run_id=new_id()))).text
    said = "".join(event["delta"] for event in events_of(body) if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert said == FIRST + SECOND
    assert kinds_of(body)[-1] == kinds_of(again)[-1] == "RUN_FINISHED"
    assert FIRST in again


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


async def test_the_threads_of_a_platform_are_listed_read_renamed_archived_and_deleted(
    platform: LangGraphClient, gate: Gates
) -> None:
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
        assert {each["name"] for each in page["threads"] if each["id"] in threads} == {"hi"}
        assert (await client.get(f"/threads/{threads[1]}")).json()["name"] == "hi"
        refused = await client.get("/threads?cursor=none")
        assert (refused.status_code, refused.json()["error"]) == (422, "invalid_input")
        path = f"/threads/{threads[0]}"
        renamed = (await client.patch(path, json={"name": "Lunch", "archived": True})).json()
        assert (renamed["name"], renamed["archived"], renamed["status"]) == ("Lunch", True, "idle")
        assert (await client.get(path)).json() == renamed
        assert FIRST in (await client.get(f"{path}/messages")).text
        newest = (await client.get("/threads?limit=100")).json()["threads"]
        assert threads[0] not in [each["id"] for each in newest]
        assert (await client.delete(path)).status_code == 204
        assert (await client.get(path)).status_code == 404


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
