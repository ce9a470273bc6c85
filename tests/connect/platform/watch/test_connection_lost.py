"""Watching a thread of a real server over connections that are lost, or that the server does not have."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from langgraph_agui.connect import Platform, RetryPolicy
from langgraph_agui.connect.serve.agents import Agent
from langgraph_agui.connect.serve.copilotkit.info import describe
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from fixtures.gated import FIRST, SECOND
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.platform.runs import FULL, Started, started
from tests.support.clients.watching import ending, streamed, watching
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.proxy import Way, proxied
from tests.support.servers.serving import WITHIN

TOKENS: dict[str, Any] = {**FULL, "stream_resumable": False}
QUICK = RetryPolicy(initial_delay=0.01, max_delay=0.05, max_attempts=2000)
SOON = RetryPolicy(initial_delay=0.01, max_delay=0.01, max_attempts=3)


@pytest.fixture
async def client(dev_server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server) as client:
        yield client


@pytest.fixture
async def way(dev_server: str) -> AsyncIterator[Way]:
    async with proxied(dev_server) as way:
        yield way


@pytest.fixture
async def cuttable(way: Way) -> AsyncIterator[LangGraphClient]:
    """A client whose connections can be cut."""
    async with LangGraphClient(httpx.AsyncClient(base_url=way.url, timeout=WITHIN)) as client:
        yield client


async def values_of(run: Started) -> Any:
    return (await run.state())["values"]


async def stored(run: Started, text: str) -> None:
    """Waits until the thread has a message with this text. Until then, who comes back to a run that is not kept lacks
    the message, of which it had a part."""
    while text not in [message["content"] for message in (await values_of(run)).get("messages", ())]:
        pass


@pytest.mark.parametrize("how", [FULL, TOKENS], ids=["kept", "not kept"])
async def test_a_run_whose_connection_is_cut_is_told_on(
    client: LangGraphClient, cuttable: LangGraphClient, way: Way, gate: Gates, agui_client: AguiClient, how: Any
) -> None:
    later = "first 6" if how["stream_resumable"] else "second 2"
    gate.hold("first 3", later)
    thread = await client.threads.create()
    async with watching(cuttable, thread["thread_id"], retry=QUICK) as watchers:
        run = await Started(client, thread["thread_id"], "").next("gated_chat", gate, **how)
        await gate.reached("first 3")
        await watchers.says("One two three ")
        way.close()
        gate.open("first 3")
        await gate.reached(later)
        if later == "second 2":
            await stored(run, FIRST)
        way.open()
        gate.open("*")
        assert ending(await watchers.told(run.run_id)) == "success"
        after = await run.next("gated_chat", gate, **how)
        assert streamed(await watchers.told(after.run_id)) == FIRST + SECOND
        assert watchers.first.ended == [run.run_id, after.run_id]
        watchers.assert_holds(agui_client, await values_of(run))
        watchers.assert_shows_beginnings(agui_client, (FIRST, SECOND))


@pytest.mark.parametrize("end", ["success", "cancelled", "interrupt", "ValueError"])
async def test_a_run_that_ends_while_the_server_is_away_ends_as_it_did(
    client: LangGraphClient, cuttable: LangGraphClient, way: Way, gate: Gates, agui_client: AguiClient, end: str
) -> None:
    graphs = {"interrupt": "gated_asking", "ValueError": "gated_raising"}
    gate.hold("first 3")
    thread = await client.threads.create()
    async with watching(cuttable, thread["thread_id"], retry=QUICK) as watchers:
        run = await Started(client, thread["thread_id"], "").next(graphs.get(end, "gated_chat"), gate, **TOKENS)
        await gate.reached("first 3")
        await watchers.says("One two three ")
        way.close()
        if end == "cancelled":
            await client.runs.cancel(run.thread_id, run.run_id, wait=True)
        else:
            gate.open("*")
            await run.end()
        await way.refused.wait()
        way.open()
        assert ending(await watchers.told(run.run_id)) == end
        assert len(watchers.first.runs) == 1
        if end in ("success", "interrupt"):
            watchers.assert_holds(agui_client, await values_of(run))


async def test_runs_that_come_and_go_while_the_server_is_away_are_told_after_it(
    client: LangGraphClient, cuttable: LangGraphClient, way: Way, gate: Gates, agui_client: AguiClient
) -> None:
    before = await started(client, "gated_chat", gate)
    await before.end()
    async with watching(cuttable, before.thread_id, retry=QUICK) as watchers:
        await watchers.told(before.run_id)
        way.close()
        runs = [await before.next("gated_chat", gate) for _ in range(2)]
        await runs[-1].end()
        await way.refused.wait()
        way.open()
        await watchers.told(runs[-1].run_id)
        assert watchers.first.ended == [run.run_id for run in [before, *runs]]
        watchers.assert_holds(agui_client, await values_of(before))


@pytest.mark.parametrize("when", ["in a run", "between runs"])
async def test_a_server_is_waited_for_however_few_attempts_the_policy_allows(
    client: LangGraphClient, cuttable: LangGraphClient, way: Way, gate: Gates, agui_client: AguiClient, when: str
) -> None:
    gate.hold("first 3", "second 2")
    thread = await client.threads.create()
    async with watching(cuttable, thread["thread_id"], retry=SOON) as watchers:
        run = await Started(client, thread["thread_id"], "").next("gated_chat", gate, **TOKENS)
        await gate.reached("first 3")
        await watchers.says("One two three ")
        if when == "between runs":
            gate.open("*")
            await watchers.told(run.run_id)
        way.close()
        for _ in range(5 * SOON.max_attempts):
            way.refused.clear()
            await way.refused.wait()
        gate.open("first 3")
        await stored(run, FIRST)
        way.open()
        gate.open("*")
        assert ending(await watchers.told(run.run_id)) == "success"
        assert len(watchers.first.runs) == 1
        watchers.assert_holds(agui_client, await values_of(run))


async def test_a_run_that_a_restarted_server_executes_again_is_one_run(
    mortal_server: MortalServer, gate: Gates, agui_client: AguiClient
) -> None:
    async with Backend("dev", mortal_server.url).client() as client:
        gate.hold("second 2")
        thread = Started(client, (await client.threads.create())["thread_id"], "")
        async with watching(client, thread.thread_id, retry=QUICK) as watchers:
            run = await thread.next("gated_chat", gate, **TOKENS)
            await gate.reached("second 2")
            await watchers.says("Alpha beta ")
            await mortal_server.kill()
            await gate.left("second 2")
            await mortal_server.start()
            await gate.reached("second 2", times=2)
            gate.open("*")
            assert ending(await watchers.told(run.run_id)) == "success"
            after = await thread.next("gated_chat", gate, **TOKENS)
            assert streamed(await watchers.told(after.run_id)) == FIRST + SECOND
            assert watchers.first.ended == [run.run_id, after.run_id]
            watchers.assert_holds(agui_client, await values_of(run))
            watchers.assert_shows_beginnings(agui_client, (FIRST, SECOND))


# --- servers that do not stream threads -------------------------------------------------------------------------------


class Lacking(httpx.AsyncHTTPTransport):
    """To a server that does not know what these streams of a thread are."""

    def __init__(self, *streams: str) -> None:
        super().__init__()
        self._streams = streams

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith(self._streams) and "/runs/" not in request.url.path:
            return httpx.Response(404, json={"detail": "Not Found"}, request=request)
        return await super().handle_async_request(request)


async def test_where_threads_are_not_streamed_they_are_looked_at(
    dev_server: str, gate: Gates, agui_client: AguiClient
) -> None:
    http = httpx.AsyncClient(base_url=dev_server, transport=Lacking("/stream", "/stream/events"), timeout=WITHIN)
    gate.hold("b first 3")
    async with LangGraphClient(http) as client:
        before = await started(client, "gated_writer", gate)
        await before.end()
        async with watching(client, before.thread_id, poll=0.01) as watchers:
            await watchers.told(before.run_id)
            run = await before.next("gated_chat", gate, run="b", **FULL)
            await watchers.says("One two three ")
            gate.open("*")
            await watchers.told(run.run_id)
            asking = await before.next("gated_asking", gate)
            assert ending(await watchers.told(asking.run_id)) == "interrupt"
            await client.threads.update_state(run.thread_id, {"messages": []}, as_node="second")
            state = await run.state()
            written = f"checkpoint-{state['checkpoint_id']}"
            assert ending(await watchers.told(written)) == "success"
            assert watchers.first.ended == [before.run_id, run.run_id, asking.run_id, written]
            watchers.assert_holds(agui_client, state["values"])


async def test_where_runs_are_only_announced_the_thread_is_looked_at_then(
    dev_server: str, gate: Gates, agui_client: AguiClient
) -> None:
    http = httpx.AsyncClient(base_url=dev_server, transport=Lacking("/stream"), timeout=WITHIN)
    gate.hold("b first 3")
    async with LangGraphClient(http) as client:
        before = await started(client, "gated_writer", gate)
        await before.end()
        async with watching(client, before.thread_id, poll=3_600.0) as watchers:
            await watchers.told(before.run_id)
            run = await before.next("gated_chat", gate, run="b", **FULL)
            await watchers.says("One two three ")
            gate.open("*")
            await watchers.told(run.run_id)
            asking = await before.next("gated_asking", gate)
            assert ending(await watchers.told(asking.run_id)) == "interrupt"
            assert watchers.first.ended == [before.run_id, run.run_id, asking.run_id]
            watchers.assert_holds(agui_client, await values_of(run))


class OfAnOldServer(httpx.AsyncHTTPTransport):
    """To a server that says that it is of this version; and which runs' own streams were joined."""

    def __init__(self, version: str) -> None:
        super().__init__()
        self.joined: list[str] = []
        self._version = version

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/info":
            info = {"version": self._version, "langgraph_py_version": "1.0.5"}
            return httpx.Response(200, json=info, request=request)
        if request.url.path.endswith("/stream") and "/runs/" in request.url.path:
            self.joined.append(request.url.path.split("/")[-2])
        return await super().handle_async_request(request)


@pytest.mark.parametrize(("version", "is_slow"), [("0.5.42", True), ("0.10.0", False), ("later", False)])
async def test_where_a_threads_stream_is_slow_runs_that_are_kept_are_attached_to(
    dev_server: str, gate: Gates, agui_client: AguiClient, version: str, is_slow: bool
) -> None:
    transport = OfAnOldServer(version)
    gate.hold("a first 3")
    async with LangGraphClient(httpx.AsyncClient(base_url=dev_server, transport=transport, timeout=WITHIN)) as client:
        thread = Started(client, (await client.threads.create())["thread_id"], "")
        async with watching(client, thread.thread_id) as watchers:
            kept = await thread.next("gated_chat", gate, run="a", **FULL)
            await gate.reached("a first 3")
            await watchers.says("One two three ")
            gate.open("*")
            await watchers.told(kept.run_id)
            other = await thread.next("gated_chat", gate, run="b", **TOKENS)
            assert streamed(await watchers.told(other.run_id)) == FIRST + SECOND
            asking = await thread.next("gated_asking", gate, **FULL)
            assert ending(await watchers.told(asking.run_id)) == "interrupt"
            assert watchers.first.ended == [kept.run_id, other.run_id, asking.run_id]
            watchers.assert_holds(agui_client, await values_of(thread))
    joined = set(transport.joined) - {asking.run_id}  # which may have ended before
    assert joined == ({kept.run_id} if is_slow else set())


async def test_announcements_that_are_lost_are_made_up_for(
    client: LangGraphClient, way: Way, gate: Gates, agui_client: AguiClient
) -> None:
    before = await started(client, "gated_chat", gate)
    await before.end()
    http = httpx.AsyncClient(base_url=way.url, transport=Lacking("/stream"), timeout=WITHIN)
    async with (
        LangGraphClient(http) as cuttable,
        watching(cuttable, before.thread_id, poll=3_600.0, retry=QUICK) as watchers,
    ):
        await watchers.told(before.run_id)
        way.close()
        runs = [await before.next("gated_chat", gate) for _ in range(2)]
        await runs[-1].end()
        await way.refused.wait()
        way.open()
        await watchers.told(runs[-1].run_id)
        assert watchers.first.ended == [run.run_id for run in [before, *runs]]
        watchers.assert_holds(agui_client, await values_of(before))


@pytest.mark.parametrize(
    ("lacking", "way"),
    [((), "stream"), (("/stream",), "announcements"), (("/stream", "/stream/events"), "polls")],
)
async def test_how_a_thread_is_watched_is_in_info_and_in_the_log(
    dev_server: str, gate: Gates, caplog: pytest.LogCaptureFixture, lacking: tuple[str, ...], way: str
) -> None:
    caplog.set_level("DEBUG", "langgraph_agui")
    http = httpx.AsyncClient(base_url=dev_server, transport=Lacking(*lacking), timeout=WITHIN)
    async with LangGraphClient(http) as client:
        agent = Agent(source=Platform(client, "gated_chat"))
        assert "watch" not in describe("chat", agent)
        before = await started(client, "gated_chat", gate)
        async with watching(client, before.thread_id) as watchers:
            await watchers.told(before.run_id)
        assert describe("chat", agent)["watch"] == way
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Watches a thread by")]
    assert {line.split()[4] for line in lines} == {f"{way}:"}
    assert all(before.thread_id in line for line in lines)


async def test_runs_are_told_on_every_server(backend: Backend, gate: Gates, agui_client: AguiClient) -> None:
    async with backend.client() as client:
        thread = Started(client, (await client.threads.create())["thread_id"], "")
        async with watching(client, thread.thread_id, poll=0.05) as watchers:
            run = await thread.next("gated_chat", gate, **FULL)
            await watchers.told(run.run_id)
            asking = await thread.next("gated_asking", gate, **FULL)
            assert ending(await watchers.told(asking.run_id)) == "interrupt"
            assert watchers.first.ended == [run.run_id, asking.run_id]
            watchers.assert_holds(agui_client, await values_of(run))
