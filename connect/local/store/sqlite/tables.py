"""The tables of the file, and how a file is opened.

| table | contents | kept |
|---|---|---|
| `threads` | the highest fence; `ended` and `last` (the token of the last run that ended, and how, JSON); until a run has ended, its token, claim (JSON), lease (`until`), status (`lost` if it was handed over), whether it is to stop, and the input with which it can be started again; after the thread was deleted, `forgotten` (the fence up to which nothing is kept) | a day after the last run |
| `logs`, `entries` | the logs of runs, and the number of the last entry of each | a minute after its end, or later |
| `tickets`, `closed` | the inputs of a thread in their order, and the ticket that has closed it | a lease |
| `readers` | processes with readers of a run | a lease |
| `contacts` | since when a process has been in contact | a third of a lease |
| `news` | notifications of a thread, or for a process | a minute |
| `finished` | finished runs: what is known of each, the size of its events, and the events. `kept` is a time of day, in seconds since 1970 | as their `Retention` says |
| `facts` | `emptied`: when the file was found to have lost its data, 0 if it has not lost any; `seen`: the time of the last contact | |

`threads.thread` is the namespace and the id, quoted: ids may have lone surrogates, which SQLite does not take.
"""  # noqa: E501 - a table

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from ..active_run import ThreadKey
from ..records import quoted
from ..renewals import clock

_FORMAT: Final = 1
"""The format of the file. It rises with each change that an earlier version cannot use."""
_TABLES: Final = """
CREATE TABLE threads (
  thread TEXT PRIMARY KEY, fence INTEGER NOT NULL, token TEXT, claim BLOB, input BLOB, until REAL, status TEXT,
  is_cancelled INTEGER NOT NULL DEFAULT 0, ended TEXT, last BLOB, forgotten INTEGER NOT NULL DEFAULT 0,
  kept REAL NOT NULL
);
CREATE INDEX kept_threads ON threads (kept);
CREATE INDEX continuable_threads ON threads (until) WHERE input IS NOT NULL;
CREATE TABLE logs (
  log INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, fence INTEGER NOT NULL, newest INTEGER NOT NULL,
  kept REAL NOT NULL, UNIQUE (thread, fence)
);
CREATE TABLE entries (
  place INTEGER PRIMARY KEY AUTOINCREMENT, log INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL,
  at INTEGER NOT NULL, frames BLOB NOT NULL, UNIQUE (log, number)
);
CREATE TABLE tickets (
  place INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, ticket TEXT NOT NULL, until REAL NOT NULL,
  UNIQUE (thread, ticket)
);
CREATE TABLE closed (thread TEXT PRIMARY KEY, ticket TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE readers (
  thread TEXT NOT NULL, fence INTEGER NOT NULL, process TEXT NOT NULL, until REAL NOT NULL,
  PRIMARY KEY (thread, fence, process)
);
CREATE TABLE contacts (process TEXT PRIMARY KEY, since REAL NOT NULL, until REAL NOT NULL);
CREATE TABLE news (
  place INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL, kind TEXT NOT NULL, fence INTEGER NOT NULL,
  body BLOB NOT NULL, kept REAL NOT NULL
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value REAL NOT NULL);
"""
_FINISHED: Final = """
CREATE TABLE IF NOT EXISTS finished (
  place INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, fence INTEGER NOT NULL, kept REAL NOT NULL,
  size INTEGER NOT NULL, about BLOB NOT NULL, events BLOB NOT NULL, UNIQUE (thread, fence)
);
CREATE INDEX IF NOT EXISTS kept_finished ON finished (kept, size);
"""
"""The table that files of the first versions do not have. Earlier versions do not use it."""
_LARGEST_WAL: Final = 4_000_000
"""Bytes to which the write-ahead log is truncated when it starts over, which is after some thousand pages."""
_PAUSE: Final = 0.01
"""Seconds between two tries to open a file that another process is creating."""


@lru_cache(maxsize=4_096)
def name_of(thread: ThreadKey) -> str:
    """Returns the name of a thread in the tables."""
    return f"{quoted(thread.namespace)}:{quoted(thread.thread_id)}"


def thread_of(name: str) -> ThreadKey:
    """Returns the thread that has this name in the tables."""
    namespace, _, thread_id = name.partition(":")
    return ThreadKey(unquote(namespace, errors="surrogatepass"), unquote(thread_id, errors="surrogatepass"))


def handed_over_channel(namespace: str) -> str:
    """Returns the channel of `news` for runs of a namespace that are handed over. No thread has this name."""
    return f"handed over:{quoted(namespace)}:"


def opened(path: str, timeout: float) -> sqlite3.Connection:
    """Returns a connection to the file, which is created if it does not exist. Raises `sqlite3.Error` if the file
    cannot be used."""
    deadline = time.monotonic() + timeout
    while True:
        database = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
        try:
            _prepare(database)
            return database
        except BaseException as error:
            database.close()
            # While another process creates the file, SQLite reports that it is locked without waiting.
            if not isinstance(error, sqlite3.OperationalError) or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE)


def _prepare(database: sqlite3.Connection) -> None:
    (mode,) = database.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise sqlite3.DatabaseError(f"it has no write-ahead log, but {mode!r}: expected a file on a local file system")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(f"PRAGMA journal_size_limit = {_LARGEST_WAL}")
    database.execute("BEGIN IMMEDIATE")
    (format_,) = database.execute("PRAGMA user_version").fetchone()
    if not format_ and database.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise sqlite3.DatabaseError("it is the database of another program: expected a file of its own")
    if format_ not in (0, _FORMAT):
        raise sqlite3.DatabaseError(f"it has the format {format_}, of another version of this package")
    if not format_:
        for statement in filter(str.strip, _TABLES.split(";")):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {_FORMAT}")
    for statement in filter(str.strip, _FINISHED.split(";")):
        database.execute(statement)
    _forget_earlier_starts(database)
    database.execute("COMMIT")


def _forget_earlier_starts(database: sqlite3.Connection) -> None:
    """Drops what a file has from before the machine was started again: its processes are gone, so all leases count as
    long expired. If the clock has already passed the times in the file, nothing has to be done: leases expire soon."""
    seen = database.execute("SELECT value FROM facts WHERE name = 'seen'").fetchone()
    if seen is None or seen[0] <= clock():
        return
    for table in ("logs", "entries", "tickets", "closed", "readers", "contacts", "news"):
        database.execute(f"DELETE FROM {table}")
    database.execute("UPDATE threads SET until = 0 WHERE until IS NOT NULL")
    database.execute("UPDATE threads SET kept = ?", (clock() + 86_400,))
    database.execute("UPDATE facts SET value = 0")


def files_of(path: str) -> list[tuple[int, int]]:
    """Identifies the files that are at this path now: the database, its write-ahead log and the log's index."""
    files = []
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            status = os.stat(f"{path}{end}")
            files.append((status.st_dev, status.st_ino))
    return files
