"""A LangGraph server and one of its assistants: `PlatformSource`, the part of `Platform` without the operations on
threads (`backend`). It requests only assistants, their schemas, and lists of threads.

A platform's answer depends on who requests it, so schemas are kept by the credentials of the request: the headers of
its client. They expire, because an assistant can be given another graph. Credentials are kept only as digests.

What is found out about a server is kept for all that use the same client. Schemas are, because a server takes long to
make them: 30 to 300 ms, in which `langgraph dev` answers nobody else, and the tokens of its runs wait too.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from hashlib import sha256
from inspect import signature
from typing import Any, Final, Literal, Self
from uuid import UUID
from weakref import WeakKeyDictionary

from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from ...translator import Options
from ..access import Access, names_of_agents
from ..default_options import options_for_schemas
from ..errors import PlatformError, Report, log_context
from ..graph_structure import GraphStructure, structure_of
from ..inputs.channels import InputChannels, input_channels_of_schemas
from ..inputs.planning import NoEdits
from ..recent import Recent
from .calls import Contact, RetryPolicy
from .settings import RunSettings, ThreadSettings, checked_run, checked_thread
from .thread import NOT_FOUND, UNFIT, PlatformThread

_HAS_NONE = (NOT_FOUND, 405, 501)
"""The statuses with which a server answers that it does not have what was requested."""
_FIELDS: Final = ("thread_id", "status", "created_at", "updated_at", "metadata", "interrupts")
"""The fields of threads that a search returns."""
EXTRACTED: Final = {"first_message": "values.messages[0]"}
"""The paths in their values that a search returns too, under `extracted`."""

Schemas = Mapping[str, Any]

WatchedBy = Literal["stream", "announcements", "polls"]
"""How a thread of a server is watched: see `watch`."""

EXPIRES_AFTER: Final = 300.0
"""Seconds for which schemas are kept."""
_SMOOTH: Final = (0, 10)
"""The first version of langgraph-api whose streams of threads are not slow."""
_NEWEST: Final = (sys.maxsize, 0)
_MOST: Final = 256
"""How many entries are kept. An entry beyond that replaces the oldest one."""


class PlatformSource:
    """A server, one of its assistants, and how to retry when the server can't be reached; see `Platform`."""

    def __init__(
        self,
        client: LangGraphClient,
        assistant_id: str | None = None,
        *,
        agent: str | None = None,
        shares_threads_with: Iterable[str] = (),
        run: RunSettings | None = None,
        thread: ThreadSettings | None = None,
    ) -> None:
        if not isinstance(client, LangGraphClient):
            raise TypeError(f"Platform: expected an asynchronous client of langgraph_sdk, got {type_of(client)}")
        self.client = client
        self.assistant_id = assistant_id
        self.access = Access(agent, names_of_agents(shares_threads_with))
        self.run_settings = checked_run(run or {}, client.runs.create)
        self.thread_settings = checked_thread(thread or {}, client.threads.create)
        self.policy = RetryPolicy()
        self._report: Report | None = None
        self._contact: Contact | None = None
        self._facts = _facts.setdefault(client, _Facts())
        self._schemas, self._graphs = self._facts.schemas, self._facts.graphs
        self.unused: set[str] = set()
        """The kinds of input that clients have sent and for which the assistant has no field."""
        self.no_edits = NoEdits()
        """Messages that differ from the thread's and were found not to be edits."""
        self._saving_nodes: Recent[str, frozenset[str]] = Recent(_MOST)
        """The nodes, by assistant, that were seen to save JSON as messages. All copies share this object."""

    @property
    def watches_by(self) -> WatchedBy | None:
        """How threads of the server are watched; None before the first one is."""
        return self._facts.watches_by

    @watches_by.setter
    def watches_by(self, way: WatchedBy) -> None:
        self._facts.watches_by = way

    def thread_at(self, thread_id: str) -> PlatformThread:
        """Returns one of its threads, to make requests about it."""
        return PlatformThread(self.client, thread_id, self.contact(thread_id), self.access, self._saving_nodes)

    def contact(self, thread_id: str | None = None) -> Contact:
        """Returns the contact with the server of the operation that this copy is for, or else a new one. `thread_id`:
        for log lines."""
        return self._contact or Contact(self.policy, self._report, log_context(self.assistant_id, thread_id))

    def for_operation(self, thread_id: str | None = None, *, is_endless: bool = False) -> Self:
        """Returns a copy for one operation, all of whose requests have the same contact with the server. `is_endless`:
        whether it is a stream for which a server that has answered once is never given up."""
        same = self.retrying(self.policy.endless) if is_endless else copy(self)
        same._contact = same.contact(thread_id)
        if is_endless:
            same._contact.begin_stream()
        return same

    def retrying(self, policy: RetryPolicy) -> Self:
        """Returns a copy with another policy."""
        same = copy(self)
        same.policy, same._contact = policy, None
        return same

    def reporting(self, report: Report, thread_id: str | None = None) -> Self:
        """See `Backend`."""
        same = copy(self)
        same._report, same._contact = report, None
        return same if thread_id is None else same.for_operation(thread_id)

    def through(self, client: LangGraphClient) -> Self:
        """Returns a copy with another client. It has the schemas that a client with the same credentials got."""
        same = copy(self)
        same.client = client
        return same

    async def options(self, assistant_id: str | None = None) -> Options:
        """Returns the default options, which show the channels of the assistant's output schema.

        `assistant_id`: the assistant of the run. If the server has no schemas at all, every channel is visible; if it
        has none of the run's assistant (any more), no channel is. Raises `PlatformError` and `ConnectionLost` if the
        server refuses or can't be reached, and `PlatformError` if it does not know the assistant of this `Platform`.
        """
        assistant = self.assistant_id if is_assistant_id(self.assistant_id) else assistant_id or self.assistant_id
        if assistant is None:
            return Options()
        try:
            return options_for_schemas(await self.schemas(assistant))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            if not await self._has_assistants():
                return Options()  # no schemas: then all channels are visible
            if assistant == self.assistant_id:
                raise
            return Options(state_include=frozenset())

    async def schemas(self, assistant: str) -> Schemas:
        """Returns the schemas of an assistant, or of the first assistant of a graph. Keeps them for a while, by the
        client's credentials.

        Raises `PlatformError` (404 for an unknown assistant, and on a server without schemas) and `ConnectionLost`.
        """
        schemas = self._schemas.get(self.client, assistant)
        if schemas is None:
            schemas = await self._request_schemas(assistant)
            self._schemas.put(self.client, assistant, schemas)
        return schemas

    async def input_channels(self, messages_key: str) -> InputChannels:
        """Returns the channels in which the assistant's graph takes a client's input; without schemas, none is known.
        Platforms do not say which channels have a reducer: see `Intake.replaced`. Raises the other errors of
        `schemas`."""
        return input_channels_of_schemas(await self._schemas_if_any(), messages_key)

    async def input_schemas(self, options: Options) -> tuple[Schemas, InputChannels]:
        """See `Backend`. Raises the errors of `schemas`, except that of a server without schemas."""
        schemas = await self._schemas_if_any()
        return schemas, input_channels_of_schemas(schemas, options.messages_key)

    async def graph_structure(self) -> GraphStructure | None:
        """See `Backend`. It is kept for a while, as schemas are."""
        name = str(self.assistant_id)
        kept = self._graphs.get(self.client, name)
        if kept is not None:
            return structure_of(kept)
        try:
            assistant = name if is_assistant_id(name) else await self._first_assistant(name)
            described = await self.contact().retried(lambda: self.client.assistants.get_graph(assistant, xray=True))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            return None
        self._graphs.put(self.client, name, described)
        return structure_of(described)

    async def _schemas_if_any(self) -> Schemas:
        try:
            return await self.schemas(str(self.assistant_id))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            return {}

    async def streams_threads_slowly(self) -> bool:
        """Returns whether the server sends the events of a thread's stream slowly: see `watch`. Raises
        `ConnectionLost`."""
        if self._facts.is_slow is None:
            try:
                info = await self.contact().retried(lambda: self.client.http.get("/info"))
            except PlatformError:
                info = None
            self._facts.is_slow = _version(info) < _SMOOTH
        return self._facts.is_slow

    async def search_threads(
        self, metadata: Mapping[str, str], limit: int, offset: int = 0, status: str | None = None
    ) -> list[Any]:
        """Returns the threads with these metadata, those that changed last first. Of their values, which may be large,
        they have only the part that `EXTRACTED` names, if the server can leave out the rest (Aegra can't). Raises
        `PlatformError` and `ConnectionLost`."""
        order = {"sort_by": "updated_at", "sort_order": "desc"}
        which: dict[str, Any] = {"metadata": metadata, "limit": limit, "offset": offset, "status": status, **order}
        search = self.client.threads.search
        selected: dict[str, Any] = {"select": [*_FIELDS]}
        if "extract" in signature(search).parameters:  # not in every SDK
            selected["extract"] = EXTRACTED
        try:
            return list(await self.contact().retried(lambda: search(**which, **selected)))
        except PlatformError as error:
            if error.status != UNFIT:
                raise
        return list(await self.contact().retried(lambda: search(**which)))

    async def _has_assistants(self) -> bool:
        """Returns whether the server has assistants. If it has, a missing schema means that the assistant is
        unknown."""
        try:
            return bool(await self.contact().retried(lambda: self.client.assistants.search(limit=1)))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            return False

    async def _request_schemas(self, assistant: str) -> Schemas:
        """Requests the schemas. The server takes only an assistant's id, so that of a graph is looked up first."""
        if not is_assistant_id(assistant):
            return await self.schemas(await self._first_assistant(assistant))
        return await self.contact().retried(lambda: self.client.assistants.get_schemas(assistant))

    async def _first_assistant(self, graph: str) -> str:
        """Returns the id of the first assistant of a graph."""
        firsts = await self.contact().retried(lambda: self.client.assistants.search(graph_id=graph, limit=1))
        if not firsts:
            raise PlatformError(NOT_FOUND, f"The server has no assistant of the graph {graph!r}.")
        return str(firsts[0]["assistant_id"])


def type_of(value: object) -> str:
    """Returns the type of a value that is not an asynchronous client, and for a synchronous one, how to get one."""
    name = type(value).__name__
    return f"{name}, which is synchronous: use get_client()" if isinstance(value, SyncLangGraphClient) else name


def which_assistant(name: str | None) -> dict[str, str]:
    """Returns the metadata by which a server finds an assistant's threads. `name`: the assistant's id, or the name of
    its graph."""
    return {} if name is None else {"assistant_id" if is_assistant_id(name) else "graph_id": name}


def is_assistant_id(name: str | None) -> bool:
    """Returns whether this is an assistant's id, which is a UUID. If not, it is the name of a graph."""
    try:
        UUID(name or "")
    except ValueError:
        return False
    return True


def _version(info: Any) -> tuple[int, int]:
    """Returns the version of langgraph-api in the answer of `/info`; for any other server, a version that is newer than
    all."""
    is_known = isinstance(info, Mapping) and "langgraph_py_version" in info
    match = re.match(r"(\d+)\.(\d+)", str(info["version"])) if is_known and "version" in info else None
    return _NEWEST if match is None else (int(match[1]), int(match[2]))


class SchemaCache:
    """Keeps schemas, or descriptions of graphs, by assistant and credentials. `clock`: returns seconds, from any
    starting point."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: Recent[tuple[str, bytes], tuple[float, Schemas]] = Recent(_MOST)

    def get(self, client: LangGraphClient, assistant: str) -> Schemas | None:
        """Returns the schemas of an assistant (or of a graph, by its name) that a client with the same credentials got;
        None if they are not kept, or have expired."""
        key = assistant, _credentials(client)
        until, schemas = self._entries.get(key, (-1.0, {}))
        if until > self._clock():
            return schemas
        self._entries.pop(key, None)
        return None

    def put(self, client: LangGraphClient, assistant: str, schemas: Schemas) -> None:
        """Keeps the schemas that this client got."""
        self._entries[assistant, _credentials(client)] = self._clock() + EXPIRES_AFTER, schemas


class _Facts:
    """What was found out about a server with one client."""

    def __init__(self) -> None:
        self.schemas, self.graphs = SchemaCache(), SchemaCache()
        self.watches_by: WatchedBy | None = None
        self.is_slow: bool | None = None
        """Whether the server sends the stream of a thread slowly; None before this was asked."""


_facts: WeakKeyDictionary[LangGraphClient, _Facts] = WeakKeyDictionary()


def _credentials(client: LangGraphClient) -> bytes:
    """Returns a digest of this client's headers and authentication."""
    http = client.http.client
    digest = sha256()
    for name, value in sorted((name.lower(), value) for name, value in http.headers.raw):
        digest.update(b"%d:%d:" % (len(name), len(value)) + name + value)
    digest.update(str(id(http.auth) if http.auth is not None else 0).encode())
    return digest.digest()
