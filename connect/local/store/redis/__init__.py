"""The run store of several processes that share a Redis: `RedisRunStore`. Needs the extra `redis`.

A run stays in the process that claimed its thread, its owner. What it emits is published to the others:

    owner     Run --events--> Publisher --append--> log of the run (a Redis stream), and the thread's channel (Pub/Sub)
    elsewhere FollowedRun <--entries-- channel; the log only to join, and after a gap --events--> readers

- `keys`: names of keys, and what is in them, as values. `scripts`: what is done in one step, in Lua.
- `commands`: one command of many, with its timeout and its retries. `subscriber`: the one Pub/Sub connection.
- `publisher`: the owner's side of a run, with its lease. `followed_run`: the side of all other processes.
- `contact`: since when this process has been in contact with Redis, so that it may count a run as lost.
- `renewals`: a thread that renews the leases of this process, even while its event loop is blocked.
- `turns`: inputs of all processes, one after the other. `store`: the `RunStore` of all this.

Every name in Redis expires. Pub/Sub messages may be lost: the ids of entries show which are missing, and when a channel
has had none for a third of a lease, the log is read.
"""

from .store import RedisRunStore

__all__ = ["RedisRunStore"]
