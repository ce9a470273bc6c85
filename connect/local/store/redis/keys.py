"""What is in Redis, as values: the names of keys, claims, entries of a log, ends of runs. No I/O.

The keys of a thread have one hash tag, so that they are in one slot; ids are quoted in it: they may have braces.

| key | what it has | expires |
|---|---|---|
| `thread` | hash: `fence`; `ended` and `last` (the token of the last run that ended, and how, JSON); until a run has ended its `token`, `claim` (JSON), lease (`until`, in ms), `status`, `cancel`; once the thread was deleted, `forgotten` (the fence up to which nothing is kept) | a day after the last run |
| `log:<fence>` | stream: `kind`, `at`, `frames`; ids are `<fence>-<number>`, from 1, no gaps | a minute after its end |
| `logs` | sorted set: the fences of the runs that have a log, and until when they have it | with the last of them |
| `line`, `alive` | list and hash: tickets of inputs, and until when they count | after two leases |
| `closed` | the ticket that has closed the thread | after a lease |
| `readers:<fence>` | hash: processes with readers of the run, and until when that counts | after two leases |
| `live` | channel: entries as they are appended, claims (`started`, and `back` from an owner whose lease was over), `turn`, `mark` | |
| `agui:owner:<owner>` | channel of a process: the fence of a run that is to be looked at | |
| `agui:contact:<process>` | since when it has been in contact with Redis, in ms | after a third of a lease |
| `agui:emptied` | since when Redis has been known to have lost its data, in ms; 0 if it has not | a day |
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

import orjson

from .....translator import Cancelled, Ending, Failed, Finished
from ..active_run import LastRun, ThreadKey

PREFIX: Final = "agui"
EMPTIED: Final = f"{PREFIX}:emptied"
FORMAT: Final = 1
"""The format of logs and of how runs ended. It rises with what an earlier version cannot read; the claim of a run has
that of its log, and the other fields of a claim are the same in all formats."""
SNAPSHOT: Final = "snapshot"
MORE: Final = "more"
STARTED: Final = "started"
BACK: Final = "back"
TURN: Final = "turn"
MARK: Final = "mark"
OUTCOMES: Final = frozenset({"finished", "interrupted", "failed", "cancelled"})
"""The kinds of a log's last entry: how the run ended."""


class Keys:
    """The names of one thread."""

    def __init__(self, thread: ThreadKey) -> None:
        self._tag = f"{PREFIX}:{{{quoted(thread.namespace)}:{quoted(thread.thread_id)}}}"
        self.thread = f"{self._tag}:thread"
        self.channel = f"{self._tag}:live"
        self.line = f"{self._tag}:line"
        self.alive = f"{self._tag}:alive"
        self.closed = f"{self._tag}:closed"
        self.logs = f"{self._tag}:logs"

    def log(self, fence: int) -> str:
        """The log of a run."""
        return f"{self._tag}:log:{fence}"

    def readers(self, fence: int) -> str:
        """The processes with readers of a run."""
        return f"{self._tag}:readers:{fence}"


def owner_channel(owner: str) -> str:
    """The channel of a process."""
    return f"{PREFIX}:owner:{owner}"


def contact_key(process: str) -> str:
    """The contact of a process."""
    return f"{PREFIX}:contact:{process}"


def quoted(text: str) -> str:
    """A text without anything that has a meaning in a key. Ids may have lone surrogates."""
    return quote(text, safe="", errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class Claim:
    """A run as its owner describes it to other processes.

    - `run_id`, `agent`, `metadata`: see `ActiveRun`; the agent as log lines name it.
    - `owner`: the process.
    - `needs_readers`: whether the run is stopped when no process has readers of it.
    - `format`: that of the run's log.
    """

    run_id: str
    agent: str
    owner: str
    metadata: Mapping[str, Any]
    needs_readers: bool = False
    format: int = FORMAT

    def to_json(self) -> bytes:
        """As it is stored."""
        return orjson.dumps(
            {
                "run": self.run_id,
                "agent": self.agent,
                "owner": self.owner,
                "metadata": dict(self.metadata),
                "needs_readers": self.needs_readers,
                "format": self.format,
            }
        )

    @property
    def is_readable(self) -> bool:
        """Whether the run's log can be read by this version."""
        return self.format == FORMAT

    @classmethod
    def from_json(cls, given: bytes) -> Claim:
        """What `to_json` has written."""
        found = orjson.loads(given)
        needs_readers = bool(found.get("needs_readers"))
        return cls(
            found["run"], found["agent"], found["owner"], found["metadata"], needs_readers, found.get("format", 0)
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a log, or a message of a thread's channel.

    - `fence`, `number`: its id.
    - `kind`: `SNAPSHOT` (the events bring a client that has nothing to where the run is), `MORE` (the next events), one
      of `OUTCOMES` (the last ones); of messages also `STARTED` and `BACK` (with a claim), `TURN`, and `MARK` (with an
      id: its receiver has had every message before it).
    - `at`: how many events of the run there are up to it, as in `Offset.event`.
    - `frames`: the events as SSE frames, one after the other.
    """

    fence: int
    number: int
    kind: str
    at: int
    frames: bytes

    @classmethod
    def of_message(cls, message: bytes) -> Entry:
        """What was published."""
        head, _, frames = message.partition(b"\n")
        kind, entry_id, at = head.split(b" ")
        return cls(*_parsed(entry_id), kind.decode(), int(at), frames)

    @classmethod
    def of_log(cls, entry_id: bytes, fields: Mapping[bytes, bytes]) -> Entry:
        """What is in the log."""
        return cls(*_parsed(entry_id), fields[b"kind"].decode(), int(fields[b"at"]), fields[b"frames"])

    @property
    def events(self) -> list[tuple[dict[str, Any], bytes]]:
        """The events, each with its frame."""
        parts = self.frames.split(b"\n\n")[:-1]
        return [(orjson.loads(part[len(b"data: ") :]), part + b"\n\n") for part in parts]


def _parsed(entry_id: bytes) -> tuple[int, int]:
    fence, number = entry_id.split(b"-")
    return int(fence), int(number)


def last_to_json(last: LastRun, claim: bytes | None, fence: int) -> bytes:
    """How a run ended, as it is stored. `claim`: that of a run whose log is all that is left of it."""
    ending: dict[str, Any] = {"type": type(last.ending).__name__}
    if isinstance(last.ending, Failed):
        ending["error"] = last.ending.error
    return orjson.dumps(
        {
            "format": FORMAT,
            "run": last.run_id,
            "started_at": last.started_at.isoformat(),
            "ending": ending,
            "interrupted": last.is_interrupted,
            "breakpoint": last.is_at_breakpoint,
            "waiting_messages": list(last.waiting_messages),
            "fence": fence,
            "claim": None if claim is None else claim.decode(),
        }
    )


def last_from_json(given: bytes) -> tuple[LastRun | None, tuple[int, Claim] | None]:
    """What `last_to_json` has written; for a run whose log may be read its fence and its claim. None for an unknown
    format: then only the checkpoint says how the run ended."""
    found = orjson.loads(given)
    if found.get("format") != FORMAT:
        return None, None
    name = found["ending"]["type"]
    ending: Ending = Finished() if name == "Finished" else Cancelled()
    if name == "Failed":
        ending = Failed(found["ending"]["error"])
    last = LastRun(
        found["run"],
        datetime.fromisoformat(found["started_at"]),
        ending,
        found["interrupted"],
        found["breakpoint"],
        found["fence"],
        tuple(found.get("waiting_messages", ())),
    )
    return last, None if found["claim"] is None else (found["fence"], Claim.from_json(found["claim"].encode()))
