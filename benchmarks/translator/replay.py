"""A captured stream translated, against building and encoding the same events with `ag_ui`'s own models.

The bare loop does nothing but that: no stream, no decision, no view. The floor is a loop over the stream that makes a
dict of every chunk and the bytes of it, and keeps nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, get_args

from ag_ui.core import Event
from ag_ui.encoder import EventEncoder
from langgraph_agui.translator import ClientView, Finished, Translator, translate_sse
from langgraph_sdk.schema import StreamPart
from orjson import dumps

from fixtures.recordings import as_json

from ..graphs import again, agent, answering, captured
from ..rows import Row
from ..timing import timed_async

TOKENS = 5000
_ROUNDS = 25
_BOUND, _PLATFORM_BOUND, _OVER_LOCAL_BOUND = 0.5, 0.6, 1.5
_MODELS: dict[str, Any] = {model.model_fields["type"].default: model for model in get_args(get_args(Event)[0])}


def rows() -> Iterator[Row]:
    """Time of `translate_sse` as a ratio to that of the bare loop, for one node and for an agent."""
    for name, graph in (("one node", answering(TOKENS)), ("agent, 2 turns, a tool", agent(TOKENS))):
        parts = asyncio.run(captured(graph))
        yield from _compared(f"{name}, {TOKENS:,} tokens", parts)
    yield from _platform_token()


def _platform_token() -> Iterator[Row]:
    """The same stream as a platform's SDK hands it on, as `StreamPart`s of JSON; and against the local stream."""
    parts = asyncio.run(captured(answering(TOKENS)))
    sent = [_as_sent(part) for part in parts]
    built = [_built(event) for event in _told(sent)]
    encoder = EventEncoder()

    async def ours() -> None:
        async for _ in translate_sse(again(sent), thread_id="t", run_id="r", view=ClientView([], None)):
            pass

    async def local() -> None:
        async for _ in translate_sse(again(parts), thread_id="t", run_id="r", view=ClientView([], None)):
            pass

    async def models() -> None:
        for model, fields in built:
            encoder.encode(model(**fields))

    platform, here, bare = timed_async([ours, local, models], _ROUNDS)
    name = f"platform token, {TOKENS:,} tokens"
    yield _row(name, platform.least, bare.least, len(sent), _PLATFORM_BOUND)
    yield _row(f"{name}: over a local one", platform.least, here.least, len(sent), _OVER_LOCAL_BOUND)


def _as_sent(part: Any) -> StreamPart:
    ns, mode, data = part
    return StreamPart("|".join([mode, *ns]), as_json(data))


def _compared(name: str, parts: list[Any]) -> Iterator[Row]:
    built = [_built(event) for event in _told(parts)]
    encoder = EventEncoder()

    async def ours() -> None:
        async for _ in translate_sse(again(parts), thread_id="t", run_id="r", view=ClientView([], None)):
            pass

    async def models() -> None:
        for model, fields in built:
            encoder.encode(model(**fields))

    async def floor() -> None:
        async for _, mode, data in again(parts):
            if mode == "messages":
                _frame(data[0])

    told, bare, least = timed_async([ours, models, floor], _ROUNDS)
    yield _row(name, told.least, bare.least, len(parts), _BOUND)
    yield _row(f"{name}: median", told.middle, bare.middle, len(parts))
    yield _row(f"{name}: the floor", least.least, bare.least, len(parts))


def _row(name: str, spent: float, bare: float, parts: int, bound: float | None = None) -> Row:
    return Row("replay", name, spent / bare, "x", bound, f"{spent / parts * 1e6:.2f} us a part")


def _told(parts: list[Any]) -> list[dict[str, Any]]:
    run = Translator("t", "r", view=ClientView([], None))
    return [*run.start(), *(event for part in parts for event in run.feed(part)), *run.finish(Finished())]


def _built(event: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model of an event and the keywords that make it."""
    model = _MODELS[event["type"]].model_validate(event)
    fields = {name: getattr(model, name) for name in model.model_fields_set if name != "type"}
    return type(model), fields


def _frame(message: Any) -> bytes:
    for piece in getattr(message, "tool_call_chunks", ()):
        event = {"type": "TOOL_CALL_ARGS", "toolCallId": piece["id"] or "", "delta": piece["args"] or ""}
        return b"data: %b\n\n" % dumps(event)
    return b"data: %b\n\n" % dumps({"type": "TEXT_MESSAGE_CONTENT", "messageId": message.id, "delta": message.content})
