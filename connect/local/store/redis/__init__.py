"""The run database in a Redis, and the run store over it: `RedisRunStore`. Needs the extra `redis`.

- `keys`: the names of keys, and their contents. `scripts`: the Lua scripts, each of which is one atomic step.
- `commands`: the client, with its timeout and its retries. `subscriber`: the one Pub/Sub connection, for notifications.
  `reader`: the one connection that waits for events.
- `database`: the `RunDatabase` that uses all these. `store`: the store over it.

Every name in Redis expires. An event is stored in the stream of its run, and read from there.
"""

from .store import RedisRunStore

__all__ = ["RedisRunStore"]
