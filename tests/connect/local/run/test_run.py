"""Runs of this process: they belong to nobody who asked for them, and end once, as their graph does."""

import asyncio
import logging
from contextlib import aclosing
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local
from langgraph_agui.connect import run as answer
from langgraph_agui.connect.local.run.queued_inputs import AgentKey
from langgraph_agui.connect.local.run.run import Run
from langgraph_agui.connect.local.run.runs import Runs, RunSetup
from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import Cancelled, ClientView, Failed, Options, Translator

from fixtures import FIXTURES
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.asking import asked
from tests.support.clients.batch_readers import BatchReader, turns
from tests.support.clients.locally import connected, state_of
from tests.support.streams.pausing_graphs import HELLO, fast, on, quick, speaking, waiting, without_messages


async def listened(run: Run, view: ClientView | None = None) -> BatchReader:
    listener = BatchReader(view)
    return await listener.hear(run.attach(listener.reader))


# --- a run and its readers --------------------------------------------------------------------------------------------


async def test_a_run_goes_on_without_readers() -> None:
    async with Runs() as runs:
        run = await runs.start(quick(), HELLO, on("t"))
        assert await run.wait() == "finished"
        assert [message["role"] for message in run.view.messages] == ["user", "assistant"]


async def test_a_run_goes_on_when_its_reader_goes_away() -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(speaking(point), HELLO, on("t"))
        async with aclosing(run.attach(BatchReader().reader)) as told:
            await anext(told)
        point.open.set()
        assert await run.wait() == "finished"


async def test_a_run_is_cancelled_when_its_last_reader_goes_away_if_that_was_asked_for() -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(speaking(point), HELLO, on("t"), on_disconnect="cancel")
        async with (
            aclosing(run.attach(BatchReader().reader)) as first,
            aclosing(run.attach(BatchReader().reader)) as second,
        ):
            await anext(first)
            await anext(second)
            await point.reached.wait()
            await first.aclose()
            await turns()
            assert run.status == "running"
        assert await run.wait() == "cancelled"
        assert point.is_cancelled


async def test_a_run_is_told_as_started_before_it_had_a_turn() -> None:
    async with Runs() as runs:
        run = await runs.start(quick(), HELLO, on("t"), run_id="r")
        assert run.view.catch_up() == [
            {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
        ]


async def test_a_reader_that_comes_in_mid_sentence_holds_it_whole_in_the_end(agui_client: AguiClient) -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(speaking(point), HELLO, on("t"))
        await point.reached.wait()
        await turns()
        listener = BatchReader()
        async with aclosing(run.attach(listener.reader)) as told:
            listener.take(await anext(told))
            assert listener.view.messages[-1]["content"] == "one two "
            point.open.set()
            await listener.hear(told)
        answer = agui_client.play(listener.events, mode="connect")
        assert answer.accepted
        assert answer.messages[-1]["content"] == "one two three four"


async def test_half_said_text_of_a_graph_without_messages_is_told_to_who_comes_late() -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(without_messages(point), {"topic": "x", "notes": []}, on("t"))
        await point.reached.wait()
        await turns()
        listener = BatchReader()
        async with aclosing(run.attach(listener.reader)) as told:
            listener.take(await anext(told))
        assert [message["content"] for message in listener.view.messages] == ["one two "]


async def test_the_client_that_asked_is_told_only_what_it_lacks() -> None:
    view = ClientView(messages=[{"id": "user-1", "role": "user", "content": "hello"}], state={})
    async with Runs() as runs:
        run = await runs.begin(RunSetup(graph=quick(), input=HELLO, config=on("t"), view=view))
        listener = await listened(run, view)
        assert "MESSAGES_SNAPSHOT" not in listener.kinds
        assert view.messages == [{"id": "user-1", "role": "user", "content": "hello"}]


async def test_readers_of_many_things_said_at_once_keep_up() -> None:
    async with Runs() as runs:
        run = await runs.start(fast(1_500), {"messages": []}, on("t"))
        listener = await listened(run)
        said = [event["value"] for event in listener.events if event["type"] == "CUSTOM"]
        assert said == list(range(1_500))


@pytest.mark.parametrize("version", ["1.0", None])
async def test_the_protocol_version_is_each_readers(version: str | None) -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(speaking(point), HELLO, on("t"), options=Options(protocol_version=None))
        await run.cancel()
        listener = await listened(run)
        last = listener.batches[-1][-1].model(version)
        assert last is not None
        assert last.type.value == ("RUN_ERROR" if version is None else "RUN_FINISHED")


# --- how it ends ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fixture", "status"),
    [
        ("plain_text", "finished"),
        ("interrupt_in_node", "interrupted"),
        ("interrupt_in_subgraph", "interrupted"),
        ("breakpoint_before", "interrupted"),
        ("node_raises", "failed"),
        ("model_raises_mid_text", "failed"),
        ("recursion_limit", "failed"),
    ],
)
async def test_a_run_ends_as_its_graph_does(fixture: str, status: str, agui_client: AguiClient) -> None:
    made = FIXTURES[fixture]
    async with Runs() as runs:
        config = {**made.config, **on("t")}
        run = await runs.start(made.build(InMemorySaver()), made.turns[0].input, config)
        listener = await listened(run)
        assert run.status == status
        answer = agui_client.play(listener.events, mode="connect")
        assert answer.accepted


@pytest.mark.parametrize("limit", [25, 26])
async def test_the_recursion_limit_of_the_config_is_the_runs(limit: int) -> None:
    """LangChain takes 25 for its own default, and LangGraph's is another one."""
    limits = []

    async def node(state: MessagesState, config: RunnableConfig) -> None:
        limits.append(config["recursion_limit"])

    graph: Any = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(InMemorySaver())
    intake = Intake(config={"recursion_limit": limit}, dispatched_events=True)
    async with Runs() as runs:
        assert [event async for event in answer(Local(graph, runs=runs), asked("hello", "r"), intake=intake)]
    assert limits == [limit]


async def test_what_a_graph_raises_is_the_runs_end_and_nobodys_exception() -> None:
    async with Runs() as runs:
        run = await runs.start(FIXTURES["node_raises"].build(None), HELLO, on("t"))
        listener = await listened(run)
        assert isinstance(run.ending, Failed)
        assert listener.events[-1] == {"type": "RUN_ERROR", "message": "nothing here", "code": "LookupError"}


class _Raises(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        raise OSError("no space left for logs")


@pytest.mark.parametrize("what", ["the translator", "the log", "the registry"])
async def test_whatever_raises_at_the_end_of_a_run_frees_its_thread(
    what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, agui_client: AguiClient
) -> None:
    raising, log = FIXTURES["node_raises"].build(InMemorySaver()), logging.getLogger(Run.__module__)
    runs = Runs()  # its end would wait for a thread that is not free
    async with asyncio.timeout(20):
        with monkeypatch.context() as patch:
            if what == "the translator":
                patch.setattr(Translator, "finish", Mock(side_effect=ValueError("no end")))
            elif what == "the log":
                patch.setattr(log, "filters", [_Raises()])
            else:
                patch.setattr(Run, "as_last", Mock(side_effect=ValueError("no memory")))
            run = await runs.start(raising, HELLO, on("t"), run_id="first", agent="chat")
            listener = await listened(run)
            assert await run.wait() == "failed"
        assert runs.running == 0
        assert (listener.kinds[-1], agui_client.play(listener.events, mode="connect").warnings) == ("RUN_ERROR", [])
        assert what == "the log" or "agent 'chat', thread 't', run 'first'" in caplog.messages[-1]
        assert await (await runs.start(quick(InMemorySaver()), HELLO, on("t"), agent="chat")).wait() == "finished"


@pytest.mark.parametrize("on_disconnect", ["continue", "cancel"])
async def test_a_graph_runs_on_when_translating_it_raises(
    on_disconnect: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, agui_client: AguiClient
) -> None:
    point = Pause()
    graph = waiting(point, InMemorySaver())
    monkeypatch.setattr(Translator, "feed", Mock(side_effect=ValueError("no event")))
    async with asyncio.timeout(20), Runs() as runs:
        run = await runs.start(graph, HELLO, on("t"), run_id="r", agent="chat", on_disconnect=on_disconnect)
        listener = await listened(run)  # its stream ends while the graph is still running
        assert run.status == "running"
        point.open.set()
        assert await run.wait() == "failed"
        assert runs.running == 0
        state = await state_of(graph)
        assert (state.next, state.values["messages"][-1].text) == ((), "It is done.")
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == [
            "Translating the run failed, and its graph continues (agent 'chat', thread 't', run 'r')."
        ]
    end = {"type": "RUN_ERROR", "message": "no event", "code": "ValueError"}
    assert (listener.events[-1], agui_client.play(listener.events, mode="connect").warnings) == (end, [])


async def test_a_breakpoint_is_shown_after_translating_its_run_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asyncio.timeout(20), Runs() as runs:
        graph = waiting(Pause(), InMemorySaver())
        graph.interrupt_before_nodes = ["wait"]
        with monkeypatch.context() as patch:
            patch.setattr(Translator, "feed", Mock(side_effect=ValueError("no event")))
            assert await (await runs.start(graph, HELLO, on("t"), agent="chat")).wait() == "failed"
        listener = await connected(Local(graph, runs=runs, agent="chat"))
        assert [item["reason"] for item in (listener.view.outcome or {})["interrupts"]] == ["langgraph:breakpoint"]


async def test_an_input_no_graph_takes_is_the_runs_end() -> None:
    async with Runs() as runs:
        run = await runs.start(quick(), None, on("t"))
        assert await run.wait() == "failed"


async def test_a_config_from_which_no_stream_can_be_made_is_the_runs_end() -> None:
    """LangChain takes callbacks in a list; the thread is free again."""
    graph, config = quick(InMemorySaver()), {**on("t"), "callbacks": ()}
    async with Runs() as runs:
        for _ in range(2):
            run = await runs.begin(
                RunSetup(graph=graph, input=HELLO, config=config, intake=Intake(dispatched_events=True))
            )
            assert await run.wait() == "failed"
        assert runs.active == ()


async def test_cancelling_stops_the_graph_and_closes_what_is_open(agui_client: AguiClient) -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(speaking(point), HELLO, on("t"))
        listener = BatchReader()
        hearing = asyncio.create_task(listener.hear(run.attach(listener.reader)))
        await point.reached.wait()
        await turns()
        await run.cancel()
        await hearing
        assert point.is_cancelled
        assert isinstance(run.ending, Cancelled)
        assert listener.events[-1]["outcome"] == {"type": "cancelled"}
        assert agui_client.play(listener.events, mode="connect").accepted


async def test_cancelling_twice_is_cancelling_once() -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(speaking(point), HELLO, on("t"))
        await point.reached.wait()
        await asyncio.gather(run.cancel(), run.cancel())
        await run.cancel()
        assert run.status == "cancelled"


async def test_a_run_that_is_cancelled_before_it_had_a_turn_is_told_as_cancelled() -> None:
    async with Runs() as runs:
        run = await runs.start(quick(), HELLO, on("t"))
        await run.cancel()
        listener = await listened(run)
        assert listener.kinds == ["RUN_STARTED", "RUN_FINISHED"]
        assert run.status == "cancelled"


async def test_cancelling_a_run_that_has_ended_changes_nothing() -> None:
    async with Runs() as runs:
        run = await runs.start(quick(), HELLO, on("t"))
        await run.wait()
        await run.cancel()
        assert run.status == "finished"


async def test_whoever_stops_waiting_for_a_run_stops_no_run() -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(speaking(point), HELLO, on("t"))
        waiting_for_it = asyncio.create_task(run.wait())
        await point.reached.wait()
        waiting_for_it.cancel()
        await turns()
        assert run.status == "running"


# --- its ids ----------------------------------------------------------------------------------------------------------


async def test_checkpoints_carry_the_run_id() -> None:
    graph = quick(InMemorySaver())
    async with Runs() as runs:
        await (await runs.start(graph, HELLO, on("t"), run_id="r")).wait()
        state = await graph.aget_state(on("t"))  # type: ignore[arg-type]
        assert (state.metadata or {})["run_id"] == "r"


@pytest.mark.parametrize(
    ("config", "run_id", "expected"),
    [
        (on("t", run_id="configured"), None, "configured"),
        ({**on("t"), "run_id": UUID(int=7)}, None, str(UUID(int=7))),
        (on("t", run_id="configured"), "given", "given"),
    ],
)
async def test_the_run_id_is_the_one_that_was_given(config: Any, run_id: str | None, expected: str) -> None:
    async with Runs() as runs:
        assert (await runs.start(quick(), HELLO, config, run_id=run_id)).run_id == expected


async def test_a_run_without_an_id_gets_one_of_its_own() -> None:
    async with Runs() as runs:
        first, second = [await runs.start(quick(), HELLO, on(thread_id)) for thread_id in "ab"]
        assert UUID(first.run_id) != UUID(second.run_id)


async def test_a_graph_without_a_checkpointer_needs_no_thread_id() -> None:
    async with Runs() as runs:
        run = await runs.start(quick(), HELLO)
        assert await run.wait() == "finished"
        assert UUID(run.thread_id)


async def test_a_graph_with_a_checkpointer_needs_a_thread_id() -> None:
    async with Runs() as runs:
        with pytest.raises(ValueError, match="thread_id"):
            await runs.start(quick(InMemorySaver()), HELLO, {})


async def test_what_is_no_compiled_graph_is_refused() -> None:
    async with Runs() as runs:
        with pytest.raises(TypeError, match="compiled graph, got str"):
            await runs.start("graph", HELLO)  # type: ignore[arg-type]


async def test_an_unknown_choice_of_what_a_disconnect_does_is_refused() -> None:
    async with Runs() as runs:
        with pytest.raises(ValueError, match="on_disconnect: expected one of"):
            await runs.start(quick(), HELLO, on_disconnect="stop")  # type: ignore[arg-type]


@pytest.mark.parametrize("thread_id", ["a/b", ".", "t"])
@pytest.mark.parametrize("run_id", ["r/1", "..", "r"])
async def test_ids_of_this_process_need_not_fit_in_a_url(thread_id: str, run_id: str) -> None:
    async with Runs() as runs:
        run = await runs.start(quick(), HELLO, on(thread_id), run_id=run_id)
        await run.wait()
        assert (run.thread_id, run.run_id) == (thread_id, run_id)


async def test_stopping_an_agent_waits_for_its_queued_inputs_also_where_none_of_its_runs_is_left() -> None:
    ended = []

    async def queued() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("queued")

    async with Runs() as runs:
        runs.queue.own(queued(), agent="agent", thread=ThreadKey("place", "t"), run_id="r")
        await asyncio.sleep(0)
        await runs.stop(AgentKey("agent", "elsewhere"))
        assert (ended, runs.busy) == ([], 1)
        await runs.stop(AgentKey("agent", "place"))
        assert (ended, runs.busy) == (["queued"], 0)


async def test_leaving_the_registry_cancels_what_runs_and_waits_for_its_end() -> None:
    point = Pause()
    async with Runs() as runs:
        run = await runs.start(waiting(point, InMemorySaver()), HELLO, on("t"), run_id="r")
        await point.reached.wait()
    assert (run.status, point.is_cancelled, runs.running) == ("cancelled", True, 0)
