"""The values that a run database keeps of runs, and the JSON in which several implementations store them. No I/O.

- `Claim`: a run, as its owner describes it to other processes.
- `Entry`: some events of a run, in its log.
- `RunEnd`: how the last run of a thread ended.
- `LostRun`: a run whose owner is lost, and that may be continued.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

import orjson
from langgraph.checkpoint.serde.base import CipherProtocol

from ....translator import Cancelled, Ending, Failed, Finished
from ..encryption import SealedError, seal, unseal
from .active_run import LastRun, ThreadKey

_log = logging.getLogger(__name__)

FORMAT: Final = 1
"""The format of logs and of `RunEnd`. It rises with each change that an earlier version cannot read. A claim has the
format of the log of its run; the other fields of a claim are the same in all formats."""
SNAPSHOT: Final = "snapshot"
MORE: Final = "more"
HANDED_OVER: Final = "handed over"
"""The kind of the last entry of a run that its owner has handed over. It has no events."""
OUTCOMES: Final = frozenset({"finished", "interrupted", "failed", "cancelled"})
"""The kinds of a log's last entry: how the run ended."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A run as its owner describes it to other processes.

    - `run_id`, `metadata`: see `ActiveRun`.
    - `agent`: the agent's name in log lines.
    - `owner`: the id of the owner's process.
    - `needs_readers`: whether the run is stopped when no process has readers of it.
    - `format`: the format of the run's log.
    - `continues`: the fence of the run that it continues, because the owner of that run was lost; 0 if there is none.
    - `has_input`: whether the database keeps what continues the run if its owner is lost.
    """

    run_id: str
    agent: str
    owner: str
    metadata: Mapping[str, Any]
    needs_readers: bool = False
    format: int = FORMAT
    continues: int = 0
    has_input: bool = False

    def to_json(self) -> bytes:
        """Returns the JSON that is stored."""
        return orjson.dumps(
            {
                "run": self.run_id,
                "agent": self.agent,
                "owner": self.owner,
                "metadata": dict(self.metadata),
                "needs_readers": self.needs_readers,
                "format": self.format,
                "continues": self.continues,
                "has_input": self.has_input,
            }
        )

    @property
    def is_readable(self) -> bool:
        """Whether this version can read the run's log."""
        return self.format == FORMAT

    @classmethod
    def from_json(cls, stored: bytes) -> Claim:
        """Reads what `to_json` returned."""
        fields = orjson.loads(stored)
        return cls(
            fields["run"],
            fields["agent"],
            fields["owner"],
            fields["metadata"],
            bool(fields.get("needs_readers")),
            fields.get("format", 0),
            fields.get("continues", 0),
            bool(fields.get("has_input")),
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a run's log.

    - `fence`: the run. `number`: the position in its log, which begins with 1.
    - `kind`: `SNAPSHOT` (the events bring a client that has nothing up to date), `MORE` (the next events), one of
      `OUTCOMES` (the last events), or `HANDED_OVER`.
    - `at`: the number of events of the run up to the end of this entry, as in `Offset.event`.
    - `frames`: the events as SSE frames, one after the other; encrypted if the thread has a cipher.
    """

    fence: int
    number: int
    kind: str
    at: int
    frames: bytes

    def events(self, cipher: CipherProtocol | None) -> list[tuple[dict[str, Any], bytes]]:
        """Returns the events, each with its frame. Raises `SealedError` as `unseal` does."""
        parts = unseal(self.frames, cipher).split(b"\n\n")[:-1]
        return [(orjson.loads(part[len(b"data: ") :]), part + b"\n\n") for part in parts]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended.

    - `last`: the facts, without the run itself.
    - `claim`: the claim of the run, if its events exist nowhere but in its log.
    """

    last: LastRun
    claim: Claim | None = None

    @classmethod
    def of(cls, last: LastRun, claim: Claim) -> RunEnd:
        """Returns the end of a run that has this claim."""
        return cls(last) if last.run is None else cls(replace(last, run=None), claim)

    def to_json(self, cipher: CipherProtocol | None) -> bytes:
        """Returns the JSON that is stored, encrypted if there is a cipher, because it contains messages and error
        texts."""
        last, ending = self.last, self.last.ending
        error = {"error": ending.error} if isinstance(ending, Failed) else {}
        stored = orjson.dumps(
            {
                "format": FORMAT,
                "run": last.run_id,
                "started_at": last.started_at.isoformat(),
                "ending": {"type": type(ending).__name__, **error},
                "interrupted": last.is_interrupted,
                "breakpoint": last.is_at_breakpoint,
                "waiting_messages": list(last.waiting_messages),
                "asking_calls": dict(last.asking_calls),
                "fence": last.number,
                "claim": None if self.claim is None else self.claim.to_json().decode(),
            }
        )
        return seal(stored, cipher)

    @classmethod
    def from_json(cls, stored: bytes, cipher: CipherProtocol | None) -> RunEnd | None:
        """Reads what `to_json` returned. Returns None if the format is unknown, or if this process cannot decrypt it:
        then only the checkpoint says how the run ended."""
        try:
            fields = orjson.loads(unseal(stored, cipher))
        except SealedError as error:
            _log.warning("How the last run of a thread ended cannot be read: %s.", error)
            return None
        if fields.get("format") != FORMAT:
            return None
        name = fields["ending"]["type"]
        ending: Ending = Finished() if name == "Finished" else Cancelled()
        if name == "Failed":
            ending = Failed(fields["ending"]["error"])
        last = LastRun(
            fields["run"],
            datetime.fromisoformat(fields["started_at"]),
            ending,
            fields["interrupted"],
            fields["breakpoint"],
            fields["fence"],
            tuple(fields.get("waiting_messages", ())),
            fields.get("asking_calls", {}),
        )
        return cls(last, None if fields["claim"] is None else Claim.from_json(fields["claim"].encode()))


@dataclass(frozen=True, slots=True)
class LostRun:
    """A run whose owner is lost, or has handed it over, and that may be continued.

    - `thread`: its thread. The key has no cipher if the run was found by a sweep.
    - `number`: its number among the runs of its thread, which is what `RunStore.claim(continues=)` takes.
    - `claim`: what its owner said of it.
    - `stored_input`: what `RunStore.claim` was given to keep.
    - `is_stopping`: whether it was to stop. Then its continuation is stopped as soon as it begins.
    - `is_handed_over`: whether its owner has handed it over, and was not lost.
    """

    thread: ThreadKey
    number: int
    claim: Claim
    stored_input: bytes
    is_stopping: bool
    is_handed_over: bool = False


def quoted(text: str) -> str:
    """Returns a text in which every character that has a meaning in a key is quoted. Ids may have lone surrogates."""
    return quote(text, safe="", errors="surrogatepass")
