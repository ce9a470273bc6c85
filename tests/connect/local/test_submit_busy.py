"""A second input for a thread on which a run is running, in a graph of this process."""

import asyncio
from typing import Any
from unittest.mock import AsyncMock

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, InvalidInputError, Local, Runs, submission
from langgraph_agui.connect.errors import code_of
from langgraph_agui.connect.inputs.planning import make_plan
from langgraph_agui.connect.inputs.request import RunRequest
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import ClientView

from tests.support.clients.asking import WORDS, Asker, asked, held_up
from tests.support.clients.batch_readers import turns, until
from tests.support.streams.chats import said
from tests.support.streams.pausing_graphs import asking, speaking


@pytest.mark.parametrize("text", ["again", "edited"])
async def test_what_was_carried_out_while_its_input_waited_is_not_run_again(text: str) -> None:
    """The same message, or edit, is sent twice; what is sent between the two stays."""
    async with held_up() as (source, point, _):
        given = asked(text, "first" if text == "edited" else "second").model_copy(update={"run_id": "second"})
        later = asked("more", "third", given.messages[0].model_dump(by_alias=True))
        queued = []
        for each in (given, later, given.model_copy(update={"run_id": "fourth"})):
            queued.append(Asker(source, each, Intake(busy="queue")))
            await until(lambda: source.runs.queue.on(source.key("t")) == len(queued))
        point.open.set()
        await asyncio.gather(*(each.task for each in queued))
        before = [] if text == "edited" else ["hello", WORDS]
        assert await said(source.graph) == [*before, text, WORDS, "more", WORDS]
        view = ClientView(given.messages, {})
        for event in queued[-1].events:
            view.apply(event)
        assert [each["content"] for each in view.messages] == await said(source.graph)
        assert (view.run_id, view.terminal["outcome"]["type"] if view.terminal else None) == ("fourth", "success")


async def test_a_question_that_is_sent_again_while_it_is_answered_runs_once() -> None:
    """The run has written the question by then. Under another run id, this is the same request."""
    ran: list[str] = []

    async def look_up(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        ran.append(config["configurable"]["run_id"])
        return {"messages": [AIMessage("looked up", id=f"looked-{len(ran)}")]}

    point = Pause()

    async def answer(state: MessagesState) -> dict[str, Any]:
        await point()
        return {"messages": [AIMessage("the answer", id=f"answer-{len(ran)}")]}

    builder = StateGraph(MessagesState).add_node("look_up", look_up).add_node("answer", answer)
    graph = builder.add_edge(START, "look_up").add_edge("look_up", "answer").compile(InMemorySaver())
    async with Runs() as runs:
        source, given = Local(graph, runs=runs), asked("hello", "first")
        first = Asker(source, given)
        await point.reached.wait()
        later = asked("more", "third", given.messages[0].model_dump(by_alias=True))
        sent = (given.model_copy(update={"run_id": "second"}), later, given.model_copy(update={"run_id": "fourth"}))
        queued = []
        for each in sent:
            queued.append(Asker(source, each, Intake(busy="queue")))
            await until(lambda: runs.queue.on(source.key("t")) == len(queued))
        point.open.set()
        await asyncio.gather(first.task, *(each.task for each in queued))
        assert ran == ["first", "third"]
        assert await said(graph) == ["hello", "looked up", "the answer", "more", "looked up", "the answer"]
        assert all(each.kinds[-1] == "RUN_FINISHED" for each in queued)


async def test_an_answer_is_made_anew_though_its_input_waited() -> None:
    async with held_up() as (source, point, first):
        point.open.set()
        await first.task
        point.open.clear()
        point.reached.clear()
        second = Asker(source, asked("more", "second"))
        await point.reached.wait()
        again = Asker(source, asked("hello", "first").model_copy(update={"run_id": "third"}), Intake(busy="queue"))
        await until(lambda: source.runs.queue.on(source.key("t")) == 1)
        point.open.set()
        await asyncio.gather(second.task, again.task)
        assert await said(source.graph) == ["hello", WORDS]


async def test_a_queued_run_happens_though_nobody_reads_any_more() -> None:
    async with held_up() as (source, point, first):
        second = Asker(source, asked("again", "second"), Intake(busy="queue"))
        await turns()
        await second.leave()
        point.open.set()
        await first.task
        await until(lambda: (going := source.runs.run_on(source.key("t"))) is not None and going.run_id == "second")
        going = source.runs.run_on(source.key("t"))
        assert going is not None
        assert await going.wait() == "finished"


async def test_a_queued_run_is_given_up_with_its_reader_if_the_owner_says_so() -> None:
    async with held_up() as (source, point, first):
        second = Asker(source, asked("again", "second"), Intake(busy="queue", on_disconnect="cancel"))
        await turns()
        await second.leave()
        point.open.set()
        await first.task
        await turns(20)
        assert (source.runs.run_on(source.key("t")), await said(source.graph)) == (None, ["hello", WORDS])


async def test_a_queued_run_ends_with_its_registry() -> None:
    point = Pause()
    async with Runs() as runs:
        source = Local(speaking(point, InMemorySaver(), WORDS), runs=runs)
        first = Asker(source, asked("hello", "first"))
        await point.reached.wait()
        second = Asker(source, asked("again", "second"), Intake(busy="queue"))
        await turns()
    await asyncio.gather(first.task, second.task)
    assert [(event["type"], event["code"]) for event in second.events] == [("RUN_ERROR", "shutdown")]


async def test_an_agents_queued_runs_end_with_its_runs() -> None:
    point = Pause()
    async with Runs() as runs:
        graph = speaking(point, InMemorySaver(), WORDS)
        source, other = Local(graph, agent="a", runs=runs), Local(graph, agent="b", runs=runs)
        running = [Asker(each, asked("hello", f"{each.agent}-1", thread=f"{each.agent}")) for each in (source, other)]
        await until(lambda: runs.running == 2)
        queued = [
            Asker(each, asked("again", f"{each.agent}-2", thread=f"{each.agent}"), Intake(busy="queue"))
            for each in (source, other)
        ]
        await until(lambda: len(runs.queue.tasks) == 2)
        await runs.stop(source.agent_key)
        assert (runs.running, len(runs.queue.tasks)) == (1, 1)
        point.open.set()
        await asyncio.gather(*(each.task for each in (*running, *queued)))
        assert [each.events[-1].get("code") for each in queued] == ["shutdown", None]


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), InvalidInputError("no such message")])
async def test_what_a_queued_input_fails_in_is_logged_and_its_readers_are_told(
    error: Exception, reads: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with held_up() as (source, point, first):
        second = Asker(source, asked("again", "second"), Intake(busy="queue"))
        await until(lambda: len(source.runs.queue.tasks) == 1)
        if not reads:
            await second.leave()
        monkeypatch.setattr(submission, "make_plan", AsyncMock(side_effect=error))
        point.open.set()
        await first.task
        await until(lambda: not source.runs.queue.tasks)
        await turns()
        codes = [event.get("code") for event in second.events]
        assert codes == ([code_of(error)] if reads else [])
        assert "agent 'LangGraph', thread 't', run 'second'" in caplog.text


async def test_what_a_message_fails_in_that_came_with_an_answer_is_logged_and_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(asking: RunRequest, *rest: Any, **more: Any) -> Any:
        if asking.follows:
            raise ZeroDivisionError("a bug")
        return await make_plan(asking, *rest, **more)

    monkeypatch.setattr(submission, "make_plan", failing)
    point = Pause()
    point.open.set()
    async with Runs() as runs:
        source = Local(asking(point, InMemorySaver()), agent="chat", runs=runs)
        first = Asker(source, asked("hello", "first"))
        await first.task
        waits = first.events[-1]["outcome"]["interrupts"][0]["id"]
        resume = [{"interruptId": waits, "status": "resolved", "payload": "yes"}]
        hello = {"id": "user-first", "role": "user", "content": "hello"}
        second = Asker(source, asked("and this", "second", hello, resume=resume))
        await second.task
    assert second.kinds[-2:] == ["RUN_FINISHED", "RUN_ERROR"]
    assert second.events[-1]["code"] == "internal_error"
    assert "agent 'chat', thread 't', run 'second'" in caplog.text
