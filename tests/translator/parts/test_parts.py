"""Every shape a stream's part may have is read; what is no part is refused with a line that says how to ask."""

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import STREAM_MODES, Part, PartReader, UnreadablePartError, translate
from langgraph_agui.translator.parts.reader import message_payload
from langgraph_sdk.schema import StreamPart

from fixtures import FIXTURES
from fixtures.run import Conversation
from tests.support.streams.translator_runs import TranslatorRun, run_parts

_DATA = {"messages": [], "count": 1}
_PART = Part((), "values", _DATA)
_INNER = Part(("child:1",), "values", _DATA)
_CHUNK = (AIMessageChunk(content="Hi", id="lc_run--1"), {"langgraph_node": "talk"})

SHAPES = {
    "mode and data": (("values", _DATA), _PART),
    "mode and data with a namespace": ((("child:1",), "values", _DATA), _INNER),
    "v2": ({"type": "values", "ns": ("child:1",), "data": _DATA, "interrupts": ()}, _INNER),
    "a part of the SDK": (StreamPart("values|child:1", _DATA), _INNER),
    "a part of the SDK with an id": (StreamPart("values", _DATA, "17-0"), _PART._replace(id="17-0")),
    "v2 of the SDK": ({"type": "values", "ns": [], "data": _DATA, "interrupts": []}, _PART),
    "a recorded pair": (["values", _DATA], _PART),
    "a recorded triple": ([["child:1"], "values", _DATA], _INNER),
    "a recorded event": ({"event": "values|child:1", "data": _DATA, "id": "17-0"}, _INNER._replace(id="17-0")),
    "a recorded part": ({"ns": ["child:1"], "mode": "values", "data": _DATA, "id": None}, _INNER),
    "a part itself": (_PART, _PART),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_part_is_read(shape: str) -> None:
    given, read = SHAPES[shape]
    (found,) = PartReader().read(given)
    assert found[:4] == read[:4]


def test_a_recorded_part_is_read_as_the_part_was() -> None:
    recorded = json.loads(json.dumps([["child:1"], "values", _DATA]))
    assert run_parts([recorded]).events == run_parts([(("child:1",), "values", _DATA)]).events


def test_interrupts_beside_the_values_of_v2_are_read() -> None:
    (part,) = PartReader().read({"type": "values", "ns": (), "data": _DATA, "interrupts": ("one",)})
    assert part.interrupts == ("one",)


_JSON_CHUNK = [{"type": "AIMessageChunk", "content": "Hi", "id": "lc_run--1"}, {"langgraph_node": "talk"}]
LIVE: dict[str, Any] = {
    "local": ("messages", _CHUNK),
    "v2": {"type": "messages", "ns": ("child:1",), "data": _CHUNK},
    "v2 without a namespace": {"type": "messages", "data": _CHUNK},
    "of the SDK": StreamPart("messages", cast("Any", _JSON_CHUNK)),
    "of the SDK with a namespace": StreamPart("messages|child:1|grandchild:2", cast("Any", _JSON_CHUNK), "17-0"),
    "of the SDK without its class": ("messages|child:1", _JSON_CHUNK, None),
    "v2 of the SDK": {"type": "messages", "ns": ["child:1"], "data": _JSON_CHUNK},
    "a part itself": Part(("child:1",), "messages", _CHUNK, "17-0"),
}


@pytest.mark.parametrize("shape", LIVE)
def test_a_chunk_of_a_live_stream_is_read_at_once(shape: str) -> None:
    (part,) = PartReader().read(LIVE[shape])
    assert [*message_payload(LIVE[shape])] == [*part.data]


class Odd:
    """Raises when it is compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ValueError

    def __repr__(self) -> str:
        return "Odd()"


@pytest.mark.parametrize(
    "raw",
    [
        *(given for given, _ in SHAPES.values()),
        ("messages/partial", [_CHUNK[0]], None),
        ("messages-tuple", _JSON_CHUNK),
        ("messages", _CHUNK, None, None),
        (5, "messages", _CHUNK),
        ({"child:1": 1}, "messages", _CHUNK),
        ((), Odd(), _CHUNK),
        (),
        ("messages",),
        {"type": "messages", "ns": "child:1", "data": _CHUNK},
        {"type": "messages", "event": "messages", "data": _CHUNK},
        {"type": "messages"},
        {"type": Odd()},
        None,
        _CHUNK[0],
    ],
    ids=str,
)
def test_other_parts_have_no_message(raw: Any) -> None:
    found = None
    with suppress(AttributeError, IndexError, KeyError, ValueError):
        found = message_payload(raw)
    assert found is None


@pytest.mark.parametrize(
    "payload",
    [
        (*_CHUNK, 1),
        _CHUNK[0],
        (_CHUNK[0], ["langgraph_node"]),
    ],
    ids=str,
)
def test_a_malformed_message_is_refused_while_another_streams(payload: Any) -> None:
    run = TranslatorRun()
    for _ in range(3):
        run.feed(("messages", _CHUNK))
    with pytest.raises(UnreadablePartError, match=r"\(message, metadata\)"):
        run.feed(("messages", payload))


REFUSED: dict[str, Any] = {
    "a payload of one bare mode": {"messages": [], "count": 1},
    "a bare token": _CHUNK,
    "a bare custom payload": "half way",
    "a bare payload with its namespace": (("child:1",), {"count": 1}),
    "an event of astream_events": {"event": "on_chat_model_stream", "data": {"chunk": "x"}, "run_id": "1"},
    "an event of astream_events v3": {"type": "event", "seq": 1, "method": "messages", "params": {}},
    "nothing": None,
    "an empty tuple": (),
    "four values": ((), "values", {}, 1),
    "an event name that is none": {"event": 5, "data": {}},
    "a message without its metadata": ("messages", AIMessageChunk(content="Hi")),
    "a server's message without its metadata": {"event": "messages", "data": {"type": "ai", "content": "Hi"}},
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_part_is_refused_and_changes_nothing(what: str) -> None:
    reader = PartReader()
    with pytest.raises(UnreadablePartError):
        reader.read(REFUSED[what])
    assert reader.source is None


@pytest.mark.parametrize("what", [what for what in REFUSED if "without its" not in what and "that is none" not in what])
def test_a_refusal_says_how_to_ask(what: str) -> None:
    with pytest.raises(UnreadablePartError, match=r"stream_mode=STREAM_MODES, a list"):
        PartReader().read(REFUSED[what])


async def _asked(mode: Any) -> list[Any]:
    """The parts of a graph's stream asked for in this way, up to the first refusal."""
    conversation = Conversation(FIXTURES["plain_text"])
    graph = conversation.graph
    given = await conversation.given(FIXTURES["plain_text"].turns[0])
    return [part async for part in graph.astream(given, conversation.config, stream_mode=mode)]


@pytest.mark.parametrize("mode", ["values", "updates", "messages", tuple(STREAM_MODES)])
async def test_a_stream_asked_for_in_another_way_is_refused(mode: Any) -> None:
    parts = await _asked(mode)
    with pytest.raises(UnreadablePartError, match="stream_mode=STREAM_MODES"):
        run_parts(parts)


async def test_events_of_astream_events_are_refused_by_name() -> None:
    conversation = Conversation(FIXTURES["plain_text"])
    given = await conversation.given(FIXTURES["plain_text"].turns[0])
    events = [event async for event in conversation.graph.astream_events(given, conversation.config, version="v2")]
    with pytest.raises(UnreadablePartError, match="astream_events"):
        run_parts(events)


@pytest.mark.parametrize("mode", ["checkpoints", "debug", "tools", "events", "lifecycle", "a mode of tomorrow"])
def test_a_mode_that_is_not_used_is_passed_over(mode: str) -> None:
    assert run_parts([(mode, {"anything": 1})]).feeds[1] == []


def test_a_state_with_channels_named_as_the_fields_of_an_envelope_is_a_state() -> None:
    state = {"type": "event", "method": "post"}
    assert run_parts([("values", state)]).view.state == state


def test_a_state_with_a_channel_called_type_is_no_envelope() -> None:
    assert run_parts([("values", {"type": "event", "count": 1})]).view.state == {"type": "event", "count": 1}


async def test_a_part_that_cannot_be_read_ends_the_stream_and_is_raised() -> None:
    async def parts() -> AsyncIterator[Any]:
        yield ("values", {"messages": []})
        yield ("messages", _CHUNK)
        yield {"not": "a part"}

    kinds: list[str] = []

    async def read() -> None:
        async for event in translate(parts(), thread_id="t", run_id="r"):
            kinds.append(event.type.value)  # noqa: PERF401 - what came before the exception counts

    with pytest.raises(UnreadablePartError, match="a mapping with the keys not"):
        await read()
    assert kinds[-3:] == ["TEXT_MESSAGE_END", "ACTIVITY_SNAPSHOT", "RUN_ERROR"]


@pytest.mark.parametrize("known", ["checkpoints", "debug", "tools", "events"])
def test_a_mode_that_langgraph_does_not_have_is_in_the_log_once(known: str, caplog: pytest.LogCaptureFixture) -> None:
    run_parts([("token", "hello"), ("token", "again"), (known, {})])
    assert [record.getMessage() for record in caplog.records] == [
        "Parts of the unknown mode 'token' are ignored (thread 'thread-1', run 'run-1')."
    ]
