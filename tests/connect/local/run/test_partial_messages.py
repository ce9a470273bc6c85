"""`Intake(on_cancel="save")`: the text that a stopped run had emitted is in its thread, after a reload and for the next
run."""

import logging
from typing import Any, TypedDict

import pytest
from ag_ui.core import RunAgentInput
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect import Intake, Local, Runs, cancel, connect, thread
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, text, tool_call
from langgraph_agui.translator import Options

from fixtures.graphs.speech import said, speaker
from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS
from tests.support.clients.asking import Asker, asked
from tests.support.clients.batch_readers import turns
from tests.support.clients.live_client import LiveClients
from tests.support.clients.locally import state_of
from tests.support.servers.serving import served
from tests.support.streams.pausing_graphs import Graph, pausing, speaking

SAVES = Intake(on_cancel="save")


async def stopped(graph: Graph, point: Pause, runs: Runs, intake: Intake = SAVES) -> Asker:
    """A client that stopped its run at the point."""
    asker = Asker(Local(graph, runs=runs), asked("hello", "r"), intake)
    await point.reached.wait()
    await turns()
    assert await cancel(Local(graph, runs=runs), "t") == "stopped"
    await asker.task
    return asker


async def contents(graph: Graph) -> list[str]:
    return [str(message.content) for message in (await state_of(graph)).values["messages"]]


async def reloaded(graph: Graph, runs: Runs) -> tuple[list[str], Any]:
    """What a client gets that connects: the texts, and the end of the last run."""
    events = [event.model_dump(by_alias=True) async for event in connect(Local(graph, runs=runs), "t")]
    snapshot = next(event for event in events if event["type"] == "MESSAGES_SNAPSHOT")
    return [message["content"] for message in snapshot["messages"]], events[-1]["outcome"]["type"]


async def test_the_partial_message_of_a_stopped_run_is_saved_and_the_next_run_has_it() -> None:
    point = Pause()
    graph = speaking(point, InMemorySaver())
    async with Runs() as runs:
        asker = await stopped(graph, point, runs)
        emitted = next(event["messageId"] for event in asker.events if event["type"] == "TEXT_MESSAGE_START")
        partial = (await state_of(graph)).values["messages"][-1]
        assert (partial.id, partial.content, partial.tool_calls) == (emitted, "one two ", [])
        assert await reloaded(graph, runs) == (["hello", "one two "], "cancelled")
        point.open.set()
        again = Asker(Local(graph, runs=runs), asked("go on", "r2"), SAVES)
        await again.task
    assert await contents(graph) == ["hello", "one two ", "go on", "one two three four"]
    point = Pause()
    discarding = speaking(point, InMemorySaver())
    async with Runs() as runs:
        await stopped(discarding, point, runs, Intake())
        assert await contents(discarding) == ["hello"]


class _Plain(TypedDict):
    messages: list[BaseMessage]


async def test_a_conversation_without_a_reducer_keeps_its_messages() -> None:
    point = Pause()
    model = pausing(point)

    async def speak(state: _Plain) -> _Plain:
        return {"messages": [*state["messages"], await model.ainvoke(state["messages"])]}

    graph = StateGraph(_Plain).add_node("speak", speak).add_edge(START, "speak").compile(InMemorySaver())
    async with Runs() as runs:
        await stopped(graph, point, runs)
    assert await contents(graph) == ["hello", "one two "]


async def test_only_what_the_run_emitted_is_saved_where_the_client_keeps_what_the_graph_removed() -> None:
    point = Pause()
    second = [*text("one two three four")[:2], point, *text("one two three four")[2:], *end()]
    model = ScriptedChatModel(
        turns=[text("First.") + end(), second], turn_of=lambda messages: int(messages[-1].content == "go on")
    )

    async def shorten(state: MessagesState) -> dict[str, Any]:
        return {"messages": [RemoveMessage(str(each.id)) for each in state["messages"] if each.type == "ai"]}

    graph = StateGraph(MessagesState).add_node("greet", speaker(said("Hi."))).add_node("shorten", shorten)
    graph = graph.add_node("speak", speaker(model)).add_edge(START, "greet").add_edge("greet", "shorten")
    compiled = graph.add_edge("shorten", "speak").compile(InMemorySaver())
    keep = Options(history="keep")
    async with Runs() as runs:
        source = Local(compiled, runs=runs)
        await Asker(source, asked("hello", "r"), SAVES, keep).task
        asker = Asker(source, asked("go on", "r2"), SAVES, keep)
        await point.reached.wait()
        await turns()
        await cancel(source, "t")
        await asker.task
    assert "MESSAGES_SNAPSHOT" in asker.kinds
    assert await contents(compiled) == ["hello", "go on", "one two "]


async def test_half_a_tool_call_is_not_saved() -> None:
    for script, saved in (
        (text("Let me ") + tool_call("look", {"city": "Paris"}, "c1"), ["hello", "Let me "]),
        (tool_call("look", {"city": "Paris"}, "c1"), ["hello"]),
    ):
        point = Pause()
        model = ScriptedChatModel(turns=[[*script[:4], point, *script[4:], *end()]])
        graph = StateGraph(MessagesState).add_node("speak", speaker(model)).add_edge(START, "speak")
        async with Runs() as runs:
            compiled = graph.compile(InMemorySaver())
            asker = await stopped(compiled, point, runs)
            assert "TOOL_CALL_ARGS" in asker.kinds
            assert await contents(compiled) == saved


async def test_what_finished_beside_it_is_kept_and_the_graph_continues_behind_the_node() -> None:
    point = Pause()

    async def note(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("Noted.", id="noted")]}

    below = StateGraph(MessagesState).add_node("inner", speaker(pausing(point)))
    graph = StateGraph(MessagesState).add_node("note", note).add_node("speak", below.add_edge(START, "inner").compile())
    graph.add_node("after", speaker(ScriptedChatModel(turns=[text("After.") + end()])))
    compiled = (
        graph.add_edge(START, "note").add_edge(START, "speak").add_edge("speak", "after").compile(InMemorySaver())
    )
    async with Runs() as runs:
        await stopped(compiled, point, runs)
        state = await state_of(compiled)
    assert sorted(await contents(compiled)) == ["Noted.", "hello", "one two "]
    assert state.next == ("after",)


async def test_each_message_is_written_as_its_own_node_and_the_graph_continues_behind_each() -> None:
    """Of several that were streaming: the third is one that its node has emitted by hand, beside a silent node."""
    points = [Pause() for _ in range(4)]

    async def by_hand(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        await adispatch_custom_event("manually_emit_message", {"message": "Hm.", "message_id": "hm"}, config=config)
        await points[2]()
        return {}

    async def silent(state: MessagesState) -> dict[str, Any]:
        await points[3]()
        return {}

    graph = StateGraph(MessagesState).add_node("left", speaker(pausing(points[0]))).add_node("by_hand", by_hand)
    graph.add_node("right", speaker(pausing(points[1]))).add_node("silent", silent)
    for name in ("left", "right", "by_hand", "silent"):
        after = speaker(ScriptedChatModel(turns=[text(f"After {name}.") + end()], turn_of=lambda messages: 0))
        graph.add_node(f"after_{name}", after).add_edge(START, name).add_edge(name, f"after_{name}")
    compiled = graph.compile(InMemorySaver())
    intake = Intake(on_cancel="save", dispatched_events=True)
    async with Runs() as runs:
        source = Local(compiled, runs=runs)
        asker = Asker(source, asked("hello", "r"), intake)
        for point in points:
            await point.reached.wait()
        await turns()
        assert await cancel(source, "t") == "stopped"
        await asker.task
        emitted = {event["messageId"] for event in asker.events if event["type"] == "TEXT_MESSAGE_START"}
        state = await state_of(compiled)
        assert sorted(await contents(compiled)) == ["Hm.", "hello", "one two ", "one two "]
        assert {message.id for message in state.values["messages"][1:]} == emitted
        assert sorted(state.next) == ["after_by_hand", "after_left", "after_right"]
        last = asked("hello", "r2").model_copy(update={"messages": (await thread_messages(source))})
        await Asker(source, last, intake).task
    assert sorted(await contents(compiled))[:3] == ["After by_hand.", "After left.", "After right."]


async def thread_messages(source: Local) -> list[Any]:
    """The messages of a client that has loaded the thread."""
    found = await thread(source, "t")
    assert found is not None
    wire = {"threadId": "t", "runId": "r", "messages": found.view.messages}
    return RunAgentInput.model_validate(wire).messages


async def test_a_pending_interrupt_stays_and_nothing_is_written(caplog: pytest.LogCaptureFixture) -> None:
    point = Pause()

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You chose {interrupt('Which?')}.", id="choice")]}

    async def note(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("Noted.", id="noted")]}

    graph = StateGraph(MessagesState).add_node("note", note).add_node("ask", ask).add_edge(START, "ask")
    graph = graph.add_node("speak", speaker(pausing(point))).add_edge(START, "speak").add_edge(START, "note")
    compiled = graph.compile(InMemorySaver())
    caplog.set_level(logging.INFO, "langgraph_agui.connect.local.run.partial_messages")
    async with Runs() as runs:
        await stopped(compiled, point, runs)
        assert [each.value for each in (await state_of(compiled)).interrupts] == ["Which?"]
        assert await reloaded(compiled, runs) == (["hello", "Noted."], "interrupt")
        (line,) = [record.getMessage() for record in caplog.records if "is not saved" in record.getMessage()]
        assert "waits at an interrupt" in line
        assert "thread 't', run 'r'" in line
        point.open.set()
        (waiting,) = (await state_of(compiled)).interrupts
        answer = {"interruptId": waiting.id, "status": "resolved", "payload": "both"}
        given = RunAgentInput.model_validate({"threadId": "t", "runId": "r2", "messages": [], "resume": [answer]})
        await Asker(Local(compiled, runs=runs), given, SAVES).task
    assert sorted(await contents(compiled)) == ["Noted.", "You chose both.", "hello", "one two three four"]


async def test_a_run_without_text_is_stopped_without_a_write() -> None:
    point = Pause()

    async def wait(state: MessagesState) -> dict[str, Any]:
        await point()
        return {}

    async def note(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("Noted.", id="noted")]}

    graph = StateGraph(MessagesState).add_node("note", note)
    compiled = graph.add_node("wait", wait).add_edge(START, "note").add_edge(START, "wait").compile(InMemorySaver())
    async with Runs() as runs:
        await stopped(compiled, point, runs)
    state = await state_of(compiled)
    assert state.next == ("wait",)
    assert state.metadata is not None
    assert state.metadata["source"] == "loop"


async def test_a_graph_that_cannot_take_it_is_free_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    point = Pause()
    model = pausing(point)

    def route(state: MessagesState) -> str:
        raise ValueError("no such way")

    graph = StateGraph(MessagesState).add_node("speak", speaker(model)).add_edge(START, "speak")
    compiled = graph.add_conditional_edges("speak", route, ["speak"]).compile(InMemorySaver())
    caplog.set_level(logging.ERROR)
    async with Runs() as runs:
        await stopped(compiled, point, runs)
        assert runs.running == 0
    assert "What the run had emitted could not be saved" in caplog.text
    assert "thread 't', run 'r'" in caplog.text
    assert await contents(compiled) == ["hello"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_page_that_stops_a_run_continues_with_what_it_has(live: LiveClients, version: str) -> None:
    point = Pause()
    graph = speaking(point, InMemorySaver())
    app = agui_app({"it": Agent(graph, intake=SAVES)})
    async with served(app) as server, server.client() as client:
        page = await live.agent(f"{server.url}/it", version=version)
        running = page.says("hello")
        await page.shows("one two ")
        stop = await client.post("/it/stop", json={"threadId": "t"})
        assert stop.json() == {"stopped": True}
        assert (await running).texts == ["hello", "one two "]
        point.open.set()
        ended = await page.says("go on")
        assert ended.texts == ["hello", "one two ", "go on", "one two three four"]
        reloaded = await (await live.agent(f"{server.url}/it/connect", version=version)).runs()
        assert reloaded.messages == ended.messages
