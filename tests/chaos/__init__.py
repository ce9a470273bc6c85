"""A random run of a deployment: three server processes, a run database
(`--store` says which one) and a PostgreSQL that they share; people who post and read; and faults.

`--platform` is another one: a LangGraph server that is killed, paused and cut off behind an app of ours (`platform`).

`make chaos ARGS='--seconds 600 --seed 7'` runs it, and a minute of it is a test. The seed chooses the faults and what
people do; what falls together in time differs from run to run.

- `server`: one process, as an app of several processes is written
- `graph`: the graph of both, which journals what it does
- `people`: pages that post until they are answered, and readers that watch
- `faults`: what happens to processes, Redis and PostgreSQL
- `oracle`: what must hold at any moment, and in the end

What is left out is what `docs/several-processes.md` does not promise: Redis loses no data within a lease of a process's
start, since a process that has just started cannot know of runs which nothing names.
"""
