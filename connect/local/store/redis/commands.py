"""`Commands`: the Redis client, with one timeout and one number of tries for every command. It does not know what a
command means.

redis-py 5 to 8 have different timeouts, retries and pools. Here they are the same for all versions: a command has
`timeout` seconds and is tried `_TRIES` times, whether the client was made here or passed in. If it has no answer then,
it raises `StoreUnavailableError`. redis-py closes the connection of a command that is given up, so a late answer cannot
be taken for the answer to the next command.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from ....errors import StoreUnavailableError

_TRIES: Final = 2
_CONNECTIONS: Final = 18
"""Connections of a process at most: one for Pub/Sub, one that waits for events, the rest for commands."""
_CONNECTIONS_OF_THREAD: Final = 2
"""Connections of the thread that renews leases, at most."""

FAILURES: Final = (RedisError, OSError, TimeoutError)
"""The exceptions that are raised if Redis does not answer, or refuses because it is full, is loading, or has become a
replica."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)


class Commands:
    """A client. `redis`: a URL, or a client with its own connections, which is not closed here. Raises `TypeError` for
    anything else, and `ValueError` for a client that decodes responses, since events are bytes."""

    def __init__(
        self, redis: str | Redis, timeout: float, *, connections: int = _CONNECTIONS, is_logged: bool = True
    ) -> None:
        self._given = redis
        self._owns_client = isinstance(redis, str)
        if isinstance(redis, str):
            of_tcp: dict[str, Any] = {} if redis.startswith("unix://") else {"socket_keepalive": True}
            pool = BlockingConnectionPool.from_url(
                redis,
                max_connections=connections,
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
        self._is_logged = is_logged
        self._is_available = True

    def of_another_loop(self) -> Commands:
        """Returns the same commands for another event loop, with connections of their own. They do not log failures,
        because these do."""
        if isinstance(self._given, str):
            return Commands(self._given, self._timeout, connections=_CONNECTIONS_OF_THREAD, is_logged=False)
        copied = Commands(Redis(connection_pool=_copied(self.client.connection_pool)), self._timeout, is_logged=False)
        copied._owns_client = True
        return copied

    def pubsub(self) -> PubSub:
        """Returns a new Pub/Sub connection."""
        made: PubSub = self.client.pubsub()
        return made

    async def run(
        self, script: str, keys: Iterable[str], args: Iterable[str | bytes | int], *, proves: bool = False
    ) -> Any:
        """Runs a script. `proves`: see `ask`."""
        names, sha = [*keys], _sha(script)
        arguments = [*names, *args]

        async def evaluated() -> Any:
            try:
                return await self.client.evalsha(sha, len(names), *arguments)
            except NoScriptError:  # the first time, and after Redis was started again
                return await self.client.eval(script, len(names), *arguments)

        return await self.ask(evaluated, proves=proves)

    async def run_all(
        self, script: str, runs: Sequence[tuple[Sequence[str], Sequence[str | bytes | int]]]
    ) -> list[Any]:
        """Runs a script once for each of these keys and arguments, in one pipeline."""
        if len(runs) == 1:
            return [await self.run(script, *runs[0])]
        sha = _sha(script)

        async def evaluated() -> list[Any]:
            async with self.client.pipeline(transaction=False) as pipeline:
                for keys, args in runs:
                    pipeline.evalsha(sha, len(keys), *keys, *args)
                try:
                    return list(await pipeline.execute())
                except NoScriptError:
                    await self.client.script_load(script)
                    raise  # `ask` sends them again

        return await self.ask(evaluated)

    async def ask(
        self, command: Callable[[], Awaitable[_Answer]], *, proves: bool = False, more: float = 0.0
    ) -> _Answer:
        """Sends a command, which may be carried out more than once, and returns the answer. Raises
        `StoreUnavailableError`.

        - `proves`: whether an answer proves that Redis answers all commands. The answer to a command that only reads
          does not, because even a full Redis answers it.
        - `more`: seconds for which the command blocks."""
        for tries_left in reversed(range(_TRIES)):
            try:
                async with asyncio.timeout(self._timeout + more):
                    answer = await command()
            except Exception as error:
                if tries_left:
                    continue
                if self._is_available and self._is_logged:
                    is_expected = isinstance(error, FAILURES)  # a credential provider may raise others
                    text = "Redis does not answer (%s: %s). Runs of this process continue."
                    _log.warning(text, *_described(error), exc_info=None if is_expected else error)
                self._is_available = False
                raise StoreUnavailableError from error
            if proves and not self._is_available:
                self._is_available = True
                _log.warning("Redis answers again.")
            return answer
        raise AssertionError("there is a last try")

    @property
    def longest_block(self) -> float:
        """Seconds for which a command may block: the connections of a client that was passed in may have a timeout."""
        seconds = self.client.connection_pool.connection_kwargs.get("socket_timeout")
        return math.inf if seconds is None else float(seconds) / 2

    async def aclose(self) -> None:
        """Closes the connections of a client that was made here."""
        if self._owns_client:
            await self.client.aclose()


@cache
def _sha(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()


def _copied(pool: Any, sentinel: Any = Sentinel, of_sentinel: Any = SentinelConnectionPool) -> Any:
    """Returns a new pool with the same settings, since the connections of a pool belong to one event loop."""
    settings = {name: value for name, value in pool.connection_kwargs.items() if name != "connection_pool"}
    if not isinstance(pool, of_sentinel):
        return type(pool)(connection_class=pool.connection_class, **settings)
    manager = sentinel([], pool.sentinel_manager.min_other_sentinels)
    sentinels = [Redis(connection_pool=_copied(client.connection_pool)) for client in pool.sentinel_manager.sentinels]
    manager.sentinels = sentinels
    return of_sentinel(pool.service_name, manager, is_master=pool.is_master, **settings)


def _described(error: BaseException) -> tuple[str, str]:
    return type(error).__name__, str(error)
