"""The asynchronous shells around `Translator`: a stream of parts in, models or SSE frames out.

The rules of the translation are elsewhere: the shells order the calls, and turn an exception of the stream into an
ending.
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
"""The classes whose `astream` may have made a stream, and where the parts of each come from. Both yield the same
shapes, so the generator itself is examined. A module that was not imported cannot have made a stream."""
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
    """The AG-UI events of a LangGraph run, as `ag_ui.core` models, each as soon as its part has come.

    `stream`: the parts of `graph.astream(..., stream_mode=STREAM_MODES)`, of a platform's run stream, or of any other
    async iterable of parts. Once an event has been asked for, the stream is closed before the terminal event, and also
    if the events are closed early.
    `thread_id`, `run_id`: the ids in `RUN_STARTED`. `parent_run_id`: the run that this one continues, if any.
    `view`: what the client is known to have; None if that is unknown. The events are applied to it.
    `at_end`: called when the stream has stopped without an error; returns the ending that the stream itself cannot
    show. For a platform's run use `langgraph_agui.connect.outcome`. Without it, or if it returns None, see
    `Translator.finish`.
    `source`: where the parts come from, `"local"` or `"platform"`. With None, `graph.astream()` of a compiled graph is
    local, and that of a `RemoteGraph` is a platform's; for any other stream the shapes of the parts decide
    (`Translator.finish`). Pass it if you wrap a stream.

    An exception of the stream, of closing it, or of `at_end` becomes `RUN_ERROR`, which ends the events. So does a part
    that cannot be read; it is then also raised, as `UnreadablePartError`. Cancellation passes through. Raises
    `TypeError` at once for anything that is not an async iterable (`graph.stream()`, or a coroutine that was not
    awaited), and `ValueError` if the view belongs to a client that declares a protocol version and the options are for
    a client that declares none.
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
    """The events of `translate` as SSE frames (`text/event-stream`), each made by `encode`. It takes the same arguments
    as `translate` and raises the same errors."""
    source = _source_of(stream, source)
    run = Translator(thread_id, run_id, options, view, parent_run_id=parent_run_id, source=source)
    return _translated(stream, run, at_end, encode)


def _source_of(stream: Any, source: Source | None) -> Source | None:
    """Where the parts of a stream come from: `source`, if the caller passed it, or else the class of LangGraph that
    made the stream, if one did. Raises `TypeError` for anything that is not a stream."""
    if not isinstance(stream, AsyncIterable):
        advice = "await it first" if isinstance(stream, Awaitable) else "use graph.astream(), which is asynchronous"
        raise TypeError(f"expected a stream of parts, an async iterable, got {type(stream).__name__}; {advice}")
    code = getattr(stream, "ag_code", None)
    for module, name, made_by in _STREAMS if source is None else ():
        graph = getattr(sys.modules.get(module), name, None)
        if graph is not None and code is graph.astream.__code__:
            return made_by
    return source


async def _translated(
    stream: AsyncIterable[Any], run: Translator, at_end: AtEnd | None, convert: Callable[[dict[str, Any]], _Output]
) -> AsyncIterator[_Output]:
    """The events of a run, each converted; one generator, because every token passes through it."""
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
        except Exception as error:  # the run's own error is an event, not the caller's
            ending = Failed(error)
        is_open = False
        try:
            await _close(parts)
            if ending is None and at_end is not None:
                ending = await at_end()
        except Exception as error:
            if ending is not None:  # the first error is the run's; this one would otherwise go unseen
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
