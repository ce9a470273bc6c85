"""`SqliteRunStore`: the run store of several processes of one machine that share a file."""

from __future__ import annotations

import os

from ..background import Background
from ..retention import Retention
from ..run_database import RunDatabase, Wake
from ..run_store import RunStore

NAMESPACE = "default"
"""The namespace of threads with checkpoints."""


class SqliteRunStore(RunStore):
    """The runs of all processes of one machine that share a file and their checkpoints. See `RunStore`.

    - `path`: the file, which is created if it does not exist. It must not be the file of the checkpointer, and must be
      on a disk of this machine, because SQLite's locks do not work over a network.
    - `lease`: seconds after which a run counts as lost, unless its process renews the lease. A process that is frozen
      for longer loses its runs.
    - `window`: seconds for which events are gathered for other processes.
    - `timeout`: seconds for which a command waits for another process that writes.
    - `blocked`: seconds for which the event loop may stand still, because a synchronous call blocks it. In this time a
      thread renews the leases of the process.
    - `retention`: which finished runs are kept with their events, for `threads(source).runs` and the inspector. None
      keeps none.

    Agents must have names. The store opens the file when it is first used. Raises `ValueError` for invalid arguments.
    """

    system = "sqlite"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        lease: float = 10.0,
        window: float = 0.005,
        timeout: float = 2.0,
        blocked: float = 300.0,
        retention: Retention | None = None,
    ) -> None:
        self._path = os.path.abspath(os.fspath(path))
        if os.fspath(path) in ("", ":memory:") or os.path.isdir(self._path):
            raise ValueError(f"path: expected the path of a file, got {os.fspath(path)!r}")
        super().__init__(NAMESPACE, lease=lease, window=window, timeout=timeout, blocked=blocked, retention=retention)

    def _connect(self, process: str, background: Background, wake: Wake) -> RunDatabase:
        from .database import SqliteRunDatabase  # here, so that `--help` does not wait for the import of sqlite3

        return SqliteRunDatabase(self._path, self._lease_seconds, process, wake, self._timeout)
