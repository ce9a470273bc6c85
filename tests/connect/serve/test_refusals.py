"""What an app refuses, and what it says then: bodies, ids, limits, and the platform's refusals."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Platform, RetryPolicy, Runs, threads
from langgraph_agui.connect.inputs import Prepared
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from langgraph_agui.translator import Options

from fixtures.gated import GATED
from tests.support.clients.batch_readers import until
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.fault_server import Answer, Asked, End, answered, dropped, faulty, refused
from tests.support.servers.serving import WITHIN, Served, kinds_of, posted, served
from tests.support.streams.pausing_graphs import quick

SECRET = "the secret word"
LIMITS = Limits(body=3_000, messages=3, depth=6)
AGENT = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served(agui_app({"chat": GATED["gated_chat"](InMemorySaver())}, limits=LIMITS)) as server:
        yield server


@pytest.fixture
async def client(server: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with server.client() as client:
        yield client


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code, of an answer of the one shape that errors have."""
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    body = answer.json()
    assert set(body) == {"error", "message"}
    assert SECRET not in answer.text
    return answer.status_code, body["error"]


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"a": the secret word}', b"NaN", b"\xff\xfe", b'"\\ud800"', b"[" * 2000],
)
async def test_what_is_no_json_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    assert refusal(await client.post("/chat", content=body, headers=JSON)) == (400, "invalid_json")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
async def test_a_body_that_says_it_is_no_json_is_refused(client: httpx.AsyncClient, kind: str) -> None:
    answer = await client.post("/chat", content=json.dumps(posted("t", "hi")), headers={"Content-Type": kind})
    assert refusal(answer) == (415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.a+json"])
async def test_a_body_may_say_in_other_words_that_it_is_json(client: httpx.AsyncClient, kind: str) -> None:
    answer = await client.post("/chat", content=json.dumps(posted("t", "hi")), headers={"Content-Type": kind})
    assert answer.status_code == 200


def message(**fields: Any) -> dict[str, Any]:
    return {**posted("t"), "messages": [{"id": "1", **fields}]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "the body: expected an object"),
        ([SECRET], "the body: expected an object"),
        ({}, "threadId: is missing; runId: is missing; messages: is missing"),
        ({**posted("t"), "messages": SECRET}, "messages: expected a valid list"),
        ({**posted("t"), "threadId": {SECRET: SECRET}}, "threadId: expected a valid string"),
        (message(role=7, content="hi"), "messages.0: expected one of 'developer', 'system', 'assistant'"),
        (message(content=SECRET), "messages.0: "),
        (message(role="user", content=[{"type": "text", SECRET: 1}]), "messages.0.user.content."),
        ({**posted("t"), "resume": [{"interruptId": "i", "status": 7}]}, "resume.0.status: expected 'resolved'"),
        ({**posted("t"), "protocolVersion": ""}, "protocolVersion: expected a version"),
    ],
)
async def test_what_is_no_input_is_told_which_field_is_wrong(client: httpx.AsyncClient, body: Any, said: str) -> None:
    answer = await client.post("/chat", content=json.dumps(body), headers=JSON)
    assert refusal(answer) == (422, "invalid_input")
    assert said in answer.json()["message"]


async def test_of_many_wrong_fields_the_first_are_named(client: httpx.AsyncClient) -> None:
    wrong = {**posted("t"), "tools": [{"name": SECRET}] * 9}
    answer = await client.post("/chat", json=wrong)
    assert refusal(answer) == (422, "invalid_input")
    assert "and 6 more" in answer.json()["message"]


@pytest.mark.parametrize("field", ["threadId", "runId"])
@pytest.mark.parametrize("value", ["", " ", "a\nb", "x" * 600, "\u2028"])
async def test_ids_that_can_be_none_are_refused(client: httpx.AsyncClient, field: str, value: str) -> None:
    code = {"threadId": "invalid_thread_id", "runId": "invalid_run_id"}[field]
    assert refusal(await client.post("/chat", json={**posted("t", "hi"), field: value})) == (422, code)


async def test_a_thread_that_can_be_none_is_not_watched(client: httpx.AsyncClient) -> None:
    assert refusal(await client.get("/watch/%0A")) == (422, "invalid_thread_id")


@pytest.mark.parametrize("body", [None, [], {"threadId": 7}, {"threadId": "t", "runId": []}, {"runId": "r"}])
async def test_a_stop_says_what_it_expects(client: httpx.AsyncClient, body: Any) -> None:
    assert refusal(await client.post("/chat/stop", content=json.dumps(body), headers=JSON)) == (422, "invalid_input")


async def test_a_body_that_says_it_is_too_large_is_not_read(server: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{")
    status = await asyncio.wait_for(reader.readline(), WITHIN)
    writer.close()
    await writer.wait_closed()
    assert b" 413 " in status


async def test_a_body_is_too_large_when_more_has_come(client: httpx.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 1_000

    assert refusal(await client.post("/chat", content=pieces(), headers=JSON)) == (413, "too_large")


async def test_too_many_messages_are_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/chat", json=posted("t", *["hi"] * 4))
    assert refusal(answer) == (422, "invalid_input")
    assert "3 at most, got 4" in answer.json()["message"]


async def test_json_that_is_nested_too_deep_is_refused(client: httpx.AsyncClient) -> None:
    state: Any = {}
    for _ in range(6):
        state = [state]
    answer = await client.post("/chat", json={**posted("t", "hi"), "state": state})
    assert refusal(answer) == (422, "invalid_input")
    assert "deeper than 6" in answer.json()["message"]


async def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing(server: Served) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    async with server.client() as client:
        assert (await client.get("/health")).status_code == 200


async def test_more_runs_than_there_may_be_are_sent_away(gate: Gates) -> None:
    gate.hold("first 0")
    agent = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(config=gate.config()))
    async with served(agui_app(agent, limits=Limits(runs=1))) as server, server.client() as client:
        async with client.stream("POST", "/", json=posted("t", "hi")):
            await gate.reached("first 0")
        answer = await client.post("/", json=posted("u", "hi"))  # nobody reads the first one, but it runs
        assert refusal(answer) == (429, "too_many_runs")
        assert int(answer.headers["retry-after"]) > 0
        gate.open("first 0")
        await client.post("/default/connect", json=posted("t"))
        assert (await client.post("/", json=posted("u", "hi"))).status_code == 200


async def test_a_thread_with_queued_inputs_takes_one_place_and_its_queue_is_bounded(gate: Gates) -> None:
    """Also when their clients have left. What was queued runs, each input once, and the capacity is free again."""
    gate.hold("first 0")
    source = Local(GATED["gated_chat"](InMemorySaver()), agent="chat", runs=(runs := Runs()))
    agent = Agent(source=source, intake=Intake(config=gate.config(), busy="queue"))
    app = agui_app(agent, limits=Limits(runs=2, queue=3))
    texts = ["hi", *(f"queued {number}" for number in range(1, 20))]
    async with runs, served(app) as server, server.client() as client:
        async with client.stream("POST", "/", json=posted("t", "hi")):
            await gate.reached("first 0")
        answers = []
        for number in range(1, 20):
            given = posted("t", *texts[: number + 1], run_id=f"queued-{number}")
            async with client.stream("POST", "/", json=given) as response:
                answers.append(response)
                await response.aread() if response.status_code != 200 else None
        assert [answer.status_code for answer in answers] == [200] * 3 + [429] * 16
        assert refusal(answers[-1]) == (429, "queue_full")
        assert int(answers[-1].headers["retry-after"]) > 0
        await until(lambda: app.state.service.capacity.readers == 0)
        async with client.stream("POST", "/", json=posted("u", "hi")) as other:
            assert other.status_code == 200
            assert refusal(await client.post("/", json=posted("v", "hi"))) == (429, "too_many_runs")
        gate.open("first 0")
        await until(lambda: not runs.busy)
        state = await source.graph.aget_state({"configurable": {"thread_id": "t"}})
        assert [each.content for each in state.values["messages"] if each.type == "human"] == texts[:4]
        assert (await client.post("/", json=posted("v", "hi"))).status_code == 200


async def test_a_queued_input_whose_client_left_gives_its_place_back_where_runs_stop_with_their_readers(
    gate: Gates,
) -> None:
    gate.hold("first 0")
    source = Local(GATED["gated_chat"](InMemorySaver()), agent="chat", runs=(runs := Runs()))
    intake = Intake(config=gate.config(), busy="queue", on_disconnect="cancel")
    app = agui_app(Agent(source=source, intake=intake), limits=Limits(queue=1))
    asks = posted("t", "hi")
    async with runs, served(app) as server, server.client() as client, client.stream("POST", "/", json=asks):
        await gate.reached("first 0")
        for number in range(3):
            given = posted("t", "hi", "and on", run_id=f"queued-{number}")
            async with client.stream("POST", "/", json=given) as response:
                assert response.status_code == 200
            await until(lambda: not runs.queue.on(source.key("t")))


async def test_a_run_that_is_over_leaves_its_place() -> None:
    app = agui_app(GATED["gated_chat"](InMemorySaver()), limits=Limits(runs=1, readers=1))
    async with served(app) as server, server.client() as client:
        for thread in ("t", "u", "v"):
            assert (await client.post("/", json=posted(thread, "hi"))).status_code == 200


async def test_a_run_that_is_refused_leaves_its_place() -> None:
    app = agui_app(GATED["gated_chat"](InMemorySaver()), limits=Limits(runs=1, readers=1))
    async with served(app) as server, server.client() as client:
        for _ in range(3):
            assert (await client.post("/", json={**posted("t", "hi"), "runId": "\n"})).status_code == 422
        assert (await client.post("/", json=posted("t", "hi"))).status_code == 200


async def test_more_readers_than_there_may_be_are_sent_away() -> None:
    app = agui_app(GATED["gated_chat"](InMemorySaver()), limits=Limits(readers=1))
    async with served(app) as server, server.client() as client, client.stream("GET", "/watch/t"):
        assert refusal(await client.get("/watch/u")) == (503, "too_many_readers")
        assert refusal(await client.post("/", json=posted("u", "hi"))) == (503, "too_many_readers")


async def test_a_body_of_too_many_values_is_refused_before_it_is_read() -> None:
    app = agui_app({"chat": GATED["gated_chat"](InMemorySaver())}, limits=Limits(values=50))
    bodies = {
        "lists": b"[" + b"[]," * 30 + b"[]]",
        "objects": b"[" + b"{}," * 30 + b"{}]",
        "numbers": b"[" + b"1," * 60 + b"1]",
        "members": json.dumps({str(each): each for each in range(60)}).encode(),
        "in a text": json.dumps(posted("t", "[[]," * 20)).encode(),
        "no JSON": b"[" * 60,
    }
    async with served(app) as server, server.client() as client:
        for body in bodies.values():
            for path in ("/", "/chat", "/chat/connect", "/chat/stop", "/agent/chat/run"):
                answer = await client.post(path, content=body, headers=JSON)
                assert refusal(answer) == (413, "too_large")
                assert "more than 50 values" in answer.json()["message"]
        ended = await client.post("/chat", json={**posted("t", "A" * 1_000_000), "runId": "r"})
        assert kinds_of(ended.content)[-1] == "RUN_FINISHED"


@pytest.mark.parametrize(
    "field", ["body", "values", "bodies", "bodies_size", "messages", "depth", "runs", "queue", "readers"]
)
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "5"])
def test_a_limit_is_a_number_above_nothing(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field):
        Limits(**{field: value})


@pytest.mark.parametrize("field", ["body_timeout", "send_timeout"])
@pytest.mark.parametrize("value", [0, -0.5, float("inf"), float("nan"), True, None, "5"])
def test_a_timeout_is_a_number_of_seconds_above_nothing(field: str, value: Any) -> None:
    limits: Any = {field: 0.5}
    assert getattr(Limits(**limits), field) == 0.5
    with pytest.raises(ValueError, match=field):
        Limits(**{field: value})


async def test_what_an_owners_hook_raises_is_told_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def prepare(given: Any) -> Prepared:
        raise RuntimeError(SECRET)

    agent = Agent(source=GATED["gated_chat"](InMemorySaver()), intake=Intake(prepare=prepare))
    async with served(agui_app(agent)) as server, server.client() as client:
        assert refusal(await client.post("/", json=posted("t", "hi"))) == (500, "internal_error")
    assert SECRET in caplog.text


async def test_what_a_graph_does_not_support_is_not_implemented(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    graph = quick(InMemorySaver())

    async def prepare(given: Any) -> Prepared:
        if given.run_id == "titled":
            await threads(graph).update(given.thread_id, {"agui_title": "It has no store"})
        return Prepared()

    async with served(agui_app(Agent(graph, intake=Intake(prepare=prepare)))) as server, server.client() as client:
        assert (await client.post("/", json=posted("t", "hi"))).status_code == 200
        answer = await client.post("/", json=posted("t", "hi", run_id="titled"))
    assert refusal(answer) == (501, "not_supported")
    assert "no store" in answer.json()["message"]
    assert [line for line in caplog.messages if line.startswith("Refused") and "thread 't', run 'titled'" in line]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, (401, "unauthorized")),
        (403, (403, "forbidden")),
        (404, (404, "not_found")),
        (409, (409, "conflict")),
        (422, (422, "invalid")),
        (400, (422, "invalid")),
        (405, (502, "platform_error")),
        (503, (503, "lost")),
    ],
)
@pytest.mark.parametrize("route", ["/", "/default/connect"])
async def test_a_platforms_refusal_is_passed_on(status: int, told: tuple[int, str], route: str) -> None:
    said = SECRET if status in (400, 422) else "no"
    known = {"/assistants/search": [answered([{"assistant_id": AGENT}])]}
    async with faulty({**known, f"/assistants/{AGENT}/schemas": [refused(status, said)]}) as platform:
        source = Platform(platform.client(), "agent")
        agent = Agent(source=source, retry=RetryPolicy(initial_delay=0, max_attempts=1))
        async with source.client, served(agui_app(agent)) as server, server.client() as client:
            assert refusal(await client.post(route, json=posted("t", "hi"))) == told


async def test_a_platform_that_names_no_run_that_is_in_the_way_is_not_asked_for_ever() -> None:
    def runs(asked: Asked) -> Answer:
        return refused(409, SECRET) if asked.method == "POST" else answered([])

    thread = {"/threads/t": [answered({"status": "idle"})], "/threads/t/state": [answered({"values": {}})]}
    async with faulty({**thread, "/threads/t/runs": [runs]}) as platform:
        source = Platform(platform.client(), "agent")
        agent = Agent(source=source, options=Options())
        async with source.client, served(agui_app(agent)) as server, server.client() as client:
            assert refusal(await client.post("/", json=posted("t", "hi"))) == (409, "conflict")


async def test_a_platform_whose_run_can_not_be_stopped_is_not_asked_for_ever() -> None:
    active = {"run_id": AGENT, "status": "running", "assistant_id": AGENT, "kwargs": {"resumable": True}}
    thread = {"/threads/t": [answered({"status": "busy"})], "/threads/t/state": [answered({"values": {}})]}
    async with faulty({**thread, "/threads/t/runs": [answered([active])]}) as platform:
        source = Platform(platform.client(), "agent")
        agent = Agent(source=source, options=Options(), intake=Intake(busy="cancel"))
        async with source.client, served(agui_app(agent)) as server, server.client() as client:
            assert refusal(await client.post("/", json=posted("t", "hi"))) == (409, "conflict")


async def test_a_platform_that_is_gone_is_told_as_lost() -> None:
    async with faulty({"/assistants/search": [dropped()]}) as platform:
        source = Platform(platform.client(), "agent")
        agent = Agent(source=source, retry=RetryPolicy(initial_delay=0, max_attempts=1))
        async with source.client, served(agui_app(agent)) as server, server.client() as client:
            answer = await client.post("/", json=posted("t", "hi"))
    assert refusal(answer) == (503, "lost")
    assert "retry-after" in answer.headers


@pytest.mark.parametrize("how", [dropped(), dropped(End.HELD)])
async def test_a_reader_of_a_platform_that_is_gone_is_refused_before_a_stream_begins(how: Answer) -> None:
    """Even when nothing but the thread itself has to be asked for: the options are known."""
    async with faulty({"/threads/t/runs": [how], "/threads/t/stream": [how]}) as platform:
        source = Platform(platform.client(), "agent")
        agent = Agent(source, options=Options(), retry=RetryPolicy(initial_delay=0, max_attempts=2, first_answer=0.2))
        async with source.client, served(agui_app(agent)) as server, server.client() as client:
            for answer in (await client.post("/connect", json=posted("t")), await client.get("/watch/t")):
                assert refusal(answer) == (503, "lost")
                assert "retry-after" in answer.headers
