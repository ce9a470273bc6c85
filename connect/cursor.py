"""Which events of a run's stream are new, when it was joined more than once, or repeats itself: `Cursor`. No I/O.

What servers do (measured): ids of `langgraph dev` are `<milliseconds>-0`, one for all events of a millisecond, and a
join sends what comes after an id. And the server begins to listen before it sends what it kept, so that on a fast run a
block of events comes twice: the last ones that were kept, once more, before those that are new.

Rules:

1. A stream is joined again after an id that is strictly older than the newest seen. So all events of the newest id
   come again; those that were seen, in the order they were seen, are skipped.
2. An event older than the newest is a repetition. So is one of the newest id that was seen: and then those that follow,
   as long as they repeat what followed then.
3. What is skipped must begin with what was asked for. If something newer comes first, what is between may be missing:
   a gap.
4. Events without an id are new. Ids of another form are compared for equality only: a stream is joined after the
   newest.

Two equal events in one millisecond, right where kept and new events meet, can't be told from a repetition. The state at
the run's next step heals that. After a pause (`settled`) there is no such place any more, and nothing is skipped but
what is older.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_START = "0-0"
_MOST = 65_536
"""Events that are remembered, newest ones; a repeated block is far shorter."""
_FORM = re.compile(r"(\d+)-(\d+)")

_Stamp = tuple[int, int]
_Entry = tuple[Any, int]


class Cursor:
    """Takes the events of one run's stream, connection after connection."""

    def __init__(self) -> None:
        self.gap = False
        """Whether events may be missing before the one that was taken last."""
        self._seen: list[_Entry] = []
        self._next: int | None = None
        """The seen event that is repeated next, while some are."""
        self._is_resuming = False
        self._is_settled = False

    def resume_id(self) -> str:
        """What to send as `Last-Event-ID` when the stream is joined: the first time, for all of it."""
        if not self._seen:
            return _START
        newest = self._seen[-1][0]
        return f"{newest[0] - 1}-{_MOST}" if isinstance(newest, tuple) else str(newest)

    def connected(self) -> None:
        """The stream was joined, after `resume_id`."""
        self._is_settled = False
        self._is_resuming = bool(self._seen) and isinstance(self._seen[-1][0], tuple)
        self._next = self._first_of_newest() if self._is_resuming else None

    def settled(self) -> None:
        """Nothing came for a while: what was kept has been sent."""
        self._is_settled = True

    def is_new(self, event: str, data: Any, id: str | None) -> bool:  # noqa: A002 - SSE's name
        """Takes an event; whether it was not taken before."""
        self.gap = False
        if id is None:
            return True
        entry = (_stamp(id), hash((event, orjson.dumps(data))))
        if self._repeats(entry):
            self._is_resuming = False
            return False
        self.gap, self._is_resuming = self._is_resuming, False
        self._seen.append(entry)
        if len(self._seen) > 2 * _MOST:
            del self._seen[:_MOST]
        return True

    def _repeats(self, entry: _Entry) -> bool:
        if self._next is not None:
            if self._seen[self._next] == entry:
                self._next = self._next + 1 if self._next + 1 < len(self._seen) else None
                return True
            self._next = None
        if not self._seen:
            return False
        stamp, newest = entry[0], self._seen[-1][0]
        if not isinstance(stamp, tuple) or not isinstance(newest, tuple):
            return any(stamp == seen for seen, _ in self._seen[-_MOST:])
        if stamp > newest or (stamp == newest and self._is_settled):
            return False
        place = self._place(entry)
        if place is not None:
            self._next = place + 1 if place + 1 < len(self._seen) else None
        return place is not None or stamp < newest

    def _place(self, entry: _Entry) -> int | None:
        """Where this event was seen last."""
        for place in range(len(self._seen) - 1, -1, -1):
            if self._seen[place] == entry:
                return place
            if self._seen[place][0] < entry[0]:
                return None
        return None

    def _first_of_newest(self) -> int:
        place = len(self._seen) - 1
        while place > 0 and self._seen[place - 1][0] == self._seen[-1][0]:
            place -= 1
        return place


def _stamp(id: str) -> _Stamp | str:  # noqa: A002 - SSE's name
    match = _FORM.fullmatch(id)
    return (int(match[1]), int(match[2])) if match else id
