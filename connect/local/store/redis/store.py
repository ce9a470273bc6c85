"""`RedisRunStore`: the run store of several processes that share a Redis."""

from __future__ import annotations

from redis.asyncio import Redis

from ..background import Background
from ..records import quoted
from ..retention import Retention
from ..run_database import RunDatabase, Wake
from ..run_store import RunStore
from .commands import Commands
from .database import RedisRunDatabase


class RedisRunStore(RunStore):
    """The runs of all processes that share a Redis and their checkpoints. See `RunStore`.

    - `redis`: a URL (`redis://`, `rediss://`, `unix://`), or a `redis.asyncio.Redis` (with Sentinel, credentials and so
      on), which is not closed here. Redis 6 or newer, or Valkey, with `maxmemory-policy noeviction`.
    - `namespace`: the same for processes that share their checkpoints, and different for all others.
    - `lease`: seconds after which a run counts as lost, unless its process renews the lease. A process that is frozen
      for longer loses its runs.
    - `window`: seconds for which events are gathered for other processes.
    - `timeout`: seconds that a command may take, at most.
    - `blocked`: seconds for which the event loop may stand still, because a synchronous call blocks it. In this time a
      thread renews the leases of the process.
    - `retention`: which finished runs are kept with their events, for `threads(source).runs` and the inspector. None
      keeps none.

    Agents must have names. The store connects when it is first used. Raises `TypeError` and `ValueError` for invalid
    arguments.
    """

    system = "redis"

    def __init__(
        self,
        redis: str | Redis,
        *,
        namespace: str = "default",
        lease: float = 10.0,
        window: float = 0.03,
        timeout: float = 2.0,
        blocked: float = 300.0,
        retention: Retention | None = None,
    ) -> None:
        if not namespace:
            raise ValueError("namespace: expected a name, got an empty one")
        self._redis = redis
        super().__init__(
            quoted(namespace), lease=lease, window=window, timeout=timeout, blocked=blocked, retention=retention
        )

    def _connect(self, process: str, background: Background, wake: Wake) -> RunDatabase:
        commands = Commands(self._redis, self._timeout)
        return RedisRunDatabase(commands, self._lease_seconds, process, background, wake, self._timeout)
