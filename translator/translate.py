"""Provides the asynchronous functions around `Translator`. They take a stream of parts and yield models or SSE frames.

These functions contain no translation rules. They call the translator's methods in the right order. If the stream
raises an exception, they turn the exception into an ending.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from ag_ui.core import BaseEvent

from .client.view import ClientView
from .endings import Ending, Failed
from .errors import UnreadablePartError
from .options import Options
from .parts.reader import Source
from .translator import Translator
from .wire.sse import encode, to_model

_log = logging.getLogger(__name__)

_STREAMS: Final[Sequence[tuple[str, str, Source]]] = (
    ("langgraph.pregel.main", "Pregel", "local"),
    ("langgraph.pregel.remote", "RemoteGraph", "platform"),
)
"""The classes whose `astream` may have created a stream, each with the source of its parts. The parts from both classes
have the same shapes, so only the stream object itself shows which class created it. A class whose module has not been
imported cannot have created a stream."""
AtEnd = Callable[[], Awaitable[Ending | None]]
_Output = TypeVar("_Output")


def translate(
    stream: AsyncIterable[Any],
    *,
    thread_id: str,
    run_id: str,
    parent_run_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    at_end: AtEnd | None = None,
    source: Source | None = None,
) -> AsyncIterator[BaseEvent]:
    """Translates a LangGraph run into AG-UI events, and yields them as `ag_ui.core` models. Each event is yielded as
    soon as its part has arrived.

    `stream`: `graph.astream(..., stream_mode=STREAM_MODES)`, a platform's run stream, or any other async iterable of
    parts. Once the first event has been requested, the stream is always closed, either before the terminal event is
    yielded or when the returned iterator is closed early.
    `thread_id`, `run_id`: the ids in `RUN_STARTED`. `parent_run_id`: the id of the run that this run continues, if any.
    `view`: the messages and state that the client is known to have; None if they are unknown. Every event is applied to
    the view.
    `at_end`: an async function that is called when the stream has stopped without an error. It returns the run's
    ending, because the stream itself does not always show how the run ended. For a platform's run, use
    `langgraph_agui.connect.outcome`. `Translator.finish` describes what happens if `at_end` is None or returns None.
    `source`: where the parts come from, `"local"` or `"platform"`. With None, a stream from a compiled graph counts as
    local, and a stream from a `RemoteGraph` as a platform's. For any other stream, the shapes of the parts decide (see
    `Translator.finish`). Pass `source` if you wrap the stream.

    An exception that is raised by the stream, by closing the stream, or by `at_end` becomes `RUN_ERROR`, which is then
    the last event. If a part cannot be read, the last event is also `RUN_ERROR`, and `UnreadablePartError` is raised
    after it. Cancellation is not caught. Raises `TypeError` immediately if `stream` is not an async iterable, for
    example if it is `graph.stream()` or a coroutine that was not awaited. Raises `ValueError` if the view belongs to a
    client that declares a protocol version, and the options are for a client that declares none.
    """
    source = _source_of(stream, source)
    run = Translator(thread_id, run_id, options, view, parent_run_id=parent_run_id, source=source)
    return _translated(stream, run, at_end, to_model)


def translate_sse(
    stream: AsyncIterable[Any],
    *,
    thread_id: str,
    run_id: str,
    parent_run_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    at_end: AtEnd | None = None,
    source: Source | None = None,
) -> AsyncIterator[bytes]:
    """Works like `translate`, but yields each event as an SSE frame (`text/event-stream`), as `encode` returns it.
    Takes the same arguments as `translate` and raises the same exceptions."""
    source = _source_of(stream, source)
    run = Translator(thread_id, run_id, options, view, parent_run_id=parent_run_id, source=source)
    return _translated(stream, run, at_end, encode)


def _source_of(stream: Any, source: Source | None) -> Source | None:
    """Returns the source of a stream's parts. This is `source` if the caller passed it. Otherwise it depends on the
    LangGraph class that created the stream. If no such class created it, returns None. Raises `TypeError` if `stream`
    is not an async iterable."""
    if not isinstance(stream, AsyncIterable):
        advice = "await it first" if isinstance(stream, Awaitable) else "use graph.astream(), which is asynchronous"
        raise TypeError(f"expected a stream of parts (an async iterable), got {type(stream).__name__}; {advice}")
    code = getattr(stream, "ag_code", None)
    for module, name, made_by in _STREAMS if source is None else ():
        graph = getattr(sys.modules.get(module), name, None)
        if graph is not None and code is graph.astream.__code__:
            return made_by
    return source


async def _translated(
    stream: AsyncIterable[Any], run: Translator, at_end: AtEnd | None, convert: Callable[[dict[str, Any]], _Output]
) -> AsyncIterator[_Output]:
    """Yields the converted events of a run. Everything is in one generator, because every token passes through it and
    each additional generator would add to the cost of a token."""
    ending: Ending | None = None
    unreadable: UnreadablePartError | None = None
    parts = aiter(stream)
    is_open = True
    try:
        for event in run.start():
            yield convert(event)
        try:
            async for part in parts:
                for event in run.feed(part):
                    yield convert(event)
        except UnreadablePartError as error:
            unreadable, ending = error, Failed(error)
        except Exception as error:  # an error in the run becomes an event and is not raised
            ending = Failed(error)
        is_open = False
        try:
            await _close(parts)
            if ending is None and at_end is not None:
                ending = await at_end()
        except Exception as error:
            if ending is not None:  # the event contains the first error, so this one is only logged
                _log.warning("A stream that failed could not be closed (run %r).", run.view.run_id, exc_info=error)
            ending = ending or Failed(error)
        for event in run.finish(ending):
            yield convert(event)
    finally:
        if is_open:
            await _close(parts)
    if unreadable is not None:
        raise unreadable


async def _close(parts: AsyncIterator[Any]) -> None:
    close = getattr(parts, "aclose", None)
    if close is not None:
        await close()
