"""The steps of a run database in a file, and what is kept in it."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph_agui.connect import SqliteRunStore
from langgraph_agui.connect.errors import StoreUnavailableError
from langgraph_agui.connect.local.store.active_run import LastRun, ThreadKey
from langgraph_agui.connect.local.store.records import Claim, Entry, RunEnd
from langgraph_agui.connect.local.store.retention import Retention
from langgraph_agui.connect.local.store.run_database import Append, Appended, Claimed, Log, Own, RunDatabase
from langgraph_agui.connect.local.store.run_store import RunStore
from langgraph_agui.connect.local.store.sqlite.tables import opened
from langgraph_agui.translator import Finished

LEASE = 600.0
THREAD = ThreadKey("n", "t")
CLAIM = Claim("r", "a", "p", {})


def _end(run_id: str) -> RunEnd:
    return RunEnd(LastRun(run_id, datetime(2026, 1, 1, tzinfo=UTC), Finished(), False, False, 1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[RunStore]:
    async with aclosing(SqliteRunStore(path, lease=LEASE)) as store:
        yield store


async def claimed(store: RunStore, token: str = "token", thread: ThreadKey = THREAD) -> Own:
    await store.ping()
    granted = await store._database.claim(thread, token, CLAIM, store._contact.now)
    assert isinstance(granted, Claimed)
    return Own(thread, granted.fence, token, CLAIM)


async def appended(database: RunDatabase, own: Own, number: int, kind: str, status: str = "running") -> Appended:
    entry = Entry(own.fence, number, kind, number, b"frame")
    return (await database.append([Append(own, status, entry, number - 1)]))[0]


def change(path: Path, *statements: str) -> list[Any]:
    """What another program does to the file."""
    database = opened(str(path), 5.0)
    try:
        return [database.execute(statement).fetchall() for statement in statements]
    finally:
        database.close()


async def test_a_run_of_a_machine_that_was_started_again_is_lost(store: RunStore, path: Path) -> None:
    """The clock has begun again: what is in the file seems to be in the future."""
    own = await claimed(store)
    await store.aclose()
    change(path, "UPDATE threads SET until = until + 1e9", "UPDATE contacts SET until = until + 1e9")
    change(path, "UPDATE facts SET value = value + 1e9 WHERE name = 'seen'")
    await store.ping()
    lease = await store._database.lease_of(THREAD)
    assert (lease.state, lease.fence, lease.claim) == ("doubt", own.fence, CLAIM)
    assert lease.seconds <= LEASE / 2


async def test_what_nobody_needs_any_more_is_deleted(store: RunStore, path: Path) -> None:
    own, database = await claimed(store), store._database
    await appended(database, own, 1, "snapshot")
    await database.note_readers(THREAD, own.fence, "p", has_readers=True)
    await database.turn(THREAD, "ticket", closes=True)
    await database.release(own, _end("first"))
    await database.keep(Log(THREAD, own.fence), b"about", b"events", Retention())
    tables = [name for [name] in change(path, "SELECT name FROM sqlite_master WHERE type = 'table'")[0]]
    kept = {name for name in tables if name not in ("facts", "contacts") and not name.startswith("sqlite_")}
    assert [name for name in kept if change(path, f"SELECT count(*) FROM {name}") == [[(0,)]]] == []
    for name in kept - {"entries"}:
        column = "kept" if name in ("threads", "logs", "news", "finished") else "until"
        change(path, f"UPDATE {name} SET {column} = {column} - 1e6")
    await store._contact.keep()
    assert [name for name in kept if change(path, f"SELECT count(*) FROM {name}") != [[(0,)]]] == []


async def test_the_write_ahead_log_is_bounded(store: RunStore, path: Path) -> None:
    own, frames = await claimed(store), b"x" * 100_000
    for number in range(1, 201):
        entry = Entry(own.fence, number, "snapshot", number, frames)
        await store._database.append([Append(own, "running", entry, number - 1)])
    assert (_size(f"{path}-wal") < 10_000_000, _size(path) < 2_000_000) == (True, True)


def _size(path: str | Path) -> int:
    return os.path.getsize(path)


async def test_a_writer_that_stands_still_makes_commands_fail_and_reads_continue(path: Path) -> None:
    async with aclosing(SqliteRunStore(path, lease=LEASE, timeout=0.1)) as store:
        own = await claimed(store)
        frozen = opened(str(path), 5.0)
        frozen.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError):
            await appended(store._database, own, 1, "snapshot")
        assert (await store._database.lease_of(THREAD)).state == "valid"
        frozen.execute("ROLLBACK")
        frozen.close()
        assert (await appended(store._database, own, 1, "snapshot")).answer == "ok"


async def test_a_step_that_raises_costs_no_other_step_its_answer(store: RunStore) -> None:
    own, database = await claimed(store), store._database

    def raises(_: object) -> None:
        raise LookupError("a fault")

    connection: Any = store._database._connection  # type: ignore[attr-defined]
    broken = asyncio.create_task(connection.run(raises))
    answers = await asyncio.gather(*(appended(database, own, 1, "snapshot") for _ in range(3)))
    assert [each.answer for each in answers] == ["ok"] * 3
    with pytest.raises(LookupError, match="a fault"):
        await broken


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("CREATE TABLE checkpoints (id)", "it is the database of another program: expected a file of its own"),
        ("PRAGMA user_version = 7", "it has the format 7, of another version of this package"),
    ],
)
async def test_a_file_that_is_not_ours_is_refused(
    path: Path, statement: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = sqlite3.connect(path)
    other.execute(statement)
    other.close()
    async with aclosing(SqliteRunStore(path)) as store:
        with pytest.raises(StoreUnavailableError):
            await store.ping()
    assert says in caplog.text


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": ""}, "path: expected the path of a file"),
        ({"path": ":memory:"}, "path: expected the path of a file"),
        ({"path": "/"}, "path: expected the path of a file"),
        ({"lease": 0.1}, "lease: expected at least 0.5 seconds, got 0.1"),
        ({"blocked": -1}, "blocked: expected a number of seconds"),
    ],
)
def test_arguments_that_are_none_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SqliteRunStore(**{"path": "runs.db", **given})


async def test_threads_never_meet_whatever_their_ids(store: RunStore) -> None:
    threads = [ThreadKey(*names) for names in (("n", "t:u"), ("n:t", "u"), ("n", "\ud800"), ("n", "%3A"), ("n", ":"))]
    fences = [(await claimed(store, f"token-{number}", thread)).fence for number, thread in enumerate(threads)]
    assert [(await store._database.lease_of(thread)).fence for thread in threads] == fences
