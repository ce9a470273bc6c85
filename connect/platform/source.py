"""A LangGraph server as a source of runs: `Platform`. It requests the schemas of its graphs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from ...translator import Options
from ..default_options import options_for_schemas
from ..errors import PlatformError
from ..inputs.channels import InputChannels, input_channels_of_schemas
from .calls import retried
from .retry import RetryPolicy
from .schemas import SchemaCache, Schemas
from .thread import NOT_FOUND

_HAS_NONE = (NOT_FOUND, 405, 501)
"""The statuses of a server that does not have what was requested."""


class Platform:
    """A server that speaks LangGraph Platform's interface: the platform itself, `langgraph dev`, Aegra.

    `client`: of `langgraph_sdk.get_client()`; its address, headers and transport are used, never closed.
    `assistant_id`: the assistant whose output schema has the channels that are visible; None: that of each run.
    Raises `TypeError` for what is no asynchronous client.
    """

    def __init__(self, client: LangGraphClient, assistant_id: str | None = None) -> None:
        if not isinstance(client, LangGraphClient):
            raise TypeError(f"Platform: expected an asynchronous client of langgraph_sdk, got {type_of(client)}")
        self.client = client
        self.assistant_id = assistant_id
        self._schemas = SchemaCache()
        self.unused: set[str] = set()
        """The kinds of what clients have sent and the assistant has no field for."""

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Platform:
        """The same as it is served under a name. A platform's threads belong to no agent."""
        return self

    def through(self, client: LangGraphClient) -> Platform:
        """The same, by another client. It has the schemas that a client with the same credentials was given."""
        same = Platform(client, self.assistant_id)
        same._schemas, same.unused = self._schemas, self.unused
        return same

    async def options(self, assistant_id: str | None = None, policy: RetryPolicy | None = None) -> Options:
        """The options when none are given: the channels of the assistant's output schema.

        `assistant_id`: the assistant of the run. `policy`: how long a server that can't be reached is waited for. All
        channels, where the server has no schemas; none, where it has, but not (any more) of the run's assistant. Raises
        `PlatformError` and `ConnectionLost` where it refuses, or does not know the assistant that this `Platform` was
        given, because then nothing may be visible.
        """
        wanted = self.assistant_id if is_assistant_id(self.assistant_id) else assistant_id or self.assistant_id
        if wanted is None:
            return Options()
        try:
            return options_for_schemas(await self.schemas(wanted, policy))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            if not await self._has_assistants(policy):
                return Options()  # all that it answers is public
            if wanted == self.assistant_id:
                raise
            return Options(state_include=frozenset())

    async def schemas(self, wanted: str, policy: RetryPolicy | None = None) -> Schemas:
        """The schemas of an assistant, or of the first one of a graph; kept for a while, by the client's credentials.

        Raises `PlatformError` (404 for an assistant that is not there, and where there are no schemas) and
        `ConnectionLost`.
        """
        known = self._schemas.get(self.client, wanted)
        if known is None:
            known = await self._requested(wanted, policy or RetryPolicy())
            self._schemas.put(self.client, wanted, known)
        return known

    async def places(self, messages_key: str, policy: RetryPolicy) -> InputChannels:
        """Where a client's input goes in the assistant's graph. Which of its channels have a reducer, no platform says:
        see `Intake.replaced`. Raises as `schemas` does, but for what is not there."""
        try:
            schemas = await self.schemas(str(self.assistant_id), policy)
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            schemas = {}
        return input_channels_of_schemas(schemas, messages_key)

    async def _has_assistants(self, policy: RetryPolicy | None) -> bool:
        """Whether the server has assistants: then it has their schemas, but not those of one that is unknown."""
        try:
            return bool(await retried(lambda: self.client.assistants.search(limit=1), policy or RetryPolicy()))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            return False

    async def _requested(self, wanted: str, policy: RetryPolicy) -> Schemas:
        """The schemas as the server has them: by an assistant's id only."""
        if not is_assistant_id(wanted):
            found = await retried(lambda: self.client.assistants.search(graph_id=wanted, limit=1), policy)
            if not found:
                raise PlatformError(NOT_FOUND, f"There is no assistant of a graph {wanted!r}.")
            wanted = str(found[0]["assistant_id"])
        return await retried(lambda: self.client.assistants.get_schemas(wanted), policy)


def platform_of(given: Any) -> Platform | None:
    """The platform that `given` is or stands for: a `Platform`, an asynchronous client, or a `RemoteGraph` with one."""
    if isinstance(given, Platform):
        return given
    if isinstance(given, RemoteGraph) and isinstance(given.client, LangGraphClient):
        return Platform(given.client, given.assistant_id)
    return Platform(given) if isinstance(given, LangGraphClient) else None


def type_of(given: object) -> str:
    """The type of a value that is no asynchronous client, and how to get one."""
    name = type(given).__name__
    return f"{name}, which is synchronous: use get_client()" if isinstance(given, SyncLangGraphClient) else name


def is_assistant_id(name: str | None) -> bool:
    """Whether this is an assistant's id, a UUID; if not, it is the name of a graph."""
    try:
        UUID(name or "")
    except ValueError:
        return False
    return True
