"""A LangGraph server as a source of runs: `Platform`. Asks it for the schemas of its graphs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from ...translator import Options
from ..default_options import options_for_schemas
from ..errors import PlatformError
from ..inputs.channels import InputChannels, input_channels_of_schemas
from .channels import with_reducers
from .retry import RetryPolicy
from .thread import NOT_FOUND, answer

_HAS_NONE = (NOT_FOUND, 405, 501)
"""What a server says to a question that it does not know."""


class Platform:
    """A server that speaks LangGraph Platform's interface: the platform itself, `langgraph dev`, Aegra.

    `client`: of `langgraph_sdk.get_client()`; its address, headers and transport are used, never closed.
    `assistant_id`: whose output schema says what is shown; None: the assistant of the run that is told.
    Raises `TypeError` for what is no asynchronous client.
    """

    def __init__(self, client: LangGraphClient, assistant_id: str | None = None) -> None:
        if not isinstance(client, LangGraphClient):
            raise TypeError(f"Platform: expected an asynchronous client of langgraph_sdk, got {type_of(client)}")
        self.client = client
        self.assistant_id = assistant_id
        self._schemas: dict[str, Mapping[str, Any] | None] = {}
        self._places: dict[str, InputChannels] = {}
        self.unused: set[str] = set()
        """The kinds of what clients have sent and the assistant has no field for."""

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Platform:
        """The same as it is served under a name. A platform's threads belong to no agent."""
        return self

    def through(self, client: LangGraphClient) -> Platform:
        """The same, by another client. What it said of its graphs' schemas is not asked for again."""
        same = Platform(client, self.assistant_id)
        same._schemas, same._places, same.unused = self._schemas, self._places, self.unused
        return same

    async def options(self, assistant_id: str | None = None, policy: RetryPolicy | None = None) -> Options:
        """The options when none are given: the channels of the assistant's output schema; asked for once.

        `assistant_id`: the assistant of the run that is told. `policy`: how long a server that can't be reached is
        waited for. All channels, where the server has no schemas; none, where it has, but not (any more) of the run's
        assistant. Raises `PlatformError` and `ConnectionLost` where it does not say, or does not know the assistant
        that it was given, because then nothing may be shown.
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
                return Options()  # what it gives out is all that is known
            if wanted == self.assistant_id:
                raise
            return Options(state_include=frozenset())

    async def schemas(self, wanted: str, policy: RetryPolicy | None = None) -> Mapping[str, Any] | None:
        """The schemas of an assistant, or of the first one of a graph; asked for once.

        Raises `PlatformError` (404 for an assistant that is not there, and where there are no schemas) and
        `ConnectionLost`.
        """
        if wanted not in self._schemas:
            self._schemas[wanted] = await self._asked(wanted, policy or RetryPolicy())
        return self._schemas[wanted]

    async def places(self, messages_key: str, policy: RetryPolicy, *, decided: bool = False) -> InputChannels:
        """Where a client's input goes in the assistant's graph. `decided`: and which of its channels have a reducer, as
        far as the platform lets that be known; asked for once. Raises as `schemas` does, but for what is not there."""
        try:
            schemas = await self.schemas(str(self.assistant_id), policy) or {}
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            schemas = {}
        found = self._places.get(messages_key) or input_channels_of_schemas(schemas, messages_key)
        if decided and found.reducers is None:
            graph_id = str(schemas.get("graph_id") or self.assistant_id)
            found = await with_reducers(self.client, graph_id, found, policy)
            if found.reducers is not None:
                self._places[messages_key] = found
        return found

    async def _has_assistants(self, policy: RetryPolicy | None) -> bool:
        """Whether the server has assistants: then it has their schemas, but not those of one that is unknown."""
        try:
            return bool(await answer(lambda: self.client.assistants.search(limit=1), policy or RetryPolicy()))
        except PlatformError as error:
            if error.status not in _HAS_NONE:
                raise
            return False

    async def _asked(self, wanted: str, policy: RetryPolicy) -> Mapping[str, Any] | None:
        """The schemas as the server has them: by an assistant's id only."""
        if not is_assistant_id(wanted):
            found = await answer(lambda: self.client.assistants.search(graph_id=wanted, limit=1), policy)
            if not found:
                raise PlatformError(NOT_FOUND, f"There is no assistant of a graph {wanted!r}.")
            wanted = str(found[0]["assistant_id"])
        return await answer(lambda: self.client.assistants.get_schemas(wanted), policy)


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
