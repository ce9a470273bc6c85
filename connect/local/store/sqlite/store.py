"""`SqliteRunStore`: the run store of several processes of one machine that share a file."""

from __future__ import annotations

import os

from ..background import Background
from ..database_store import DatabaseRunStore
from ..run_database import RunDatabase, Wake

_NAMESPACE = "default"
_LEAST_LEASE = 0.5


class SqliteRunStore(DatabaseRunStore):
    """The runs of all processes of one machine that share a file and their checkpoints. See `RunStore`.

    - `path`: the file, which is made if there is none. It is not the checkpointer's, and it is on a disk of this
      machine: SQLite has no locks that work over a network.
    - `lease`: seconds after which a run counts as lost, unless its process renews the lease. A process that is frozen
      for longer loses its runs.
    - `window`: seconds for which events are gathered for other processes.
    - `timeout`: seconds for which a command waits for another process that writes.
    - `blocked`: seconds for which the event loop may stand still, because a synchronous call blocks it. In this time a
      thread renews the leases of the process.

    Agents must have names. Opens the file at its first use. Raises `ValueError` for arguments that are not like these.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        lease: float = 10.0,
        window: float = 0.005,
        timeout: float = 2.0,
        blocked: float = 300.0,
    ) -> None:
        self._path = os.path.abspath(os.fspath(path))
        if os.fspath(path) in ("", ":memory:") or os.path.isdir(self._path):
            raise ValueError(f"path: expected that of a file, got {os.fspath(path)!r}")
        if lease < _LEAST_LEASE:
            raise ValueError(f"lease: expected at least {_LEAST_LEASE} seconds, got {lease!r}")
        if blocked < 0:
            raise ValueError(f"blocked: expected a number of seconds, got {blocked!r}")
        self._lease_seconds = lease
        super().__init__(_NAMESPACE, window=window, timeout=timeout, blocked=blocked)

    def _connect(self, process: str, background: Background, wake: Wake) -> RunDatabase:
        from .database import SqliteRunDatabase  # imports sqlite3, for which `--help` does not wait

        return SqliteRunDatabase(self._path, self._lease_seconds, process, wake, self._timeout)
