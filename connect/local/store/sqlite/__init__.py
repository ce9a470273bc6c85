"""The run database in a SQLite file, and the run store over it: `SqliteRunStore`. For the processes of one machine.

- `tables`: what is in the file. `steps`: what is done in one transaction.
- `connection`: the thread that has the connection, and what it looks for in the file.
- `database`: the `RunDatabase` of all this. `store`: the store over it.

Times are those of `renewals.clock`: all processes of a machine share it, and it cannot be set. It begins again when the
machine is started again, and what is in the file then is of runs that are lost.
"""

from .store import SqliteRunStore

__all__ = ["SqliteRunStore"]
