"""What a client costs that connects to a thread on which nothing runs, in counts: functions of the package entered, and
turns of the event loop that other tasks get meanwhile."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import connect_sse
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.connect.idle import idle_events
from langgraph_agui.connect.run_outcome import RunOutcome
from langgraph_agui.translator import ClientView, Finished, Options, Translator
from langgraph_agui.translator.checkpoint import message_cache
from langgraph_agui.translator.content.read_blocks import read_content
from langgraph_agui.translator.convert.ordinary import ordinary
from langgraph_agui.translator.convert.to_agui import to_agui

from tests.support.counting import count_calls

OPTIONS = Options(first_state="delta")


def conversation(count: int) -> list[AnyMessage]:
    messages: list[AnyMessage] = []
    for at in range(0, count, 4):
        call = {"name": "look_up", "args": {"query": str(at)}, "id": f"call-{at}"}
        messages += [
            HumanMessage("asked", id=f"human-{at}"),
            AIMessage("", id=f"asks-{at}", tool_calls=[call]),
            ToolMessage("found", tool_call_id=f"call-{at}", id=f"tool-{at}"),
            AIMessage("answered", id=f"answer-{at}", response_metadata={"finish_reason": "stop"}),
        ]
    return messages


def connecting(count: int, *, knows_all: bool) -> Callable[[], Any]:
    values = {"messages": conversation(count)}
    outcome, view = RunOutcome("run", values, Finished((), values)), None
    if knows_all:
        first = Reader(OPTIONS)
        idle_events(first, "thread", outcome, OPTIONS)
        view = ClientView(first.view.messages, first.view.state)
    return lambda: idle_events(Reader(OPTIONS, view), "thread", outcome, OPTIONS)


@pytest.mark.parametrize("knows_all", [False, True])
def test_a_message_of_an_idle_thread_is_converted_once_and_not_indexed(knows_all: bool) -> None:
    few, many = count_calls(connecting(40, knows_all=knows_all)), count_calls(connecting(1040, knows_all=knows_all))
    assert many.of(ordinary) - few.of(ordinary) == 1000
    assert many.of(to_agui) == many.of(read_content) == 0
    assert many.total() - few.total() <= 1000 * 8


def test_the_first_values_of_a_run_are_read_once() -> None:
    messages = conversation(40)
    run = Translator("thread", "run", view=ClientView([], {}))
    run.start()
    assert count_calls(lambda: run.feed(("values", {"messages": messages}))).of(message_cache._digests) == 1


class Turns(InMemorySaver):
    """A checkpointer that notes how many turns another task has had when a checkpoint was read last."""

    count = at_read = 0

    async def another_task(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.count += 1

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = await super().aget_tuple(config)
        self.at_read = self.count
        return found


async def turns_while_connecting(messages: int) -> int:
    """How many turns another task gets from when the thread has been read until its events are there."""
    turns = Turns()
    graph = StateGraph(MessagesState).add_node("keep", lambda state: {}).add_edge(START, "keep").compile(turns)
    await graph.aupdate_state({"configurable": {"thread_id": "t"}}, {"messages": conversation(messages)})
    other = asyncio.create_task(turns.another_task())
    try:
        async for _ in connect_sse(graph, "t"):
            return turns.count - turns.at_read
        raise AssertionError("the thread is empty")
    finally:
        other.cancel()


async def test_other_tasks_run_while_a_long_thread_is_connected() -> None:
    assert await turns_while_connecting(4000) > await turns_while_connecting(4)
