"""Inputs that were mutated, on threads that stand in every way: no 500, nothing that the real client does not take, and
nothing that stays behind. The same inputs each time."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.serve import Agent, Limits, agui_app

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.batch_readers import until
from tests.support.random.examples import examples
from tests.support.random.fuzzed_inputs import breaks, inputs, paths, routes, runs, without_foreign
from tests.support.servers.serving import WITHIN, Served, events_of, served

Event = dict[str, Any]
FUZZ = settings(
    max_examples=examples(150),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
JSON = {"Content-Type": "application/json"}
FOREIGN_CALLS: Event = {"id": "m1", "role": "user", "content": "hi", "toolCalls": []}
QUESTION: Event = {"id": "m1", "role": "user", "content": "hi"}
TWICE_ANSWERED: list[Event] = [{"interruptId": "pending", "status": "resolved", "payload": {}}] * 2


class Shared(MessagesState):
    """A conversation, and what a page may write beside it."""

    mood: Any
    tools: list[Any]
    copilotkit: dict[str, Any]


def answer(state: Shared) -> dict[str, Any]:
    """Does what the last message says: asks, calls a tool of the page, raises, or says how much it has heard."""
    last = str(state["messages"][-1].content) if state["messages"] else ""
    if "ask" in last:
        return {"messages": [AIMessage(f"You said {interrupt({'question': 'really?'})}.")]}
    if "call" in last:
        return {
            "messages": [
                AIMessage(
                    "", tool_calls=[{"name": "paint", "args": {"it": "red"}, "id": f"call-{len(state['messages'])}"}]
                )
            ]
        }
    if "raise" in last:
        raise ValueError(last)
    return {"messages": [AIMessage(f"I have heard {len(state['messages'])}.")], "mood": {"heard": last}}


class Fuzzed:
    """A server, a client of it, and what it had before anything came."""

    def __init__(self, runner: asyncio.Runner, server: Served, app: Any, runs: Runs) -> None:
        self._runner = runner
        self._server = server
        self._app = app
        self._runs = runs
        self._tasks = len(asyncio.all_tasks(runner.get_loop()))
        self._threads = 0

    def answers(self, *asked: "Asked") -> list[httpx.Response]:
        """What is answered on a thread nobody has used, one after the other; then nothing of it may be left."""
        self._threads += 1
        return self._runner.run(self._answers(f"thread-{self._threads}", asked))

    async def _answers(self, thread_id: str, asked: tuple["Asked", ...]) -> list[httpx.Response]:
        found: list[httpx.Response] = []
        async with self._server.client() as client:
            for place, each in enumerate(asked):
                method, path, body = each.request(thread_id, f"run-{place}", _pending(found))
                url = client.base_url.copy_with(raw_path=path)
                async with client.stream(method, url, content=body, headers=JSON) as answer:
                    if not (answer.status_code == 200 and path.startswith(b"/watch")):
                        await answer.aread()
                    found.append(answer)
        await self._is_empty()
        return found

    async def _is_empty(self) -> None:
        capacity = self._app.state.service.capacity
        async with asyncio.timeout(WITHIN):
            await until(
                lambda: capacity.readers == capacity.starting == self._runs.running == self._server.connections == 0
            )
            await until(lambda: len(asyncio.all_tasks()) <= self._tasks + 1)


class Asked(NamedTuple):
    """One request: where, and the input that is posted there; or a body as it stands."""

    path: str
    given: Event
    raw: bytes | None = None

    def request(self, thread_id: str, run_id: str, pending: list[str]) -> tuple[str, bytes, bytes]:
        """Its method, path and body."""
        path = self.path.format(thread=thread_id)
        if path.startswith("/watch"):
            return "GET", path.encode("latin-1"), b""
        return "POST", path.encode("latin-1"), self.body(thread_id, run_id, pending) if self.raw is None else self.raw

    def body(self, thread_id: str, run_id: str, pending: list[str]) -> bytes:
        """The input as JSON, on this thread; its answers are to what is pending."""
        given = {"threadId": thread_id, "runId": run_id, **self.given}
        if "resume" in given:
            waits = pending[0] if pending else "pending"
            given["resume"] = [
                {**each, "interruptId": each["interruptId"].replace("pending", waits)} for each in given["resume"]
            ]
        if self.path.startswith("/?"):
            params = {"agentId": "kept", "threadId": thread_id}
            given = {"method": self.path.removeprefix("/?"), "params": params, "body": given}
        return json.dumps(given).encode()


def _pending(answers: list[httpx.Response]) -> list[str]:
    """The interrupts that were told last."""
    found = []
    for event in events_of(answers[-1].content) if answers and answers[-1].is_closed and is_stream(answers[-1]) else []:
        if event["type"] == "RUN_FINISHED":
            found = [each["id"] for each in (event.get("outcome") or {}).get("interrupts") or ()]
    return found


def is_stream(answer: httpx.Response) -> bool:
    """Whether it is an event stream that was read."""
    return (
        answer.status_code == 200
        and "event-stream" in answer.headers["content-type"]
        and "/watch" not in answer.url.path
    )


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    graph = StateGraph(Shared).add_node("answer", answer).add_edge(START, "answer")
    with asyncio.Runner() as runner:
        runs = Runs()
        agents = {
            name: Agent(
                source=Local(graph.compile(saver, name=name), agent=name, runs=runs),
                intake=intake,
            )
            for name, saver, intake in (
                ("kept", InMemorySaver(), Intake(state={"mood"}, shortened="fork")),
                ("bare", None, Intake(state={"mood", "tools"})),
            )
        }
        app = agui_app(agents, limits=Limits(body=200_000, depth=30))
        serving = served(app)
        server = runner.run(serving.__aenter__())
        yield Fuzzed(runner, server, app, runs)
        runner.run(serving.__aexit__(None, None, None))
        runner.run(runs.aclose())


def judge(answer: httpx.Response) -> None:
    """No error of the server's, and errors of one shape."""
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/json"
        assert set(answer.json()) == {"error", "message"}


def judge_stream(client: AguiClient, asked: Asked, answer: httpx.Response) -> None:
    """The real client takes it."""
    events = events_of(answer.content)
    assert not [event for event in events if event.get("code") == "internal_error"]
    holds = [without_foreign(each) for each in asked.given["messages"] if each["role"] != "activity"]
    state = asked.given.get("state")
    version = "1.0.0" if asked.given["protocolVersion"] else "0.0.59"
    taken = client.play(
        frames=answer.text, version=version, messages=holds, state=state if isinstance(state, dict) else {}
    )
    assert taken.warnings == []
    assert taken.error is None or "RUN_ERROR" in [event["type"] for event in events]


@FUZZ
@given(
    first=st.builds(Asked, runs, inputs, st.none()),
    more=st.lists(st.builds(Asked, routes, inputs, st.none()), max_size=4),
)
@example(
    first=Asked("/kept", {"messages": [QUESTION, {**QUESTION, "x": 1}], "protocolVersion": "1.0"}),
    more=[Asked("/kept/connect", {"messages": [{**QUESTION, "x": 1}], "protocolVersion": "1.0"})],
)
@example(
    first=Asked(
        "/kept",
        {"messages": [{**FOREIGN_CALLS, "toolCalls": [None], "x": 1}, QUESTION], "protocolVersion": "1.0"},
    ),
    more=[],
)
@example(first=Asked("/kept", {"messages": [FOREIGN_CALLS], "protocolVersion": "1.0"}), more=[])
@example(
    first=Asked("/kept", {"messages": [{**FOREIGN_CALLS, "content": []}], "protocolVersion": "1.0"}),
    more=[
        Asked("/kept/connect", {"resume": TWICE_ANSWERED, "runId": "run-1", "protocolVersion": None, "messages": []})
    ],
)
def test_whatever_is_asked_in_whatever_order_the_client_takes_the_answer(
    fuzzed: Fuzzed, agui_client: AguiClient, first: Asked, more: list[Asked]
) -> None:
    asked = [first, *more]
    for each, answer in zip(asked, fuzzed.answers(*asked), strict=True):
        if "/watch" not in answer.url.path:
            judge(answer)
        if is_stream(answer):
            judge_stream(agui_client, each, answer)


@FUZZ
@given(route=routes, given=inputs, piece=breaks, place=st.floats(0, 1), cuts=st.integers(0, 20))
def test_a_body_that_is_broken_anywhere_is_refused_or_taken(
    fuzzed: Fuzzed, route: str, given: Event, piece: bytes, place: float, cuts: int
) -> None:
    body = Asked(route, given).body("thread", "run", [])
    at = int(place * len(body))
    [answer] = fuzzed.answers(Asked(route, given, body[:at] + piece + body[at + cuts :]))
    if "/watch" not in answer.url.path:
        judge(answer)


@FUZZ
@given(path=paths)
def test_whatever_the_path_is_it_is_answered(fuzzed: Fuzzed, path: str) -> None:
    body = Asked("", {"messages": []}).body("thread", "run", [])
    [answer] = fuzzed.answers(Asked(path, {}, body))
    if not (answer.status_code == 200 and path.startswith("/watch")):
        judge(answer)
