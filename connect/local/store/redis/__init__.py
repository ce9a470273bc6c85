"""The run database in a Redis, and the run store over it: `RedisRunStore`. Needs the extra `redis`.

- `keys`: names of keys, and what is in them. `scripts`: what is done in one step, in Lua.
- `commands`: one command of many, with its timeout and its retries. `subscriber`: the one Pub/Sub connection.
- `database`: the `RunDatabase` of all this. `store`: the store over it.

Every name in Redis expires. Pub/Sub messages may be lost: the ids of entries show which are missing, and when a channel
has had none for a third of a lease, the log is read.
"""

from .store import RedisRunStore

__all__ = ["RedisRunStore"]
