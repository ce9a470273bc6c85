"""LangGraph servers as a backend: `Platform`. Each of its methods is implemented in the module of the same name. Also
`outcome`, which tells `translate` how one of its runs ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from ag_ui.core import RunAgentInput
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient

from ...translator import Ending, Finished, Options
from ..access import Access, Metadata
from ..errors import ConnectionLost, PlatformError, checked_run_id, checked_thread_id, log_context
from ..events.encoded import Batches
from ..events.readers import Reader
from ..idle import idle_view
from ..inputs import Intake
from ..inputs.thread_state import ThreadState
from ..replaced_messages import outcome_with_replaced
from ..run_outcome import CancelResult, PastErrors, RunOutcome
from ..tracing import Span, begun
from .calls import Contact, Retries, RetryPolicy
from .connect import ThreadFollower
from .finished_runs import recorded_run
from .forwarded_headers import forwarded
from .join.attach import outcome_of_error
from .look import client_run_id
from .outcome import ACTIVE
from .source import PlatformSource, type_of
from .submit import submit_to_platform
from .thread import PlatformThread
from .threads import PlatformThreads
from .watch import watch_thread
from .watch_assistant import watch_assistant


class Platform(PlatformSource):
    """A server that speaks LangGraph Platform's interface: the platform itself, `langgraph dev`, Aegra.

    - `client`: from `langgraph_sdk.get_client()`. Its address, headers and transport are used; it is never closed.
    - `assistant_id`: the assistant that runs inputs, and whose output schema decides which channels are visible. None:
      nothing can be run, and the assistant of each run decides.
    - `agent`: the agent that owns the threads that are created here (see `access`). None: they belong to no agent, and
      the threads of every agent may be used.
    - `shares_threads_with`: the agents whose threads may be used too.
    - `run`: arguments of the SDK's `runs.create` for every run that is started here, as `{"durability": "sync"}`; see
      `RunSettings`. Config, context and metadata of runs are set with `Intake`.
    - `thread`: arguments of the SDK's `threads.create` for every thread that is created here: `metadata` and `ttl`.

    Raises `TypeError` for any other object than an asynchronous client, and `ValueError` for a single string in place
    of names, and for arguments in `run` and `thread` that can't be set.
    """

    ids_in_url: ClassVar = True
    template: ClassVar = None
    is_local: ClassVar = False
    runs: ClassVar = None
    outlives_server: ClassVar = True

    @property
    def name(self) -> object:
        """See `Backend`."""
        return self.assistant_id

    @property
    def depends_on(self) -> tuple[str, object]:
        """See `Backend`."""
        return "platform", self.client

    def run_on(self, thread_id: str) -> None:
        """See `Backend`. Always None."""

    async def probe(self) -> None:
        """See `Backend`. A platform is ready if it answers with any status below 500. A 401 is enough, because this
        request is not about authentication."""
        response = await self.client.http.client.get("/ok")
        if response.is_server_error:
            raise ConnectionError(f"HTTP status {response.status_code}")

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Platform:
        """See `Backend`."""
        return self._with(self.access.named(agent, shares_threads_with))

    def for_user(self, user: Any, where: Metadata, creates: Metadata | bool = True) -> Platform:
        """See `Backend`. The server's graphs receive the user from the server's own authentication, not from here."""
        return self._with(replace(self.access, where=where, creates=creates))

    def _with(self, access: Access) -> Platform:
        same = copy(self)
        same.access = access
        return same

    def with_headers(self, headers: Iterable[tuple[bytes, bytes]], names: Iterable[str]) -> Platform:
        """See `Backend`."""
        return self.through(forwarded(self.client, headers, names)) if names else self

    def check_intake(self, intake: Intake, options: Options | None) -> None:
        """See `Backend`. The channels are checked when an input comes, with the schemas of the assistant."""
        of_this_process = {
            "dispatched_events": intake.dispatched_events,
            "on_cancel='save'": intake.on_cancel == "save",
            "on_lost='continue'": intake.on_lost == "continue",
        }
        if name := next((name for name, is_chosen in of_this_process.items() if is_chosen), None):
            raise ValueError(f"{name}: only a run of this process supports it, and a run of a platform does not")

    async def submit(
        self,
        run_input: RunAgentInput,
        *,
        options: Options | None,
        intake: Intake,
        past_errors: PastErrors = "error",
        queue: int | None = None,
    ) -> Batches:
        """See `Backend`. `queue` has no effect, because a platform has a queue of its own."""
        span = Span("submit", self.name, run_input.thread_id, run_input.run_id)
        same = self.for_operation(run_input.thread_id)
        batches = await begun(submit_to_platform(same, run_input, options, intake, past_errors), span)
        same.contact().begin_stream()
        return batches

    async def attach(
        self,
        thread_id: str,
        reader: Reader,
        options: Options | None,
        *,
        run_id: str | None = None,
        past_errors: PastErrors = "error",
    ) -> Batches:
        """See `Backend`."""
        same = self.for_operation(thread_id)
        follower = ThreadFollower(same, thread_id, reader, options, past_errors)
        await follower.begin(run_id)
        same.contact().begin_stream()
        return follower.batches()

    async def watch(
        self, thread_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """See `Backend`. A server that has answered once is never given up."""
        same = self.for_operation(thread_id, is_endless=True)
        return await watch_thread(ThreadFollower(same, thread_id, reader, options, past_errors), poll)

    def watch_assistant(
        self, assistant_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """See `Backend`. A server that has answered once is never given up."""
        same = self.for_operation(is_endless=True)

        def follower_of(thread_id: str, since: datetime) -> ThreadFollower:
            return ThreadFollower(same, checked_thread_id(thread_id), reader, options, past_errors, since)

        return watch_assistant(same, assistant_id, follower_of, poll=poll)

    async def cancel(self, thread_id: str, run_id: str | None, *, wait: float) -> CancelResult:
        """See `Backend`. Without a `run_id`, queued runs are stopped too."""
        return (
            "stopped" if await self.for_operation(thread_id).thread_at(thread_id).cancel(run_id, wait) else "stopping"
        )

    @property
    def threads(self) -> PlatformThreads:
        """See `Backend`."""
        return PlatformThreads(self)

    async def recorded(self, thread_id: str, run_id: str, options: Options) -> Batches:
        """See `Backend`."""
        return await recorded_run(self, thread_id, run_id, options)

    async def thread(self, thread_id: str, options: Options | None = None) -> ThreadState | None:
        """See `Backend`."""
        source = self.for_operation(thread_id)
        look = await source.thread_at(thread_id).look()
        if look is None:
            return None
        options = options or await source.options((look.active or look.last or {}).get("assistant_id"))
        state, last = look.thread_state(options.messages_key), look.outcome
        if look.active is not None:
            last = RunOutcome(client_run_id(look.active), state.values, Finished())
        elif last.values is not None:
            last = await outcome_with_replaced(last, options, source.thread_at(thread_id).history())
        return replace(state, run_id=last.run_id, view=idle_view(thread_id, last, options))


def platform_of(source: Any) -> Platform | None:
    """Returns the platform that a source is, or is taken as: a `Platform`, an asynchronous client, or a `RemoteGraph`
    with one. None for any other source."""
    if isinstance(source, Platform):
        return source
    if isinstance(source, RemoteGraph) and isinstance(source.client, LangGraphClient):
        return Platform(source.client, source.assistant_id)
    return Platform(source) if isinstance(source, LangGraphClient) else None


def outcome(
    client: Any, thread_id: str, run_id: str, *, retry: RetryPolicy | None = None
) -> Callable[[], Awaitable[Ending]]:
    """Returns the function that `translate` takes as `at_end` for `client.runs.join_stream(thread_id, run_id)`. The
    stream of a platform stops in the same way after success, an interrupt, a cancellation and a rollback, so the
    function requests the run and its thread.

    - `client`: from `langgraph_sdk.get_client()`, or a `Platform`.
    - `thread_id`, `run_id`: those of the platform.
    - `retry`: how often and how long to retry while the server cannot be reached, or says that the run is still active.

    The function returns how the run ended:

    - `Finished`, with its interrupts and the thread's values. Also for a run that was deleted with its thread, as a
      stateless one is.
    - `Cancelled`, also for a run that was rolled back. Its events stay with the client until the next snapshot.
    - `Failed`, with the error of the run, or that of a server that refuses to answer, which is logged.
    - `Lost`, if the server cannot be reached or the run is still active, which is logged.

    Raises at once: `TypeError` for another client, `ValueError` for an invalid id.
    """
    source = platform_of(client)
    if source is None:
        raise TypeError(f"outcome: expected an asynchronous client of langgraph_sdk, got {type_of(client)}")
    contact = Contact(retry or source.policy, label=log_context(source.assistant_id, thread_id, run_id))
    contact.begin_stream()
    thread = PlatformThread(source.client, checked_thread_id(thread_id), contact)
    checked_run_id(run_id)

    async def at_end() -> Ending:
        try:
            await _until_ended(thread, run_id)
            ended = await thread.outcome(run_id)
        except (ConnectionLost, PlatformError) as error:
            ended = outcome_of_error(thread.id, run_id, error)
        return ended.ending

    return at_end


async def _until_ended(thread: PlatformThread, run_id: str) -> None:
    """Waits until the run is not active any more, because a server may end a stream a moment before the run. Raises
    `ConnectionLost` if the run stays active or the server can't be reached, and `PlatformError`."""
    retry = Retries(thread.contact)
    while (run := await thread.run(run_id)) is not None and run.get("status") in ACTIVE:
        await retry.pause(ConnectionLost("the stream stopped while the run was active"))
