"""The example for those who use `@ag-ui/client` directly: its types hold with both versions, it does what it says."""

import asyncio
import json
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app

from fixtures.gated import FIRST, GATED, SECOND
from tests.support.clients.agui_client import CLIENT, VERSIONS
from tests.support.clients.live_client import LiveClients
from tests.support.servers.gates import Gates
from tests.support.servers.server_process import ROOT
from tests.support.servers.serving import served
from tests.support.streams.chats import asking

EXAMPLE = ROOT / "examples" / "connectable-http-agent"
BOTH = pytest.mark.parametrize("version", VERSIONS)


async def typescript(folder: Path, version: str) -> str:
    """What the compiler says of the example, with this version of the client; nothing if its types hold."""
    paths = {"@ag-ui/client": [str(CLIENT / "node_modules" / f"agui-{version.replace('.', '-')}")]}
    project = {
        "extends": str(EXAMPLE / "tsconfig.json"),
        "compilerOptions": {"paths": paths},
        "include": [str(EXAMPLE / "*.ts")],
    }
    (folder / "tsconfig.json").write_text(json.dumps(project))
    compiler = str(CLIENT / "node_modules" / ".bin" / "tsc")
    process = await asyncio.create_subprocess_exec(compiler, "-p", str(folder), stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    return said.decode()


@BOTH
async def test_its_types_hold(tmp_path: Path, version: str) -> None:
    assert await typescript(tmp_path, version) == ""


async def test_its_types_are_checked(tmp_path: Path) -> None:
    assert "TS2307" in await typescript(tmp_path, "no such version")


@BOTH
async def test_a_page_that_says_something_holds_the_answer(gate: Gates, live: LiveClients, version: str) -> None:
    chat = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    async with served(agui_app({"chat": chat})) as server:
        page = await live.agent(f"{server.url}/chat", version=version)
        ended = await page.page("say", "hi")
    assert ended.texts == ["hi", FIRST, SECOND]


@BOTH
async def test_a_page_that_is_loaded_in_mid_answer_holds_it_to_its_end(
    gate: Gates, live: LiveClients, version: str
) -> None:
    chat = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    gate.hold("first 5")
    async with served(agui_app({"chat": chat})) as server:
        before = await live.agent(f"{server.url}/chat", version=version)
        running = before.page("say", "hi")
        await gate.reached("first 5")
        after = await live.agent(f"{server.url}/chat", version=version)
        loaded = after.page("load")
        await after.shows("One two three four five ")
        gate.open("first 5")
        assert (await loaded).messages == (await running).messages


@BOTH
async def test_a_page_answers_what_waits(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?", "surely?")})) as server:
        page = await live.agent(f"{server.url}/chat", version=version)
        await page.page("say", "go")
        ended = await page.page("answer", "yes")
    assert sorted(ended.texts) == ["go", "really? yes", "surely? yes"]


@BOTH
async def test_a_page_stops_what_runs(gate: Gates, live: LiveClients, version: str) -> None:
    chat = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    gate.hold("first 5")
    async with served(agui_app({"chat": chat})) as server:
        page = await live.agent(f"{server.url}/chat", version=version)
        running = page.page("say", "hi")
        await page.shows("One two three four five ")
        await page.page("stop")
        ended = await running
    await gate.left("first 5")
    assert (ended.error, ended.kinds[-1]) == (None, "RUN_FINISHED" if version == "1.0.0" else "RUN_ERROR")


@BOTH
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


@BOTH
async def test_an_address_may_end_in_a_slash(live: LiveClients, version: str) -> None:
    async with served(agui_app({"chat": asking("really?")})) as server:
        await (await live.agent(f"{server.url}/chat/", version=version)).says("go")
        loaded = await (await live.agent(f"{server.url}/chat/", version=version)).connects()
    assert (loaded.texts, len(loaded.interrupts)) == (["go"], 1)
