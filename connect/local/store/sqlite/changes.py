"""`Changes`: passes on what has changed in the file since the last look."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ..records import Claim, Entry
from ..renewals import clock
from ..run_database import Log, News, Take, Wake
from .steps import NEWS, Database, entries
from .tables import name_of

_log = logging.getLogger(__name__)


class _Reading:
    """One call of `read`."""

    def __init__(self, logs: Mapping[Log, int]) -> None:
        self.logs = dict(logs)
        self.result: asyncio.Future[dict[Log, Sequence[Entry]]] = asyncio.get_running_loop().create_future()
        self.is_over = False

    def end(self, result: dict[Log, Sequence[Entry]]) -> None:
        self.is_over = True
        if not self.result.done():
            self.result.set_result(result)


class Changes:
    """The changes that concern one process. `process`: its id. `wake`: see `Wake`."""

    def __init__(self, process: str, wake: Wake) -> None:
        self._process = process
        self._wake = wake
        self._takers: dict[str, list[Take]] = {}
        self._reading: _Reading | None = None
        self._news = self._entries = 0
        """The places up to which the tables have been read."""
        self._numbers: dict[Log, int] = {}
        """The number of the last entry of each log up to there."""
        self._looked = clock()

    def add(self, channel: str, take: Take) -> None:
        """Calls `take` with the notifications of a channel from now on. A thread's channel is its name."""
        self._takers.setdefault(channel, []).append(take)

    def remove(self, channel: str, take: Take) -> None:
        """Stops calling `take`."""
        takers = self._takers[channel]
        takers.remove(take)
        if not takers:
            del self._takers[channel]

    def reading(self, logs: Mapping[Log, int]) -> asyncio.Future[dict[Log, Sequence[Entry]]]:
        """Returns a future of the next entries of these logs."""
        self._reading = _Reading(logs)
        return self._reading.result

    def end_reading(self) -> None:
        """Ends the reading with no entries."""
        if self._reading is not None:
            self._reading.end({})

    # --- in the thread of the connection ------------------------------------------------------------------------------

    def look(self, database: Database, has_lost: bool) -> Callable[[], None] | None:
        """See `Connection`."""
        now = clock()
        has_lost = has_lost or now > self._looked + NEWS / 2  # some may have been deleted meanwhile
        self._looked = now
        if has_lost:
            self._numbers, self._entries = {}, _last_place(database, "entries")
            self._news = _last_place(database, "news")
        query = "SELECT place, channel, kind, fence, body FROM news WHERE place > ? ORDER BY place"
        news = database.execute(query, (self._news,)).fetchall()
        self._news = news[-1][0] if news else self._news
        reading, result = self._reading, dict[Log, Sequence[Entry]]()
        if reading is not None and not reading.is_over:
            result = self._new_entries(database, reading.logs)
            reading.is_over = bool(result)
        if not (has_lost or news or result):
            return None

        def tell() -> None:
            if has_lost:
                self._tell_all()
            for _, channel, kind, fence, body in news:
                self._tell(channel, kind, fence, body)
            if reading is not None and result:
                reading.end(result)

        return tell

    def _new_entries(self, database: Database, logs: Mapping[Log, int]) -> dict[Log, Sequence[Entry]]:
        query = "SELECT place, thread, fence FROM entries JOIN logs USING (log) WHERE place > ?"
        changed = database.execute(query, (self._entries,)).fetchall()
        self._entries = max((place for place, _, _ in changed), default=self._entries)
        names, result, numbers = {(thread, fence) for _, thread, fence in changed}, {}, self._numbers
        self._numbers = {}
        for log, after in logs.items():
            self._numbers[log] = after
            if numbers.get(log) != after or (name_of(log.thread), log.fence) in names:
                new = entries(database, log, after)
                if new:
                    result[log], self._numbers[log] = cast(Sequence[Entry], new), new[-1].number
        return result

    # --- in the event loop --------------------------------------------------------------------------------------------

    def _tell_all(self) -> None:
        self._wake(None)
        for takers in list(self._takers.values()):
            for take in list(takers):
                _pass_on(take, None)

    def _tell(self, channel: str, kind: Any, fence: int, body: bytes) -> None:
        if channel == self._process:
            self._wake(fence)
            return
        for take in list(self._takers.get(channel, ())):
            claim = Claim.from_json(body) if kind in ("started", "back") else None
            _pass_on(take, News(kind, fence, claim, body.decode() if kind == "mark" else ""))


def _pass_on(take: Take, news: News | None) -> None:
    try:
        take(news)
    except Exception:
        _log.exception("A notification could not be taken.")


def _last_place(database: Database, table: str) -> int:
    row = database.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 0 if row is None else int(row[0])
