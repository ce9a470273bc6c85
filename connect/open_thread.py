"""One thread of a backend, opened by its id: `OpenThread`. Only this class runs, reads, watches, stops, changes or
deletes a thread, whether for a route, an editor or a caller of the public functions. A test checks that by the imports
and the calls.

A thread that the backend's agent and user may not use (see `access`) does not exist for them: `connect` emits nothing,
`state` returns None, and changes are refused.

An error that is emitted as an event is a `RUN_ERROR`, after everything open has been closed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ag_ui.core import RunAgentInput

from ..translator import ClientView, Options
from .backend import Backend
from .errors import AguiError, checked_run_id, checked_thread_id, failed, log_context, log_failure
from .events.encoded import Batch, Batches, to_batch
from .events.readers import Offset, Reader, direct_options
from .events.relay import Relayed, relaying
from .inputs import Intake
from .inputs.breakpoints import check_admitted
from .inputs.thread_state import ThreadState
from .local.store.active_run import CANCEL_WAIT
from .platform.watch import POLL
from .run_outcome import CancelResult, PastErrors
from .thread_info import Checkpoint, RunInfo, ThreadInfo, existing_thread
from .tracing import Span, begun, traced


class OpenThread:
    """A thread of a backend, for the backend's user and agent. Raises `InvalidThreadIdError`."""

    def __init__(self, backend: Backend, thread_id: str) -> None:
        self.backend = backend
        self.id = checked_thread_id(thread_id, in_url=backend.ids_in_url)

    async def run(
        self,
        run_input: RunAgentInput,
        *,
        options: Options | None,
        intake: Intake,
        past_errors: PastErrors = "error",
        queue: int | None = None,
    ) -> Batches:
        """See `Backend.submit`. Later errors are emitted as `RUN_ERROR`. Raises `InvalidRunIdError`, and `ValueError`
        for an input for another thread."""
        if run_input.thread_id != self.id:
            raise ValueError(f"input: expected one for thread {self.id!r}, got one for {run_input.thread_id!r}")
        check_admitted(run_input, intake)
        checked_run_id(run_input.run_id, in_url=False)  # a platform makes ids of its own
        batches = await self.backend.submit(
            run_input, options=options, intake=intake, past_errors=past_errors, queue=queue
        )
        label = log_context(self.backend.name, self.id, run_input.run_id)
        return _guarded(batches, options, label, lambda: True)

    async def connect(
        self,
        *,
        run_id: str | None = None,
        options: Options | None = None,
        view: ClientView | None = None,
        after: Offset | None = None,
        past_errors: PastErrors = "error",
    ) -> Batches:
        """Returns the batches of `api.connect`. `after`: the client has all events up to this position. Later errors
        are emitted as `RUN_ERROR`. Raises `InvalidRunIdError`, and what `Backend.attach` raises before anything is
        emitted."""
        backend, run_id = self.backend, self._checked(run_id)
        reader = Reader(direct_options(options or Options()), view, after)
        span = Span("connect", backend.name, self.id, run_id)
        attached = backend.attach(self.id, reader, options, run_id=run_id, past_errors=past_errors)
        label = log_context(backend.name, self.id, run_id)
        return _guarded(await begun(attached, span), options, label, _in_a_run(reader))

    async def watch(
        self,
        *,
        options: Options | None = None,
        view: ClientView | None = None,
        after: Offset | None = None,
        past_errors: PastErrors = "error",
        poll: float = POLL,
    ) -> Batches:
        """Returns the batches of `api.watch` (`after` as for `connect`). Later errors are emitted as `RUN_ERROR`.
        Raises what `Backend.watch` raises before anything is emitted."""
        backend, reader = self.backend, Reader(direct_options(options or Options()), view, after)
        span, label = Span("watch", backend.name, self.id), log_context(backend.name, self.id)
        watching = backend.watch(self.id, reader, options, past_errors=past_errors, poll=poll)
        return _guarded(await begun(watching, span), options, label, _not_failed(reader))

    async def stop(self, run_id: str | None = None, *, wait: float = CANCEL_WAIT) -> CancelResult:
        """See `Backend.cancel`."""
        return await self.backend.cancel(self.id, self._checked(run_id), wait=wait)

    async def state(self, options: Options | None = None) -> ThreadState | None:
        """See `Backend.thread`."""
        return await self.backend.thread(self.id, options)

    async def runs(self, limit: int) -> Sequence[RunInfo]:
        """See `Threads.runs`."""
        return await self.backend.threads.runs(self.id, limit=limit)

    async def checkpoints(self, limit: int, before: str | None) -> Sequence[Checkpoint]:
        """See `Threads.history`. Raises `ThreadNotFoundError` for an unknown thread."""
        page = await self.backend.threads.history(self.id, limit=limit, before=before)
        if not page:
            await self.info()
        return page

    async def recorded(self, run_id: str, options: Options) -> Batches:
        """See `Backend.recorded`. Raises `InvalidRunIdError`."""
        return await self.backend.recorded(self.id, checked_run_id(run_id, in_url=self.backend.ids_in_url), options)

    async def info(self) -> ThreadInfo:
        """Returns the thread as a list shows it. Raises `ThreadNotFoundError`."""
        return await existing_thread(self.backend.threads, self.id)

    async def change(self, metadata: Mapping[str, Any]) -> ThreadInfo:
        """See `Threads.update`."""
        return await self.backend.threads.update(self.id, metadata)

    async def delete(self) -> None:
        """See `Threads.delete`."""
        await self.backend.threads.delete(self.id)

    def _checked(self, run_id: str | None) -> str | None:
        return None if run_id is None else checked_run_id(run_id, in_url=self.backend.ids_in_url)


def watch_assistant(
    backend: Backend,
    assistant_id: str,
    *,
    options: Options | None = None,
    view: ClientView | None = None,
    after: Offset | None = None,
    past_errors: PastErrors = "error",
    poll: float = POLL,
) -> Batches:
    """Does the same as `OpenThread.watch`, for every run of an assistant. Raises `TypeError` for a local graph."""
    reader, label = Reader(direct_options(options or Options()), view, after), log_context(assistant_id, None)
    batches = backend.watch_assistant(assistant_id, reader, options, past_errors=past_errors, poll=poll)
    return _guarded(traced(batches, Span("watch", assistant_id)), options, label, _not_failed(reader))


@relaying
async def _guarded(batches: Batches, options: Options | None, label: str, may_end: Callable[[], bool]) -> Relayed:
    """Yields the batches, and `RUN_ERROR` if they raise and a terminal event may follow (`may_end`)."""
    try:
        yield batches
    except AguiError as error:
        batch = _error_batch(error, options, label)
        if may_end():
            yield batch


def _in_a_run(reader: Reader) -> Callable[[], bool]:
    """Returns a function that says whether the reader has got no terminal event yet."""
    return lambda: reader.view.terminal is None


def _not_failed(reader: Reader) -> Callable[[], bool]:
    """Returns a function that says whether the reader has got no `RUN_ERROR`, after which clients take no events. A
    reader that watches may get one after `RUN_FINISHED`."""
    return lambda: (reader.view.terminal or {}).get("type") != "RUN_ERROR"


@relaying
async def with_errors(
    begin: Callable[[], Awaitable[Batches]], options: Options | None, label: Callable[[], str]
) -> Relayed:
    """Yields the batches that `begin` returns, or `RUN_ERROR` if it raises."""
    try:
        batches = await begin()
    except AguiError as error:
        yield _error_batch(error, options, label())
    else:
        yield batches


def _error_batch(error: Exception, options: Options | None, label: str) -> Batch:
    """Logs an error, and returns its `RUN_ERROR`."""
    log_failure(error, label)
    return to_batch([failed(error, options or Options())])
