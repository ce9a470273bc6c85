"""What callers are handed: models and frames, heartbeats in silence, and an end that can be read whatever happens."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from ag_ui.core import BaseEvent, StateSnapshotEvent
from langgraph_agui.connect.events.encoded import Batch, to_batch
from langgraph_agui.connect.events.streams import Sse, frames, models
from langgraph_agui.translator import encode
from starlette.responses import StreamingResponse

from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.batch_readers import turns, until

Event = dict[str, Any]

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
STATE = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}
CANCELLED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}}
UNFORESEEN = {"type": "RUN_ERROR", "message": "The run failed.", "code": "internal_error"}
HEARTBEAT = b": heartbeat\n\n"
SOON = 0.001


def place() -> str:
    return "agent 'a', thread 't'"


class Source:
    """Batches, with a wait for the test's word before each; then an error, if there is one."""

    def __init__(self, *batches: Sequence[Event], raises: Exception | None = None, refuses: bool = False) -> None:
        self._batches = batches
        self._raises = raises
        self._refuses = refuses
        self.go = asyncio.Semaphore(0)
        self.is_waiting = False
        self.is_closed = False

    def free(self) -> "Source":
        """Lets everything go at once."""
        for _ in range(len(self._batches) + 1):
            self.go.release()
        return self

    async def batches(self) -> AsyncIterator[Batch]:
        try:
            for batch in self._batches:
                await self._turn()
                yield to_batch(batch)
            await self._turn()
            if self._raises is not None:
                raise self._raises
        finally:
            self.is_closed = True
            if self._refuses:
                raise LookupError("not to be closed")

    async def _turn(self) -> None:
        self.is_waiting = True
        await self.go.acquire()
        self.is_waiting = False


async def wire(source: Source, version: str | None = "1.0", heartbeat: float | None = None) -> list[bytes]:
    return [each async for each in frames(source.batches(), Sse(version), heartbeat, place)]


async def told(source: Source, version: str | None = "1.0") -> list[Event]:
    dumped = [each async for each in models(source.batches(), version, place)]
    return [each.model_dump(by_alias=True, exclude_none=True) for each in dumped]


async def test_models_are_the_events_one_by_one() -> None:
    source = Source([STARTED, STATE], [FINISHED]).free()
    assert await told(source) == [STARTED, STATE, FINISHED]


async def test_what_is_ready_together_is_one_piece() -> None:
    source = Source([STARTED, STATE], [FINISHED]).free()
    assert await wire(source) == [encode(STARTED) + encode(STATE), encode(FINISHED)]


async def test_a_batch_of_nothing_is_nothing() -> None:
    assert await wire(Source([STARTED], [], [FINISHED]).free()) == [encode(STARTED), encode(FINISHED)]


@pytest.mark.parametrize("version", ["1.0", None])
async def test_each_is_told_in_the_words_of_its_protocol_version(version: str | None) -> None:
    kind = "RUN_FINISHED" if version else "RUN_ERROR"
    (model,) = await told(Source([CANCELLED]).free(), version)
    (frame,) = await wire(Source([CANCELLED]).free(), version)
    assert (model["type"], kind.encode() in frame) == (kind, True)


async def test_silence_is_told_as_a_comment_and_nothing_is_lost() -> None:
    source = Source([STARTED], [FINISHED])
    stream = frames(source.batches(), Sse("1.0"), SOON, place)
    silent = [await anext(stream) for _ in range(2)]
    source.free()
    rest = [each async for each in stream if each != HEARTBEAT]
    assert (silent, rest) == ([HEARTBEAT] * 2, [encode(STARTED), encode(FINISHED)])


async def test_silence_between_two_events_is_told() -> None:
    source = Source([STARTED], [FINISHED])
    source.go.release()
    stream = frames(source.batches(), Sse("1.0"), SOON, place)
    while await anext(stream) != encode(STARTED):
        pass
    assert await anext(stream) == HEARTBEAT
    await stream.aclose()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_real_client_reads_over_comments(agui_client: AguiClient, version: str) -> None:
    pieces = [HEARTBEAT, encode(STARTED), HEARTBEAT, HEARTBEAT, encode(STATE), encode(FINISHED), HEARTBEAT]
    for split in (None, 1):
        answer = agui_client.play(frames=b"".join(pieces), version=version, mode="connect", split=split)
        assert (answer.accepted, answer.state) == (True, {"a": 1})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("batches", [[], [[STARTED, STATE]]])
async def test_an_error_nobody_foresaw_is_an_end_the_real_client_reads(
    agui_client: AguiClient, version: str, batches: list[list[Event]], caplog: pytest.LogCaptureFixture
) -> None:
    source = Source(*batches, raises=ZeroDivisionError("secret")).free()
    sent = b"".join(await wire(source, protocol(version)))
    answer = agui_client.play(frames=sent, version=version, mode="connect")
    assert (b"secret" in sent, sent.endswith(encode(UNFORESEEN))) == (False, True)
    assert answer.error is None or "The run failed." in answer.error
    assert [record.exc_info is not None for record in caplog.records] == [True]
    assert f"({place()})" in caplog.text


async def test_models_end_in_the_same_error(caplog: pytest.LogCaptureFixture) -> None:
    source = Source([STARTED], raises=ZeroDivisionError()).free()
    assert await told(source) == [STARTED, UNFORESEEN]
    assert len(caplog.records) == 1


async def test_an_event_no_model_can_be_made_of_is_an_error_too(caplog: pytest.LogCaptureFixture) -> None:
    assert await told(Source([STARTED], [{"type": "STATE_DELTA", "delta": 1}]).free()) == [STARTED, UNFORESEEN]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("end", [FINISHED, CANCELLED, UNFORESEEN])
@pytest.mark.parametrize("version", ["1.0", None])
async def test_after_a_runs_end_an_error_is_only_logged(
    end: Event, version: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    stream = await wire(Source([STARTED], [end], raises=ZeroDivisionError()).free(), version)
    assert (len(stream), len(caplog.records)) == (2, 1)


async def test_a_source_that_can_not_be_closed_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    stream = frames(Source([STARTED], refuses=True).free().batches(), Sse("1.0"), None, place)
    await anext(stream)
    await stream.aclose()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert f"({place()})" in caplog.text


async def streams(source: Source) -> list[AsyncIterator[BaseEvent] | AsyncIterator[bytes]]:
    return [
        models(source.batches(), "1.0", place),
        frames(source.batches(), Sse("1.0"), None, place),
        frames(source.batches(), Sse("1.0"), 10, place),
    ]


KINDS = range(3)


@pytest.mark.parametrize("kind", KINDS)
async def test_closing_closes_what_is_read_from_at_once(kind: int) -> None:
    source = Source([STARTED], [FINISHED]).free()
    stream: Any = (await streams(source))[kind]
    await anext(stream)
    await stream.aclose()
    assert source.is_closed


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancelled_reader_closes_it_too(kind: int) -> None:
    source = Source([STARTED])
    reader = asyncio.ensure_future(anext((await streams(source))[kind]))
    await until(lambda: source.is_waiting)
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)
    assert (reader.cancelled(), source.is_closed) == (True, True)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_that_is_collected_closes_it_too(kind: int) -> None:
    source = Source([STARTED], [FINISHED]).free()
    stream = (await streams(source))[kind]
    await anext(stream)
    del stream
    gc.collect()
    await until(lambda: source.is_closed)
    await turns()


@pytest.mark.parametrize("spec", ["2.0", "2.4"])
async def test_a_page_that_goes_away_closes_it_too(spec: str) -> None:
    """As a server has it: below version 2.4 it cancels the response, from then on a send fails."""
    source = Source([STARTED], [FINISHED])
    source.go.release()
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if gone.is_set():
            raise OSError
        if message.get("body"):
            gone.set()

    response = StreamingResponse(frames(source.batches(), Sse("1.0"), SOON, place), media_type="text/event-stream")
    scope = {"type": "http", "asgi": {"spec_version": spec}, "headers": []}
    sent = await asyncio.gather(response(scope, receive, send), return_exceptions=True)
    assert [type(each).__name__ for each in sent] == ["NoneType" if spec == "2.0" else "ClientDisconnect"]
    del response, sent
    gc.collect()
    await until(lambda: source.is_closed)


async def test_a_client_without_a_version_gets_no_subagents() -> None:
    """A batch of nothing else is nothing, and no heartbeat."""
    subagent: list[Event] = [
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"},
        {"type": "STEP_STARTED", "stepName": "n", "subagentRunId": "s"},
    ]
    batches: Sequence[list[Event]] = ([STARTED], subagent, [*subagent, STATE], [FINISHED])
    wanted: list[Event] = [STARTED, STATE, FINISHED]
    assert [frame async for frame in frames(Source(*batches).free().batches(), Sse(None), None, place)] == [
        encode(event) for event in wanted
    ]
    found = [event async for event in models(Source(*batches).free().batches(), None, place)]
    assert [event.model_dump(by_alias=True, exclude_none=True) for event in found] == wanted


async def test_a_reader_that_changes_its_models_changes_no_other_readers() -> None:
    batch = to_batch([STARTED, STATE, FINISHED])

    async def batches() -> AsyncIterator[Batch]:
        yield batch

    async for model in models(batches(), "1.0", place):
        if isinstance(model, StateSnapshotEvent):
            model.snapshot["a"] = 2
            model.snapshot = {}
    assert [encode(model) async for model in models(batches(), "1.0", place)] == [encode(each.event) for each in batch]
    assert STATE["snapshot"] == {"a": 1}
