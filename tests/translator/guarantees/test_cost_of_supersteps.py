"""The work of a superstep does not grow with the model calls of earlier ones, and those are let go of: also without a
messages channel, and deep in a subgraph whose root step goes on."""

import gc
import sys
from types import FrameType
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langgraph_agui.translator import ClientView
from langgraph_agui.translator.messages.model_calls import ModelCall

from tests.support.streams.translator_runs import TranslatorRun

EARLY, LATE = 20, 60


def superstep(number: int, ns: tuple[str, ...], *, answered: bool) -> list[Any]:
    """One model call and the end of its superstep, in a graph without a messages channel."""
    task = "|".join([*ns, f"work:{number}"])
    metadata = {"langgraph_node": "work", "langgraph_checkpoint_ns": task, "ls_model_type": "chat"}
    call = tool_call_chunk(name="look", args="{}", id=f"call-{number}", index=0)
    chunks: list[AIMessageChunk] = [
        AIMessageChunk(content="One ", id=f"m{number}"),
        AIMessageChunk(content="two.", id=f"m{number}"),
        AIMessageChunk(content="", id=f"m{number}", tool_call_chunks=[call]),
        AIMessageChunk(content="", id=f"m{number}", chunk_position="last"),
    ]
    result = {"type": "tool", "id": f"r{number}", "tool_call_id": f"call-{number}", "content": "found"}
    parts: list[Any] = [(ns, "messages", (chunk, metadata)) for chunk in chunks]
    parts += [(ns, "messages", (result, metadata))] if answered else []
    return [*parts, (ns, "updates", {"work": {"count": number}}), (ns, "values", {"count": number})]


def work(run: TranslatorRun, parts: list[Any]) -> int:
    """How many function calls the translator makes for these parts."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        # Each step of a generator is a call. Others' finalizers may run here too, and do not count.
        calls += event == "call" and "translator" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        for part in parts:
            run.translator.feed(part)
    finally:
        sys.setprofile(None)
    return calls


def model_calls() -> int:
    """How many there are that were not here before `gc.freeze`."""
    gc.collect()
    return sum(type(item) is ModelCall for item in gc.get_objects())


@pytest.mark.parametrize("answered", [True, False], ids=["answered", "unanswered"])
@pytest.mark.parametrize("ns", [(), ("agent:1",)], ids=["root", "subgraph"])
def test_a_superstep_costs_the_same_however_many_came_before(ns: tuple[str, ...], answered: bool) -> None:
    run = TranslatorRun(view=ClientView([], {}), source="local")
    gc.collect()
    gc.freeze()  # the objects of the tests before are millions
    run.feed(((), "values", {"count": 0}))
    costs: dict[int, int] = {}
    for number in range(1, LATE + 1):
        parts = superstep(number, ns, answered=answered)
        if number in (EARLY, LATE):
            costs[number] = work(run, parts)
        else:
            for part in parts:
                run.translator.feed(part)
    assert costs[LATE] == costs[EARLY]
    run.feed(((), "values", {"count": LATE + 1}))
    assert model_calls() <= 1
    run.finish()
    assert run.view.messages == []  # nobody has saved any
