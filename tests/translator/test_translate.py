"""The asynchronous shells: what they hand out, and what becomes of the source."""

import asyncio
from typing import Any
from uuid import UUID

import orjson
import pytest
from ag_ui.core import BaseEvent
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import (
    STREAM_MODES,
    Cancelled,
    ClientView,
    Failed,
    Finished,
    Lost,
    PartReader,
    Translator,
    TranslatorMisuseError,
    translate,
    translate_sse,
)
from langgraph_agui.translator.endings import Ending
from langgraph_sdk.schema import StreamPart

from fixtures import FIXTURES
from fixtures.run import Conversation
from tests.support.streams.translator_runs import left_open, run_parts

_METADATA = {"langgraph_node": "talk", "langgraph_checkpoint_ns": "talk:1", "ls_provider": "scripted"}
_VALUES: Any = ("values", {"messages": []})


def _token(text: str) -> Any:
    return ("messages", (AIMessageChunk(content=text, id="lc_run--1"), _METADATA))


class Source:
    """Parts, then perhaps an exception; it knows whether it was closed."""

    def __init__(
        self,
        *parts: Any,
        raises: BaseException | None = None,
        waits: bool = False,
        close_raises: Exception | None = None,
    ) -> None:
        self.close_raises = close_raises
        self.parts = list(parts)
        self.raises = raises
        self.waits = waits
        self.closed = False
        self.waiting = asyncio.Event()

    def __aiter__(self) -> "Source":
        return self

    async def __anext__(self) -> Any:
        if self.parts:
            return self.parts.pop(0)
        if self.waits:
            self.waiting.set()
            await asyncio.Event().wait()
        if self.raises is not None:
            raise self.raises
        raise StopAsyncIteration

    async def aclose(self) -> None:
        assert not self.closed
        self.closed = True
        if self.close_raises is not None:
            raise self.close_raises


async def _events(stream: Source, **how: Any) -> list[dict[str, Any]]:
    frames = [frame async for frame in translate_sse(stream, thread_id="t", run_id="r", **how)]
    return [orjson.loads(frame.removeprefix(b"data: ")) for frame in frames]


def _stream(name: str) -> Any:
    conversation = Conversation(FIXTURES[name])
    given = FIXTURES[name].turns[0].input
    return conversation.graph.astream(given, conversation.config, stream_mode=STREAM_MODES, subgraphs=True)


async def test_translate_hands_out_models() -> None:
    events = [event async for event in translate(_stream("plain_text"), thread_id="t", run_id="r")]
    assert all(isinstance(event, BaseEvent) for event in events)


async def test_translate_sse_hands_out_the_same_events_as_frames() -> None:
    parts = [_VALUES, _token("Hello"), _token(" you")]
    models = [event async for event in translate(Source(*parts), thread_id="t", run_id="r")]
    dumped = [model.model_dump(mode="json", by_alias=True, exclude_none=True) for model in models]
    assert await _events(Source(*parts)) == dumped


async def test_a_frame_is_one_line_of_data_and_ends_with_line_feeds() -> None:
    async for frame in translate_sse(_stream("agent_one_tool"), thread_id="t", run_id="r"):
        assert frame.startswith(b"data: {")
        assert frame.endswith(b"}\n\n")
        assert b"\r" not in frame
        assert frame.count(b"\n") == 2


async def test_no_field_of_a_frame_is_null() -> None:
    for event in await _events(Source(_VALUES, _token("Hello"))):
        assert None not in event.values()


async def test_a_token_is_handed_out_before_the_next_part_is_asked_for() -> None:
    source = Source(_VALUES, _token("Hello"), waits=True)
    events = translate(source, thread_id="t", run_id="r")
    seen = []
    async for event in events:
        seen.append(event.type.value)
        if seen[-1] == "TEXT_MESSAGE_CONTENT":
            break
    assert not source.closed
    await events.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize("shell", [translate, translate_sse])
@pytest.mark.parametrize("after", [1, 2, 4])
async def test_closing_the_events_closes_the_source(shell: Any, after: int) -> None:
    source = Source(_VALUES, _token("Hello"), _token(" you"))
    events = shell(source, thread_id="t", run_id="r")
    for _ in range(after):
        await anext(events)
    await events.aclose()
    assert source.closed


async def test_the_source_is_closed_when_it_has_ended() -> None:
    source = Source(_VALUES)
    await _events(source)
    assert source.closed


async def test_closing_the_events_stops_the_graph() -> None:
    stream = _stream("parallel_nodes")
    events = translate(stream, thread_id="t", run_id="r")
    await anext(events)
    await anext(events)
    await events.aclose()  # type: ignore[attr-defined]
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_cancellation_passes_through_and_closes_the_source() -> None:
    source = Source(_VALUES, _token("Hello"), waits=True)
    task = asyncio.create_task(_events(source))
    await source.waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed


async def test_a_cancellation_that_the_source_raises_passes_through() -> None:
    with pytest.raises(asyncio.CancelledError):
        await _events(Source(_VALUES, raises=asyncio.CancelledError()))


async def test_an_exception_of_the_source_is_an_event_not_an_exception() -> None:
    events = await _events(Source(_VALUES, _token("Hel"), raises=LookupError("gone")))
    assert events[-1] == {"type": "RUN_ERROR", "message": "gone", "code": "LookupError"}


async def test_what_was_open_is_closed_before_the_error() -> None:
    events = await _events(Source(_VALUES, _token("Hel"), raises=LookupError("gone")))
    assert left_open(events) == []


async def test_a_torn_source_is_lost_where_at_end_says_so() -> None:
    async def at_end() -> Ending:
        return Lost("the connection broke")

    events = await _events(Source(_VALUES, _token("Hel")), at_end=at_end)
    message = "The connection to the run was lost, and the run may continue: the connection broke"
    assert events[-1] == {"type": "RUN_ERROR", "message": message, "code": "lost"}


ENDINGS: dict[str, tuple[Ending | None, str]] = {
    "success": (Finished(), "RUN_FINISHED"),
    "failure": (Failed("no"), "RUN_ERROR"),
    "cancelled": (Cancelled(), "RUN_FINISHED"),
    "nothing known": (None, "RUN_FINISHED"),
}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_at_end_tells_how_the_run_ended(ending: str) -> None:
    given, kind = ENDINGS[ending]

    async def at_end() -> Ending | None:
        return given

    events = await _events(Source(_VALUES), at_end=at_end)
    assert events[-1]["type"] == kind


async def test_an_exception_of_at_end_is_an_event() -> None:
    async def at_end() -> Ending:
        raise TimeoutError("no answer")

    events = await _events(Source(_VALUES), at_end=at_end)
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "TimeoutError")


@pytest.mark.parametrize(("raises", "told"), [(None, "the socket broke"), (LookupError("gone"), "gone")])
async def test_an_exception_of_closing_the_source_is_no_later_than_the_end(
    raises: Exception | None, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    events = await _events(Source(_VALUES, raises=raises, close_raises=OSError("the socket broke")))
    assert (events[-1]["type"], events[-1]["message"]) == ("RUN_ERROR", told)
    assert len(caplog.records) == (raises is not None)


async def test_an_exception_of_closing_the_source_reaches_who_leaves_early() -> None:
    events: Any = translate(Source(_VALUES, close_raises=OSError("the socket broke")), thread_id="t", run_id="r")
    await anext(events)
    with pytest.raises(OSError, match="the socket broke"):
        await events.aclose()


async def test_ids_may_be_of_any_type() -> None:
    ids: Any = [UUID(int=number) for number in range(3)]
    events = translate(Source(), thread_id=ids[0], run_id=ids[1], parent_run_id=ids[2])
    started: Any = await anext(events)
    assert [started.thread_id, started.run_id, started.parent_run_id] == list(map(str, ids))


async def test_at_end_is_not_asked_when_the_source_raised() -> None:
    async def at_end() -> Ending:
        return Finished()

    events = await _events(Source(_VALUES, raises=LookupError("gone")), at_end=at_end)
    assert events[-1]["type"] == "RUN_ERROR"


async def test_a_source_that_ends_in_mid_message_leaves_nothing_open() -> None:
    events = await _events(Source(_VALUES, _token("Half a sent")))
    assert left_open(events) == []


async def test_a_source_without_parts_is_a_run_without_events() -> None:
    assert [event["type"] for event in await _events(Source())] == ["RUN_STARTED", "RUN_FINISHED"]


async def test_parts_after_an_error_part_are_passed_over() -> None:
    error = ("error", {"error": "ValueError", "message": "bad"})
    events = await _events(Source(_VALUES, _token("Hel"), error, _token("lo"), ("values", {"messages": [], "n": 1})))
    assert "lo" not in [event.get("delta") for event in events]
    assert events[-1]["type"] == "RUN_ERROR"


async def test_the_view_that_was_handed_in_goes_on_with_the_events() -> None:
    view = ClientView([], {})
    await _events(Source(("values", {"messages": [], "count": 3})), view=view)
    assert view.state == {"count": 3}


def test_a_generator_that_is_not_asynchronous_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"got list; use graph\.astream\(\)"):
        translate([_VALUES], thread_id="t", run_id="r")  # type: ignore[arg-type]


def test_a_coroutine_that_was_not_awaited_is_refused_at_once() -> None:
    async def join_stream() -> Source:
        return Source()

    coroutine = join_stream()
    with pytest.raises(TypeError, match="got coroutine; await it first"):
        translate_sse(coroutine, thread_id="t", run_id="r")  # type: ignore[arg-type]
    coroutine.close()


_JSON = {"type": "AIMessageChunk", "id": "lc_run--1", "content": "Hi"}
PLATFORM: dict[str, Any] = {
    "the SDK's": StreamPart("values", {"messages": []}),
    "the SDK's, with an id": StreamPart("values|child:1", {"messages": []}, "7"),
    "the SDK's, of version 2": {"type": "values", "ns": [], "data": {"messages": []}, "interrupts": []},
    "recorded as a list": ["values", {"messages": []}, None],
    "recorded as an object": {"event": "values", "data": {"messages": []}, "id": "7"},
    "a RemoteGraph's, with subgraphs": ((), "messages", (_JSON, {})),
    "a RemoteGraph's, of version 2": {"type": "messages", "ns": (), "data": (_JSON, {}), "interrupts": ()},
    "a reader's": PartReader().read(("values", {"messages": []}))[0],
}
"""One part of each shape that a local graph does not give."""
LOCAL: dict[str, Any] = {
    "of several modes": ("values", {"messages": []}),
    "of subgraphs": (("child:1",), "values", {"messages": []}),
    "of version 2": {"type": "values", "ns": (), "data": {"messages": []}},
    "recorded": [["child:1"], "messages", [_JSON, {}]],
    "recorded as a part": {"ns": ["child:1"], "mode": "messages", "data": [_JSON, {}]},
}


@pytest.mark.parametrize("part", PLATFORM.values(), ids=PLATFORM)
def test_a_platforms_stream_that_stops_without_an_ending_is_lost(part: Any, caplog: pytest.LogCaptureFixture) -> None:
    def last(ending: Ending | None, *parts: Any) -> Any:
        run = Translator("t", "r")
        run.start()
        for each in parts:
            run.feed(each)
        return run.finish(ending)[-1]

    lost = last(None, part)
    assert (lost["type"], lost["code"]) == ("RUN_ERROR", "lost")
    (record,) = caplog.records
    assert record.getMessage().startswith("A platform's stream stopped, and no ending was given")
    assert last(None, _VALUES, part)["code"] == "lost"
    assert last(Finished(), part)["outcome"] == {"type": "success"}
    assert last(Cancelled(), part)["outcome"] == {"type": "cancelled"}
    assert last(None, part, StreamPart("error", {"error": "ValueError", "message": "bad"}))["code"] == "ValueError"
    assert len(caplog.records) == 2


@pytest.mark.parametrize("part", LOCAL.values(), ids=LOCAL)
async def test_a_local_stream_that_stops_has_ended_as_it_showed(part: Any) -> None:
    async def not_known() -> None:
        return None

    for how in ({}, {"at_end": not_known}):
        assert (await _events(Source(part), **how))[-1]["outcome"] == {"type": "success"}
        interrupted = ("updates", {"__interrupt__": ()})
        assert (await _events(Source(part, interrupted), **how))[-1]["outcome"]["type"] == "interrupt"


@pytest.mark.parametrize("part", [*PLATFORM.values(), *LOCAL.values()], ids=[*PLATFORM, *LOCAL])
async def test_whoever_says_where_parts_come_from_is_believed(part: Any) -> None:
    for shell in (_events, _by_hand):
        assert (await shell(Source(part), source="local"))[-1]["outcome"] == {"type": "success"}
        assert (await shell(Source(part), source="platform"))[-1]["code"] == "lost"
    for reader in (PartReader("local"), PartReader("platform")):
        said = reader.source
        reader.read(part)
        assert reader.source == said


async def _by_hand(stream: Source, **how: Any) -> list[Any]:
    run = Translator("t", "r", **how)
    events = run.start()
    async for part in stream:
        events += run.feed(part)
    return events + run.finish()


def test_a_source_that_is_unknown_is_refused() -> None:
    for make in (PartReader, lambda source: Translator("t", "r", source=source)):
        with pytest.raises(ValueError, match="expected 'local', 'platform' or None, got 'remote'"):
            make("remote")  # type: ignore[arg-type]


async def test_a_platforms_stream_is_lost_if_its_end_is_not_known() -> None:
    async def not_known() -> None:
        return None

    for how in ({}, {"at_end": not_known}):
        assert (await _events(Source(StreamPart("values", {})), **how))[-1]["code"] == "lost"


def test_a_translator_starts_once() -> None:
    run = Translator("t", "r")
    run.start()
    with pytest.raises(TranslatorMisuseError, match=r"start\(\) must be called once, first; this translator is live"):
        run.start()


def test_nothing_is_fed_before_the_start() -> None:
    with pytest.raises(TranslatorMisuseError, match="this translator is new"):
        Translator("t", "r").feed(_VALUES)


@pytest.mark.parametrize("part", [_VALUES, _token("more")])
def test_nothing_is_fed_after_the_end(part: Any) -> None:
    run = run_parts([_VALUES, _token("Hello")]).translator
    with pytest.raises(TranslatorMisuseError, match="this translator is over"):
        run.feed(part)


def test_a_run_ends_once() -> None:
    with pytest.raises(TranslatorMisuseError, match="this translator is over"):
        run_parts([_VALUES]).translator.finish()


def test_a_misuse_changes_nothing() -> None:
    run = Translator("t", "r")
    with pytest.raises(TranslatorMisuseError):
        run.finish()
    assert [event["type"] for event in run.start()] == ["RUN_STARTED"]


def test_a_refused_part_changes_nothing() -> None:
    run = Translator("t", "r")
    run.start()
    with pytest.raises(TypeError):
        run.feed({"no": "part"})
    assert run.feed(("values", {"count": 1})) != []
