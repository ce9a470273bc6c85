"""A thread in a file under everything that may happen to it, in any order: see `Machine`."""

import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from langgraph_agui.connect.local.store.run_database import RunDatabase
from langgraph_agui.connect.local.store.sqlite.database import SqliteRunDatabase

from tests.support.random.examples import examples
from tests.support.random.thread_machine import Machine


class FileMachine(Machine):
    def connect(self) -> RunDatabase:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "runs.db"
        return SqliteRunDatabase(str(self.path), 60.0, "p", lambda _: None, 5.0)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)

    def empty(self) -> None:
        for end in ("", "-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)

    def change(self, statement: str, *given: Any) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as database, database:
            return database.execute(statement, given).fetchall()

    def end_lease(self) -> None:
        self.change("UPDATE threads SET until = 0 WHERE claim IS NOT NULL")

    def end_contact(self) -> None:
        with suppress(sqlite3.OperationalError):  # the file is new
            self.change("DELETE FROM contacts")

    def age_contact(self) -> bytes:
        self.change("UPDATE contacts SET since = 0, until = 1e12")
        self.change("UPDATE facts SET value = 0 WHERE name = 'emptied'")
        return b"0.0"

    def drop_newest(self, fence: int) -> None:
        for log, newest in self.change("SELECT log, newest FROM logs WHERE fence = ?", fence):
            self.change("DELETE FROM entries WHERE log = ? AND number = ?", log, newest)
            [(before,)] = self.change("SELECT coalesce(max(number), 0) FROM entries WHERE log = ?", log)
            if before:
                self.change("UPDATE logs SET newest = ? WHERE log = ?", before, log)
            else:
                self.change("DELETE FROM logs WHERE log = ?", log)


def test_a_thread_has_one_owner_and_its_readers_a_beginning_of_what_it_emits() -> None:
    phases = (Phase.explicit, Phase.generate)  # a smaller example would cost minutes
    run_state_machine_as_test(
        FileMachine, settings=settings(max_examples=examples(60), stateful_step_count=30, deadline=None, phases=phases)
    )
