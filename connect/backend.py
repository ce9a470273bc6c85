"""Where runs are: in this process (`Local`) or on a LangGraph server (`Platform`); what the public functions accept for
either (`Source`); and the operations on either, in batches, for `api` and `serve`.

This is the one module that asks which of the two a backend is in order to call it.
"""

from __future__ import annotations

from contextlib import aclosing
from datetime import datetime
from typing import Any, Literal

from ag_ui.core import RunAgentInput
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from ..translator import ClientView, Options
from .default_options import options_for
from .encoded import Batches, to_batch
from .errors import ConnectionLost, InvalidIdError, PlatformError, checked_run_id, checked_thread_id, failed
from .inputs import Intake
from .inputs.channels import check
from .local.channels import input_channels_of
from .local.connect import cancel_local, connect_local
from .local.run import CANCEL_WAIT
from .local.source import Local, type_of
from .local.submit import begin_local
from .local.watch import watched_local
from .platform.connect import ThreadFollower
from .platform.retry import RetryPolicy
from .platform.source import Platform, platform_of
from .platform.source import type_of as type_of_client
from .platform.submit import begin_platform
from .platform.thread import PlatformThread
from .platform.watch import POLL, watch_thread
from .platform.watch_assistant import watch_assistant
from .readers import Reader, direct_options
from .run_outcome import PastErrors

_ACCEPTED = (
    "expected a compiled graph, a RemoteGraph, an asynchronous client of langgraph_sdk (get_client()), "
    "or Local(graph) or Platform(client) of one"
)

Backend = Local | Platform
CancelResult = Literal["stopped", "stopping"]
"""Whether a run has stopped, or its graph has not yet."""
Source = Backend | Pregel[Any, Any, Any, Any] | RemoteGraph | LangGraphClient
"""A compiled graph is `Local(graph)`; a client, or a `RemoteGraph` with one, is a `Platform`."""


def backend_of(source: Source) -> Backend:
    """The backend that a source is or stands for; raises `TypeError`, which says what came and what is accepted."""
    if isinstance(source, Local):
        return source
    if isinstance(source, Pregel):
        return Local(source)
    if (platform := platform_of(source)) is not None:
        return platform
    if isinstance(source, RemoteGraph):
        raise TypeError(f"this RemoteGraph has no asynchronous client; {_ACCEPTED}")
    kind = type_of_client(source) if isinstance(source, SyncLangGraphClient) else type_of(source)
    raise TypeError(f"{_ACCEPTED}; got {kind}")


def name_of(backend: Backend) -> object:
    """What log lines name as the agent of a backend."""
    return backend.agent or backend.graph if isinstance(backend, Local) else backend.assistant_id


def check_intake(backend: Backend, intake: Intake, options: Options | None) -> None:
    """Raises `ValueError` for an intake that names channels which the input of a graph of this process does not have. A
    platform's graph is asked for when an input comes."""
    if isinstance(backend, Local):
        check(input_channels_of(backend.graph, (options or options_for(backend.graph)).messages_key), intake)


async def submit(
    backend: Backend,
    given: RunAgentInput,
    *,
    options: Options | None,
    intake: Intake,
    retry: RetryPolicy | None = None,
    past_errors: PastErrors = "error",
    queue: int | None = None,
) -> Batches:
    """Starts the run of an input, and returns what its client gets, to the run's end.

    `queue`: how many inputs may be queued on a thread of this process; None: any number.
    Raises, before anything is emitted: `QueueFullError` where more would be, `RunConflictError` where a run is active
    and the intake rejects a second one, `ThreadNotFoundError` for another agent's thread, `InvalidIdError` and
    `InvalidInputError` for an input that can't be run, `UnreadableError` for what the checkpointer raises,
    `PlatformError` and `ConnectionLost` for what the platform answers.
    """
    if isinstance(backend, Local):
        return await begin_local(backend, given, options, intake, past_errors, queue)
    return await begin_platform(backend, given, options, intake, past_errors, retry)


def connect_batches(
    backend: Backend,
    thread_id: str,
    *,
    run_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
) -> Batches:
    """`connect` in batches; an invalid id is `RUN_ERROR`, and the other arguments are valid."""
    reader = Reader(direct_options(options or Options()), view)
    try:
        thread, run = _checked_ids(backend, thread_id, run_id)
    except InvalidIdError as error:
        return _error(error, options)
    if isinstance(backend, Local):
        batches = connect_local(backend, thread, reader, options, run_id=run, past_errors=past_errors)
    else:
        batches = _on_platform(backend, thread, reader, options, past_errors, retry).batches(run)
    return _guarded(batches, reader, options)


def watch_batches(
    backend: Backend,
    thread_id: str | None,
    *,
    assistant_id: str | None = None,
    options: Options | None = None,
    view: ClientView | None = None,
    past_errors: PastErrors = "error",
    retry: RetryPolicy | None = None,
    poll: float = POLL,
) -> Batches:
    """`watch` in batches; an invalid id is `RUN_ERROR`, and the other arguments are valid."""
    reader = Reader(direct_options(options or Options()), view)
    if isinstance(backend, Platform) and assistant_id is not None:

        def of_thread(thread: Any, since: datetime | None = None) -> ThreadFollower:
            return _on_platform(backend, checked_thread_id(thread), reader, options, past_errors, retry, since)

        policy = retry or RetryPolicy()
        batches = watch_assistant(backend, assistant_id, of_thread, policy=policy, poll=poll)
        return _guarded(batches, reader, options, watches=True)
    try:
        thread, _ = _checked_ids(backend, thread_id, None)
    except InvalidIdError as error:
        return _error(error, options)
    if isinstance(backend, Local):
        batches = watched_local(backend, thread, reader, options, past_errors=past_errors, poll=poll)
    else:
        batches = watch_thread(_on_platform(backend, thread, reader, options, past_errors, retry), poll)
    return _guarded(batches, reader, options, watches=True)


async def cancel_run(
    backend: Backend, thread_id: str, run_id: str | None, *, wait: float = CANCEL_WAIT
) -> CancelResult:
    """See `api.cancel`. `wait`: seconds in which the run, or each run of a platform, has to stop."""
    thread, run = _checked_ids(backend, thread_id, run_id)
    if isinstance(backend, Local):
        return "stopping" if await cancel_local(backend, thread, run, wait=wait) == "stopping" else "stopped"
    has_stopped = await PlatformThread(backend.client, thread, RetryPolicy()).cancel(run, wait)
    return "stopped" if has_stopped else "stopping"


def _checked_ids(backend: Backend, thread_id: str | None, run_id: str | None) -> tuple[str, str | None]:
    """The ids, if they are valid; raises `InvalidIdError`."""
    in_url = isinstance(backend, Platform)
    thread = checked_thread_id(thread_id, in_url=in_url)
    return thread, None if run_id is None else checked_run_id(run_id, in_url=in_url)


def _on_platform(
    platform: Platform,
    thread_id: str,
    reader: Reader,
    options: Options | None,
    past_errors: PastErrors,
    retry: RetryPolicy | None,
    since: datetime | None = None,
) -> ThreadFollower:
    thread = PlatformThread(platform.client, thread_id, retry or RetryPolicy())
    return ThreadFollower(platform, thread, reader, options, past_errors, since)


async def _guarded(batches: Batches, reader: Reader, options: Options | None, *, watches: bool = False) -> Batches:
    """The batches; then `RUN_ERROR` for what they raise, unless a terminal event was emitted. Readers that watch get it
    after `RUN_FINISHED` too; no client takes an event after `RUN_ERROR`."""
    try:
        async with aclosing(batches):
            async for batch in batches:
                yield batch
    except (PlatformError, ConnectionLost, InvalidIdError) as error:
        last = reader.view.terminal
        if last is None or (watches and last["type"] != "RUN_ERROR"):
            yield to_batch([failed(error, options or Options())])


async def _error(error: InvalidIdError, options: Options | None) -> Batches:
    yield to_batch([failed(error, options or Options())])
