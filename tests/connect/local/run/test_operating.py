"""Operating runs of this process: their log lines, their summary, timeouts, and nodes that cannot be cancelled."""

import asyncio
import logging
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, RunConflictError, Runs, RunSummary, cancel, run, start
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, text

from fixtures.graphs.speech import speaker
from fixtures.scripts import end
from tests.support.clients.asking import asked
from tests.support.clients.batch_readers import BatchReader, turns, until
from tests.support.clients.locally import connected
from tests.support.streams.cleaning import Cleaning
from tests.support.streams.pausing_graphs import HELLO, Graph, asking, on, quick, speaking

LOGGER = "langgraph_agui.connect.local.run"


class Blocking:
    """A graph whose first node is a synchronous function, which waits in a thread until `returns` is set."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.returns = threading.Event()
        self.raises = False

    def graph(self) -> Graph:
        def block(state: MessagesState) -> dict[str, Any]:
            if not self.returns.is_set():
                self.entered.set()
                self.returns.wait()
            if self.raises:
                raise ValueError("too late")
            return {"messages": [AIMessage("Returned.", id="returned-1")]}

        graph = StateGraph(MessagesState).add_node("block", block).add_edge(START, "block")
        return graph.compile(InMemorySaver())


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith(LOGGER)]


async def test_a_runs_start_readers_and_end_are_in_the_log_and_its_end_in_the_hook(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    summaries: list[RunSummary] = []
    model = ScriptedChatModel(turns=[text("At once.") + end(input_tokens=7, output_tokens=3)])
    graph = StateGraph(MessagesState).add_node("speak", speaker(model)).add_edge(START, "speak").compile()
    async with Runs(after_run=summaries.append) as runs:
        first = await runs.start(graph, HELLO, on("t"), run_id="r", agent="a")
        listener = BatchReader()
        await listener.hear(first.attach(listener.reader))
        await first.wait()
    (summary,) = summaries
    where = "(agent 'a', thread 't', run 'r')."
    assert lines(caplog) == [
        f"Run started {where}",
        f"Reader attached; 0 others read {where}",
        f"Run finished after {summary.seconds:.3f} s: {len(listener.events)} events, 7 input tokens, 3 output tokens "
        + where,
    ]
    usage_of_the_end = tuple(listener.events[-1]["usage"])
    assert summary == RunSummary(
        "a", "t", "r", "finished", summary.seconds, len(listener.events), usage_of_the_end, None
    )
    assert summary.seconds >= 0


async def test_each_outcome_is_in_the_summary_and_a_hook_may_be_asynchronous() -> None:
    summaries: list[tuple[str, str, str | None]] = []

    async def note(summary: RunSummary) -> None:
        await asyncio.sleep(0)
        summaries.append((summary.run_id, summary.outcome, summary.code))

    graph = asking(point := Pause(), InMemorySaver())
    async with Runs(after_run=note) as runs:
        await (await runs.start(graph, HELLO, on("t"), run_id="asks")).wait()
        cancelled = await runs.start(speaking(point), HELLO, on("u"), run_id="cancelled")
        await cancelled.cancel()
        await (await runs.start(quick(), None, on("v"), run_id="fails")).wait()
    assert sorted(summaries) == [
        ("asks", "interrupted", None),
        ("cancelled", "cancelled", None),
        ("fails", "failed", "EmptyInputError"),
    ]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_hook_that_raises_is_logged_and_changes_nothing_else(
    is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(summary: RunSummary) -> None:
        raise ValueError("the hook's fault")

    async def fail_later(summary: RunSummary) -> None:
        fail(summary)

    graph = quick(InMemorySaver())
    async with Runs(after_run=fail_later if is_async else fail) as runs:
        for run_id in ("r1", "r2"):
            assert await (await runs.start(graph, HELLO, on("t"), run_id=run_id)).wait() == "finished"
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert logged == [f"after_run raised (agent 'LangGraph', thread 't', run '{each}')." for each in ("r1", "r2")]


async def test_a_run_that_exceeds_its_timeout_fails_and_its_thread_is_free(caplog: pytest.LogCaptureFixture) -> None:
    graph = speaking(point := Pause(), InMemorySaver())
    async with Runs() as runs:
        source = Local(graph, runs=runs, agent="a", timeout=0.01)
        async with asyncio.timeout(60):
            events = [event async for event in run(source, asked("hello", "r"))]
        last = events[-1].model_dump(by_alias=True, exclude_none=True)
        assert (last["type"], last["code"]) == ("RUN_ERROR", "timeout")
        assert last["message"] == "The run did not end within 0.01 seconds."
        point.open.set()
        source.timeout = None
        assert (await connected(source)).events[-1]["code"] == "timeout"
        again = [event.type.value async for event in run(source, asked("hello", "r2"))]
        assert again[-1] == "RUN_FINISHED"
    expected = "The run exceeded its timeout of 0.01 seconds and is stopped (agent 'a', thread 't', run 'r')."
    assert expected in lines(caplog)


async def test_a_run_that_ends_within_its_timeout_is_not_stopped() -> None:
    async with Runs() as runs:
        assert await (await start(quick(), HELLO, on("t"), runs=runs, timeout=60)).wait() == "finished"
        for timeout in (0, -1):
            with pytest.raises(ValueError, match="timeout: expected more than 0"):
                await start(quick(), HELLO, on("t"), runs=runs, timeout=timeout)
            with pytest.raises(ValueError, match="timeout: expected more than 0"):
                Local(quick(), timeout=timeout)


async def test_a_run_can_be_iterated_from_where_it_is() -> None:
    graph = speaking(point := Pause())
    async with Runs() as runs:
        first = await runs.start(graph, HELLO, on("t"), run_id="r")
        await point.reached.wait()
        stream = aiter(first)
        events = [await anext(stream)]
        point.open.set()
        events += [event async for event in stream]
        assert [event.type.value for event in events][:1] == ["RUN_STARTED"]
        assert events[-1].type.value == "RUN_FINISHED"
        spoken = "".join(getattr(event, "delta", "") for event in events if event.type == "TEXT_MESSAGE_CONTENT")
        assert spoken == "one two three four"
        late = [event.type.value async for event in first]
        assert (late[0], late[-1]) == ("RUN_STARTED", "RUN_FINISHED")


async def test_readers_see_at_once_that_a_synchronous_node_is_cancelled_and_the_thread_is_busy_until_it_returns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    blocking = Blocking()
    async with Runs() as runs:
        source = Local(blocking.graph(), runs=runs, agent="a")
        first = await runs.start(source.graph, HELLO, on("t"), run_id="r", agent="a")
        await asyncio.to_thread(blocking.entered.wait)
        listener = BatchReader()
        reading = asyncio.create_task(listener.hear(first.attach(listener.reader)))
        assert await first.cancel(wait=0) == "stopping"
        await reading
        assert listener.events[-1]["outcome"] == {"type": "cancelled"}
        assert (runs.run_on(source.key("t")), first.status) == (first, "stopping")
        with pytest.raises(RunConflictError, match="stopping"):
            await runs.start(source.graph, HELLO, on("t"), agent="a")
        assert (await connected(source)).events[-1]["outcome"] == {"type": "cancelled"}
        stopping = asyncio.create_task(cancel(source, "t"))
        await until(lambda: bool(lines(caplog)))
        blocking.raises = True
        blocking.returns.set()
        assert await stopping == "stopped"
        assert (first.status, runs.run_on(source.key("t"))) == ("cancelled", None)
    assert lines(caplog) == [
        "The run has ended, and 1 synchronous functions still run (agent 'a', thread 't', run 'r').",
        "A synchronous function raised after its run (agent 'a', thread 't', run 'r').",
    ]


async def test_readers_see_a_cancel_before_the_graph_has_cleaned_up() -> None:
    cleaning = Cleaning()
    async with Runs() as runs:
        first = await runs.start(cleaning.graph(), HELLO, on("t"))
        await cleaning.reached.wait()
        listener = BatchReader()
        reading = asyncio.create_task(listener.hear(first.attach(listener.reader)))
        await until(lambda: first.readers == 1)
        stopping = asyncio.create_task(first.cancel())
        await cleaning.stopping.wait()
        await turns()
        assert (reading.done(), first.status) == (True, "stopping")
        assert listener.events[-1]["outcome"] == {"type": "cancelled"}
        cleaning.cleaned.set()
        assert await stopping == "cancelled"


@pytest.mark.parametrize("busy", ["reject", "queue", "cancel"])
async def test_an_input_waits_for_the_synchronous_node_of_a_run_that_was_cancelled(busy: Any) -> None:
    blocking = Blocking()
    async with Runs() as runs:
        source = Local(blocking.graph(), runs=runs)
        first = await runs.start(source.graph, HELLO, on("t"), run_id="r")
        await asyncio.to_thread(blocking.entered.wait)
        assert await first.cancel(wait=0) == "stopping"
        events = run(source, asked("again", "r2"), intake=Intake(busy=busy))
        coming = asyncio.create_task(anext(events))
        while not (coming.done() or await runs.store.has_inputs(source.key("t"))):
            await turns(1)
        await turns()
        assert not coming.done()
        blocking.returns.set()
        kinds = [(await coming).type.value, *[event.type.value async for event in events]]
        assert (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED")
        assert first.status == "cancelled"


async def test_a_registry_closes_although_a_graph_does_not_stop(caplog: pytest.LogCaptureFixture) -> None:
    blocking = Blocking()
    runs = Runs(close_wait=0)
    stuck = await runs.start(blocking.graph(), HELLO, on("t"), run_id="r", agent="a")
    await asyncio.to_thread(blocking.entered.wait)
    expected = "The graph of the run does not stop; it is left running (agent 'a', thread 't', run 'r')."
    closing = asyncio.create_task(runs.aclose())
    try:
        await until(lambda: closing.done() or caplog.messages.count(expected) > 1)
        assert (closing.done(), stuck.status, caplog.messages.count(expected)) == (True, "stopping", 1)
    finally:
        blocking.returns.set()
        await closing
    assert await stuck.wait() == "cancelled"
