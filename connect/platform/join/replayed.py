"""Decides which events of a run's stream are new if the stream is joined more than once or repeats events:
`ReplayFilter`. No I/O.

How servers behave (measured with `langgraph dev`, and read in the source code of the others):

- Ids of `langgraph dev` are `<milliseconds>-0`, so all events of a millisecond have the same id. Ids of other servers
  are
  unique: `<milliseconds>-<number>` (LangGraph Platform), `<run>_event_<number>` (Aegra).
- After a join, the server first sends the stored events after an id, and then new events. `langgraph dev` starts to
  listen for new events before it sends the stored ones, and sends events of the meantime twice. So at most once in a
  connection, the stream *jumps* back, and then continues without a break.
- Some events are not stored: `error` and `messages/partial`.

States of a connection:

    kept ------- an older id: a jump, for certain -------> repeating --- all known events repeated ---> live
     |  ^                                                                                               ^ |
     |  +------- what follows does not fit: no jump ----+                                               | |
     +---------- the newest id, a known event ---------> guessing ---- the repetition is over ----------+ |
     +---------- a wait, and an event that was made during it --------------------------------------------+
    rewound ---- the events of the newest id repeated --> kept

The first connection begins in `kept`, all later ones in `rewound`: the stream is joined after an id that is older than
the newest one, so that all events of the newest id are repeated.

Rules:

1. An event with an older id than the newest is a repetition, in every state.
2. In `rewound` and `repeating`, the known events of the newest id are skipped, in order. Some of them may not have been
   stored. If none of them comes first in `rewound`, events may be missing: there is a gap, unless the run begins again.
3. In `guessing`, events that may be repeated wait until the following events decide. If there was no jump, they are
   emitted late, but in order.
4. In `live`, nothing is repeated any more. A wait proves this only if the event that ends it was made some time after
   the reader had begun to wait, by the event's id and the reader's clock. If the reader's process was busy, it may wait
   for events that were stored long before. If the server's clock is behind the reader's, no wait proves it, and rule 3
   remains in force.
5. Events without an id are new; after another connection there is a gap before them. Ids of other forms are only
   compared for equality, with the last 1,024, and the stream is joined after the newest one.

One case can't be decided: a block of events that is followed at once, within the same millisecond, by an equal block.
The second block is taken for a jump and not emitted, at most once in a connection. If it was not a jump, and the real
jump follows, there is a gap. Or, if the real jump does not go back to an older id, its block is emitted twice. The next
values of the run, or its end, correct both. Of the newest id, only the first 1,024 events are remembered; any further
event counts as new.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

import orjson

from ...recent import Recent
from ..http import Received

_START: Final = "0-0"
_LAST: Final = 999_999
"""Greater than the number of any event within a millisecond."""
_MOST: Final = 1_024
_LIVE_AFTER: Final = 250
"""An event that was made after this many milliseconds without one shows that no stored events are left."""
_TIMED = re.compile(r"(\d+)-(\d+)")
_COUNTED = re.compile(r"((?:.+_)?)(\d+)")

_Event = tuple[Received, int]
"""An event, and a hash of everything in it except its id."""
_State = Literal["kept", "rewound", "guessing", "repeating", "live"]


class _Position(NamedTuple):
    """The position of an event in the stream, as given by its id."""

    series: str
    """Ids of different series can't be compared. The series of ids with milliseconds is the empty string."""
    number: int
    """Milliseconds or a count."""
    ordinal: int
    is_unique: bool
    """Whether no other event has the same id."""

    @property
    def before(self) -> str:
        """An id just below this one."""
        if self.series:
            return f"{self.series[:-1]}{max(self.number - 1, 0)}"
        if self.ordinal:
            return f"{self.number}-{self.ordinal - 1}"
        return f"{self.number - 1}-{_LAST}" if self.number else _START


class ReplayFilter:
    """Filters the events of one run's stream across connections. Call `note_joined` for each connection, and then
    `take` for each event."""

    def __init__(self) -> None:
        self.gap = False
        """Whether events may be missing before the last one that was taken."""
        self._state: _State = "kept"
        self._is_fresh = True
        """Whether no event was taken yet."""
        self._newest: str | None = None
        self._position: _Position | None = None
        self._known: list[int] = []
        """The events of the newest id, in order."""
        self._next = 0
        """In `rewound` and `repeating`: how many of them were repeated."""
        self._is_covered = False
        """In `rewound`: whether the replay began earlier than was asked for."""
        self._waiting: list[_Event] = []
        """In `guessing`: the events that may be repeated."""
        self._guesses: set[int] = set()
        """In `guessing`: the indexes of the known events that may be repeated next."""
        self._over: int | None = None
        """In `guessing`: how many of the waiting events are repeated if the repetition is over, which it may be; else
        None."""
        self._was_guessed = False
        """In `live`: whether the jump before was a guess."""
        self._others: Recent[int, None] = Recent(_MOST)
        """The last events whose ids have another form."""

    def resume_id(self) -> str:
        """Returns the `Last-Event-ID` to join the stream with. The first time, this asks for all events."""
        if self._newest is None:
            return _START
        return self._newest if self._position is None else self._position.before

    def note_joined(self) -> None:
        """Notes that the stream was joined after `resume_id`. Events that were waiting will be repeated."""
        self._state = "kept" if self._is_fresh else "rewound"
        self._next = 0
        self._is_covered = self._was_guessed = False
        self._forget_guesses()

    def take(self, received: Received, waited: float = 0.0, time: float = math.inf) -> list[Received]:
        """Takes the next event, and returns the new events: none, the event itself, or waiting events and then the
        event.

        `waited` is how many seconds the reader waited for it, and `time` the reader's clock, in seconds since 1970.
        """
        self.gap = self._is_fresh = False
        if received.id is None:
            return self._take_unnumbered(received)
        entry, position = hash((received.event, _hashable(received.data))), _position(received.id)
        if position is None:
            return self._take_other(received, hash((received.id, entry)))
        newest = self._position
        if newest is None or position.series != newest.series or position[1:3] > newest[1:3]:
            return self._take_newer(received, entry, position, waited, time)
        if position[1:3] < newest[1:3]:
            return self._take_older()
        return self._take_same(received, entry, position)

    # --- by position ----------------------------------------------------------------------------------------------

    def _take_newer(
        self, received: Received, entry: int, position: _Position, waited: float, time: float
    ) -> list[Received]:
        new = self._decide_all()
        if self._state == "rewound":
            self._end_rewind(received)
        elif self._state == "repeating" or (self._state == "kept" and self._is_past_kept(position, waited, time)):
            self._state = "live"
        self._newest, self._position = received.id, position
        self._known, self._next = [entry], 0
        return [*new, received]

    def _take_older(self) -> list[Received]:
        if self._state == "rewound":
            self._is_covered = True
            return []
        new = [self._keep(*event) for event in self._waiting]
        self._forget_guesses()
        self.gap, self._was_guessed = self._was_guessed, False
        self._state, self._next = "repeating", 0
        return new

    def _take_same(self, received: Received, entry: int, position: _Position) -> list[Received]:
        if position.is_unique:
            self._state = "kept" if self._state == "rewound" else self._state
            return []
        if self._state not in ("rewound", "repeating"):
            return self._guess((received, entry))
        if entry in self._known[self._next :]:
            self._next = self._known.index(entry, self._next) + 1
            if self._next == len(self._known):
                self._state = "kept" if self._state == "rewound" else "live"
            return []
        if self._state == "rewound":
            self._end_rewind(received)
        return [self._keep(received, entry)]

    def _take_unnumbered(self, received: Received) -> list[Received]:
        """Takes an event without an id. Its run is not stored, or it comes before all stored events."""
        if self._state == "rewound":
            self._end_rewind(received)
        return [received]

    def _take_other(self, received: Received, entry: int) -> list[Received]:
        """Takes an event whose id can only be compared for equality."""
        self._state = "kept" if self._state == "rewound" else self._state
        if entry in self._others:
            return []
        self._others[entry] = None
        self._newest, self._position, self._known = received.id, None, []
        return [received]

    def _keep(self, received: Received, entry: int) -> Received:
        """Remembers an event of the newest id, and returns it."""
        if len(self._known) <= _MOST:
            self._known.append(entry)
        return received

    def _end_rewind(self, received: Received) -> None:
        """Notes that a new event has arrived, and whether it follows the known ones without a gap."""
        begins = received.event == "metadata" and isinstance(received.data, Mapping) and "attempt" in received.data
        self.gap = not (self._next or self._is_covered or begins)
        self._state = "kept"

    def _is_past_kept(self, position: _Position, waited: float, time: float) -> bool:
        """Whether the event was made so long after the last one, and after the reader began to wait for it, that the
        server must have sent all stored events before."""
        newest = self._position
        if newest is None or newest.series or position.series:
            return False
        began = (time - waited) * 1000
        return min(waited * 1000, position.number - max(newest.number, began)) >= _LIVE_AFTER

    # --- guessing -------------------------------------------------------------------------------------------------

    def _guess(self, *events: _Event) -> list[Received]:
        """Takes events of the newest id that may be repeated, and returns the new ones."""
        new: list[Received] = []
        coming = deque(events)
        while coming:
            received, entry = coming.popleft()
            guesses = self._matches(entry)
            if guesses:
                self._state, self._guesses = "guessing", guesses
                self._waiting.append((received, entry))
                if len(self._known) in guesses:
                    self._over = len(self._waiting)
            elif self._state == "guessing":
                coming.appendleft((received, entry))
                new += self._decide(coming)
            else:
                new.append(self._keep(received, entry))
        return new

    def _matches(self, entry: int) -> set[int]:
        """Returns the indexes of the known events that may be repeated next, if this event is repeated itself."""
        if self._state == "live" or len(self._known) > _MOST:
            return set()
        candidates = self._guesses if self._state == "guessing" else range(len(self._known))
        return {index + 1 for index in candidates if index < len(self._known) and self._known[index] == entry}

    def _decide(self, coming: deque[_Event]) -> list[Received]:
        """Ends a guess, because the repetition is over or there was none. Returns the waiting events that are certainly
        new, and puts the others back in front of `coming`."""
        waiting, over = self._waiting, self._over
        self._forget_guesses()
        self._was_guessed = over is not None
        self._state = "live" if self._was_guessed else "kept"
        coming.extendleft(reversed(waiting[over or 1 :]))
        return [] if self._was_guessed else [self._keep(*waiting[0])]

    def _decide_all(self) -> list[Received]:
        """Returns the new ones of the waiting events, when the events of the newest id are over."""
        new: list[Received] = []
        while self._state == "guessing":
            coming: deque[_Event] = deque()
            new += self._decide(coming)
            new += self._guess(*coming)
        return new

    def _forget_guesses(self) -> None:
        self._waiting, self._guesses, self._over = [], set(), None


def _hashable(data: Any) -> Any:
    """Returns JSON data in a form that can be hashed."""
    try:
        return orjson.dumps(data)
    except TypeError:  # lone surrogates, or hundreds of levels
        try:
            return repr(data)
        except RecursionError:
            return None


def _position(event_id: str) -> _Position | None:
    if match := _TIMED.fullmatch(event_id):
        return _Position("", int(match[1]), int(match[2]), is_unique=match[2] != "0")
    if match := _COUNTED.fullmatch(event_id):
        return _Position(f"{match[1]}#", int(match[2]), 0, is_unique=True)
    return None
