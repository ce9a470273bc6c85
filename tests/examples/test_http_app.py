"""The app inside a deployment, as `http.app` of its `langgraph.json`: it talks to that deployment's own threads.

In-process and by the deployment's address; the server raises in whatever blocks its event loop.
"""

import json
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import get_client

from fixtures.gated import FIRST, GATED, SECOND
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.live_client import LiveClients
from tests.support.servers.gates import Gates, asked
from tests.support.servers.platforms.dev_server import GRAPHS, running_project
from tests.support.servers.processes.server_process import ROOT

pytestmark = [
    pytest.mark.early,
    pytest.mark.newest,
]  # what is said in-process comes as it is said since langgraph-api 0.10
BOTH = pytest.mark.parametrize("version", VERSIONS)
WAYS = pytest.mark.parametrize("way", ["agui", "agui-url"])
HALF = "One two three four five "
STREAMED: Any = {
    "stream_mode": ["values", "messages-tuple", "updates", "custom", "tasks", "checkpoints"],
    "stream_subgraphs": True,
    "stream_resumable": True,
}


@contextmanager
def deployed(folder: Path, http: Mapping[str, Any], **more: Any) -> Iterator[str]:
    """The URL of a deployment of the gated graphs with the app in it."""
    graphs = {name: GRAPHS[name] for name in GATED}
    project = {"dependencies": ["."], "graphs": graphs, "http": {"app": "fixtures.served_app:app", **http}, **more}
    (folder / "langgraph.json").write_text(json.dumps(project))
    with running_project(folder, may_block=False) as url:
        yield url


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One that everybody may ask everything."""
    with deployed(tmp_path_factory.mktemp("deployment"), {}) as url:
        yield url


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One that keeps its users apart, and lets no stranger in."""
    http, auth = {"enable_custom_route_auth": True}, {"path": "fixtures.served_users:auth"}
    with deployed(tmp_path_factory.mktemp("guarded"), http, auth=auth) as url:
        yield url


@pytest.fixture
async def browser(deployment: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole deployment."""
    async with httpx.AsyncClient(base_url=deployment, timeout=20, trust_env=False) as client:
        yield client


def gated(gate: Gates) -> dict[str, Any]:
    """What a client sends for its runs to come to these gates."""
    return {"forwardedProps": {"config": gate.config()}}


@WAYS
@BOTH
async def test_what_is_said_comes_while_the_run_goes_on(
    deployment: str, gate: Gates, live: LiveClients, version: str, way: str
) -> None:
    agent = await live.agent(f"{deployment}/{way}/gated_chat", str(uuid4()), version=version)
    gate.hold("first 5")
    running = agent.says("hi", **gated(gate))
    await agent.shows(HALF)
    assert not running.is_over
    gate.open("first 5")
    assert (await running).texts == ["hi", FIRST, SECOND]


@WAYS
@BOTH
async def test_a_page_that_is_loaded_in_mid_answer_ends_with_the_same(
    deployment: str, gate: Gates, live: LiveClients, version: str, way: str
) -> None:
    thread_id = str(uuid4())
    first = await live.agent(f"{deployment}/{way}/gated_chat", thread_id, version=version)
    gate.hold("first 5")
    running = first.says("hi", **gated(gate))
    await first.shows(HALF)
    second = await live.agent(f"{deployment}/{way}/gated_chat", thread_id, version=version)
    loaded = second.connects()
    await second.shows(HALF)
    gate.open("first 5")
    assert (await loaded).messages == (await running).messages


async def test_the_next_turn_goes_on_on_the_same_thread(deployment: str, live: LiveClients) -> None:
    agent = await live.agent(f"{deployment}/agui/gated_chat", str(uuid4()))
    await agent.says("hi")
    assert (await agent.says("again")).texts == ["hi", FIRST, SECOND, "again", FIRST, SECOND]


@WAYS
async def test_a_page_stops_the_deployments_run(deployment: str, gate: Gates, live: LiveClients, way: str) -> None:
    thread_id = str(uuid4())
    agent = await live.agent(f"{deployment}/{way}/gated_chat", thread_id)
    gate.hold("first 5")
    running = agent.says("hi", **gated(gate))
    await agent.shows(HALF)
    await agent.calls("stop")
    await gate.left("first 5")
    assert (await running).last["outcome"] == {"type": "cancelled"}


async def test_a_question_is_answered(deployment: str, live: LiveClients) -> None:
    agent = await live.agent(f"{deployment}/agui/gated_asking", str(uuid4()))
    await agent.says("hi")
    assert (await agent.answers("yes")).texts == ["hi", FIRST, "really: yes", SECOND]


async def test_a_second_run_is_refused(deployment: str, gate: Gates, live: LiveClients) -> None:
    thread_id = str(uuid4())
    first = await live.agent(f"{deployment}/agui/gated_chat", thread_id)
    gate.hold("first 5")
    running = first.says("hi", **gated(gate))
    await first.shows(HALF)
    second = await live.agent(f"{deployment}/agui/gated_chat", thread_id)
    refused = await second.says("me too")
    gate.open("first 5")
    assert (refused.status, (await running).error) == (409, None)


async def test_the_deployment_holds_what_the_app_ran(deployment: str, live: LiveClients) -> None:
    thread_id = str(uuid4())
    await (await live.agent(f"{deployment}/agui/gated_chat", thread_id)).says("hi")
    async with get_client(url=deployment) as client:
        values: Any = (await client.threads.get_state(thread_id))["values"]
    assert [message["content"] for message in values["messages"]] == ["hi", FIRST, SECOND]


async def test_the_app_tells_what_the_deployment_runs_by_itself(
    deployment: str, gate: Gates, live: LiveClients
) -> None:
    gate.hold("first 5")
    async with get_client(url=deployment) as client:
        thread_id = (await client.threads.create())["thread_id"]
        await client.runs.create(thread_id, "gated_chat", input=asked("hi"), config=gate.config(), **STREAMED)
    await gate.reached("first 5")
    agent = await live.agent(f"{deployment}/agui/gated_chat", thread_id)
    loaded = agent.connects()
    await agent.shows(HALF)
    gate.open("first 5")
    assert (await loaded).texts == ["hi", FIRST, SECOND]


async def by_v3(client: Any, thread_id: str, config: Any) -> str:
    """The id of a run that LangChain's own client has started by the newer protocol, and no longer follows."""
    async with client.threads.stream(thread_id, assistant_id="gated_chat") as stream:
        return str((await stream.run.start(input=asked("hi"), config=config))["run_id"])


@WAYS
async def test_a_run_of_the_newer_protocol_is_followed_as_it_goes(
    deployment: str, gate: Gates, live: LiveClients, way: str
) -> None:
    gate.hold("first 5")
    async with get_client(url=deployment) as client:
        thread_id = (await client.threads.create())["thread_id"]
        watch = await live.watch(f"{deployment}/{way}/watch/{thread_id}?agent=gated_chat")
        run_id = await by_v3(client, thread_id, gate.config())
        await gate.reached("first 5")
        agent = await live.agent(f"{deployment}/{way}/gated_chat", thread_id)
        loaded = agent.connects()
        await agent.shows(HALF)
        assert not loaded.is_over
        gate.open("first 5")
        assert (await loaded).texts == ["hi", FIRST, SECOND]
        finished = (await watch.seen("RUN_FINISHED"))[-1]
    assert finished["runId"] == run_id


async def test_an_event_source_is_told_every_run_of_a_thread(deployment: str, live: LiveClients) -> None:
    async with get_client(url=deployment) as client:
        thread_id = (await client.threads.create())["thread_id"]
    watch = await live.watch(f"{deployment}/agui/watch/{thread_id}?agent=gated_chat")
    agent = await live.agent(f"{deployment}/agui/gated_chat", thread_id)
    await agent.says("hi")
    await agent.says("again")
    events = await watch.seen("RUN_FINISHED", times=2)
    said = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert (said.count(FIRST), said.count(SECOND)) == (2, 2)


async def test_the_deployments_own_routes_stay_its_own(browser: httpx.AsyncClient) -> None:
    assert "langgraph_py_version" in (await browser.get("/info")).json()
    assert (await browser.post("/threads", json={})).json()["status"] == "idle"
    assert len((await browser.post("/assistants/search", json={"limit": 50})).json()) == len(GATED)
    assert (await browser.get("/ok")).json()["ok"] is True


async def test_the_apps_routes_stand_under_its_prefix(browser: httpx.AsyncClient) -> None:
    assert set((await browser.get("/agui/info")).json()["agents"]) == set(GATED)
    assert (await browser.get("/agui/health")).json() == {"status": "ok"}


async def test_what_is_no_route_of_the_deployment_is_its_own_404(browser: httpx.AsyncClient) -> None:
    assert (await browser.get("/no/such/route")).json() == {"detail": "Not Found"}


ANN, BOB = {"Authorization": "ann"}, {"Authorization": "bob"}


@WAYS
async def test_a_stranger_is_let_in_nowhere(guarded: str, live: LiveClients, way: str) -> None:
    stranger = await live.agent(f"{guarded}/{way}/gated_chat", str(uuid4()))
    assert (await stranger.says("hi")).status == 401


async def test_by_its_address_a_deployment_keeps_its_users_apart(guarded: str, live: LiveClients) -> None:
    thread_id = str(uuid4())
    ann = await live.agent(f"{guarded}/agui-url/gated_chat", thread_id, headers=ANN)
    bob = await live.agent(f"{guarded}/agui-url/gated_chat", thread_id, headers=BOB)
    assert (await ann.says("hi")).texts == ["hi", FIRST, SECOND]
    assert ((await bob.connects()).events, (await bob.says("hi")).status) == ([], 404)


async def test_in_process_a_deployment_does_not_keep_its_users_apart(guarded: str, live: LiveClients) -> None:
    thread_id = str(uuid4())
    ann = await live.agent(f"{guarded}/agui/gated_chat", thread_id, headers=ANN)
    bob = await live.agent(f"{guarded}/agui/gated_chat", thread_id, headers=BOB)
    await ann.says("hi")
    assert (await bob.connects()).texts == ["hi", FIRST, SECOND]


async def test_in_process_an_authorize_of_the_app_keeps_the_deployments_users_apart(
    guarded: str, live: LiveClients
) -> None:
    thread_id = str(uuid4())
    ann = await live.agent(f"{guarded}/agui-own/gated_chat", thread_id, headers=ANN)
    bob = await live.agent(f"{guarded}/agui-own/gated_chat", thread_id, headers=BOB)
    assert (await ann.says("hi")).texts == ["hi", FIRST, SECOND]
    assert ((await bob.connects()).events, (await bob.says("hi")).status) == ([], 404)
    stranger = await live.agent(f"{guarded}/agui-own/gated_chat", thread_id)
    assert (await stranger.says("hi")).status == 401


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A folder with the deployment in `examples/deployment`."""
    shutil.copytree(ROOT / "examples" / "deployment", tmp_path, dirs_exist_ok=True)
    return tmp_path


async def test_the_example_answers_and_its_open_streams_end_with_the_server(example: Path, live: LiveClients) -> None:
    thread_id = str(uuid4())
    with running_project(example, may_block=False) as url:
        agent = await live.agent(f"{url}/agui/agent", thread_id)
        watch = await live.watch(f"{url}/agui/watch/{thread_id}")
        assert (await agent.says("hi")).texts == ["hi", "You wrote: hi"]
        await watch.seen("RUN_FINISHED")
    log = (example / "server.log").read_text()
    assert [word for word in ("lifespan of the routes", "Traceback", "No response returned") if word in log] == []
