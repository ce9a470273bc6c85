"""Where runs are: in this process (`Local`) or on a LangGraph server (`Platform`). `Backend` is what both do, `Source`
what the public functions accept for either. What only a graph of this process does, such as to end its runs when the
server ends, is `Local`'s alone.

Its methods take ids that are valid, of threads that the caller may use or that do not exist for the caller. Only
`open_thread.OpenThread` calls those that take a thread's id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ag_ui.core import RunAgentInput
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from ..translator import Options
from .access import Metadata
from .events.encoded import Batches
from .events.readers import Reader
from .inputs import Intake
from .inputs.thread_state import ThreadState
from .local.backend import Local
from .local.checkpointers import Graph
from .local.run.run import Run
from .local.run.runs import Runs
from .local.source import type_of
from .platform.backend import Platform, platform_of
from .platform.calls import RetryPolicy
from .platform.source import type_of as type_of_client
from .run_outcome import CancelResult, PastErrors
from .thread_info import Threads

_ACCEPTED = (
    "expected a compiled graph, a RemoteGraph, an asynchronous client of langgraph_sdk (get_client()), "
    "or Local(graph) or Platform(client) of one; or Local(make_graph) of a function that makes a graph for each run"
)


class Backend(Protocol):
    """What has threads, and runs graphs on them. Ids that a method takes are valid (`ids_in_url`)."""

    @property
    def name(self) -> object:
        """What log lines name as the agent: its name, its graph, or an assistant's id."""

    @property
    def ids_in_url(self) -> bool:
        """Whether ids become part of a URL's path, which takes fewer characters."""

    @property
    def is_local(self) -> bool:
        """Whether its graphs are in this process."""

    @property
    def template(self) -> Graph | None:
        """The graph, if it is in this process. Where a function makes one for each request: the first that it has
        made, or None."""

    @property
    def runs(self) -> Runs | None:
        """The scope of its runs, which end with this process; None: they are a server's, and outlive it."""

    @property
    def outlives_server(self) -> bool:
        """Whether its runs can be read when this server has ended: they are a platform's, or of a store that other
        processes share."""

    def run_on(self, thread_id: str) -> Run | None:
        """The run of this process that is active on a thread; None if there is none, or runs are a server's."""

    @property
    def depends_on(self) -> tuple[str, object]:
        """What must answer for it to work: its kind, `platform` or `checkpointer`, and the client or the saver."""

    async def probe(self) -> None:
        """Asks what it depends on for a sign of life; raises what the checkpointer or the platform raises."""

    @property
    def unused(self) -> set[str]:
        """The kinds of what clients have sent and the graph has no field for."""

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Local | Platform:
        """The same as it is served under a name, which may use the threads of these other agents."""

    def for_user(self, user: Any, where: Metadata, creates: Metadata | bool = True) -> Local | Platform:
        """The same for the user of a request, who may use the threads that match a metadata filter, and create others
        (see `access.Grant`), and whom graphs of this process know. Raises `ValueError` for an invalid filter."""

    def with_headers(self, headers: Iterable[tuple[bytes, bytes]], names: Iterable[str]) -> Local | Platform:
        """The same for one request: its headers of these names are forwarded to the server, if there is one."""

    def check_intake(self, intake: Intake, options: Options | None) -> None:
        """Raises `ValueError` for an intake that names channels which a graph of this process does not take in, and for
        one that asks a platform for what only runs of this process have."""

    async def options(self) -> Options:
        """The options when none are given: the channels of the graph's output schema. Raises what a platform
        answers: `PlatformError`, `ConnectionLost`."""

    async def submit(
        self,
        run_input: RunAgentInput,
        *,
        options: Options | None,
        intake: Intake,
        past_errors: PastErrors = "error",
        queue: int | None = None,
    ) -> Batches:
        """Starts the run of an input, and returns what its client gets, to the run's end.

        `queue`: how many inputs may be queued on a thread of this process; None: any number.
        Raises, before anything is emitted: `QueueFullError` where more would be, `RunConflictError` where a run is
        active and the intake rejects a second one, `ThreadNotFoundError` for a thread that may not be used,
        `InvalidInputError` for an input that can't be run, `UnreadableError` for what the
        checkpointer raises, `PlatformError` and `ConnectionLost` for what the platform answers.
        """

    async def attach(
        self,
        thread_id: str,
        reader: Reader,
        options: Options | None,
        *,
        run_id: str | None = None,
        past_errors: PastErrors = "error",
    ) -> Batches:
        """The thread's state, its active run and the runs queued behind it, to their end. Nothing for a thread that is
        unknown, or may not be used. `run_id`: this run alone.

        Raises `UnreadableError` for what the checkpointer raises, before anything is emitted; the iterator raises
        `PlatformError` and `ConnectionLost`.
        """

    def watch(
        self, thread_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """The thread's state, then every run of it, until the reader leaves. `poll`: seconds between reads where
        changes are not announced. The iterator raises `PlatformError` and `ConnectionLost`."""

    def watch_assistant(
        self, assistant_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """Every run of an assistant, on whatever thread. Raises `TypeError` where there are no assistants."""

    async def cancel(self, thread_id: str, run_id: str | None, *, wait: float) -> CancelResult:
        """Stops a run, or the active one, and waits up to `wait` seconds until its graph has stopped. Raises
        `RunNotFoundError` if there is no such run, and `PlatformError` and `ConnectionLost`."""

    @property
    def threads(self) -> Threads:
        """Its threads, to list, change and delete them."""

    async def thread(self, thread_id: str, options: Options | None = None) -> ThreadState | None:
        """A thread as it is now, with the messages and the state that a client has that connects; None for a thread
        that is unknown, or may not be used. `options`: as for `connect`; an active run of this process has its own.
        Raises `UnreadableError`, `PlatformError` and `ConnectionLost`."""

    async def hold_threads(
        self, thread_id: str | None = None, run_id: str | None = None, *, waits: bool = True
    ) -> None:
        """Makes this process the one that runs on its threads, where neither a shared run store nor a platform decides
        that: see `local.process_lock`. `thread_id`, `run_id`: what is to run, for the log. `waits`: whether to wait for
        a process that may be about to end. Raises `OtherProcessError`, and `UnreadableError` for what the checkpointer
        raises."""


Source = Local | Platform | Pregel[Any, Any, Any, Any] | RemoteGraph | LangGraphClient
"""A compiled graph is `Local(graph)`; a client, or a `RemoteGraph` with one, is a `Platform`."""


def backend_of(source: Source, retry: RetryPolicy | None = None) -> Local | Platform:
    """The backend that a source is or stands for; `retry`: how a platform is retried, None leaves it as it is. Raises
    `TypeError`, which says what came and what is accepted."""
    if isinstance(source, Local):
        return source
    if isinstance(source, Pregel):
        return Local(source)
    if (platform := platform_of(source)) is not None:
        return platform if retry is None else platform.retrying(retry)
    if isinstance(source, RemoteGraph):
        raise TypeError(f"this RemoteGraph has no asynchronous client; {_ACCEPTED}")
    other: object = source
    kind = type_of_client(other) if isinstance(other, SyncLangGraphClient) else type_of(other)
    raise TypeError(f"{_ACCEPTED}; got {kind}")
