"""A platform with one recorded run, on which everything can fail: it says what the real one says, when it is told to.

    platform = ScriptedPlatform(recorded, present=5)
    platform.streams = [Broken(upto=300), refused(502)]  # then a whole one
    async with faulty(platform.answers()) as server: ...

Its time is counted in events: `present` is how many the run has told. A join sends what was told before, as far as the
platform keeps it, and then the rest of the run; where the connection is cut, the run is as far as that, or farther.
The state is that of the moment of the join, or a little later (`ahead`), until it is said that the run is over.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tests.support.clients.platform.recorded_run import Recorded
from tests.support.servers.platforms.fault_server import (
    HEARTBEAT,
    Answer,
    Asked,
    End,
    Piece,
    Scripted,
    answered,
    event,
    refused,
    sse,
)


@dataclass(frozen=True)
class Broken:
    """How one connection to the run's stream goes wrong."""

    upto: int | None = None
    """How many bytes are sent of what there is to send; None: all."""
    at: int | None = None
    """In place of `upto`: the byte of the whole run before which it is cut."""
    end: End = End.TORN
    missed: int = 0
    """How many events the run tells while nobody is connected; when that is all there are, it is over."""
    then: Sequence[Piece] = ()
    """What is sent or waited for after those bytes."""


class ScriptedPlatform:
    """The thread, its run, and what of it fails."""

    def __init__(
        self,
        recorded: Recorded,
        *,
        present: int = 1,
        keeps: bool = True,
        per_id: int = 1,
        ahead: int = 0,
        overlap: int = 0,
        events: Sequence[tuple[str, Any]] | None = None,
    ) -> None:
        self.recorded = recorded
        self.events = list(recorded.events if events is None else events)
        self.present = present
        """How many events the run has told."""
        self.keeps = keeps
        """Whether the run is resumable."""
        self.per_id = per_id
        """How many events, one after the other, have the same id: they came in the same millisecond."""
        self.ahead = ahead
        """By how many events the state is ahead of the stream."""
        self.overlap = overlap
        """How many of those that were told just before a join are sent again after it."""
        self.streams: list[Broken | Answer] = []
        """What becomes of the next connections to the run's stream; those after them go well."""
        self.instead: dict[str, list[Answer | None]] = {}
        """What the next requests of a question are answered with in its place; None: as ever. The last one stays."""
        self.then_instead: dict[str, list[Answer | None]] = {}
        """`instead`, from when the last of `streams` is answered; or the first join, if there are none."""
        self.sent: list[int] = []
        """Which event each connection began with."""
        self.is_over = False
        self._seen = present
        """How many events the run had told when its stream was joined last."""
        self.thread_id = str(recorded.threads[0]["thread_id"])
        self.run_id = str(recorded.runs[0]["run_id"])

    @property
    def values(self) -> Any:
        """What the thread holds in the end."""
        return self.recorded.states[-1]["values"]

    def answers(self) -> dict[str, list[Scripted]]:
        """What it says, by path."""
        thread, run = f"/threads/{self.thread_id}", f"/threads/{self.thread_id}/runs/{self.run_id}"
        assistant = self.recorded.runs[0]["assistant_id"]
        schemas = f"/assistants/{assistant}/schemas"
        questions: dict[str, tuple[str, Callable[[Asked], Answer]]] = {
            "thread": (thread, lambda _: answered(self.recorded.threads[self.is_over])),
            "state": (f"{thread}/state", lambda _: answered(self.state())),
            "runs": (f"{thread}/runs", self._listed),
            "run": (run, lambda _: answered(self._run())),
            "assistants": ("/assistants/search", lambda _: answered([{"assistant_id": assistant}])),
            "schemas": (schemas, lambda _: answered(self.recorded.schemas)),
            "stream": (f"{run}/stream", self._stream),
            "follow": (f"{thread}/stream", lambda _: gone()),
        }
        return {path: [self._or_instead(name, usual)] for name, (path, usual) in questions.items()}

    def frames(self) -> list[bytes]:
        """The run's events as they are sent."""
        return [event(name, data, self._id(place)) for place, (name, data) in enumerate(self.events)]

    def log(self) -> list[bytes]:
        """The same, each with the heartbeat that comes before it."""
        return [HEARTBEAT + frame for frame in self.frames()]

    def state(self) -> dict[str, Any]:
        """The thread's state now."""
        told = self.events[: self._seen + self.ahead]
        return self.recorded.states[sum(name == "values" for name, _ in told)]

    def _or_instead(self, name: str, usual: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
        def answer(asked: Asked) -> Answer:
            instead = self.instead.get(name) or [None]
            given = instead.pop(0) if len(instead) > 1 else instead[0]
            return given or usual(asked)

        return answer

    def _run(self) -> dict[str, Any]:
        if self.is_over:
            self._seen = len(self.events)
        run = json.loads(json.dumps(self.recorded.runs[self.is_over]))
        run["kwargs"]["resumable"] = self.keeps
        return dict(run)

    def _listed(self, asked: Asked) -> Answer:
        run, wanted = self._run(), asked.query.get("status")
        return answered([run] if wanted in (None, [run["status"]]) else [])

    def _id(self, place: int) -> str | None:
        return f"{1_700_000_000_000 + place // self.per_id}-0" if self.keeps else None

    def _stream(self, asked: Asked) -> Answer:
        how = self.streams.pop(0) if self.streams else Broken(end=End.CLEAN)
        if not self.streams:
            self.instead |= self.then_instead
        if isinstance(how, Answer):
            return how
        self._seen = self.present
        places = self._due(asked.last_event_id)
        self.sent.append(places[0] if places else len(self.events))
        log = self.log()
        sent = b"".join(log[place] for place in places)[: self._upto(how, log)]
        if how.upto is how.at is None and how.end is End.CLEAN:
            self._told_to(len(self.events))
        else:
            ends = accumulate(len(log[place]) for place in places)
            told = max((place + 1 for place, end in zip(places, ends, strict=True) if end <= len(sent)), default=0)
            self.present = max(self.present, told)
            if how.missed:
                self._told_to(self.present + how.missed)
        return sse([sent, *how.then], how.end)

    def _upto(self, how: Broken, log: Sequence[bytes]) -> int | None:
        if how.at is None:
            return how.upto
        return max(0, how.at - sum(map(len, log[: self.sent[-1]])))

    def _told_to(self, place: int) -> None:
        self.present = min(place, len(self.events))
        self.is_over = self.is_over or place >= len(self.events)

    def _due(self, last_event_id: str | None) -> list[int]:
        """The events a join sends: those that are kept and newer, some of them once more, and those that are new."""
        if self.is_over and not self.keeps:
            return []
        told = range(self.present)
        kept = [place for place in told if self.keeps and last_event_id and _is_newer(self._id(place), last_event_id)]
        again = kept[len(kept) - min(self.overlap, len(kept)) :]
        return [*kept, *again, *range(self.present, len(self.events))]


def _is_newer(event_id: str | None, last: str) -> bool:
    """As a server compares them."""
    here, there = (tuple(map(int, each.split("-"))) for each in (event_id or "0-0", last))
    return here > there


def gone() -> Answer:
    """What a server says of a thing it does not know."""
    return refused(404, "not found")
