"""`ThreadAgent` of clients/typescript: it runs, connects, answers and stops, and its types hold with each client."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app, agui_routes
from starlette.applications import Starlette

from fixtures.gated import FIRST, GATED, SECOND
from tests.support.clients.agui_client import CLIENT, VERSIONS, WITHOUT_SUBAGENTS
from tests.support.clients.live_client import LiveClients
from tests.support.servers.gates import Gates
from tests.support.servers.processes.server_process import ROOT
from tests.support.servers.serving import served
from tests.support.streams.chats import asking
from tests.support.sweeps import SWEEP

PACKAGE = ROOT / "clients" / "typescript"
EACH = [*VERSIONS, WITHOUT_SUBAGENTS]


def in_turn(number: int) -> pytest.MarkDecorator:
    """A test of one version of the client, and in a sweep of each. `number`: which one."""
    versions = [
        version if place == number else pytest.param(version, marks=SWEEP) for place, version in enumerate(EACH)
    ]
    return pytest.mark.parametrize("version", versions)


async def test_its_types_hold_and_are_checked_with_each_client(tmp_path: Path) -> None:
    """One compiler checks a copy of the package beside each client, and a page with a mistake."""
    for version in (*VERSIONS, WITHOUT_SUBAGENTS):
        client = CLIENT / "node_modules" / f"agui-{version.replace('.', '-')}"
        assert client.is_dir()
        folder = tmp_path / version
        shutil.copytree(PACKAGE / "src", folder / "src")
        (folder / "node_modules" / "@ag-ui").mkdir(parents=True)
        (folder / "node_modules" / "@ag-ui" / "client").symlink_to(client)
        (folder / "wrong.ts").write_text(
            'import { ThreadAgent } from "./src/index";\n'
            'export const wrong: number = new ThreadAgent({ url: "" }).messages[0]!.id;\n'
        )
    options = {"noEmit": True, "module": "ESNext", "moduleResolution": "bundler", "paths": {}}
    project = {"extends": str(PACKAGE / "tsconfig.json"), "compilerOptions": options, "include": ["*/wrong.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(project))
    compiler = str(CLIENT / "node_modules" / ".bin" / "tsc")
    process = await asyncio.create_subprocess_exec(
        compiler, "-p", str(tmp_path), cwd=tmp_path, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert sorted(said.decode().splitlines()) == [
        f"{version}/wrong.ts(2,14): error TS2322: Type 'string' is not assignable to type 'number'."
        for version in sorted((*VERSIONS, WITHOUT_SUBAGENTS))
    ]


@in_turn(0)
async def test_a_page_that_says_something_holds_the_answer(gate: Gates, live: LiveClients, version: str) -> None:
    chat = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    async with served(agui_app({"chat": chat})) as server:
        page = await live.agent(f"{server.url}/chat", version=version)
        ended = await page.calls("send", "hi")
    assert ended.texts == ["hi", FIRST, SECOND]


@in_turn(1)
async def test_a_page_that_is_loaded_in_mid_answer_holds_it_to_its_end(
    gate: Gates, live: LiveClients, version: str
) -> None:
    chat = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    gate.hold("first 5")
    async with served(agui_app({"chat": chat})) as server:
        before = await live.agent(f"{server.url}/chat", version=version)
        running = before.calls("send", "hi")
        await gate.reached("first 5")
        after = await live.agent(f"{server.url}/chat", version=version)
        loaded = after.connects()
        await after.shows("One two three four five ")
        gate.open("first 5")
        assert (await loaded).messages == (await running).messages


@in_turn(2)
async def test_a_page_answers_what_waits(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        page = await live.agent(f"{server.url}/chat", version=version)
        await page.calls("send", "go")
        ended = await page.calls("answer", "yes")
        again = await page.calls("answer", "no")
    assert ended.texts == ["go", "really? yes"]
    assert again.error is not None
    assert "may have been answered" in again.error


@in_turn(0)
async def test_a_page_stops_what_runs(gate: Gates, live: LiveClients, version: str) -> None:
    chat = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    gate.hold("first 5")
    async with served(agui_app({"chat": chat})) as server:
        page = await live.agent(f"{server.url}/chat", version=version)
        running = page.calls("send", "hi")
        await page.shows("One two three four five ")
        await page.calls("stop")
        ended = await running
    await gate.left("first 5")
    assert (ended.error, ended.kinds[-1]) == (None, "RUN_FINISHED" if version == "1.0.0" else "RUN_ERROR")


@in_turn(1)
async def test_a_connection_that_is_aborted_at_once_can_be_made_again(
    gate: Gates, live: LiveClients, version: str
) -> None:
    chat = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    gate.hold("first 5")
    async with served(agui_app({"chat": chat})) as server:
        running = (await live.agent(f"{server.url}/chat", version=version)).says("hi")
        await gate.reached("first 5")
        page = await live.agent(f"{server.url}/chat", version=version)
        left = page.connects()
        await page.aborts()
        again = page.connects()
        gate.open("first 5")
        ended = await left, await again, await running
    assert (ended[0].error, ended[1].messages) == (None, ended[2].messages)


@in_turn(2)
async def test_an_address_may_end_in_a_slash(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        await (await live.agent(f"{server.url}/chat/", version=version)).says("go")
        loaded = await (await live.agent(f"{server.url}/chat/", version=version)).connects()
    assert (loaded.texts, len(loaded.interrupts)) == (["go"], 1)


@in_turn(0)
async def test_several_interrupts_are_answered_together(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?", "surely?")})) as server:
        page = await live.agent(f"{server.url}/chat", version=version)
        waiting = (await page.calls("send", "go")).interrupts
        first = await page.calls("answer", "yes")
        assert (first.events, len(first.interrupts)) == ([], 2)
        ended = await page.calls("answer", None, {"interruptId": waiting[1]["id"], "status": "cancelled"})
    assert (ended.error, ended.interrupts) == (None, [])


@in_turn(1)
@pytest.mark.parametrize("path", ["", "/agents"])
async def test_a_single_agent_is_found_at_the_address_of_its_server(
    gate: Gates, live: LiveClients, version: str, path: str
) -> None:
    chat = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    routes = agui_routes({"chat": chat}, path=path)
    app = Starlette(routes=routes, lifespan=routes.lifespan)
    app.state.closing = routes.closing
    gate.hold("first 5")
    async with served(app) as server:
        page = await live.agent(server.url + path, version=version)
        other = await live.agent(server.url + path, version=version)
        await other.stays()
        await other.until(connection="live")
        running = page.calls("send", "hi")
        await other.until(texts=["hi", "One two three four five "], running=True)
        await other.calls("stop")
        await running
        stopped = await other.until(running=False, connection="live")
        loaded = await page.connects()
    assert (loaded.error, loaded.texts, stopped.texts[0]) == (None, ["hi"], "hi")


@pytest.mark.parametrize("name", ["connect", "stop"])
async def test_an_agent_may_have_the_name_of_what_is_below_one(live: LiveClients, name: str) -> None:
    async with served(agui_app({name: asking("really?")})) as server:
        page = await live.agent(f"{server.url}/{name}")
        await page.calls("send", "go")
        assert (await page.calls("answer", "yes")).texts == ["go", "really? yes"]
        assert (await page.connects()).texts == ["go", "really? yes"]
