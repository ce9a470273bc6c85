"""The public functions: `run`, `connect` and `watch`, each as `ag_ui.core` models or as SSE frames; `cancel`;
`thread` and `threads`, which read threads without a stream.

Arguments are validated here, when a function is called. What goes wrong later is an event of the stream: `RUN_ERROR`.
Which events a stream has is decided by its backend.
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
"""Seconds without an event after which an SSE comment is sent, so that no proxy closes the connection."""

_KINDS: Final = {"options": Options, "view": ClientView, "retry": RetryPolicy, "intake": Intake}


def run(
    source: Source,
    input: RunAgentInput | Mapping[str, Any],  # noqa: A002 - the name AG-UI gives it
    *,
    options: Options | None = None,
    intake: Intake | None = None,
    retry: RetryPolicy | None = None,
) -> AsyncGenerator[Event, None]:
    """Runs a client's input, and emits the run to its end, as `ag_ui.core` models.

    `source`: as for `connect`. `input`: what an AG-UI client posts, or the JSON of it; its messages and state are what
    the client is known to have, its `protocolVersion` the version of the events. What a newer version of AG-UI adds is
    skipped and logged. `options`: None shows the channels of the graph's output schema. `intake`: what of the input
    reaches the graph, and how its runs are started. `retry`: how often and how long a platform is asked again that
    can't be reached.

    Errors of the run and of the platform are emitted as `RUN_ERROR`. Raises at once: `TypeError` for arguments of
    another type, `ValueError` for JSON that is no input, and for an intake that names channels which the graph's input
    does not have, `InvalidInputError` for an input whose last message has nothing known in it.
    Closing the iterator stops no run, unless the intake says so (`on_disconnect`).
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
    """`run` as SSE frames, with ids as `connect_sse` says. Events that are ready together are one `bytes`. After
    `heartbeat` seconds without an event a comment is sent (None: never)."""
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

    `source`: a `Local` or a `Platform`, or what stands for one: a compiled graph, a `RemoteGraph`, a client of
    `langgraph_sdk`. `run_id`: the run to emit; None: the active one, or else the last. `options`: None shows the
    channels of the graph's output schema; readers of a run of this process get the options it was started with.
    `view`: what the client is known to have; only what it is missing is emitted. `past_errors`: see `PastErrors`.
    `retry`: how often and how long a platform is asked again that can't be reached.

    An unknown thread is an empty stream. Errors are emitted as `RUN_ERROR`, after what is open is closed. Raises at
    once: `TypeError` and `ValueError` for arguments of another type or value. Closing the iterator frees the
    connection, and stops no run.
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
    """`connect` as SSE frames. Events that are ready together are one `bytes`. After `heartbeat` seconds without an
    event a comment is sent (None: never).

    Events of a run of this process have ids. `last_event_id`: the last one that a client got which comes back, as
    browsers send it in the header `Last-Event-ID`: it gets the events after it, where they are still known, and else
    what a new client gets; None for a new one."""
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
    """Emits the state of a thread, and then every run of it, however it is started, as `ag_ui.core` models; never ends.

    As `connect`, and each further run from `RUN_STARTED` to its terminal event, with nothing in between. A change that
    no run here or on the platform made (a scheduler's `ainvoke` on the same checkpointer, an `update_state`) is emitted
    as a run whose id is made from its checkpoint. `poll`: seconds between reads, where changes are not announced.

    `assistant_id` in place of `thread_id`, on a platform: every run of this assistant (its id, or its graph's name),
    on whatever thread; for stateless crons, which make a thread for each run. One run is emitted at a time.
    Ends only in `RUN_ERROR`, when the source is gone for good. Raises at once as `connect` does, and `TypeError` for
    both or neither of the two ids.
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
    """`watch` as SSE frames. Events that are ready together are one `bytes`. After `heartbeat` seconds without an event
    a comment is sent (None: never). `last_event_id`: as for `connect_sse`."""
    _check_seconds("heartbeat", heartbeat)
    batches = _checked_watch(source, thread_id, assistant_id, options, view, past_errors, retry, poll, last_event_id)
    label = partial(_label, source, thread_id)
    return frames(batches, SseWithIds(_version(options), has_id=last_event_id is not None), heartbeat, label)


async def cancel(source: Source, thread_id: str, run_id: str | None = None) -> CancelResult:
    """Stops a run: the graph, not only its readers, which get its end at once. Returns `stopped` when it has stopped;
    `stopping` if it has not within 10 seconds, since a synchronous node cannot be interrupted.

    `run_id`: None is the active run; on a platform the queued ones are stopped as well, and a run may be named by the
    id that its client gave `run`, or by the platform's. Raises `RunNotFoundError` if there is no such run,
    `ValueError` for an invalid id, and `PlatformError` or `ConnectionLost` for what the platform answers.
    """
    return await OpenThread(backend_of(source), thread_id).stop(run_id)


async def thread(source: Source, thread_id: str, *, options: Options | None = None) -> ThreadState | None:
    """A thread as it is now: its status, what waits for an answer, and what a client has that connects
    (`view.messages`, `view.state`). None for an unknown thread.

    `source`, `options`: as for `connect`. Raises `ValueError` for an invalid id, `UnreadableError` for what the
    checkpointer raises, and `PlatformError` or `ConnectionLost` for what the platform answers.
    """
    return await OpenThread(backend_of(source), thread_id).state(options)


def threads(source: Source, *, retry: RetryPolicy | None = None) -> Threads:
    """The threads of a source, to list, change and delete them; see `Threads`. `source`, `retry`: as for `connect`.
    Raises `TypeError` for arguments of another type."""
    backend = backend_of(source, retry)
    _check(retry=retry)
    return backend.threads


def _checked_run(
    source: Source,
    given: RunAgentInput | Mapping[str, Any],
    options: Options | None,
    intake: Intake | None,
    retry: RetryPolicy | None,
) -> tuple[Batches, str | None, Callable[[], str]]:
    """The batches of `run`, the protocol version of its client and the label of its log lines, if all is valid."""
    backend = backend_of(source, retry)
    if not isinstance(given, RunAgentInput | Mapping):
        raise TypeError(f"input: expected RunAgentInput or its JSON, got {type(given).__name__}")
    _check(options=options, intake=intake, retry=retry)
    if intake is not None:
        backend.check_intake(intake, options)
    found = read_input(given, backend.name)
    label = partial(_label, backend, found.thread_id, found.run_id)

    async def begin() -> Batches:
        return await OpenThread(backend, found.thread_id).run(found, options=options, intake=intake or Intake())

    return with_errors(begin, options, label), found.protocol_version, label


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
    """The batches of `connect`, if its arguments are valid."""
    backend = backend_of(source, retry)
    _check(past_errors, options=options, view=view, retry=retry)
    how: Any = {"run_id": run_id, "options": options, "view": view, "past_errors": past_errors}

    async def begin() -> Batches:
        return await OpenThread(backend, thread_id).connect(after=offset_of(last_event_id), **how)

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
    """The batches of `watch`, if its arguments are valid."""
    backend = backend_of(source, retry)
    _check(past_errors, options=options, view=view, retry=retry)
    _check_seconds("poll", poll)
    if (thread_id is None) == (assistant_id is None):
        raise TypeError("watch: expected a thread_id, or an assistant_id in its place")
    after = offset_of(last_event_id)
    how: Any = {"options": options, "view": view, "after": after, "past_errors": past_errors, "poll": poll}
    if assistant_id is not None:
        return watch_assistant(backend, assistant_id, **how)

    async def begin() -> Batches:
        return OpenThread(backend, thread_id or "").watch(**how)

    return with_errors(begin, options, partial(_label, backend, thread_id))


def _label(source: Source, thread_id: str | None, run_id: str | None = None) -> str:
    """The agent, the thread and the run, as log lines name them."""
    return log_context(backend_of(source).name, thread_id, run_id)


def _check(past_errors: str = "error", **given: object) -> None:
    """Raises `TypeError` or `ValueError` for an argument that would fail in the middle of a stream, or be misread."""
    for name, value in given.items():
        if value is not None and not isinstance(value, _KINDS[name]):
            raise TypeError(f"{name}: expected {_KINDS[name].__name__} or None, got {type(value).__name__}")
    if past_errors not in get_args(PastErrors):
        raise ValueError(f"past_errors: expected 'error' or 'custom', got {past_errors!r}")


def _check_seconds(name: str, seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise ValueError(f"{name}: expected more than 0 seconds, got {seconds!r}")


def _version(options: Options | None) -> str | None:
    return (options or Options()).protocol_version
