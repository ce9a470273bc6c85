"""Which finished runs a store keeps: `Retention`, and what it keeps of each, `KeptRun`. No I/O.

The events of a kept run are lines of JSON, each with AG-UI's `timestamp`, compressed, and encrypted if the checkpointer
of the thread encrypts. They begin with those that bring a new client up to date, so each run can be read by itself.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import orjson
from langgraph.checkpoint.serde.base import CipherProtocol

from ..encryption import SealedError, seal, unseal
from .active_run import RunStatus

FORMAT: Final = 1
"""The format of a kept run. It rises with each change that an earlier version cannot read."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How many finished runs a store keeps with their events, over all threads. When a limit is reached, the oldest
    runs are dropped first. The state of a thread does not depend on it: that is in the checkpoints.

    - `runs`: the number of runs.
    - `bytes`: the size of their events, compressed.
    - `run_bytes`: the size of the events of one run, compressed. A larger run is kept without its events.
    - `age`: seconds since the end of a run.

    Raises `ValueError` for a number that is not above 0.
    """

    runs: int = 1_000
    bytes: int = 64_000_000
    run_bytes: int = 4_000_000
    age: float = 7 * 86_400.0

    def __post_init__(self) -> None:
        for name in ("runs", "bytes", "run_bytes", "age"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: expected more than 0, got {getattr(self, name)!r}")


class StoredRun(NamedTuple):
    """A kept run as a run database has it, without its events.

    - `fence`: the number of the run among those of its thread.
    - `about`: what `KeptRun.to_json` returned.
    - `size`: the size of its events, in bytes; 0 if they are not kept.
    """

    fence: int
    about: bytes
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRun:
    """A finished run.

    - `number`: its number among the runs of its thread.
    - `run_id`: its id.
    - `metadata`: the metadata of its thread that decide who may use the thread; see `access`.
    - `started_at`, `ended_at`: when the first and the last of its events were emitted.
    - `status`: how it ended.
    - `events`: the number of its events.
    - `size`: their size in the store, in bytes; 0 if they are not kept.
    """

    number: int
    run_id: str
    metadata: Mapping[str, Any]
    started_at: datetime
    ended_at: datetime
    status: RunStatus
    events: int
    size: int = 0

    def to_json(self, cipher: CipherProtocol | None) -> bytes:
        """Returns the JSON that is stored, encrypted if there is a cipher."""
        fields = {
            "format": FORMAT,
            "run": self.run_id,
            "metadata": dict(self.metadata),
            "started": self.started_at.timestamp(),
            "ended": self.ended_at.timestamp(),
            "status": self.status,
            "events": self.events,
        }
        return seal(orjson.dumps(fields), cipher)

    @classmethod
    def of(cls, stored: StoredRun, cipher: CipherProtocol | None) -> KeptRun | None:
        """Reads a stored run. Returns None if its format is unknown, or if this process cannot decrypt it."""
        try:
            fields = orjson.loads(unseal(stored.about, cipher))
        except SealedError as error:
            _log.warning("A finished run of a thread cannot be read: %s.", error)
            return None
        if fields.get("format") != FORMAT:
            return None
        return cls(
            number=stored.fence,
            run_id=fields["run"],
            metadata=fields["metadata"],
            started_at=datetime.fromtimestamp(fields["started"], UTC),
            ended_at=datetime.fromtimestamp(fields["ended"], UTC),
            status=fields["status"],
            events=fields["events"],
            size=stored.size,
        )


def lines_of(stored: bytes, cipher: CipherProtocol | None) -> list[bytes]:
    """Returns the events of a kept run, each as a line of JSON without its end. Raises `SealedError` as `unseal`
    does."""
    return zlib.decompress(unseal(stored, cipher)).split(b"\n")[:-1]
