"""The asynchronous shells around the state machine: a stream of parts in, models or SSE frames out. No rule lives
here."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar, get_args

from ag_ui.core import BaseEvent, Event

from .client.view import ClientView
from .endings import Ending, Failed
from .errors import UnreadablePartError
from .options import Options
from .translator import Translator
from .wire.sse import encode

AtEnd = Callable[[], Awaitable[Ending | None]]
_Made = TypeVar("_Made")
_MODELS: Final[Mapping[str, type[BaseEvent]]] = {
    model.model_fields["type"].default: model for model in get_args(get_args(Event)[0])
}


def translate(
    stream: AsyncIterable[Any],
    *,
    thread_id: str,
    run_id: str,
    options: Options | None = None,
    view: ClientView | None = None,
    at_end: AtEnd | None = None,
) -> AsyncIterator[BaseEvent]:
    """The AG-UI events of a LangGraph run, as `ag_ui.core` models, each as soon as its part has come.

    Takes the parts of `graph.astream(..., stream_mode=STREAM_MODES)` or of a platform's stream, any async iterable;
    `at_end` is asked for the ending where the stream itself cannot tell it. `view`: what the client is known to hold;
    it goes on with the events. An exception of the stream becomes `RUN_ERROR` and ends the events; a part that cannot
    be read does too, and is then raised as `UnreadablePartError`. Cancellation passes through. Closing this closes the
    stream. Raises `TypeError` at once for what is no async iterable (`graph.stream()`, a coroutine not awaited).
    """
    _expect_stream(stream)
    return _told(stream, Translator(thread_id, run_id, options, view), at_end, model)


def translate_sse(
    stream: AsyncIterable[Any],
    *,
    thread_id: str,
    run_id: str,
    options: Options | None = None,
    view: ClientView | None = None,
    at_end: AtEnd | None = None,
) -> AsyncIterator[bytes]:
    """The same events as SSE frames (`text/event-stream`): one event a frame, LF, camelCase, absent fields left out."""
    _expect_stream(stream)
    return _told(stream, Translator(thread_id, run_id, options, view), at_end, encode)


def _expect_stream(stream: Any) -> None:
    if isinstance(stream, AsyncIterable):
        return
    advice = "await it first" if isinstance(stream, Awaitable) else "use graph.astream(), which is asynchronous"
    raise TypeError(f"expected a stream of parts, an async iterable, got {type(stream).__name__}; {advice}")


def model(event: dict[str, Any]) -> BaseEvent:
    """A wire event as its `ag_ui.core` model."""
    return _MODELS[event["type"]].model_validate(event)


async def _told(
    stream: AsyncIterable[Any], run: Translator, at_end: AtEnd | None, made: Callable[[dict[str, Any]], _Made]
) -> AsyncIterator[_Made]:
    """The events of a run, each as `made` makes it; one generator, for every token goes through it."""
    ending: Ending | None = None
    unreadable: UnreadablePartError | None = None
    async with _closing(stream) as parts:
        for event in run.start():
            yield made(event)
        try:
            async for part in parts:
                for event in run.feed(part):
                    yield made(event)
            ending = await at_end() if at_end is not None else None
        except UnreadablePartError as error:
            unreadable, ending = error, Failed(error)
        except Exception as error:  # whatever a run raises is the run's: it becomes an event
            ending = Failed(error)
        for event in run.finish(ending):
            yield made(event)
    if unreadable is not None:
        raise unreadable


@asynccontextmanager
async def _closing(stream: AsyncIterable[Any]) -> AsyncIterator[AsyncIterator[Any]]:
    """The iterator of a stream, closed in the end, whoever leaves first."""
    parts = aiter(stream)
    try:
        yield parts
    finally:
        close = getattr(parts, "aclose", None)
        if close is not None:
            await close()
