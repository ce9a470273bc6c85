"""The steps of a run database: functions that are called with the connection, within a transaction. Each corresponds to
a script or command of the Redis database. Any step may be repeated or delayed; see the rules of `run_database`."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import Any, Final, Literal

from langgraph.checkpoint.serde.base import CipherProtocol

from ..records import SNAPSHOT, Claim, Entry, RunEnd
from ..renewals import clock
from ..retention import Retention, StoredRun
from ..run_database import CONTINUED_WITHIN, Append, Appended, Claimed, Lease, Log, LostThread, Own
from .tables import handed_over_channel, name_of, thread_of

_DAY: Final = 86_400.0
"""Seconds for which the outcome of a run is kept."""
NEWS: Final = 60.0
"""Seconds for which notifications are kept."""
_CONTACTS_A_LEASE: Final = 3
"""A contact expires after a lease divided by this: earlier than any lease that could not be renewed."""

Database = sqlite3.Connection


def nothing(database: Database) -> None:
    """Does nothing. Its success shows that the file can be read."""


def _one(database: Database, query: str, *values: Any) -> Any:
    return database.execute(query, values).fetchone()


def notify(database: Database, channel: str, kind: str, fence: int = 0, body: bytes = b"") -> None:
    """Notifies the takers of a thread, or a process."""
    values = (channel, kind, fence, body, clock() + NEWS)
    database.execute("INSERT INTO news (channel, kind, fence, body, kept) VALUES (?, ?, ?, ?, ?)", values)


# --- who has a thread -------------------------------------------------------------------------------------------------


def keep_contact(database: Database, process: str, lease: float, is_first: bool) -> bytes:
    """See `RunDatabase.keep_contact`. Also deletes expired rows."""
    now = clock()
    _delete_old(database, now)
    since = _contact(database, process, now)
    since = now if since is None else since
    values = (process, since, now + lease / _CONTACTS_A_LEASE)
    database.execute("INSERT OR REPLACE INTO contacts VALUES (?, ?, ?)", values)
    database.execute("INSERT OR IGNORE INTO facts VALUES ('emptied', ?)", (0 if is_first else now,))
    database.execute("INSERT OR REPLACE INTO facts VALUES ('seen', ?)", (now,))
    return repr(since).encode()


def _contact(database: Database, process: str, now: float) -> float | None:
    contact = _one(database, "SELECT since FROM contacts WHERE process = ? AND until > ?", process, now)
    return None if contact is None else float(contact[0])


def _delete_old(database: Database, now: float) -> None:
    for (log,) in database.execute("SELECT log FROM logs WHERE kept < ?", (now,)).fetchall():
        database.execute("DELETE FROM entries WHERE log = ?", (log,))
        database.execute("DELETE FROM logs WHERE log = ?", (log,))
    for table in ("contacts", "readers", "closed"):
        database.execute(f"DELETE FROM {table} WHERE until < ?", (now,))
    database.execute("DELETE FROM tickets WHERE until < ?", (now - NEWS,))
    database.execute("DELETE FROM news WHERE kept < ?", (now,))
    database.execute("DELETE FROM finished WHERE kept < ?", (time.time(),))
    database.execute("DELETE FROM threads WHERE kept < ? AND (until IS NULL OR until < ?)", (now, now - _DAY))


def _state(database: Database, thread: str, process: str, lease: float) -> tuple[str, float]:
    """Returns the state of a thread's lease, and for how many seconds it is valid or in doubt, or for how many seconds
    a lost run may be continued."""
    now, decided = clock(), 0.0
    query = "SELECT claim, until, status, input IS NOT NULL FROM threads WHERE thread = ?"
    row = _one(database, query, thread)
    if row is not None and row[0] is not None:
        if now < (row[1] or 0):
            return "valid", row[1] - now
        since = _contact(database, process, now)
        decided = max(row[1] or 0, now if since is None else since) + (0 if row[2] == "lost" else lease / 2)
    elif row is None:
        emptied = _one(database, "SELECT value FROM facts WHERE name = 'emptied'")
        decided = (now if emptied is None else emptied[0]) + lease / 2
    if now < decided:
        return "doubt", decided - now
    if row is None or row[0] is None:
        return "free", 0.0
    return "lost", max(decided + CONTINUED_WITHIN * lease - now, 0.0) if row[3] else 0.0


def lease_of(database: Database, thread: str, process: str, lease: float, cipher: CipherProtocol | None) -> Lease:
    """See `RunDatabase.lease_of`."""
    state, seconds = _state(database, thread, process, lease)
    row = _one(database, "SELECT fence, claim, status, last, is_cancelled FROM threads WHERE thread = ?", thread)
    fence, stored, status, last, is_cancelled = (0, None, None, None, 0) if row is None else row
    run, ended = None if stored is None else Claim.from_json(stored), RunEnd.from_json(last, cipher) if last else None
    waiting = _one(database, "SELECT count(*) FROM tickets WHERE thread = ? AND until >= ?", thread, clock())[0]
    is_stopping = status == "stopping" or (state == "lost" and is_cancelled == 1)
    is_handed_over = status == "lost"
    return Lease(state, seconds, fence, run, is_stopping, ended, waiting, is_handed_over)  # type: ignore[arg-type]


def claim(
    database: Database,
    thread: str,
    token: str,
    claim: Claim,
    contact: bytes,
    revision: int | None,
    process: str,
    lease: float,
    cipher: CipherProtocol | None,
    run_input: bytes,
    ticket: str,
) -> Claimed | Claim | float | Literal["closed", "changed"]:
    """See `RunDatabase.claim`."""
    now = clock()
    if _one(database, "SELECT 1 FROM closed WHERE thread = ? AND until > ?", thread, now):
        return "closed"
    query = "SELECT fence, token, claim, ended, last, is_cancelled OR status = 'stopping' FROM threads WHERE thread = ?"
    row: Any = _one(database, query, thread) or (0, None, None, None, None, 0)
    fence, its_token, its_claim, ended, last, is_stopping = row
    before = None if last is None else RunEnd.from_json(last, cipher)
    if its_token == token:
        return Claimed(fence, before)
    if ended == token:
        return "closed"  # the claim was delayed until its run had ended: no caller waits for this answer
    state, seconds = _state(database, thread, process, lease)
    if state == "valid" or (state == "lost" and seconds > 0 and claim.continues != fence):
        return Claim.from_json(its_claim)
    if state == "doubt":
        return seconds
    since = _contact(database, process, now)
    if since is None or repr(since).encode() != contact:
        return lease / 2
    if revision not in (None, fence):
        return "changed"
    is_cancelled = bool(claim.continues and is_stopping)
    granted, stored = max(time.time_ns() // 1_000_000, fence + 1), claim.to_json()  # rises also in a new file
    database.execute("INSERT OR IGNORE INTO threads (thread, fence, kept) VALUES (?, 0, 0)", (thread,))
    database.execute(
        "UPDATE threads SET fence = ?, token = ?, claim = ?, input = ?, until = ?, kept = ?, status = NULL, "
        "is_cancelled = ? WHERE thread = ?",
        (granted, token, stored, run_input or None, now + lease, now + _DAY, is_cancelled, thread),
    )
    notify(database, thread, "started", granted, stored)
    if ticket:
        leave(database, thread, ticket)
    return Claimed(granted, before)


def withdraw(database: Database, thread: str, token: str) -> None:
    """See `RunDatabase.withdraw`. The steps of a process are carried out in their order, so no claim comes later."""
    database.execute(
        "UPDATE threads SET ended = token, fence = fence + 1, claim = NULL, input = NULL, token = NULL, until = NULL, "
        "status = NULL, is_cancelled = 0 WHERE thread = ? AND token = ?",
        (thread, token),
    )


def _owned(database: Database, thread: str, own: Own) -> tuple[float | None, bool] | None:
    """Returns when the run's lease expires or has expired, and whether the run is to stop; None if another run has the
    thread, or if the run was handed over. The run takes its thread again if no higher fence is known."""
    query = "SELECT fence, until, is_cancelled, status FROM threads WHERE thread = ?"
    fence, until, is_cancelled, status = _one(database, query, thread) or (0, None, 0, None)
    if fence == own.fence:
        return None if status == "lost" else (until, bool(is_cancelled))
    if fence > own.fence:
        return None
    database.execute("INSERT OR IGNORE INTO threads (thread, fence, kept) VALUES (?, 0, 0)", (thread,))
    database.execute(
        "UPDATE threads SET fence = ?, token = ?, claim = ?, kept = ?, status = NULL, is_cancelled = 0 "
        "WHERE thread = ?",
        (own.fence, own.token, own.claim.to_json(), clock() + _DAY, thread),
    )
    return until, False


def _come_back(database: Database, thread: str, own: Own, until: float | None) -> None:
    """Notifies other processes that the owner is back if the lease had expired: their readers may have been told that
    it is lost."""
    if until is None or until <= clock():
        notify(database, thread, "back", own.fence, own.claim.to_json())


def _renewed(database: Database, own: Own, lease: float, status: str | None) -> bool | None:
    """Renews the lease of a run. Returns whether the run is to stop; None if another run has the thread."""
    thread = name_of(own.thread)
    owned = _owned(database, thread, own)
    if owned is None:
        return None
    _come_back(database, thread, own, owned[0])
    values = (clock() + lease, status, thread)
    database.execute("UPDATE threads SET until = ?, status = coalesce(?, status) WHERE thread = ?", values)
    return owned[1]


def renew(database: Database, runs: Sequence[Own], lease: float) -> list[bool]:
    """See `RunDatabase.renew`."""
    return [_renewed(database, own, lease, None) is not None for own in runs]


def release(database: Database, own: Own, last: RunEnd | None) -> bool:
    """See `RunDatabase.release`."""
    thread = name_of(own.thread)
    if _one(database, "SELECT 1 FROM threads WHERE thread = ? AND ended = ?", thread, own.token):
        return True
    owned = _owned(database, thread, own)
    if owned is None:
        return False
    _come_back(database, thread, own, owned[0])
    database.execute(
        "UPDATE threads SET ended = ?, fence = ?, last = coalesce(?, last), kept = ?, "
        "claim = NULL, input = NULL, token = NULL, until = NULL, status = NULL, is_cancelled = 0 WHERE thread = ?",
        (own.token, own.fence + 1, None if last is None else last.to_json(own.thread.cipher), clock() + _DAY, thread),
    )
    return True


def hand_over(database: Database, own: Own, run_input: bytes) -> bool:
    """See `RunDatabase.hand_over`."""
    thread = name_of(own.thread)
    values = (thread, own.fence)
    if _one(database, "SELECT 1 FROM threads WHERE thread = ? AND fence = ? AND status = 'lost'", *values):
        return True
    if _one(database, "SELECT 1 FROM threads WHERE thread = ? AND ended = ?", thread, own.token):
        return False
    if _owned(database, thread, own) is None:
        return False
    query = "UPDATE threads SET status = 'lost', until = ?, input = coalesce(?, input) WHERE thread = ?"
    database.execute(query, (clock(), run_input or None, thread))
    notify(database, handed_over_channel(own.thread.namespace), "lost")
    return True


def lost_threads(database: Database, namespace: str, process: str, lease: float) -> list[LostThread]:
    """See `RunDatabase.lost_threads`."""
    query = "SELECT thread, fence, claim, status, is_cancelled FROM threads WHERE input IS NOT NULL AND until <= ?"
    lost = []
    for name, fence, stored, status, is_cancelled in database.execute(query, (clock(),)).fetchall():
        thread, (state, seconds) = thread_of(name), _state(database, name, process, lease)
        if thread.namespace == namespace and state == "lost":
            is_stopping = status == "stopping" or is_cancelled == 1
            claim = Claim.from_json(stored)
            lost_lease = Lease("lost", seconds, fence, claim, is_stopping, None, 0, is_handed_over=status == "lost")
            lost.append(LostThread(thread, lost_lease))
    return lost


def input_of(database: Database, log: Log) -> bytes:
    """See `RunDatabase.input_of`."""
    values = (name_of(log.thread), log.fence)
    run_input = _one(database, "SELECT input FROM threads WHERE thread = ? AND fence = ?", *values)
    return b"" if run_input is None or run_input[0] is None else bytes(run_input[0])


def forget(database: Database, thread: str) -> None:
    """See `RunDatabase.forget`."""
    row = _one(database, "SELECT fence, claim FROM threads WHERE thread = ?", thread)
    if row is not None:
        fence = row[0] + (row[1] is not None)
        database.execute(
            "UPDATE threads SET fence = ?, forgotten = ?, claim = NULL, input = NULL, token = NULL, until = NULL, "
            "status = NULL, is_cancelled = 0, last = NULL WHERE thread = ?",
            (fence, fence, thread),
        )
    database.execute("DELETE FROM entries WHERE log IN (SELECT log FROM logs WHERE thread = ?)", (thread,))
    database.execute("DELETE FROM logs WHERE thread = ?", (thread,))
    for table in ("readers", "finished"):
        database.execute(f"DELETE FROM {table} WHERE thread = ?", (thread,))


def cancel(database: Database, thread: str, fence: int, owner: str) -> None:
    """See `RunDatabase.request_cancel`."""
    values = (thread, fence)
    if database.execute("UPDATE threads SET is_cancelled = 1 WHERE thread = ? AND fence = ?", values).rowcount:
        notify(database, owner, "wake", fence)


# --- the events of runs -----------------------------------------------------------------------------------------------


def append(database: Database, appends: Sequence[Append], lease: float) -> list[Appended]:
    """See `RunDatabase.append`."""
    return [_appended(database, request, lease) for request in appends]


def _appended(database: Database, append: Append, lease: float) -> Appended:
    own, thread, is_cancelled, now = append.own, name_of(append.own.thread), False, clock()
    if append.status == "free":
        if _one(database, "SELECT 1 FROM threads WHERE thread = ? AND forgotten >= ?", thread, own.fence):
            return Appended("ok", False, 0)  # the last entries of a run whose thread was deleted meanwhile
    else:
        renewed = _renewed(database, own, lease, append.status)
        if renewed is None:
            return Appended("taken", False, 0)
        is_cancelled = renewed
    query = "SELECT log, newest FROM logs WHERE thread = ? AND fence = ?"
    log, newest = _one(database, query, thread, own.fence) or (None, 0)
    entry, kept, answer = append.entry, now + append.kept + lease, "ok"
    number = append.number if entry is None else entry.number
    if newest < number and (entry is None or (entry.kind != SNAPSHOT and newest != number - 1)):
        answer = "gap"
    elif newest < number and entry is not None:
        if log is None:
            insert = "INSERT INTO logs (thread, fence, newest, kept) VALUES (?, ?, 0, 0)"
            log = database.execute(insert, (thread, own.fence)).lastrowid
        if entry.kind == SNAPSHOT:
            database.execute("DELETE FROM entries WHERE log = ?", (log,))
        database.execute(
            "INSERT INTO entries (log, number, kind, at, frames) VALUES (?, ?, ?, ?, ?)",
            (log, number, entry.kind, entry.at, entry.frames),
        )
        newest = number
    if log is not None:
        database.execute("UPDATE logs SET newest = ?, kept = ? WHERE log = ?", (newest, kept, log))
    counted = "SELECT count(*) FROM readers WHERE thread = ? AND fence = ? AND until > ?"
    (readers,) = _one(database, counted, thread, own.fence, now)
    return Appended(answer, is_cancelled, readers)  # type: ignore[arg-type]


def entries(database: Database, log: Log, after: int) -> list[Entry]:
    """See `RunDatabase.entries`."""
    query = (
        "SELECT fence, number, kind, at, frames FROM entries JOIN logs USING (log) "
        "WHERE thread = ? AND fence = ? AND number > ? ORDER BY number"
    )
    return [Entry(*row) for row in database.execute(query, (name_of(log.thread), log.fence, after))]


def has_log(database: Database, log: Log) -> bool:
    """See `RunDatabase.has_log`."""
    values = (name_of(log.thread), log.fence)
    return _one(database, "SELECT 1 FROM logs WHERE thread = ? AND fence = ?", *values) is not None


def logs(database: Database, thread: str) -> list[int]:
    """See `RunDatabase.logs`."""
    query = "SELECT fence FROM logs WHERE thread = ? AND kept >= ? ORDER BY fence"
    return [fence for (fence,) in database.execute(query, (thread, clock()))]


def drop_log(database: Database, log: Log) -> None:
    """See `RunDatabase.drop_log`."""
    values = (name_of(log.thread), log.fence)
    database.execute("DELETE FROM entries WHERE log IN (SELECT log FROM logs WHERE thread = ? AND fence = ?)", values)
    database.execute("DELETE FROM logs WHERE thread = ? AND fence = ?", values)


def note_readers(database: Database, thread: str, fence: int, owner: str, process: str, seconds: float) -> None:
    """See `RunDatabase.note_readers`. `seconds`: how long the note is valid; 0 if the process no longer has readers."""
    if seconds:
        values = (thread, fence, process, clock() + seconds)
        database.execute("INSERT OR REPLACE INTO readers VALUES (?, ?, ?, ?)", values)
    else:
        key = (thread, fence, process)
        database.execute("DELETE FROM readers WHERE thread = ? AND fence = ? AND process = ?", key)
        notify(database, owner, "wake", fence)


# --- finished runs ----------------------------------------------------------------------------------------------------


def keep(database: Database, log: Log, about: bytes, events: bytes, retention: Retention) -> None:
    """See `RunDatabase.keep`."""
    thread, now = name_of(log.thread), time.time()
    if _one(database, "SELECT 1 FROM threads WHERE thread = ? AND forgotten >= ?", thread, log.fence):
        return
    database.execute("DELETE FROM finished WHERE (thread = ? AND fence = ?) OR kept <= ?", (thread, log.fence, now))
    database.execute(
        "INSERT INTO finished (thread, fence, kept, size, about, events) VALUES (?, ?, ?, ?, ?, ?)",
        (thread, log.fence, now + retention.age, len(events), about, events),
    )
    runs, size = database.execute("SELECT count(*), sum(size) FROM finished").fetchone()
    oldest = database.execute("SELECT place, size FROM finished ORDER BY place")
    dropped = []
    while runs > retention.runs or size > retention.bytes:
        place, its_size = oldest.fetchone()
        runs, size = runs - 1, size - its_size
        dropped.append((place,))
    oldest.close()
    database.executemany("DELETE FROM finished WHERE place = ?", dropped)


def finished_runs(database: Database, thread: str) -> list[StoredRun]:
    """See `RunDatabase.finished_runs`."""
    query = "SELECT fence, about, size FROM finished WHERE thread = ? AND kept > ? ORDER BY fence"
    return [StoredRun(*row) for row in database.execute(query, (thread, time.time()))]


def finished_events(database: Database, thread: str, fence: int) -> bytes:
    """See `RunDatabase.finished_events`."""
    query = "SELECT events FROM finished WHERE thread = ? AND fence = ? AND kept > ?"
    row = _one(database, query, thread, fence, time.time())
    return b"" if row is None else bytes(row[0])


# --- queued inputs ----------------------------------------------------------------------------------------------------


def _first(database: Database, thread: str) -> str | None:
    """Returns the ticket that has the turn. A ticket that has expired is dropped when it becomes the first."""
    query = "SELECT place, ticket, until FROM tickets WHERE thread = ? ORDER BY place"
    for place, ticket, until in database.execute(query, (thread,)).fetchall():
        if until >= clock():
            return str(ticket)
        database.execute("DELETE FROM tickets WHERE place = ?", (place,))
    return None


def enter(
    database: Database, thread: str, ticket: str, process: str, lease: float, cipher: CipherProtocol | None
) -> tuple[Lease, bool]:
    """See `RunDatabase.enter`."""
    now, first = lease_of(database, thread, process, lease, cipher), _first(database, thread)
    if first is None and now.is_idle:
        turn(database, thread, ticket, False, process, lease, cipher)
        return now, True
    return now, first == ticket


def turn(
    database: Database,
    thread: str,
    ticket: str,
    closes: bool,
    process: str,
    lease: float,
    cipher: CipherProtocol | None,
) -> Lease | None:
    """See `RunDatabase.turn`."""
    until = clock() + lease
    database.execute("INSERT OR IGNORE INTO tickets (thread, ticket, until) VALUES (?, ?, 0)", (thread, ticket))
    database.execute("UPDATE tickets SET until = ? WHERE thread = ? AND ticket = ?", (until, thread, ticket))
    if _first(database, thread) != ticket:
        return None
    if closes:
        database.execute("INSERT OR REPLACE INTO closed VALUES (?, ?, ?)", (thread, ticket, until))
    return lease_of(database, thread, process, lease, cipher)


def leave(database: Database, thread: str, ticket: str) -> None:
    """See `RunDatabase.leave`."""
    for table in ("tickets", "closed"):
        database.execute(f"DELETE FROM {table} WHERE thread = ? AND ticket = ?", (thread, ticket))
    notify(database, thread, "turn")
