"""The public functions: `run`, `connect` and `watch`, each as `ag_ui.core` models or as SSE frames; `cancel`;
`thread` and `threads`, which read threads without a stream.

A function validates its arguments when it is called, and raises. Later errors are events of the stream: `RUN_ERROR`.
The backend decides which events a stream has.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any, Final, get_args, overload

from ag_ui.core import Event, RunAgentInput

from ..translator import ClientView, Options
from .backend import Source, backend_of
from .errors import log_context
from .events.encoded import Batches
from .events.readers import offset_of
from .events.streams import SseWithIds, frames, models
from .inputs import Intake
from .inputs.thread_state import ThreadState
from .inputs.unknown import read_input
from .open_thread import OpenThread, watch_assistant, with_errors
from .platform.calls import RetryPolicy
from .platform.watch import POLL
from .run_outcome import CancelResult, PastErrors
from .thread_info import Threads

HEARTBEAT: Final = 15.0
"""Seconds without an event after which an SSE comment is sent, so that proxies keep the connection open."""

_KINDS: Final = {"options": Options, "view": ClientView, "retry": RetryPolicy, "intake": Intake}


def run(
    source: Source,
    input: RunAgentInput | Mapping[str, Any],  # noqa: A002 - the name AG-UI gives it
    *,
    options: Options | None = None,
    intake: Intake | None = None,
    retry: RetryPolicy | None = None,
) -> AsyncGenerator[Event, None]:
    """Runs a client's input, and emits the events of the run, to its end, as `ag_ui.core` models.

    - `source`: as for `connect`.
    - `input`: what an AG-UI client posts, or its JSON. The client is assumed to have its messages and state, and to
      read events of its `protocolVersion`. Parts that a newer version of AG-UI adds are skipped and logged.
    - `options`: None shows the channels of the graph's output schema.
    - `intake`: which parts of the input reach the graph, and how its runs are started.
    - `retry`: how often and how long to retry when a platform can't be reached.

    Errors of the run and of the platform are emitted as `RUN_ERROR`. Closing the iterator does not stop the run, unless
    the intake says so (`on_disconnect`).

    Raises at once: `TypeError` for arguments of another type; `ValueError` for JSON that is not an input, and for an
    intake that names channels that the graph's input does not have; `InvalidInputError` for an input whose last message
    has no content that this version can read.
    """
    batches, version, label = _checked_run(source, input, options, intake, retry)
    return models(batches, version, label)


def run_sse(
    source: Source,
    input: RunAgentInput | Mapping[str, Any],  # noqa: A002 - the name AG-UI gives it
    *,
    options: Options | None = None,
    intake: Intake | None = None,
    retry: RetryPolicy | None = None,
    heartbeat: float | None = HEARTBEAT,
) -> AsyncGenerator[bytes, None]:
    """Does the same as `run`, as SSE frames, which have ids as in `connect_sse`. Events that are ready together are one
    `bytes`. After `heartbeat` seconds without an event, a comment is sent (None: never)."""
    _check_seconds("heartbeat", heartbeat)
    batches, version, label = _checked_run(source, input, options, intake, retry)
    return frames(batches, SseWithIds(version, has_id=False), heartbeat, label)


def connect(
    source: Source,
    thread_id: str,
    *,
    run_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
) -> AsyncGenerator[Event, None]:
    """Emits the state of a thread, and its active run to its end, as `ag_ui.core` models.

    - `source`: a `Local` or a `Platform`; or a compiled graph, a `RemoteGraph` or a client of `langgraph_sdk`, which
      are taken as one.
    - `run_id`: the run to emit; None is the active run, or else the last one.
    - `options`: None shows the channels of the graph's output schema. Readers of a local run get the options that it
      was started with.
    - `view`: what the client is known to have; only the rest is emitted.
    - `past_errors`: see `PastErrors`.
    - `retry`: how often and how long to retry when a platform can't be reached.

    The stream of an unknown thread is empty. Errors are emitted as `RUN_ERROR`, after everything open has been closed.
    Closing the iterator frees the connection, and does not stop the run. Raises `TypeError` and `ValueError` at once
    for invalid arguments.
    """
    batches = _checked_connect(source, thread_id, run_id, options, view, past_errors, retry)
    return models(batches, _version(options), partial(_label, source, thread_id, run_id))


def connect_sse(
    source: Source,
    thread_id: str,
    *,
    run_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    last_event_id: str | None = None,
    heartbeat: float | None = HEARTBEAT,
) -> AsyncGenerator[bytes, None]:
    """Does the same as `connect`, as SSE frames. Events that are ready together are one `bytes`. After `heartbeat`
    seconds without an event, a comment is sent (None: never).

    Events of local runs have ids. `last_event_id` is the last id that a returning client got, which browsers send in
    the header `Last-Event-ID`; None for a new client. The client gets the events after that one if they are still kept,
    and otherwise what a new client gets."""
    _check_seconds("heartbeat", heartbeat)
    batches = _checked_connect(source, thread_id, run_id, options, view, past_errors, retry, last_event_id)
    label = partial(_label, source, thread_id, run_id)
    return frames(batches, SseWithIds(_version(options), has_id=last_event_id is not None), heartbeat, label)


@overload
def watch(
    source: Source,
    thread_id: str,
    *,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
) -> AsyncGenerator[Event, None]: ...


@overload
def watch(
    source: Source,
    *,
    assistant_id: str,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
) -> AsyncGenerator[Event, None]: ...


def watch(
    source: Source,
    thread_id: str | None = None,
    *,
    assistant_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
) -> AsyncGenerator[Event, None]:
    """Emits the state of a thread, and then every run on it, whoever starts it, as `ag_ui.core` models. Ends only with
    `RUN_ERROR`, when the source is gone for good.

    Takes the arguments of `connect`. Each later run is emitted from `RUN_STARTED` to its terminal event, with nothing
    between runs. A change that was not made by a run here or on the platform (by a scheduler's `ainvoke` on the same
    checkpointer, or an `update_state`) is emitted as a run whose id is derived from its checkpoint. `poll`: seconds
    between reads, if changes are not announced; ten times as many if a platform announces runs but no other changes.

    `assistant_id` takes the place of `thread_id` on a platform, and is the id of an assistant or the name of its graph:
    emits every run of the assistant, on any thread, one run at a time. This is for stateless crons, which make a thread
    for each run.

    Raises at once as `connect` does, and `TypeError` for both or neither of the two ids.
    """
    batches = _checked_watch(source, thread_id, assistant_id, options, view, past_errors, retry, poll)
    return models(batches, _version(options), partial(_label, source, thread_id))


@overload
def watch_sse(
    source: Source,
    thread_id: str,
    *,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
    last_event_id: str | None = None,
    heartbeat: float | None = HEARTBEAT,
) -> AsyncGenerator[bytes, None]: ...


@overload
def watch_sse(
    source: Source,
    *,
    assistant_id: str,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
    last_event_id: str | None = None,
    heartbeat: float | None = HEARTBEAT,
) -> AsyncGenerator[bytes, None]: ...


def watch_sse(
    source: Source,
    thread_id: str | None = None,
    *,
    assistant_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
    last_event_id: str | None = None,
    heartbeat: float | None = HEARTBEAT,
) -> AsyncGenerator[bytes, None]:
    """Does the same as `watch`, as SSE frames. Events that are ready together are one `bytes`. After `heartbeat`
    seconds without an event, a comment is sent (None: never). `last_event_id`: as for `connect_sse`."""
    _check_seconds("heartbeat", heartbeat)
    batches = _checked_watch(source, thread_id, assistant_id, options, view, past_errors, retry, poll, last_event_id)
    label = partial(_label, source, thread_id)
    return frames(batches, SseWithIds(_version(options), has_id=last_event_id is not None), heartbeat, label)


async def cancel(source: Source, thread_id: str, run_id: str | None = None) -> CancelResult:
    """Stops a run and its graph. Readers of the run get its end at once. Returns `stopped` when the graph has stopped,
    and `stopping` if it has not within 10 seconds, because a synchronous node cannot be interrupted.

    `run_id`: None is the active run, and on a platform the queued runs too. There, the id of a run is the one that its
    client gave `run`, or the platform's. Raises `RunNotFoundError` if there is no such run, `ValueError` for an invalid
    id, and `PlatformError` or `ConnectionLost` for errors of a platform.
    """
    return await OpenThread(backend_of(source), thread_id).stop(run_id)


async def thread(source: Source, thread_id: str, *, options: Options | None = None) -> ThreadState | None:
    """Returns a thread as it is now: its status, its pending interrupts, and what a client has after it has connected
    (`view.messages`, `view.state`). None for an unknown thread.

    `source`, `options`: as for `connect`. Raises `ValueError` for an invalid id, `UnreadableError` for an error of the
    checkpointer, and `PlatformError` or `ConnectionLost` for errors of a platform.
    """
    return await OpenThread(backend_of(source), thread_id).state(options)


def threads(source: Source, *, retry: RetryPolicy | None = None) -> Threads:
    """Returns the threads of a source, to list, change and delete them; see `Threads`. `source`, `retry`: as for
    `connect`. Raises `TypeError` for arguments of another type."""
    backend = backend_of(source, retry)
    _check(retry=retry)
    return backend.threads


def _checked_run(
    source: Source,
    posted: RunAgentInput | Mapping[str, Any],
    options: Options | None,
    intake: Intake | None,
    retry: RetryPolicy | None,
) -> tuple[Batches, str | None, Callable[[], str]]:
    """Validates the arguments of `run`. Returns its batches, the protocol version of its client, and the label of its
    log lines."""
    backend = backend_of(source, retry)
    if not isinstance(posted, RunAgentInput | Mapping):
        raise TypeError(f"input: expected RunAgentInput or its JSON, got {type(posted).__name__}")
    _check(options=options, intake=intake, retry=retry)
    if intake is not None:
        backend.check_intake(intake, options)
    run_input = read_input(posted, backend.name)
    thread_id, run_id = run_input.thread_id, run_input.run_id
    label = partial(_label, backend, thread_id, run_id)

    async def begin() -> Batches:
        return await OpenThread(backend, thread_id).run(run_input, options=options, intake=intake or Intake())

    return with_errors(begin, options, label), run_input.protocol_version, label


def _checked_connect(
    source: Source,
    thread_id: str,
    run_id: str | None,
    options: Options | None,
    view: ClientView | None,
    past_errors: PastErrors,
    retry: RetryPolicy | None,
    last_event_id: str | None = None,
) -> Batches:
    """Validates the arguments of `connect`, and returns its batches."""
    backend = backend_of(source, retry)
    _check(past_errors, options=options, view=view, retry=retry)
    arguments: Any = {"run_id": run_id, "options": options, "view": view, "past_errors": past_errors}

    async def begin() -> Batches:
        return await OpenThread(backend, thread_id).connect(after=offset_of(last_event_id), **arguments)

    return with_errors(begin, options, partial(_label, backend, thread_id, run_id))


def _checked_watch(
    source: Source,
    thread_id: str | None,
    assistant_id: str | None,
    options: Options | None,
    view: ClientView | None,
    past_errors: PastErrors,
    retry: RetryPolicy | None,
    poll: float,
    last_event_id: str | None = None,
) -> Batches:
    """Validates the arguments of `watch`, and returns its batches."""
    backend = backend_of(source, retry)
    _check(past_errors, options=options, view=view, retry=retry)
    _check_seconds("poll", poll)
    if (thread_id is None) == (assistant_id is None):
        came = "neither" if thread_id is None else "both"
        raise TypeError(f"watch: expected either a thread_id or an assistant_id, got {came}")
    after = offset_of(last_event_id)
    arguments: Any = {"options": options, "view": view, "after": after, "past_errors": past_errors, "poll": poll}
    if assistant_id is not None:
        return watch_assistant(backend, assistant_id, **arguments)

    async def begin() -> Batches:
        return await OpenThread(backend, thread_id or "").watch(**arguments)

    return with_errors(begin, options, partial(_label, backend, thread_id))


def _label(source: Source, thread_id: str | None, run_id: str | None = None) -> str:
    """Returns the agent, the thread and the run, as log lines name them."""
    return log_context(backend_of(source).name, thread_id, run_id)


def _check(past_errors: str = "error", **arguments: object) -> None:
    """Raises `TypeError` or `ValueError` for an argument that would fail in the middle of a stream, or be misread."""
    for name, value in arguments.items():
        if value is not None and not isinstance(value, _KINDS[name]):
            raise TypeError(f"{name}: expected {_KINDS[name].__name__} or None, got {type(value).__name__}")
    if past_errors not in get_args(PastErrors):
        raise ValueError(f"past_errors: expected 'error' or 'custom', got {past_errors!r}")


def _check_seconds(name: str, seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise ValueError(f"{name}: expected more than 0 seconds, got {seconds!r}")


def _version(options: Options | None) -> str | None:
    return (options or Options()).protocol_version
