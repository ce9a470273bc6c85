"""Where runs are: in this process (`Local`) or on a LangGraph server (`Platform`). `Backend` is the interface of both,
and `Source` is the type that the public functions accept for either. Methods that only a local graph needs, such as
ending its runs when the server ends, are in `Local` alone.

The ids that the methods take are valid. A method that takes the id of a thread checks itself whether the caller may use
that thread, and only `open_thread.OpenThread` calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ag_ui.core import RunAgentInput
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from ..translator import Options
from .access import Metadata
from .errors import Report
from .events.encoded import Batches
from .events.readers import Reader
from .graph_structure import GraphStructure
from .inputs import Intake
from .inputs.channels import InputChannels
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
    """Has threads, and runs graphs on them. Ids that a method takes are valid (`ids_in_url`)."""

    @property
    def name(self) -> object:
        """The agent in log lines: its name, its graph, or an assistant's id."""

    @property
    def ids_in_url(self) -> bool:
        """Whether ids become part of a URL's path, where fewer characters are allowed."""

    @property
    def is_local(self) -> bool:
        """Whether its graphs are in this process."""

    @property
    def template(self) -> Graph | None:
        """The graph, if it is in this process. If a function makes a graph for each request, the first one that it has
        made; None until then."""

    @property
    def runs(self) -> Runs | None:
        """The scope of its runs, which end with this process; None if a server has them, where they outlive it."""

    @property
    def outlives_server(self) -> bool:
        """Whether its runs can still be read after this server has ended, because a platform or a shared run store has
        them."""

    def run_on(self, thread_id: str) -> Run | None:
        """Returns the run of this process that is active on a thread; None if no run is, or if a server has the
        runs."""

    @property
    def depends_on(self) -> tuple[str, object]:
        """What it needs an answer from: the kind, `platform` or `checkpointer`, and the client or the saver."""

    async def probe(self) -> None:
        """Checks that the platform or the checkpointer answers. Raises what it raises."""

    @property
    def watches_by(self) -> str | None:
        """How threads of a platform are watched, if that is known: see `platform.watch`. None for local graphs."""

    @property
    def unused(self) -> set[str]:
        """The kinds of input that clients have sent and for which the graph has no field."""

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Local | Platform:
        """Returns a copy that is served under this name, and may use the threads of these other agents."""

    def for_user(self, user: Any, where: Metadata, creates: Metadata | bool = True) -> Local | Platform:
        """Returns a copy for the user of a request, who may use the threads that match the metadata filter `where`, and
        create threads as `creates` says (see `access.Grant`). Local graphs receive the user. Raises `ValueError` for an
        invalid filter."""

    def with_headers(self, headers: Iterable[tuple[bytes, bytes]], names: Iterable[str]) -> Local | Platform:
        """Returns a copy for one request. A platform gets those of the request's headers that are in `names`."""

    def reporting(self, report: Report, thread_id: str | None = None) -> Local | Platform:
        """Returns a copy whose operations report when the connection to a platform is lost, and when it is back.
        `thread_id`: the copy is for one operation on this thread, all of whose requests share the time in which a
        platform has to answer."""

    def check_intake(self, intake: Intake, options: Options | None) -> None:
        """Raises `ValueError` for an intake that names channels that a local graph does not take as input, and for one
        that asks a platform for features of local runs."""

    async def options(self) -> Options:
        """Returns the default options, which show the channels of the graph's output schema. Raises `PlatformError` and
        `ConnectionLost`."""

    async def input_schemas(self, options: Options) -> tuple[Mapping[str, Any], InputChannels]:
        """Returns the JSON schemas of the graph's input and of its context, under the names that a LangGraph server
        gives them (`input_schema`, `context_schema`), as far as they are known, and the channels that the input can
        write. Raises `GraphNotMadeError`, `PlatformError` and `ConnectionLost`."""

    async def graph_structure(self) -> GraphStructure | None:
        """Returns the nodes and edges of the graph, with those of its subgraphs; None if a platform does not say.
        Raises `GraphNotMadeError`, `PlatformError` and `ConnectionLost`."""

    async def submit(
        self,
        run_input: RunAgentInput,
        *,
        options: Options | None,
        intake: Intake,
        past_errors: PastErrors = "error",
        queue: int | None = None,
    ) -> Batches:
        """Starts the run of an input, and returns the events for its client, to the run's end.

        `queue`: how many inputs may be queued on a local thread; None is any number.
        Raises, before anything is emitted: `QueueFullError` if more would be queued, `RunConflictError` if a run is
        active and the intake rejects a second one, `ThreadNotFoundError` for a thread that may not be used,
        `InvalidInputError` for an input that can't be run, `UnreadableError` for an error of the checkpointer, and
        `PlatformError` and `ConnectionLost` for errors of the platform.
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
        """Returns the events of the thread's state, its active run and the runs queued behind it, to their end. Empty
        for a thread that is unknown or may not be used. `run_id`: only this run.

        Raises `UnreadableError` for an error of the checkpointer, and `PlatformError` and `ConnectionLost`, before
        anything is emitted. The iterator raises the last two as well.
        """

    async def watch(
        self, thread_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """Returns the events of the thread's state, and then of every run on it, until the reader leaves. `poll`:
        seconds between reads, if changes are not announced. Raises `PlatformError` and `ConnectionLost`, before
        anything is emitted; the iterator raises only `PlatformError`."""

    def watch_assistant(
        self, assistant_id: str, reader: Reader, options: Options | None, *, past_errors: PastErrors, poll: float
    ) -> Batches:
        """Returns the events of every run of an assistant, on any thread. Raises `TypeError` for a local graph, which
        has no assistants."""

    async def cancel(self, thread_id: str, run_id: str | None, *, wait: float) -> CancelResult:
        """Stops a run (None: the active one), and waits up to `wait` seconds until its graph has stopped. Raises
        `RunNotFoundError` if there is no such run, and `PlatformError` and `ConnectionLost`."""

    @property
    def threads(self) -> Threads:
        """Its threads, to list, change and delete them."""

    async def recorded(self, thread_id: str, run_id: str, options: Options) -> Batches:
        """Returns the events of a run that has ended, each with its `timestamp`: those that were emitted, if they are
        kept, and otherwise those that its checkpoints show with these options. Raises `RunNotFoundError` if nothing is
        left of it, `UnreadableError`, `PlatformError` and `ConnectionLost`."""

    async def thread(self, thread_id: str, options: Options | None = None) -> ThreadState | None:
        """Returns a thread as it is now, with the messages and the state that a client has after it has connected; None
        for a thread that is unknown or may not be used. `options`: as for `connect`; an active local run has its own.
        Raises `UnreadableError`, `PlatformError` and `ConnectionLost`."""


Source = Local | Platform | Pregel[Any, Any, Any, Any] | RemoteGraph | LangGraphClient
"""A compiled graph is taken as `Local(graph)`, and a client, or a `RemoteGraph` with one, as a `Platform`."""


def backend_of(source: Source, retry: RetryPolicy | None = None) -> Local | Platform:
    """Returns the backend that a source is, or is taken as. `retry`: how often and how long to retry when a platform
    can't be reached; None keeps the platform's own policy. Raises `TypeError` for any other value."""
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
