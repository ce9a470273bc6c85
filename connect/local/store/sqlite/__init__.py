"""The run database in a SQLite file, and the run store over it: `SqliteRunStore`. For the processes of one machine.

- `tables`: the tables of the file. `steps`: the transactions. `changes`: what other processes have changed.
- `connection`: the thread that has the connection and looks for changes.
- `database`: the `RunDatabase` that uses all these. `store`: the store over it.
- `finished`: the store of one process that keeps only its finished runs in the file.

Times are those of `renewals.clock`, which all processes of a machine share, and which cannot be set. It begins again
when the machine is started again; then all runs in the file are lost.
"""

from .store import SqliteRunStore

__all__ = ["SqliteRunStore"]
