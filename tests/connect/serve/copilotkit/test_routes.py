"""The routes that CopilotKit's client asks for: what each answers to what that client was watched sending."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from ag_ui.core import AgentCapabilities
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui import __version__
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.browser.planner import planner
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.copilotkit import JSON, asked
from tests.support.servers.gates import Gates
from tests.support.servers.serving import Served, events_of, kinds_of, served, told, until


@pytest.fixture
def saver() -> InMemorySaver:
    return InMemorySaver()


@pytest.fixture
async def server(gate: Gates, saver: InMemorySaver) -> AsyncIterator[Served]:
    agent = Agent(source=planner(saver), description="Plans a day.", intake=Intake(config=gate.config()))
    async with served(agui_app({"planner": agent})) as server:
        yield server


@pytest.fixture
async def client(server: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with server.client() as client:
        yield client


async def test_the_agents_are_told_by_their_names(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/info")).json()
    assert (answer["mode"], answer["version"]) == ("sse", __version__)
    assert answer["agents"]["planner"]["name"] == "planner"
    assert answer["agents"]["planner"]["description"] == "Plans a day."


async def test_an_agent_that_is_alone_is_the_default_one_as_well(client: httpx.AsyncClient) -> None:
    agents = (await client.get("/info")).json()["agents"]
    assert agents["default"] == agents["planner"]


async def test_of_several_agents_none_is_the_default_one() -> None:
    async with served(agui_app({"one": planner(None), "two": planner(None)})) as server, server.client() as client:
        assert list((await client.get("/info")).json()["agents"]) == ["one", "two"]
        assert (await client.post("/agent/default/run", json=asked("t", "talk"))).status_code == 404


async def test_what_can_be_seen_of_an_agent_is_told_as_its_capabilities(client: httpx.AsyncClient) -> None:
    found = (await client.get("/info")).json()["agents"]["planner"]["capabilities"]
    assert AgentCapabilities.model_validate(found).human_in_the_loop.interrupts is True  # type: ignore[union-attr]


async def test_an_agent_that_keeps_no_threads_declares_no_questions() -> None:
    async with served(agui_app(planner(None))) as server, server.client() as client:
        found = (await client.get("/info")).json()["agents"]["default"]["capabilities"]
    assert found["humanInTheLoop"]["interrupts"] is False


async def test_capabilities_that_the_owner_gives_stand_alone() -> None:
    own = AgentCapabilities.model_validate({"multiAgent": {"supported": True}})
    async with served(agui_app(Agent(source=planner(None), capabilities=own))) as server, server.client() as client:
        found = (await client.get("/info")).json()["agents"]["default"]["capabilities"]
    assert found == {"multiAgent": {"supported": True}}


@pytest.mark.parametrize("name", ["planner", "default"])
async def test_a_run_is_told_as_the_client_reads_it(
    client: httpx.AsyncClient, agui_client: AguiClient, name: str
) -> None:
    body = asked("t", "talk")
    frames = (await client.post(f"/agent/{name}/run", json=body)).content
    answer = agui_client.play(frames=frames, version="0.0.59", messages=body["messages"])
    assert answer.accepted
    assert answer.messages[-1]["content"] == "One two three four five six seven eight."


async def test_a_run_id_may_come_again(client: httpx.AsyncClient) -> None:
    await client.post("/agent/planner/run", json=asked("t", "talk"))
    again = await client.post("/agent/planner/run", json=asked("t", "talk", "talk"))
    assert kinds_of(again.text)[-1] == "RUN_FINISHED"
    assert "TEXT_MESSAGE_CONTENT" in kinds_of(again.text)


@pytest.mark.parametrize("path", ["run", "connect", "stop/t"])
async def test_an_agent_that_there_is_not_is_told_with_those_that_there_are(
    client: httpx.AsyncClient, path: str
) -> None:
    answer = await client.post(f"/agent/other/{path}", json=asked("t"))
    assert answer.status_code == 404
    assert "planner" in answer.json()["message"]


@pytest.mark.parametrize("name", ["a:b@c+d", "a%3Ab%40c%2Bd"])
async def test_an_agents_name_is_taken_encoded_and_as_it_is(name: str) -> None:
    async with (
        served(agui_app({"a:b@c+d": planner(None), "other": planner(None)})) as server,
        server.client() as client,
    ):
        assert (await client.post(f"/agent/{name}/connect", json=asked("t"))).status_code == 200


async def test_connecting_to_an_idle_thread_tells_it_and_ends(
    client: httpx.AsyncClient, agui_client: AguiClient
) -> None:
    await client.post("/agent/planner/run", json=asked("t", "talk"))
    frames = (await client.post("/agent/planner/connect", json=asked("t"))).content
    answer = agui_client.play(frames=frames, version="0.0.59", mode="connect")
    assert [message["role"] for message in answer.messages] == ["user", "assistant"]


async def test_connecting_to_an_unknown_thread_tells_nothing(client: httpx.AsyncClient) -> None:
    answer = await client.post("/agent/planner/connect", json=asked("t"))
    assert (answer.status_code, answer.content) == (200, b"")


async def test_connecting_writes_nothing(client: httpx.AsyncClient, saver: InMemorySaver) -> None:
    await client.post("/agent/planner/run", json=asked("t", "book"))
    before = len(list(saver.list(None)))
    for _ in range(3):
        await client.post("/agent/planner/connect", json=asked("t"))
    assert len(list(saver.list(None))) == before


async def test_whoever_connects_is_told_all_that_the_thread_holds(client: httpx.AsyncClient) -> None:
    first = await client.post("/agent/planner/run", json=asked("t", "talk"))
    said = [{"id": "t-0", "role": "user", "content": "talk"}, _spoken(first.text)]
    answer = await client.post("/agent/planner/connect", json=asked("t", messages=said))
    assert "MESSAGES_SNAPSHOT" in kinds_of(answer.text)


def _spoken(stream: str) -> dict[str, Any]:
    start = next(event for event in events_of(stream) if event["type"] == "TEXT_MESSAGE_START")
    return {"id": start["messageId"], "role": "assistant", "content": "One two three four five six seven eight."}


async def test_a_failure_of_the_past_is_no_error_when_the_page_is_loaded(client: httpx.AsyncClient) -> None:
    assert kinds_of((await client.post("/agent/planner/run", json=asked("t", "fail"))).text)[-1] == "RUN_ERROR"
    kinds = kinds_of((await client.post("/agent/planner/connect", json=asked("t"))).text)
    assert "RUN_ERROR" not in kinds
    assert kinds[-2:] == ["CUSTOM", "RUN_FINISHED"]


async def test_a_question_is_told_again_when_the_page_is_loaded(client: httpx.AsyncClient) -> None:
    await client.post("/agent/planner/run", json=asked("t", "book"))
    last = events_of((await client.post("/agent/planner/connect", json=asked("t"))).text)[-1]
    assert last["outcome"]["interrupts"][0]["message"] == "Shall I book the tower?"


async def test_connecting_in_mid_run_is_told_the_rest_of_it(client: httpx.AsyncClient, gate: Gates) -> None:
    gate.hold("talk 3")
    async with client.stream("POST", "/agent/planner/run", json=asked("t", "talk")) as run:
        await until(told(run), "TEXT_MESSAGE_CONTENT")
    await gate.reached("talk 3")
    async with client.stream("POST", "/agent/planner/connect", json=asked("t")) as connected:
        events = told(connected)
        assert (await until(events, "MESSAGES_SNAPSHOT"))["messages"][-1]["content"] == "One two three "
        gate.open("talk 3")
        assert (await until(events, "TEXT_MESSAGE_CONTENT"))["delta"] == "four "
        await until(events, "RUN_FINISHED")


@pytest.mark.parametrize("body", [b"", b'{"runId": "run-1"}', b'{"runId": "of another page"}'])
async def test_stop_stops_what_runs_on_the_thread(client: httpx.AsyncClient, gate: Gates, body: bytes) -> None:
    gate.hold("talk 3")
    async with client.stream("POST", "/agent/planner/run", json=asked("a/b", "talk")) as run:
        await gate.reached("talk 3")
        answer = await client.post("/agent/planner/stop/a%2Fb", content=body, headers=JSON)
        await gate.left("talk 3")
        events = [event async for event in told(run)]
    assert answer.json() == {"stopped": True}
    assert events[-1]["code"] == "abort"


async def test_stop_of_a_thread_on_which_nothing_runs_is_no_error(client: httpx.AsyncClient) -> None:
    answer = await client.post("/agent/planner/stop/t", headers=JSON)
    assert (answer.status_code, answer.json()) == (200, {"stopped": False})


async def test_a_request_for_suggestions_runs_nothing_and_leaves_no_thread(
    client: httpx.AsyncClient, saver: InMemorySaver, agui_client: AguiClient
) -> None:
    choice = {"toolChoice": {"type": "function", "function": {"name": "copilotkitSuggest"}}}
    answer = await client.post("/agent/planner/run", json=asked("t", "talk", forwardedProps=choice))
    assert kinds_of(answer.text) == ["RUN_STARTED", "RUN_FINISHED"]
    assert agui_client.play(frames=answer.content, version="0.0.59").accepted
    assert list(saver.list(None)) == []


@pytest.mark.parametrize("base", ["/", "/agui/"])
async def test_the_envelope_is_taken_where_the_app_is_mounted(saver: InMemorySaver, base: str) -> None:
    app = agui_app({"planner": planner(saver)})
    mounted = app if base == "/" else Starlette(routes=[Mount(base.rstrip("/"), app)])
    async with served(mounted) as server, server.client() as client:
        found = (await client.post(base, json={"method": "info"})).json()
    assert list(found["agents"]) == ["planner", "default"]


async def test_a_run_in_an_envelope_is_told(client: httpx.AsyncClient) -> None:
    envelope = {"method": "agent/run", "params": {"agentId": "planner"}, "body": asked("t", "talk")}
    assert kinds_of((await client.post("/", json=envelope)).text)[-1] == "RUN_FINISHED"


async def test_connecting_in_an_envelope_tells_the_thread(client: httpx.AsyncClient) -> None:
    await client.post("/agent/planner/run", json=asked("t", "talk"))
    envelope = {"method": "agent/connect", "params": {"agentId": "planner"}, "body": asked("t")}
    assert "MESSAGES_SNAPSHOT" in kinds_of((await client.post("/", json=envelope)).text)


@pytest.mark.parametrize("more", [{}, {"body": {"runId": "run-1"}}])
async def test_stop_in_an_envelope_stops_what_runs(
    client: httpx.AsyncClient, gate: Gates, more: dict[str, Any]
) -> None:
    gate.hold("talk 3")
    async with client.stream("POST", "/agent/planner/run", json=asked("t", "talk")):
        await gate.reached("talk 3")
        envelope = {"method": "agent/stop", "params": {"agentId": "planner", "threadId": "t"}, **more}
        assert (await client.post("/", json=envelope)).json() == {"stopped": True}
        await gate.left("talk 3")


async def test_an_input_without_an_envelope_is_the_only_agents(client: httpx.AsyncClient) -> None:
    assert kinds_of((await client.post("/", json=asked("t", "talk"))).text)[-1] == "RUN_FINISHED"


@pytest.mark.parametrize(
    ("envelope", "expected"),
    [
        ({"method": "agent/fly", "params": {"agentId": "planner"}}, "agent/run"),
        ({"method": "agent/run"}, "agentId"),
        ({"method": "agent/stop", "params": {"agentId": "planner"}}, "threadId"),
        ({"method": "agent/run", "params": {"agentId": "planner"}}, "RunAgentInput"),
        ({"method": "agent/run", "params": "planner"}, "object"),
    ],
)
async def test_an_envelope_that_asks_for_nothing_there_is_says_what_was_expected(
    client: httpx.AsyncClient, envelope: dict[str, Any], expected: str
) -> None:
    answer = await client.post("/", json=envelope)
    assert answer.status_code == 422
    assert expected in answer.json()["message"]


async def test_a_user_who_may_not_run_gets_no_suggestions_either() -> None:
    choice = {"toolChoice": {"type": "function", "function": {"name": "copilotkitSuggest"}}}
    app = agui_app(planner(InMemorySaver()), authorize=lambda *what: False)
    async with served(app) as server, server.client() as client:
        answer = await client.post("/agent/default/run", json=asked("t", "talk", forwardedProps=choice))
    assert answer.status_code == 403


async def test_a_user_who_may_not_run_gets_nothing_of_a_thread_by_an_answer() -> None:
    app = agui_app(planner(InMemorySaver()), authorize=lambda *what: False)
    async with served(app) as server, server.client() as client:
        resume = [{"interruptId": "any", "status": "resolved", "payload": 1}]
        answer = await client.post("/agent/default/run", json=asked("t", "book", resume=resume))
    assert answer.status_code == 403
