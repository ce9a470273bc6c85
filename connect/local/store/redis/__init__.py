"""The run database in a Redis, and the run store over it: `RedisRunStore`. Needs the extra `redis`.

- `keys`: names of keys, and what is in them. `scripts`: what is done in one step, in Lua.
- `commands`: one command of many, with its timeout and its retries. `subscriber`: the one Pub/Sub connection, for
  notifications. `reader`: the one connection that waits for events.
- `database`: the `RunDatabase` of all this. `store`: the store over it.

Every name in Redis expires. An event is stored in the stream of its run, and read from there.
"""

from .store import RedisRunStore

__all__ = ["RedisRunStore"]
