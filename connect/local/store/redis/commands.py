"""`Commands`: the Redis client, with one timeout and one number of tries for every command. What a command means is not
known here.

redis-py 5 to 8 have different timeouts, retries and pools. Here they are the same for all: a command has `timeout`
seconds and is tried `_TRIES` times, whether the client is made here or was given. A command without an answer then
raises `StoreUnavailableError`. redis-py closes the connection of a command that is given up, so a late answer cannot
be taken for that of the next command.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from ....errors import StoreUnavailableError

_TRIES: Final = 2
_CONNECTIONS: Final = 17
"""Connections of a process at most: one for Pub/Sub, the rest for commands."""

PAUSES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds before each further try of what has to succeed; the last one is that of all others."""
FAILURES: Final = (RedisError, OSError, TimeoutError)
"""What is raised when Redis does not answer, or refuses because it is full, is loading, or has become a replica."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class Commands:
    """A client. `redis`: a URL, or a client with its own connections, which is not closed here. Raises `TypeError` for
    anything else, `ValueError` for a client that decodes what it gets: events are bytes."""

    def __init__(self, redis: str | Redis, timeout: float) -> None:
        self._owns_client = isinstance(redis, str)
        if isinstance(redis, str):
            of_tcp: dict[str, Any] = {} if redis.startswith("unix://") else {"socket_keepalive": True}
            pool = BlockingConnectionPool.from_url(
                redis,
                max_connections=_CONNECTIONS,
                timeout=timeout,
                socket_connect_timeout=timeout,
                socket_timeout=None,  # each command has its own; what is read from Pub/Sub may take its time
                retry=Retry(NoBackoff(), 0),
                protocol=2,
                **of_tcp,
            )
            self.client: Any = Redis.from_pool(pool)
        elif isinstance(redis, Redis):
            self.client = redis
        else:
            raise TypeError(f"RedisRunStore: expected a URL or a redis.asyncio.Redis, got {type(redis).__name__}")
        if self.client.connection_pool.connection_kwargs.get("decode_responses"):
            raise ValueError("RedisRunStore: expected a client with decode_responses=False")
        self._timeout = timeout
        self._is_available = True

    def pubsub(self) -> PubSub:
        """A new Pub/Sub connection."""
        made: PubSub = self.client.pubsub()
        return made

    async def run(self, script: str, keys: Iterable[str], args: Iterable[str | bytes | int]) -> Any:
        """Runs a script."""
        names, sha = [*keys], hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
        given = [*names, *args]

        async def evaluated() -> Any:
            try:
                return await self.client.evalsha(sha, len(names), *given)
            except NoScriptError:  # the first time, and after Redis came back
                return await self.client.eval(script, len(names), *given)

        return await self.ask(evaluated)

    async def ask(self, command: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """The answer to a command, which may be carried out more than once. Raises `StoreUnavailableError`."""
        for tries_left in reversed(range(_TRIES)):
            try:
                async with asyncio.timeout(self._timeout):
                    answer = await command()
            except FAILURES as error:
                if tries_left:
                    continue
                if self._is_available:
                    self._is_available = False
                    _log.warning("Redis does not answer (%s: %s). Runs of this process continue.", *_described(error))
                raise StoreUnavailableError from error
            if not self._is_available:
                self._is_available = True
                _log.warning("Redis answers again.")
            return answer
        raise AssertionError("there is a last try")

    async def ping(self) -> None:
        """Raises `StoreUnavailableError` where Redis does not answer."""
        await self.ask(lambda: self.client.ping())

    async def aclose(self) -> None:
        """Closes the connections of a client that was made here."""
        if self._owns_client:
            await self.client.aclose()


def _described(error: BaseException) -> tuple[str, str]:
    return type(error).__name__, str(error)
