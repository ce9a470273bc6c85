"""What a client costs that connects to a thread on which nothing runs, in counts: functions of the package entered."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.connect.idle import idle_events
from langgraph_agui.connect.run_outcome import RunOutcome
from langgraph_agui.translator import ClientView, Finished, Options

from tests.translator.test_cost import called

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
    few, many = called(connecting(40, knows_all=knows_all)), called(connecting(1040, knows_all=knows_all))
    more = many - few
    assert more["ordinary"] == 1000
    assert more["_index"] == more["to_agui"] == more["read_content"] == 0
    assert more.total() <= 1000 * 8
