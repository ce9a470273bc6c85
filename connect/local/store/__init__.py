"""Which run has a thread, and what happens on the thread: `RunStore`.

A run stays in the process that claimed its thread, its owner. Where several processes share a run database, the owner
publishes what the run emits to the others:

    owner     Run --events--> Publisher --append--> the run's log, in the run database
    elsewhere FollowedRun <--entries-- the log --events--> readers

- `run_store`: the store, over a run database. `memory_store`: the store of one process.
- `run_database`: the interface of a run database. `records`: the values that it keeps. `memory_database`, `sqlite`
  and `redis` implement it.
- `publisher`: the owner's side of a run, with its lease. `followed_run`: the side of all other processes.
- `appends`: sends the entries that the publishers of a process append at the same moment as one command.
- `logs`: the one task of a process that reads the logs of all runs that it follows.
- `lost_runs`: passes the lost runs that can be continued on to whoever continues them in this process.
- `contact`: keeps this process in contact with the database, without which it may not count a run as lost.
- `renewals`: a thread that renews the leases of this process, even while its event loop is blocked.
- `turns`: lets the inputs of a thread have their turns, one at a time. `starts`: the runs that start elsewhere.
- `feed`: what happens on a thread, for one reader. `poller`: reads threads that other programs write to.
- `background`: the background tasks of a store.
"""
