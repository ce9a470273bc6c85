"""A LangGraph server and one of its assistants: `PlatformSource`, all of `Platform` but its verbs (`backend`). Only the
schemas of assistants are requested here.

What a platform answers depends on who requests it, so schemas are kept by the credentials of the request: the headers
of its client. They expire, because an assistant can be given another graph. Credentials are kept as digests only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from hashlib import sha256
from inspect import signature
from typing import Any, Final, Self
from uuid import UUID

from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from ...translator import Options
from ..access import Access, names_of_agents
from ..default_options import options_for_schemas
from ..errors import PlatformError
from ..inputs.channels import InputChannels, input_channels_of_schemas
from ..inputs.planning import NoEdits
from ..recent import Recent
from .calls import RetryPolicy, retried
from .thread import NOT_FOUND, UNFIT, PlatformThread

_HAS_NONE = (NOT_FOUND, 405, 501)
"""The statuses of a server that does not have what was requested."""
_FIELDS: Final = ("thread_id", "status", "created_at", "updated_at", "metadata", "interrupts")
"""What of threads is searched for."""
EXTRACTED: Final = {"first_message": "values.messages[0]"}
"""What of their values a search gives, under `extracted`."""

Schemas = Mapping[str, Any]

EXPIRES_AFTER: Final = 300.0
"""Seconds for which schemas are kept."""
_MOST: Final = 256
"""Entries that are kept; beyond, the oldest goes."""


class PlatformSource:
    """A server, one of its assistants, and how a server that can't be reached is retried; see `Platform`."""

    def __init__(
        self,
        client: LangGraphClient,
        assistant_id: str | None = None,
        *,
        agent: str | None = None,
        shares_threads_with: Iterable[str] = (),
    ) -> None:
        if not isinstance(client, LangGraphClient):
            raise TypeError(f"Platform: expected an asynchronous client of langgraph_sdk, got {type_of(client)}")
        self.client = client
        self.assistant_id = assistant_id
        self.access = Access(agent, names_of_agents(shares_threads_with))
        self.policy = RetryPolicy()
        self._schemas = SchemaCache()
        self.unused: set[str] = set()
        """The kinds of what clients have sent and the assistant has no field for."""
        self.no_edits = NoEdits()
        """What inputs were found not to edit."""
        self._saving_nodes: Recent[str, frozenset[str]] = Recent(_MOST)
        """By assistant: the nodes that were seen to save JSON as messages. The same object in all copies."""

    def thread_at(self, thread_id: str) -> PlatformThread:
        """The requests about one of its threads."""
        return PlatformThread(self.client, thread_id, self.policy, self.access, self._saving_nodes)

    def retrying(self, policy: RetryPolicy) -> Self:
        """The same, with another policy."""
        same = copy(self)
        same.policy = policy
        return same

    def through(self, client: LangGraphClient) -> Self:
        """The same, by another client. It has the schemas that a client with the same credentials was given."""
        same = copy(self)
        same.client = client
        return same

    async def options(self, assistant_id: str | None = None) -> Options:
        """The options when none are given: the channels of the assistant's output schema.

        `assistant_id`: the assistant of the run. All channels, where the server has no schemas; none, where it has, but
        not (any more) of the run's assistant. Raises `PlatformError` and `ConnectionLost` where it refuses, or does not
        know the assistant that this `Platform` was given, because then nothing may be visible.
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
        """The schemas of an assistant, or of the first one of a graph; kept for a while, by the client's credentials.

        Raises `PlatformError` (404 for an assistant that is not there, and where there are no schemas) and
        `ConnectionLost`.
        """
        schemas = self._schemas.get(self.client, assistant)
        if schemas is None:
            schemas = await self._request_schemas(assistant)
            self._schemas.put(self.client, assistant, schemas)
        return schemas

    async def input_channels(self, messages_key: str) -> InputChannels:
        """Where a client's input goes in the assistant's graph. Which of its channels have a reducer, no platform says:
        see `Intake.replaced`. Raises as `schemas` does, but for what is not there."""
        try:
            schemas = await self.schemas(str(self.assistant_id))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            schemas = {}
        return input_channels_of_schemas(schemas, messages_key)

    async def search_threads(
        self, metadata: Mapping[str, str], limit: int, offset: int = 0, status: str | None = None
    ) -> list[Any]:
        """The threads with these metadata, those first that changed last; without their values, which may be large,
        where the server can leave them out (Aegra can't), but for what `EXTRACTED` names. Raises `PlatformError` and
        `ConnectionLost`."""
        order = {"sort_by": "updated_at", "sort_order": "desc"}
        which: dict[str, Any] = {"metadata": metadata, "limit": limit, "offset": offset, "status": status, **order}
        search = self.client.threads.search
        selected: dict[str, Any] = {"select": [*_FIELDS]}
        if "extract" in signature(search).parameters:  # not in every SDK
            selected["extract"] = EXTRACTED
        try:
            return list(await retried(lambda: search(**which, **selected), self.policy))
        except PlatformError as error:
            if error.status != UNFIT:
                raise
        return list(await retried(lambda: search(**which), self.policy))

    async def _has_assistants(self) -> bool:
        """Whether the server has assistants: then it has their schemas, but not those of one that is unknown."""
        try:
            return bool(await retried(lambda: self.client.assistants.search(limit=1), self.policy))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            return False

    async def _request_schemas(self, assistant: str) -> Schemas:
        """The schemas as the server has them: by an assistant's id only."""
        if not is_assistant_id(assistant):
            firsts = await retried(lambda: self.client.assistants.search(graph_id=assistant, limit=1), self.policy)
            if not firsts:
                raise PlatformError(NOT_FOUND, f"There is no assistant of a graph {assistant!r}.")
            assistant = str(firsts[0]["assistant_id"])
        return await retried(lambda: self.client.assistants.get_schemas(assistant), self.policy)


def type_of(value: object) -> str:
    """The type of a value that is not an asynchronous client, and how to get one."""
    name = type(value).__name__
    return f"{name}, which is synchronous: use get_client()" if isinstance(value, SyncLangGraphClient) else name


def which_assistant(name: str | None) -> dict[str, str]:
    """What the metadata of an assistant's threads have, by the assistant's id or the name of its graph."""
    return {} if name is None else {"assistant_id" if is_assistant_id(name) else "graph_id": name}


def is_assistant_id(name: str | None) -> bool:
    """Whether this is an assistant's id, a UUID; if not, it is the name of a graph."""
    try:
        UUID(name or "")
    except ValueError:
        return False
    return True


class SchemaCache:
    """Schemas by assistant and credentials. `clock`: seconds, of any origin."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: Recent[tuple[str, bytes], tuple[float, Schemas]] = Recent(_MOST)

    def get(self, client: LangGraphClient, assistant: str) -> Schemas | None:
        """The schemas of an assistant (or of a graph, by its name) as this client was given them; None if they are not
        kept, or not any more."""
        key = assistant, _credentials(client)
        until, schemas = self._entries.get(key, (-1.0, {}))
        if until > self._clock():
            return schemas
        self._entries.pop(key, None)
        return None

    def put(self, client: LangGraphClient, assistant: str, schemas: Schemas) -> None:
        """Keeps what this client was given."""
        self._entries[assistant, _credentials(client)] = self._clock() + EXPIRES_AFTER, schemas


def _credentials(client: LangGraphClient) -> bytes:
    """A digest of what this client's requests are authenticated by."""
    http = client.http.client
    digest = sha256()
    for name, value in sorted((name.lower(), value) for name, value in http.headers.raw):
        digest.update(b"%d:%d:" % (len(name), len(value)) + name + value)
    digest.update(str(id(http.auth) if http.auth is not None else 0).encode())
    return digest.digest()
