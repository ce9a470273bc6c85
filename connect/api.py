"""The public ways to see a thread: `connect` and `watch`, as models or SSE; and to stop a run: `cancel`.

Here: what callers give, checked, and errors as the stream's. Never here: what is told of a thread (`local`,
`platform`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from datetime import datetime
from typing import Any, get_args

from ag_ui.core import BaseEvent

from ..translator import ClientView, Options
from .backend import Source, source_of
from .encoded import Batches, closing, to_batch
from .errors import ConnectionLost, InvalidIdError, PlatformError, checked_run_id, checked_thread_id, failed
from .local.connect import cancel_local, connect_local
from .local.source import Local
from .local.watch import watched_local
from .platform.connect import PlatformTelling
from .platform.retry import RetryPolicy
from .platform.source import Platform
from .platform.thread import PlatformThread
from .platform.watch import POLL, watched
from .platform.watch_assistant import assistant_watched
from .readers import Reader, direct
from .run_outcome import PastErrors
from .streams import frames, models

HEARTBEAT = 15.0
"""Seconds of silence after which an SSE comment is sent, so that nothing between here and the client gives up."""


def connect(
    source: Any,
    thread_id: str,
    *,
    run_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
) -> AsyncGenerator[BaseEvent, None]:
    """What a thread holds, and what runs on it, to its end, as `ag_ui.core` models.

    `source`: a `Local` or a `Platform`, or what stands for one: a compiled graph, a `RemoteGraph`, a client of
    `langgraph_sdk`. `run_id`: the run to emit; None: what is running, or else the last. `options`: None shows the
    channels of the graph's output schema; readers of a run of this process see the options it was started with.
    `view`: what the client is known to hold, so that it is told only what it lacks. `past_errors`: see `PastErrors`.
    `retry`: how long a platform that can't be reached is waited for.

    An unknown thread is an empty stream. What goes wrong is told as `RUN_ERROR`, after what was open is closed; nothing
    raises but `TypeError` and `ValueError`, at once, for a source that is none and for options of another kind. Closing
    the iterator frees the connection and stops no run.
    """
    asked = source_of(source)
    _check(options, view, past_errors, retry)
    version = _version(options)
    return models(connected(asked, thread_id, run_id, options, view, past_errors, retry), version)


def connect_sse(
    source: Any,
    thread_id: str,
    *,
    run_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    heartbeat: float | None = HEARTBEAT,
) -> AsyncGenerator[bytes, None]:
    """The same as SSE frames; what is ready together in one piece, and a comment after `heartbeat` seconds of
    silence (None: never)."""
    asked = source_of(source)
    _check(options, view, past_errors, retry)
    _check_seconds("heartbeat", heartbeat)
    version = _version(options)
    return frames(connected(asked, thread_id, run_id, options, view, past_errors, retry), version, heartbeat)


def watch(
    source: Any,
    thread_id: str | None = None,
    *,
    assistant_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
) -> AsyncGenerator[BaseEvent, None]:
    """What a thread holds, and from then on every run of it, whoever starts it, as `ag_ui.core` models; never ends.

    As `connect`, and each further run as `RUN_STARTED` to its terminal event, with silence between. A change that no
    run here or on the platform made (a scheduler's `ainvoke` on the same checkpointer, somebody's `update_state`) is
    told as a run whose id is made from its checkpoint. `poll`: seconds between looks, where nothing tells of changes.

    `assistant_id` in place of `thread_id`, on a platform: every run of this assistant (its id, or its graph's name),
    on whatever thread; for stateless crons, which make a thread for each run. One run is told at a time.
    Ends only in `RUN_ERROR`, when the source is gone for good. Raises at once as `connect` does, and `TypeError` for
    both or neither of the two ids.
    """
    _check(options, view, past_errors, retry)
    _check_seconds("poll", poll)
    told = watching(
        _asked(source, thread_id, assistant_id), thread_id, assistant_id, options, view, past_errors, retry, poll
    )
    return models(told, _version(options))


def watch_sse(
    source: Any,
    thread_id: str | None = None,
    *,
    assistant_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
    heartbeat: float | None = HEARTBEAT,
) -> AsyncGenerator[bytes, None]:
    """The same as SSE frames; what is ready together in one piece, and a comment after `heartbeat` seconds of
    silence (None: never)."""
    _check_seconds("heartbeat", heartbeat)
    _check(options, view, past_errors, retry)
    _check_seconds("poll", poll)
    told = watching(
        _asked(source, thread_id, assistant_id), thread_id, assistant_id, options, view, past_errors, retry, poll
    )
    return frames(told, _version(options), heartbeat)


async def cancel(source: Any, thread_id: str, run_id: str | None = None) -> None:
    """Stops a run: the graph, not only its readers. Returns when it has stopped.

    `run_id`: None is what is going on; on a platform what waits is stopped as well, and a run may be named by the id
    that its client gave `run`, or by the platform's. Raises `LookupError` if there is no such run to stop, `ValueError`
    for an id that can be none, and `PlatformError` or `ConnectionLost` for what the platform answers.
    """
    asked = source_of(source)
    in_url = isinstance(asked, Platform)
    thread = checked_thread_id(thread_id, in_url=in_url)
    run = None if run_id is None else checked_run_id(run_id, in_url=in_url)
    if isinstance(asked, Local):
        await cancel_local(asked, thread, run)
    else:
        await PlatformThread(asked.client, thread, RetryPolicy()).cancel(run)


def _check(options: Any, view: Any, past_errors: Any, retry: Any) -> None:
    """Raises `TypeError` or `ValueError` for what would be misread, or found out in the middle of a stream."""
    kinds = (("options", options, Options), ("view", view, ClientView), ("retry", retry, RetryPolicy))
    for name, given, kind in kinds:
        if given is not None and not isinstance(given, kind):
            raise TypeError(f"{name}: expected {kind.__name__} or None, got {type(given).__name__}")
    if past_errors not in get_args(PastErrors):
        raise ValueError(f"past_errors: expected 'error' or 'custom', got {past_errors!r}")


def _check_seconds(name: str, seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise ValueError(f"{name}: expected more than 0 seconds, got {seconds!r}")


def _version(options: Options | None) -> str | None:
    return (options or Options()).protocol_version


async def connected(
    source: Source,
    thread_id: str,
    run_id: str | None,
    options: Options | None,
    view: ClientView | None,
    past_errors: PastErrors,
    retry: RetryPolicy | None,
) -> Batches:
    """What `connect` tells, in batches; the arguments are checked already."""
    reader = Reader(direct(options or Options()), view)

    def told() -> Batches:
        in_url = isinstance(source, Platform)
        thread = checked_thread_id(thread_id, in_url=in_url)
        run = None if run_id is None else checked_run_id(run_id, in_url=in_url)
        if isinstance(source, Local):
            return connect_local(source, thread, reader, options, run_id=run, past_errors=past_errors)
        return _telling(source, thread, reader, options, past_errors, retry).told_now(run)

    async with closing(_safely(reader, options, told)) as batches:
        async for batch in batches:
            yield batch


async def watching(
    source: Source,
    thread_id: str | None,
    assistant_id: str | None,
    options: Options | None,
    view: ClientView | None,
    past_errors: PastErrors,
    retry: RetryPolicy | None,
    poll: float,
) -> Batches:
    """What `watch` tells, in batches; the arguments are checked already."""
    reader = Reader(direct(options or Options()), view)

    def told() -> Batches:
        if isinstance(source, Local):
            thread = checked_thread_id(thread_id, in_url=False)
            return watched_local(source, thread, reader, options, past_errors=past_errors, poll=poll)

        def telling_of(thread: Any, since: datetime | None = None) -> PlatformTelling:
            return _telling(source, checked_thread_id(thread), reader, options, past_errors, retry, since)

        if assistant_id is None:
            return watched(telling_of(thread_id), poll)
        return assistant_watched(source, assistant_id, telling_of, policy=retry or RetryPolicy(), poll=poll)

    async with closing(_safely(reader, options, told, watches=True)) as batches:
        async for batch in batches:
            yield batch


def _telling(
    platform: Platform,
    thread_id: str,
    reader: Reader,
    options: Options | None,
    past_errors: PastErrors,
    retry: RetryPolicy | None,
    since: datetime | None = None,
) -> PlatformTelling:
    thread = PlatformThread(platform.client, thread_id, retry or RetryPolicy())
    return PlatformTelling(platform, thread, reader, options, past_errors, since)


async def _safely(
    reader: Reader, options: Options | None, told: Callable[[], Batches], *, watches: bool = False
) -> Batches:
    """The batches; what the caller or the platform got wrong as `RUN_ERROR`, if no run's end was told before it. One
    that watches is told it after a run's end too, unless that is an error already: clients take none after one."""
    try:
        async with closing(told()) as batches:
            async for batch in batches:
                yield batch
    except (PlatformError, ConnectionLost, InvalidIdError) as error:
        last = reader.view.terminal
        if last is None or (watches and last["type"] != "RUN_ERROR"):
            yield to_batch([failed(error, options or Options())])


def _asked(source: Any, thread_id: str | None, assistant_id: str | None) -> Source:
    """The source of a watch, if what is to be watched is said rightly."""
    asked = source_of(source)
    if (thread_id is None) == (assistant_id is None):
        raise TypeError("watch: expected a thread_id, or an assistant_id in its place")
    if assistant_id is not None and isinstance(asked, Local):
        raise TypeError("watch: an assistant_id is for a platform; of a graph of this process watch a thread_id")
    return asked
