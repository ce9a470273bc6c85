"""A chunk that only continues its message takes the short way, and gives the events that the long way gives.

With raw events every chunk takes the long way: without these, the events of both runs are the same.
"""

from itertools import permutations, product
from random import Random
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, ToolCallChunk
from langgraph_agui.translator import ClientView, Finished, Options, Translator
from langgraph_sdk.schema import StreamPart

from fixtures.recordings import Source, as_json, recordings
from tests.support.random.examples import examples
from tests.support.random.random_streams import FORMS, Graph
from tests.support.streams.translator_runs import Event
from tests.support.sweeps import CHOSEN, Choice, every

TASKS = {name: {"langgraph_node": name, "langgraph_checkpoint_ns": f"{name}:1", "ls_provider": "p"} for name in "ab"}


def events_of(parts: list[Any], **options: Any) -> list[Event]:
    run = Translator("thread", "run", Options(**options), ClientView([], {}))
    events = [*run.start(), *(event for part in parts for event in run.feed(part)), *run.finish(Finished())]
    return [event for event in events if event["type"] != "RAW"]


def long_way(parts: list[Any], **options: Any) -> list[Event]:
    return events_of(parts, raw_events=True, **options)


@pytest.mark.parametrize("source", ["local", "platform", "platform-v2"])
def test_a_recorded_stream_has_the_same_events_either_way(source: Source) -> None:
    for recording in recordings(source):
        assert events_of(recording.parts) == long_way(recording.parts), recording.fixture


def chunk(content: Any = "", message_id: str = "lc_run--1", task: str = "a", **more: Any) -> Any:
    return ((), "messages", (AIMessageChunk(content=content, id=message_id, **more), TASKS[task]))


def fragment(args: str | None, index: int = 0, *, name: str | None = None, call_id: str | None = None) -> Any:
    part = ToolCallChunk(name=name, args=args, id=call_id, index=index, type="tool_call_chunk")
    return chunk(tool_call_chunks=[part])


STEPS = {
    "text": chunk("word "),
    "empty": chunk(""),
    "block": chunk([{"type": "text", "text": "block ", "index": 0}]),
    "thought": chunk([{"type": "thinking", "thinking": "hm ", "index": 1}]),
    "begins a call": fragment("", name="look", call_id="c1"),
    "more of the call": fragment('{"a": '),
    "begins another call": fragment('{"b": ', 1, name="look", call_id="c2"),
    "more of the other": fragment("1", 1),
    "begins a third call in its place": fragment("", name="look", call_id="c3"),
    "under another id": chunk("other ", "msg_1"),
    "thought under another id": chunk([{"type": "thinking", "thinking": "hm ", "index": 1}], "msg_1"),
    "beside it": chunk("beside ", "lc_run--2", "b"),
    "with a finish reason": chunk("cut", response_metadata={"finish_reason": "length"}),
}


PREDICTED: dict[str, Any] = {"predict_state": [{"state_key": "b", "tool": "look"}]}
HOW = [*product([False, True], [{}, PREDICTED])]
"""Whether chunks are JSON, and the options."""


@CHOSEN
def test_any_order_of_chunks_has_the_same_events_either_way(chosen: Choice) -> None:
    """In `make test` each order in one of the forms, in turn."""
    for number, names in enumerate(permutations(STEPS, 3)):
        for is_json, options in HOW if chosen is every else [HOW[number % len(HOW)]]:
            parts = [STEPS[name] for name in ("text", *names, *names[:2])]
            if is_json:
                parts = [StreamPart("messages", as_json(data)) for _, _, data in parts]
            assert events_of(parts, **options) == long_way(parts, **options), (names, is_json, options)


@pytest.mark.parametrize("form", FORMS)
def test_a_random_stream_has_the_same_events_either_way(form: str) -> None:
    for seed in range(examples(100)):
        parts = Graph(Random(seed), form).run().parts
        assert events_of(parts) == long_way(parts), seed


def test_hidden_text_stays_hidden_after_a_call_has_opened_the_message() -> None:
    metadata = {**TASKS["a"], "emit-messages": False, "lc_agent_name": "ann"}
    parts = [fragment("{}", name="look", call_id="c1"), chunk("secret "), chunk("secret "), chunk("secret ")]
    events = events_of([(ns, mode, (message, metadata)) for ns, mode, (message, _) in parts])
    assert "secret" not in str(events)
    assert [event["type"] for event in events if "MESSAGE" in event["type"]] == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
    ]
