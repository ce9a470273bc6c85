"""Which events of a run's stream are new, when it was joined more than once, or repeats itself: `ReplayFilter`. No I/O.

What servers do (measured on `langgraph dev`, read in the source of others):

- Ids of `langgraph dev` are `<milliseconds>-0`: all events of a millisecond share one. Elsewhere they are unique:
  `<milliseconds>-<number>` (LangGraph Platform), `<run>_event_<number>` (Aegra).
- A join sends what was kept after an id, then what comes. `langgraph dev` begins to listen before it sends what it
  kept: what came meanwhile is sent again. So at most once in a connection the stream *jumps* back, then continues
  without a break.
- Not all is kept: `error` is not, nor is `messages/partial`.

States of a connection:

    kept ------- an older id: a jump, for certain -------> repeating --- all known has come again ---> live
     |  ^                                                                                               ^ |
     |  +------- what follows does not fit: no jump ----+                                               | |
     +---------- the newest id, an event seen under it --> guessing ---- what was repeated is over -----+ |
     +---------- a wait, and an event that was made in it ------------------------------------------------+
    rewound ---- the newest id's events have come again --> kept

The first connection begins in `kept`, those after it in `rewound`: a stream is joined again after an id that is older
than the newest, so that all events of the newest come again.

Rules:

1. An event with an older id than the newest is a repetition, in every state.
2. `rewound`, `repeating`: the known events of the newest id are skipped, in their order. Some may not have been kept.
   In `rewound`, if none of them comes first, events may be missing: a gap. A run that begins anew leaves none.
3. `guessing`: events that may be repeated wait until what follows decides. They are emitted, late but in order, if it
   was no jump.
4. `live`: nothing is repeated any more. A wait shows this only if the event that ends it was made a while after the
   reader had begun to wait, by its id and the reader's clock. A reader whose process was busy waits for events that
   were kept long before. If the server's clock is behind the reader's, no wait shows it: then rule 3 stays in force.
5. Events without an id are new; after another connection there is a gap before them. Ids of other forms are compared
   for equality, the last 1,024, and a stream is joined again after the newest.

What cannot be decided: a block of events and at once an equal one, in one millisecond. The second is taken for a jump
and not emitted, once in a connection. If it was none and the real jump follows, that is a gap; or, if the real one does
not go back to an older id, its block is emitted twice. The run's next values, or its end, correct both. Only the
newest id's events are kept, 1,024 at most: any further one is taken for new.
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
"""Above any number of a millisecond."""
_MOST: Final = 1_024
_LIVE_AFTER: Final = 250
"""Milliseconds without an event, before the next one is made, that show that nothing kept is left."""
_TIMED = re.compile(r"(\d+)-(\d+)")
_COUNTED = re.compile(r"((?:.+_)?)(\d+)")

_Event = tuple[Received, int]
"""An event, and a hash of all of it but its id."""
_State = Literal["kept", "rewound", "guessing", "repeating", "live"]


class _Position(NamedTuple):
    """The position of an event in the stream, by its id."""

    series: str
    """Ids of different series cannot be compared; that of milliseconds has no name."""
    number: int
    """Milliseconds, or a count."""
    ordinal: int
    is_unique: bool
    """Whether no other event has this id."""

    @property
    def before(self) -> str:
        """An id just below."""
        if self.series:
            return f"{self.series[:-1]}{max(self.number - 1, 0)}"
        if self.ordinal:
            return f"{self.number}-{self.ordinal - 1}"
        return f"{self.number - 1}-{_LAST}" if self.number else _START


class ReplayFilter:
    """Takes the events of one run's stream, connection after connection: `connected`, then `take` for each event."""

    def __init__(self) -> None:
        self.gap = False
        """Whether events may be missing in front of what was taken last."""
        self._state: _State = "kept"
        self._is_fresh = True
        """Whether nothing was taken yet."""
        self._newest: str | None = None
        self._position: _Position | None = None
        self._known: list[int] = []
        """The events of the newest id, in order."""
        self._next = 0
        """`rewound`, `repeating`: how many of them came again."""
        self._is_covered = False
        """`rewound`: whether the replay began before what was asked for."""
        self._waiting: list[_Event] = []
        """`guessing`: the events that may be repeated."""
        self._guesses: set[int] = set()
        """`guessing`: the known events that may be repeated next."""
        self._over: int | None = None
        """`guessing`: how many of those that wait are repeated, if the repetition may be over."""
        self._was_guessed = False
        """`live`: whether the jump before it was a guess."""
        self._others: Recent[int, None] = Recent(_MOST)
        """The last events whose ids have another form."""

    def resume_id(self) -> str:
        """What to send as `Last-Event-ID` when the stream is joined: the first time, for all of it."""
        if self._newest is None:
            return _START
        return self._newest if self._position is None else self._position.before

    def connected(self) -> None:
        """The stream was joined, after `resume_id`. The events that waited come again."""
        self._state = "kept" if self._is_fresh else "rewound"
        self._next = 0
        self._is_covered = self._was_guessed = False
        self._forget_guesses()

    def take(self, received: Received, waited: float = 0.0, now: float = math.inf) -> list[Received]:
        """Takes the next event; gives what is new: nothing, it, or first those that waited.

        `waited`: seconds for which the reader waited for it. `now`: the reader's time, in seconds since 1970.
        """
        self.gap = self._is_fresh = False
        if received.id is None:
            return self._unnumbered(received)
        entry, position = hash((received.event, _hashable(received.data))), _position(received.id)
        if position is None:
            return self._other(received, hash((received.id, entry)))
        known = self._position
        if known is None or position.series != known.series or position[1:3] > known[1:3]:
            return self._newer(received, entry, position, waited, now)
        if position[1:3] < known[1:3]:
            return self._older()
        return self._same(received, entry, position)

    # --- by its position ------------------------------------------------------------------------------------------

    def _newer(self, received: Received, entry: int, position: _Position, waited: float, now: float) -> list[Received]:
        new = self._all_decided()
        if self._state == "rewound":
            self._rewound_to(received)
        elif self._state == "repeating" or (self._state == "kept" and self._is_past_kept(position, waited, now)):
            self._state = "live"
        self._newest, self._position = received.id, position
        self._known, self._next = [entry], 0
        return [*new, received]

    def _older(self) -> list[Received]:
        if self._state == "rewound":
            self._is_covered = True
            return []
        new = [self._keep(*each) for each in self._waiting]
        self._forget_guesses()
        self.gap, self._was_guessed = self._was_guessed, False
        self._state, self._next = "repeating", 0
        return new

    def _same(self, received: Received, entry: int, position: _Position) -> list[Received]:
        if position.is_unique:
            self._state = "kept" if self._state == "rewound" else self._state
            return []
        if self._state not in ("rewound", "repeating"):
            return self._guessed((received, entry))
        if entry in self._known[self._next :]:
            self._next = self._known.index(entry, self._next) + 1
            if self._next == len(self._known):
                self._state = "kept" if self._state == "rewound" else "live"
            return []
        if self._state == "rewound":
            self._rewound_to(received)
        return [self._keep(received, entry)]

    def _unnumbered(self, received: Received) -> list[Received]:
        """An event without an id: of a run that is not kept, or in front of all that is."""
        if self._state == "rewound":
            self._rewound_to(received)
        return [received]

    def _other(self, received: Received, entry: int) -> list[Received]:
        """An event whose id can only be compared for equality."""
        self._state = "kept" if self._state == "rewound" else self._state
        if entry in self._others:
            return []
        self._others[entry] = None
        self._newest, self._position, self._known = received.id, None, []
        return [received]

    def _keep(self, received: Received, entry: int) -> Received:
        """Notes an event of the newest id."""
        if len(self._known) <= _MOST:
            self._known.append(entry)
        return received

    def _rewound_to(self, received: Received) -> None:
        """Something new came: whether it follows on what is known."""
        begins = received.event == "metadata" and isinstance(received.data, Mapping) and "attempt" in received.data
        self.gap = not (self._next or self._is_covered or begins)
        self._state = "kept"

    def _is_past_kept(self, position: _Position, waited: float, now: float) -> bool:
        """Whether the event was made so long after the last one, and after the reader began to wait for it, that the
        server had sent all that it had kept."""
        known = self._position
        if known is None or known.series or position.series:
            return False
        began = (now - waited) * 1000
        return min(waited * 1000, position.number - max(known.number, began)) >= _LIVE_AFTER

    # --- guessing -------------------------------------------------------------------------------------------------

    def _guessed(self, *events: _Event) -> list[Received]:
        """Events of the newest id, which may or may not be repeated."""
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
                new += self._decided(coming)
            else:
                new.append(self._keep(received, entry))
        return new

    def _matches(self, entry: int) -> set[int]:
        """The known events that may be repeated after this one, if it is repeated itself."""
        if self._state == "live" or len(self._known) > _MOST:
            return set()
        at = self._guesses if self._state == "guessing" else range(len(self._known))
        return {each + 1 for each in at if each < len(self._known) and self._known[each] == entry}

    def _decided(self, coming: deque[_Event]) -> list[Received]:
        """The repetition is over, or was none: what is certainly new of those that wait. The rest is put back in
        front of what is coming."""
        waiting, over = self._waiting, self._over
        self._forget_guesses()
        self._was_guessed = over is not None
        self._state = "live" if self._was_guessed else "kept"
        coming.extendleft(reversed(waiting[over or 1 :]))
        return [] if self._was_guessed else [self._keep(*waiting[0])]

    def _all_decided(self) -> list[Received]:
        """The newest id's events are over: what is new of those that wait."""
        new: list[Received] = []
        while self._state == "guessing":
            coming: deque[_Event] = deque()
            new += self._decided(coming)
            new += self._guessed(*coming)
        return new

    def _forget_guesses(self) -> None:
        self._waiting, self._guesses, self._over = [], set(), None


def _hashable(data: Any) -> Any:
    """Data of JSON, to be hashed."""
    try:
        return orjson.dumps(data)
    except TypeError:  # half surrogates, or hundreds of levels
        try:
            return repr(data)
        except RecursionError:
            return None


def _position(given: str) -> _Position | None:
    if match := _TIMED.fullmatch(given):
        return _Position("", int(match[1]), int(match[2]), is_unique=match[2] != "0")
    if match := _COUNTED.fullmatch(given):
        return _Position(f"{match[1]}#", int(match[2]), 0, is_unique=True)
    return None
