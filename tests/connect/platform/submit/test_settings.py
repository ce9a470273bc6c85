"""What the owner sets of runs and threads is in the server's run and in its thread. What can't be set is refused."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from ag_ui.core import RunAgentInput
from langgraph_agui.connect import Intake, Platform, RetryPolicy, connect, run
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.servers.platforms.dev_server import running_project
from tests.support.servers.platforms.fault_server import answered, faulty, redirected
from tests.support.servers.serving import kinds_of, posted, served

GRAPH = "configured"
PROJECT = {
    "dependencies": ["."],
    "graphs": {GRAPH: "fixtures.configured:make"},
    "webhooks": {"url": {"disable_loopback": False, "require_https": False}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server whose graph is made for each run, and which may call this machine's webhooks."""
    folder = tmp_path_factory.mktemp("configured")
    (folder / "langgraph.json").write_text(json.dumps(PROJECT))
    with running_project(folder) as url:
        yield url


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server) as client:
        yield client


async def events(source: Platform, thread_id: str, intake: Intake | None = None, **given: Any) -> list[dict[str, Any]]:
    """The events of one input."""
    sent = RunAgentInput.model_validate(posted(thread_id, "hi", run_id=str(uuid4())) | given)
    intake = intake or Intake()
    return [event.model_dump(by_alias=True, mode="json") async for event in run(source, sent, intake=intake)]


def told(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the graph says that its run was given."""
    first: dict[str, Any] = json.loads(
        next(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    )
    return first


async def test_what_is_set_of_runs_is_in_every_run(client: LangGraphClient) -> None:
    thread_id = str(uuid4())
    async with faulty({"/ended": [answered({})]}) as hooks:
        source = Platform(
            client,
            GRAPH,
            run={
                "webhook": f"{hooks.url}/ended",
                "durability": "exit",
                "interrupt_before": ["end"],
                "interrupt_after": ["speak"],
                "after_seconds": 1,
                "langsmith_tracing": {"project_name": "pages"},
                "strict_resume": True,
            },
        )
        first = await events(source, thread_id, Intake(config={"metadata": {"tenant": "red"}}))
        (waits,) = first[-1]["outcome"]["interrupts"]
        answer = {"interruptId": waits["id"], "status": "resolved", "payload": True}
        second = await events(source, thread_id, messages=[], resume=[answer])
        await hooks.came(2)
    runs: list[Any] = [*await client.runs.list(thread_id)]
    for made in runs:
        kwargs = made["kwargs"]
        configurable = kwargs["config"]["configurable"]
        assert (kwargs["durability"], kwargs["webhook"]) == ("exit", f"{hooks.url}/ended")
        assert (kwargs["interrupt_before"], kwargs["interrupt_after"]) == (["end"], ["speak"])
        assert (configurable["__after_seconds__"], configurable["__langsmith_project__"]) == (1, "pages")
    assert second[-1]["outcome"] == {"type": "success"}
    assert runs[-1]["metadata"]["tenant"] == "red"


@pytest.mark.parametrize("agent", [None, "mine"])
async def test_a_run_of_another_client_has_an_id_of_its_own(client: LangGraphClient, agent: str | None) -> None:
    thread_id = str(uuid4())
    await events(Platform(client, GRAPH, agent=agent), thread_id)
    asked: Any = {"messages": [{"role": "user", "content": "Go on."}]}
    other = await client.runs.create(thread_id, GRAPH, input=asked)
    await client.runs.join(thread_id, other["run_id"])
    seen = [event async for event in connect(client, thread_id)]
    assert seen[0].model_dump()["run_id"] == other["run_id"]


async def test_what_is_set_of_threads_is_in_every_new_thread_and_changes_no_other(client: LangGraphClient) -> None:
    sent: list[Any] = []

    async def note(request: httpx.Request) -> None:
        if request.method == "POST" and request.url.path == "/threads":
            sent.append(json.loads(request.content))

    source = Platform(client, GRAPH, thread={"metadata": {"team": "red", "agui_agent": "mine"}, "ttl": 60})
    there = (await client.threads.create(metadata={"team": "blue"}))["thread_id"]
    own, agents = str(uuid4()), str(uuid4())
    client.http.client.event_hooks["request"].append(note)
    await events(source, there)
    await events(source, own)
    async with served(agui_app({"asked": Agent(source)})) as app, app.client() as page:
        answer = await page.post("/asked", json=posted(agents, "hi"))
    metadata: list[Any] = [(await client.threads.get(thread_id))["metadata"] for thread_id in (there, own, agents)]
    assert [each["team"] for each in metadata] == ["blue", "red", "red"]
    assert (metadata[2]["agui_agent"], kinds_of(answer.text)[-1]) == ("asked", "RUN_FINISHED")
    assert {json.dumps(each["ttl"]) for each in sent} == {'{"ttl": 60, "strategy": "delete"}'}  # the server keeps none


async def test_a_thread_that_does_not_exist_is_refused_where_none_is_created(client: LangGraphClient) -> None:
    source = Platform(client, GRAPH, run={"if_not_exists": "reject"})
    unknown, there = str(uuid4()), (await client.threads.create())["thread_id"]
    async with served(agui_app({"asked": Agent(source)})) as app, app.client() as page:
        answers = [await page.post("/asked", json=posted(thread_id, "hi")) for thread_id in (unknown, there)]
    assert [answer.status_code for answer in answers] == [404, 200]
    assert [thread["thread_id"] for thread in await client.threads.search(ids=[unknown])] == []


async def test_an_assistants_own_config_and_context_are_those_of_its_runs_unless_these_set_another(
    client: LangGraphClient,
) -> None:
    plain = await client.assistants.create(GRAPH, config={"configurable": {"tone": "calm"}, "tags": ["a"]})
    with_context = await client.assistants.create(GRAPH, context={"tone": "warm"})
    cases: list[tuple[str, Intake, dict[str, Any]]] = [
        (GRAPH, Intake(), {"made_for": None, "tone": "plain", "length": "short", "tags": None}),
        (plain["assistant_id"], Intake(), {"made_for": "calm", "tone": "calm", "length": "short", "tags": ["a"]}),
        (
            with_context["assistant_id"],
            Intake(context={"length": "long"}),
            {"made_for": "warm", "tone": "warm", "length": "long", "tags": None},
        ),
        (
            with_context["assistant_id"],
            Intake(config={"configurable": {"tone": "loud"}}, context={"length": "long"}),
            {"made_for": "loud", "tone": "loud", "length": "long", "tags": None},
        ),
    ]
    for assistant, intake, expected in cases:
        assert told(await events(Platform(client, assistant), str(uuid4()), intake)) == expected


@pytest.mark.parametrize(
    ("which", "settings", "text"),
    [
        ("run", {"metadata": {}}, r"run: 'metadata' can't be set here; it is set by Intake\(config="),
        ("run", {"multitask_strategy": "interrupt"}, r"it is set by Intake\(busy="),
        ("run", {"stream_mode": "values"}, "run: 'stream_mode' can't be set here. Expected some of webhook, "),
        ("run", {"durability": "never"}, "run: expected durability to be one of"),
        ("thread", {"supersteps": []}, "thread: 'supersteps' can't be set here. Expected some of metadata, ttl"),
    ],
)
def test_what_can_not_be_set_is_refused_and_says_where_it_is_set(which: str, settings: Any, text: str) -> None:
    how: Any = {which: settings}
    with pytest.raises(ValueError, match=text):
        Platform(get_client(url="http://127.0.0.1:1"), GRAPH, **how)


def test_what_the_installed_sdk_does_not_have_is_refused() -> None:
    client = get_client(url="http://127.0.0.1:1")

    async def create(thread_id: str, assistant_id: str, *, webhook: str | None = None) -> Any: ...

    client.runs.create = create  # type: ignore[method-assign, assignment]  # that of an older SDK
    with pytest.raises(ValueError, match="the installed langgraph_sdk has no 'durability'"):
        Platform(client, GRAPH, run={"durability": "sync"})


async def test_the_credentials_of_a_page_are_sent_to_the_server_alone() -> None:
    thread_id = str(uuid4())
    async with faulty({}) as other:
        paths = [
            f"/threads/{thread_id}",
            f"/threads/{thread_id}/runs",
            f"/threads/{thread_id}/state",
            "/threads/search",
        ]
        paths += ["/assistants/search", "/threads"]
        async with faulty({path: [redirected(f"{other.url}{path}")] for path in paths}) as first:
            source, once = Platform(get_client(url=first.url), GRAPH), RetryPolicy(max_attempts=1)
            agent = Agent(source, headers=("authorization",), retry=once)
            async with served(agui_app({"asked": agent})) as app, app.client() as page:
                for path in ("/asked", "/asked/connect"):
                    await page.post(path, json=posted(thread_id, "hi"), headers={"Authorization": "Bearer ada"})
        assert {asked.headers.get("authorization") for asked in first.requests} == {"Bearer ada"}
        assert other.requests == []
