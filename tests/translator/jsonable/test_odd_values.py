"""Values that are no JSON, wherever they may stand, from a part to the real client: never an exception, always got."""

import dataclasses
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import attrs
import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph_agui.translator import (
    Cancelled,
    ClientView,
    Failed,
    Finished,
    Lost,
    Options,
    Translator,
    encode,
    to_model,
)
from langgraph_agui.translator.endings import Ending
from langgraph_agui.translator.jsonable.to_json import to_json
from pydantic import BaseModel

from tests.support.clients.agui_client import AguiClient
from tests.support.random.examples import examples
from tests.support.random.odd_values import Raises, refusals, values
from tests.support.streams.translator_runs import Event, left_open


class _Mood(Enum):
    GOOD = "good"


class _Model(BaseModel):
    x: int


@dataclasses.dataclass
class _Pair:
    left: int
    right: Any


@attrs.define
class _Described:
    x: int


def _cycle() -> Any:
    loop: list[Any] = [1]
    loop.append(loop)
    return loop


def _deep(levels: int) -> Any:
    value: Any = "leaf"
    for _ in range(levels):
        value = [value]
    return value


class _Unreadable:
    """Raises when anything is asked of it but its class: LangChain itself asks a message's content for that."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return _Unreadable
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("==")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "_Unreadable()"


def _blocks(odd: Any) -> list[Any]:
    return [{"type": "text", "text": odd}, {"type": odd}, {"type": "image", "base64": odd, "source": odd}]


def _metadata(odd: Any) -> dict[str, Any]:
    keys = ("tags", "lc_source", "lc_agent_name", "predict_state")
    return dict.fromkeys((*keys, "emit-messages", "ls_provider", "ls_model_name"), odd)


ODD: dict[str, Any] = {
    "nan": float("nan"),
    "infinity": float("inf"),
    "a huge int": 2**70,
    "an int beyond 2**53": 2**53 + 1,
    "an int of 5000 digits": 10**5000,
    "bytes": b"\x00\xff",
    "a datetime": datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    "a date": date(2026, 1, 2),
    "a timedelta": timedelta(seconds=90),
    "a uuid": UUID(int=1),
    "a decimal": Decimal("1.10"),
    "a set": {3, 1, 2},
    "a tuple": (1, (2,)),
    "an enum": _Mood.GOOD,
    "a model": _Model(x=1),
    "a dataclass": _Pair(1, {2}),
    "attrs": _Described(1),
    "a numpy array": np.arange(4).reshape(2, 2),
    "a numpy scalar": np.float32(0.5),
    "keys that collide": {1: "int", "1": "str", None: "none", "null": "str"},
    "lone surrogates": "a\ud800b",
    "a key of surrogates": {"\udc00": 1},
    "a cycle": _cycle(),
    "a thousand levels": _deep(1000),
    "an object that raises": _Unreadable(),
    "a class": _Model,
    "a function": len,
    "an exception": ValueError("no"),
    "a message": HumanMessage("hi", id="1"),
    "a nul": "\0",
}

PLACES: dict[str, Any] = {
    "state": lambda odd: [
        ("values", {"channel": odd}),
        ("updates", {"n": {"channel": odd}}),
        ("values", {"channel": odd}),
    ],
    "the root of the state": lambda odd: [("values", odd)],
    "a custom payload": lambda odd: [("custom", odd)],
    "the value of a custom event": lambda odd: [("custom", {"name": "mine", "value": odd})],
    "the type of a custom payload": lambda odd: [("custom", {"type": odd, "name": "x"})],
    "an activity": lambda odd: [
        ("custom", {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "X", "content": {"odd": odd}})
    ],
    "an interrupt": lambda odd: [("updates", {"__interrupt__": ({"id": "i", "value": odd, "response_schema": odd},)})],
    "what a node returned": lambda odd: [("updates", {"n": odd})],
    "a tool's arguments": lambda odd: [
        ("values", {"messages": [AIMessage("", id="a", tool_calls=[{"name": "t", "args": {"odd": odd}, "id": "c"}])]})
    ],
    "a tool's content": lambda odd: [
        ("values", {"messages": [ToolMessage.model_construct(content=odd, id="r", tool_call_id="c", type="tool")]})
    ],
    "an answer's content": lambda odd: [
        ("values", {"messages": [AIMessage.model_construct(content=odd, id="a", type="ai")]})
    ],
    "a streamed message": lambda odd: [("messages", (odd, {"langgraph_node": "n"}))],
    "the metadata of a message": lambda odd: [("messages", (AIMessage("hi", id="a"), _metadata(odd)))],
    "structured output": lambda odd: [("values", {"structured_response": odd})],
    "a task": lambda odd: [("tasks", {"id": "1", "name": "n", "input": odd})],
    "an error": lambda odd: [("error", odd)],
}


def _told(parts: list[Any], ending: Ending | None = None) -> tuple[list[Event], ClientView]:
    run = Translator("t", "r", view=ClientView([], {}))
    events = run.start()
    for part in parts:
        events += run.feed(part)
    return [*events, *run.finish(ending)], run.view


@pytest.mark.parametrize("place", PLACES)
def test_every_odd_value_reaches_the_client(place: str, agui_client: AguiClient) -> None:
    for what, odd in ODD.items():
        events, view = _told(PLACES[place](odd))
        answer = agui_client.play(frames=b"".join(encode(event) for event in events))
        assert (what, answer.error, answer.warnings) == (what, None, [])
        assert (what, answer.state) == (what, view.state)
        assert (what, answer.messages) == (what, view.messages)


@pytest.mark.parametrize("place", [place for place in PLACES if "content" not in place and "metadata" not in place])
def test_an_object_that_hides_its_class_reaches_the_client(place: str, agui_client: AguiClient) -> None:
    events, view = _told(PLACES[place](Raises()))
    answer = agui_client.play(events)
    assert (answer.error, answer.warnings, answer.state) == (None, [], view.state)


def test_an_odd_value_becomes_the_same_every_time() -> None:
    for what, odd in ODD.items():
        frames = [[encode(event) for event in _told(PLACES["state"](odd))[0]] for _ in range(2)]
        assert (what, frames[0]) == (what, frames[1])


def test_an_odd_value_in_the_state_is_emitted_once() -> None:
    for what, odd in ODD.items():
        kinds = [event["type"] for event in _told(PLACES["state"](odd))[0]]
        assert (what, kinds.count("STATE_SNAPSHOT") + kinds.count("STATE_DELTA")) == (what, 1)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except (RuntimeError, TypeError):
        return False
    return True


_GOOD = {"a": "good", "messages": [HumanMessage("good", id="good")]}


def _beside(odd: Any) -> dict[str, list[Any]]:
    """Parts in which a value stands beside a good channel and a good message."""
    messages = _GOOD["messages"]
    calls = [{"name": "t", "args": {"odd": odd}, "id": "c"}]
    inner = {"type": "image", "base64": odd, "source": odd}
    return {
        "a channel": [("values", {"odd": odd, **_GOOD})],
        "inside a channel": [("values", {"odd": [{"x": (odd,)}], **_GOOD})],
        "a channel's name": [("values", {odd: 1, **_GOOD} if _hashable(odd) else _GOOD)],
        "the messages": [("values", {**_GOOD}), ("values", {"messages": odd, "a": "good"}), ("values", {**_GOOD})],
        "a message": [("values", {"a": "good", "messages": [odd, *messages]})],
        "a message's content": [
            ("values", {"a": "good", "messages": [AIMessage.model_construct(content=odd, id="1"), *messages]})
        ],
        "a block": [
            ("values", {"a": "good", "messages": [AIMessage.model_construct(content=[odd], id="1"), *messages]})
        ],
        "a block's field": [
            ("values", {"a": "good", "messages": [AIMessage.model_construct(content=[inner], id="1"), *messages]})
        ],
        "a call's arguments": [
            ("values", {"a": "good", "messages": [AIMessage("", id="1", tool_calls=calls), *messages]})
        ],
        "a streamed message": [("messages", (odd, _TASK)), ("values", _GOOD)],
        "a message's metadata": [("messages", (AIMessage("x", id="1"), _metadata(odd))), ("values", _GOOD)],
        "a node's name": [("updates", {odd: {"a": 1}} if _hashable(odd) else {}), ("values", _GOOD)],
        "a node's output": [("updates", {"n": odd, "m": {"messages": [odd]}}), ("values", _GOOD)],
        "a payload": [("custom", odd), ("custom", {"type": odd, "name": odd, "value": odd}), ("values", _GOOD)],
        "a task": [("tasks", odd), ("tasks", {"id": odd, "name": odd, "input": odd}), ("values", _GOOD)],
        "an interrupt": [
            ("values", _GOOD),
            ("updates", {"__interrupt__": (odd, {"id": "i", "value": odd}, {"id": "good", "value": "good"})}),
        ],
    }


@pytest.mark.parametrize("at", range(len(refusals())), ids=lambda at: f"{type(refusals()[at]).__mro__[:2]}")
def test_a_value_that_raises_costs_only_itself(at: int) -> None:
    for where, parts in _beside(refusals()[at]).items():
        events, view = _told(parts)
        assert {"a": "good"}.items() <= view.state.items(), where
        assert [message["content"] for message in view.messages if message["id"] == "good"] == ["good"], where
        assert left_open(events) == [], where
        for event in events:
            encode(event)
        if where == "an interrupt":
            assert "good" in [asked["id"] for asked in events[-1]["outcome"]["interrupts"]]


def test_a_messages_channel_that_raises_costs_no_other_channel() -> None:
    for odd in refusals():
        _, view = _told([("values", {"a": 0}), ("values", {"messages": odd, "a": "good"})])
        assert view.state["a"] == "good"


def test_a_node_name_that_raises_costs_no_other_node() -> None:
    for odd in filter(_hashable, refusals()):
        events, _ = _told([("updates", {odd: None, "good": None})])
        assert "good" in [event.get("stepName") for event in events]


@pytest.mark.parametrize("ending", [Finished, lambda odd: Finished([odd], {"a": odd}, odd), Failed, Lost])
def test_an_ending_that_raises_is_an_ending(ending: Any) -> None:
    for odd in refusals():
        events, _ = _told([("values", _GOOD)], ending(odd))
        assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        encode(events[-1])


def test_values_that_cannot_be_read_cost_one_log_line_a_run(caplog: pytest.LogCaptureFixture) -> None:
    values = {"a": [Raises() for _ in range(1000)], "b": {1: Raises()}}
    _told([("values", values), ("custom", Raises()), ("values", {**values, "c": 1})])
    replaced = "<tests.support.random.odd_values.Raises: cannot be read>"
    line = f"A value cannot be read and is replaced by {replaced!r} (thread 't', run 'r')."
    assert [record.getMessage() for record in caplog.records] == [line]
    caplog.clear()
    _told([("values", values)])
    assert [record.getMessage() for record in caplog.records] == [line]


def test_each_value_that_cannot_be_read_outside_a_run_costs_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    replaced = "<tests.support.random.odd_values.Raises: cannot be read>"
    assert to_json([Raises()] * 3) == [replaced] * 3
    line = f"A value cannot be read and is replaced by {replaced!r}."
    assert [record.getMessage() for record in caplog.records] == [line] * 3
    assert all(record.exc_info for record in caplog.records)


def test_events_around_the_deepest_values_can_be_written(agui_client: AguiClient) -> None:
    deep = _deep(1000)
    image = {"type": "image", "url": "u", "extras": {"d": deep}}
    asks = HumanMessage([image], id="h")
    calls = AIMessage("x", id="a", tool_calls=[{"id": "c", "name": "t", "args": {"d": deep}}])
    result = ToolMessage([image], tool_call_id="c", id="t")
    parts = [
        ("values", {"messages": [asks], "a": deep}),
        ("custom", {"d": deep}),
        ("custom", {"type": "ACTIVITY_SNAPSHOT", "messageId": "q", "activityType": "z", "content": {"d": deep}}),
        ("messages", (calls, _TASK)),
        ("messages", (result, _TASK)),
        ("values", {"messages": [asks, calls, result], "a": [deep], "b": {"x": {"y": deep}}}),
        ("updates", {"__interrupt__": ({"id": "i", "value": deep},)}),
    ]
    run = Translator("t", "r", Options(raw_events=True), view=ClientView([], {}))
    events = [*run.start(), *(event for part in parts for event in run.feed(part)), *run.finish()]
    frames = [encode(event) for event in events]
    assert [orjson.loads(frame[6:]) for frame in frames] == events
    assert sum(b"<too deep>" in frame for frame in frames) >= len(parts)
    assert all(encode(to_model(event)) for event in events)
    assert events[-1]["outcome"]["type"] == "interrupt"
    assert agui_client.play(events).accepted


_TASK = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1"}
_MODES = ["values", "custom", "tasks", "metadata", "error", "checkpoints"]
_ACCUMULATED = ["messages/partial", "messages/complete", "messages/metadata"]
_PARTS = st.one_of(
    st.tuples(st.sampled_from(_MODES), values()),
    st.tuples(st.just("values"), st.dictionaries(st.sampled_from(["messages", "a", "type"]), values())),
    st.tuples(st.just("updates"), st.dictionaries(st.sampled_from(["__interrupt__", "__metadata__", "n"]), values())),
    st.tuples(st.just("messages"), st.tuples(values(), st.just(_TASK))),
    st.tuples(st.sampled_from(_ACCUMULATED), st.lists(values(), max_size=2)),
    st.tuples(st.just(("tools:1",)), st.sampled_from(["values", "custom"]), values()),
)
_ENDINGS: st.SearchStrategy[Ending | None] = st.one_of(
    st.just(None),
    st.just(Cancelled()),
    st.builds(Failed, values()),
    st.builds(Lost, values()),
    st.builds(lambda one, other: Finished([one], {"a": other}, one), values(), values()),
)


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(_PARTS, max_size=4), _ENDINGS)
def test_nothing_in_a_part_can_raise_out_of_a_translator(parts: list[Any], ending: Ending | None) -> None:
    events, _ = _told(parts, ending)
    assert left_open(events) == []
    for event in events:
        encode(event)
