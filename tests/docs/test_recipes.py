"""The Python code of the recipes runs, and does what their text says."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from typing import Any, NotRequired, TypedDict

import httpx
import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import TodoListMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, start, watch
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, tool_call
from langgraph_agui.translator import ClientView
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from fixtures import FIXTURES
from fixtures.graphs.history import summarising
from tests.docs.test_python import QUESTION, WIRE, viewed
from tests.support.clients.batch_readers import until
from tests.support.documents import block, blocks
from tests.support.servers.serving import events_of, served
from tests.support.streams.pausing_graphs import HELLO, speaking


@asynccontextmanager
async def asked_of(agents: Any, **more: Any) -> AsyncIterator[Any]:
    """A function that posts an input to an agent, and returns the events."""
    app = agents if callable(agents) else agui_app(agents, **more)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:

        async def ask(agent: str, run_id: str, **given: Any) -> list[dict[str, Any]]:
            whole = WIRE | {"runId": run_id, "messages": [], "protocolVersion": "1.0"} | given
            answer = await client.post(f"/{agent}", json=whole)
            return events_of(answer.text) if answer.status_code == httpx.codes.OK else [answer.json()]

        yield ask


def one_node(node: Any, schema: Any = MessagesState) -> Any:
    return StateGraph(schema).add_sequence([("node", node)]).add_edge(START, "node").compile(InMemorySaver())


def answer_of(events: list[dict[str, Any]]) -> str:
    """The text of the last message that streamed."""
    streamed = [event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]
    return "".join(event["delta"] for event in streamed if event["messageId"] == streamed[-1]["messageId"])


@pytest.mark.parametrize(
    ("agent", "wrong", "answer", "text"),
    [
        ("booking", "perhaps", True, "Done."),
        ("booking", {"decisions": []}, "reject", "Done."),
        ("asking", {"book": "perhaps"}, {"book": True}, "It is booked."),
        ("asking", True, {"book": "no"}, "It is not booked."),
    ],
)
async def test_an_approval_is_answered(agent: str, wrong: Any, answer: Any, text: str) -> None:
    model = ScriptedChatModel(turns=[["Shall I?", tool_call("book", {"place": "Tower"})], "Done."])
    booking = block("booking_agent").booking_agent(model, InMemorySaver())
    async with asked_of({"booking": booking, "asking": one_node(block("ask_first").ask_first)}) as ask:
        (question,) = (await ask(agent, "1", messages=[QUESTION]))[-1]["outcome"]["interrupts"]
        assert question["responseSchema"]["type"] == "object"
        entry = {"interruptId": question["id"], "status": "resolved"}
        assert (await ask(agent, "2", resume=[entry | {"payload": wrong}]))[0]["error"] == "invalid_input"
        events = await ask(agent, "3", resume=[entry | {"payload": answer}])
    assert (answer_of(events), events[-1]["outcome"]) == (text, {"type": "success"})


async def test_a_cancelled_question_is_not_answered_with_yes() -> None:
    async with asked_of({"asking": one_node(block("ask_first").ask_first)}) as ask:
        (question,) = (await ask("asking", "1", messages=[QUESTION]))[-1]["outcome"]["interrupts"]
        assert question["message"] == "Shall I book the tower?"
        events = await ask("asking", "2", resume=[{"interruptId": question["id"], "status": "cancelled"}])
    assert answer_of(events) == "It is not booked."


class Planned(MessagesState):
    stops: list[str]
    report: str
    secret: str


async def test_named_channels_are_shared() -> None:
    graph = one_node(lambda state: {"stops": [*state.get("stops", []), "tower"], "secret": "s"}, Planned)
    async with asked_of(block("shared").shared(graph)) as ask:
        events = await ask("planner", "1", messages=[QUESTION], state={"stops": ["museum"], "secret": "mine"})
    assert viewed(events).state == {"stops": ["museum", "tower"]}


async def test_a_thread_runs_again_from_a_checkpoint() -> None:
    class Trip(MessagesState):
        city: str

    async def choose(state: Trip) -> dict[str, Any]:
        return {"city": "Oslo"}

    async def answer(state: Trip) -> dict[str, Any]:
        return {"messages": [("ai", f"Go to {state['city']}.")]}

    graph = StateGraph(Trip).add_sequence([choose, answer]).add_edge(START, "choose").compile(InMemorySaver())
    agent = Agent(graph, intake=Intake(state={"city"}))
    async with served(agui_app({"trip": agent})) as server, server.client() as client:
        wire = WIRE | {"messages": [{"id": "m", "role": "user", "content": "Where to?"}]}
        assert "Go to Oslo." in (await client.post("/trip", json=wire)).text
        run_from = block("run_from").run_from
        for city in ("Rome", "Bonn"):
            again = await run_from(client, "trip", wire["threadId"], "answer", {"city": city})
            assert f"Go to {city}." in again.text


async def test_a_run_pauses_at_a_node_that_staff_names() -> None:
    async def plan(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", "planned")]}

    async def charge(state: MessagesState) -> dict[str, Any]:
        raise AssertionError("the run was to pause before it")

    graph = StateGraph(MessagesState).add_sequence([plan, charge]).add_edge(START, "plan").compile(InMemorySaver())
    agent = block("agent_for_staff").agent_for_staff(graph, lambda request: "x-staff" in request.headers)
    async with served(agui_app({"shop": agent})) as server, server.client() as client:
        run_until = block("run_until").run_until
        assert (await run_until(client, "shop", "t", "hi", "charge")).status_code == 422
        client.headers["x-staff"] = "yes"
        assert "langgraph:breakpoint" in (await run_until(client, "shop", "t", "hi", "charge")).text


async def test_arguments_are_state_while_they_stream() -> None:
    call = tool_call("write_report", {"text": "All is well in the city."}, fragments=8)
    graph = create_agent(
        ScriptedChatModel(turns=[call, "Done."]), [write_report], state_schema=Reported, checkpointer=InMemorySaver()
    )
    async with asked_of({"planner": block("predicting").predicting(graph)}) as ask:
        events = await ask("planner", "1", messages=[QUESTION])
    assert "PredictState" in [event.get("name") for event in events]
    assert [event for event in events if event["type"].startswith("STATE_") and "All is" in json.dumps(event)]


class Reported(AgentState[Any]):
    report: NotRequired[str]


def write_report(text: str) -> str:
    """Writes a report."""
    return text


async def test_a_tool_says_how_far_it_is() -> None:
    turns = [tool_call("read_files", {"names": ["a.txt", "b.txt"]}, "call_1"), "Done."]
    graph = create_agent(ScriptedChatModel(turns=turns), [block("read_files").read_files], checkpointer=InMemorySaver())
    async with asked_of({"reader": Agent(graph)}) as ask:
        events = await ask("reader", "1", messages=[QUESTION])
    (activity,) = [message for message in viewed(events).messages if message["role"] == "activity"]
    (documented,) = [json.loads(each.code) for each in blocks("json") if each.title == "activity"]
    assert activity == {**documented, "content": {**documented["content"], "status": "done"}}


async def test_a_plan_is_an_activity_of_the_conversation() -> None:
    todos = [{"content": "Look", "status": "pending"}]
    model = ScriptedChatModel(turns=[tool_call("write_todos", {"todos": todos}, "call_1"), "Done."])
    graph = create_agent(model, middleware=[TodoListMiddleware()], checkpointer=InMemorySaver())
    async with asked_of({"planner": block("planning").planning(graph)}) as ask:
        events = await ask("planner", "1", messages=[QUESTION])
    plans = [message["content"] for message in viewed(events).messages if message["id"] == "plan-todos"]
    assert plans == [{"todos": todos}]


class Reading(TypedDict):
    names: list[str]
    progress: float


async def test_progress_is_emitted_while_a_node_runs() -> None:
    graph = one_node(block("index_files").index_files, Reading)
    async with asked_of({"reader": Agent(graph, intake=Intake(state={"names"}))}) as ask:
        events = await ask("reader", "1", messages=[QUESTION], state={"names": ["a", "b"]})
    kinds = [event["type"] for event in events]
    progress = [(viewed(events[:end]).state or {}).get("progress") for end in range(len(events) + 1)]
    assert list(dict.fromkeys(filter(None, progress))) == [0.5, 1.0]
    names = [event["name"] for event in events if event["type"] == "CUSTOM"]
    assert (names.count("file_indexed"), kinds.count("ACTIVITY_SNAPSHOT")) == (2, 2)


async def test_a_graph_finds_its_user() -> None:
    graph = one_node(block("greet").greet)
    async with asked_of({"greeter": graph}, authenticate=lambda request: {"identity": "ada"}) as ask:
        assert answer_of(await ask("greeter", "1", messages=[QUESTION])) == "Hello, ada!"


@pytest.mark.newest
async def test_what_a_summary_replaced_stays_visible() -> None:
    graph = summarising(InMemorySaver())
    async with asked_of({"agent": block("remembering").remembering(graph)}) as ask:
        for turn in range(4):
            await ask("agent", str(turn), messages=[QUESTION | {"id": f"q{turn}", "content": f"{turn}"}])
        events = await ask("agent/connect", "4")
    assert [each["id"] for each in viewed(events).messages if each["role"] == "user"] == ["q0", "q1", "q2", "q3"]


class Question(TypedDict):
    topic: str


class Debated(Question):
    report: str


async def test_a_graph_that_was_not_written_for_chat_shows_its_result(caplog: pytest.LogCaptureFixture) -> None:
    def says(name: str, words: str, **written: str) -> tuple[str, Any]:
        async def node(state: Debated) -> dict[str, str]:
            await ScriptedChatModel(turns=[words]).ainvoke(state["topic"])
            return written

        return name, node

    nodes = [says("route", "Debate it."), says("argue", "Tea is warm."), says("write", "Tea it is.", report="Tea.")]
    graph = StateGraph(Debated, input_schema=Question, output_schema=Question).add_sequence(nodes)
    compiled = graph.add_edge(START, "route").compile(InMemorySaver())
    async with asked_of({"agent": block("debating").debating(compiled)}) as ask:
        events = await ask("agent", "1", messages=[QUESTION], state={"topic": "tea"})
        reloaded = viewed(await ask("agent/connect", "2"))
    assert events[1] == {"type": "CUSTOM", "name": "messages_unused", "value": {"messageIds": [QUESTION["id"]]}}
    assert "What clients send as messages reaches no graph" in caplog.text
    starts = [event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"]
    assert "".join(event.get("delta", "") for event in events if event["type"] == "TEXT_MESSAGE_CONTENT") == (
        "Tea is warm.Tea it is."
    )
    removed = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert (len(starts), len(removed), events.index(removed[0])) == (2, 1, len(events) - 2)
    assert viewed(events).state == reloaded.state == {"topic": "tea", "report": "Tea."}
    assert (viewed(events).messages, reloaded.messages) == ([QUESTION], [])


async def test_a_page_of_the_other_library_is_served_at_its_url() -> None:
    for migrated in (block("migrated").migrated, block("server").server):
        async with asked_of(migrated(one_node(block("ask_first").ask_first))) as ask:
            events = await ask("agent", "1", messages=[QUESTION])
            (question,) = [event for event in events if event.get("name") == "on_interrupt"]
            assert "outcome" not in events[-1]
            answer = {"command": {"resume": {"book": True}, "interruptEvent": question["value"]}}
            events = await ask("agent", "2", forwardedProps=answer)
            connected = await ask("agent/connect", "3")
        assert answer_of(events) == answer_of(connected) == "It is booked."


async def test_forwarded_props_reach_a_graph_by_a_hook() -> None:
    graph = one_node(lambda state: {"messages": [("ai", "Hello.")]})
    system = {"id": "s", "role": "system", "content": "Obey."}
    async with asked_of({"agent": block("tenant_agent").tenant_agent(graph)}) as ask:
        await ask("agent", "1", messages=[system, QUESTION], forwardedProps={"tenant": "acme"})
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    assert (state.metadata["tenant"], len(state.values["messages"])) == ("acme", 2)


async def test_a_thread_is_run_over_a_socket() -> None:
    asks = block("asked_over_a_socket").asked_over_a_socket
    app = agui_app({"planner": FIXTURES["plain_text"].build(InMemorySaver())}, websocket=True)
    async with served(app, ws="websockets-sansio") as server:
        url = server.url.replace("http", "ws")
        assert await asks(f"{url}/planner/ws?thread=lisbon", "hi")


async def listened(graph: Any) -> None:
    async for _ in watch(graph, "t"):
        pass


@pytest.mark.parametrize("has_another_reader", [True, False])
async def test_the_events_of_a_thread_are_copied_each_once(has_another_reader: bool) -> None:
    """The copying stops in the middle of a run, and is begun again before the run goes on."""
    recipe, point = block("copied"), Pause()
    graph = speaking(point, InMemorySaver())
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(recipe.TABLE)

        def rows() -> list[tuple[str | None, dict[str, Any]]]:
            found = database.execute("SELECT offset, event FROM events ORDER BY rowid").fetchall()
            return [(offset, json.loads(event)) for offset, event in found]

        async def until_row(kind: str) -> None:
            copying = asyncio.create_task(recipe.copied(graph, "t", database))
            await until(lambda: any(event["type"] == kind for _, event in rows()))
            copying.cancel()
            await asyncio.wait([copying])

        async with AsyncExitStack() as stack:
            if has_another_reader:
                other = asyncio.create_task(listened(graph))
                stack.callback(other.cancel)
            run = await start(graph, HELLO, {"configurable": {"thread_id": "t"}})
            await point.reached.wait()
            await until_row("TEXT_MESSAGE_START")
            point.open.set()
            await until_row("RUN_FINISHED")
        offsets = [offset for offset, _ in rows() if offset is not None]
        assert len(set(offsets)) == len(offsets)
        view = ClientView()
        for _, event in rows():
            view.apply(event)
        assert view.messages == run.view.messages
        if has_another_reader:
            assert [event["type"] for _, event in rows()].count("RUN_STARTED") == 1


def provider(asked: list[dict[str, Any]]) -> Starlette:
    """The API of OpenAI, with a model that calls `weather` and `show_on_map`, and then repeats their results. `asked`
    gets the requests."""

    async def complete(request: Request) -> StreamingResponse:
        asked.append(await request.json())
        results = [message["content"] for message in asked[-1]["messages"] if message["role"] == "tool"]
        calls = [
            {"index": index, "id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": given}}
            for index, (name, given) in enumerate([("weather", '{"city": "Lisbon"}'), ("show_on_map", "{}")])
        ]
        deltas: list[dict[str, Any]] = [{"content": " ".join(results)} if results else {"tool_calls": calls}, {}]
        lines = [
            {
                "id": f"completion-{len(asked)}",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": "gpt-5",
                "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}],
            }
            for delta in deltas
        ]
        sse = "".join(f"data: {json.dumps(line)}\n\n" for line in lines)
        return StreamingResponse(iter([sse, "data: [DONE]\n\n"]), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


async def test_a_pages_tool_beside_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first code of the recipe, as it is typed, with a server of the model's provider."""
    (sent,) = (json.loads(one.code) for one in blocks("json") if '"call_map"' in one.code)
    asked: list[dict[str, Any]] = []
    async with served(provider(asked)) as openai:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{openai.url}/v1")
        graph = block("weather").graph
        graph.checkpointer = InMemorySaver()  # as `serve` does
        async with asked_of({"a": graph}) as ask:
            first = await ask("a", "run-1", messages=sent["messages"][:1], tools=sent["tools"])
            assert first[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["call_show_on_map"]}
            done = {"id": "3", "role": "tool", "toolCallId": "call_show_on_map", "content": "It is shown."}
            last = await ask("a", "run-2", messages=[*sent["messages"][:1], done])
    assert answer_of(last) == "It is sunny in Lisbon. It is shown."
    assert [[one["function"]["name"] for one in each["tools"]] for each in asked] == [
        ["weather", "show_on_map"],
        ["weather"],
    ]


async def test_an_aborted_request_stops_the_run_behind_the_runtime() -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def rest(_: MessagesState) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    app = block("behind_the_runtime").behind_the_runtime(one_node(rest))
    async with served(app) as server, server.client() as client:
        async with client.stream("POST", "/planner", json={**WIRE, "messages": [QUESTION]}):
            await begun.wait()
        await stopped.wait()
