"""A run as any server process sees it: `ActiveRun`; the key of its thread, how the last one ended. Values, no I/O."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from langgraph.checkpoint.serde.base import CipherProtocol

from ....translator import Ending
from ...access import Metadata
from ...events.encoded import Batch
from ...events.readers import Reader

CANCEL_WAIT: Final = 10.0
"""Seconds for which `ActiveRun.cancel` waits until the graph has stopped."""

RunStatus = Literal["running", "stopping", "finished", "interrupted", "failed", "cancelled"]
"""`running`; `stopping`, when it has ended and its thread is not free yet; or how it ended."""


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """A thread as a store knows it.

    - `namespace`: where its checkpoints are; threads of one checkpointer have the same, whichever agent uses them.
    - `thread_id`: its id there.
    - `cipher`: what encrypts the thread outside of this process; None if its checkpoints are not encrypted either. It
      does not identify the thread.
    """

    namespace: str
    thread_id: str
    cipher: CipherProtocol | None = field(default=None, compare=False, repr=False)


class ActiveRun(Protocol):
    """A run of any process, from its claim on; it can be read to its end also after that."""

    @property
    def number(self) -> int:
        """Its number among the runs of its thread, as in `Offset.run`; 0 before the thread is claimed."""

    @property
    def thread_id(self) -> str:
        """The thread that it runs on."""

    @property
    def run_id(self) -> str:
        """Its id, as in `RUN_STARTED`."""

    @property
    def metadata(self) -> Metadata:
        """The metadata of its thread that decide which users may use it; see `access`."""

    @property
    def label(self) -> str:
        """Its agent, thread and id, for a log line."""

    @property
    def status(self) -> RunStatus:
        """See `RunStatus`."""

    @property
    def is_lost(self) -> bool:
        """Whether its readers were given an end because its process was lost. The process may come back: then the run
        is active again, as another object with the same number."""

    @property
    def is_readable(self) -> bool:
        """Whether its events can be read here; else its checkpoint says where it is."""

    def attach(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """The events that bring `reader` to where the run is, then the run's own, to its end. Of a reader whose offset
        is one of this run, what it is missing is emitted as it was, where that is still known."""

    async def cancel(self, wait: float = CANCEL_WAIT) -> RunStatus:
        """Stops the run and waits up to `wait` seconds until its graph has stopped; the status then."""

    async def wait(self) -> RunStatus:
        """Waits until the thread is free again; how the run ended."""

    async def stream_end(self) -> bool:
        """Waits until the graph's stream has ended, as long as `cancel` does. Returns whether the thread is free then:
        synchronous functions may still run."""


class OwnedRun(ActiveRun, Protocol):
    """A run of this process, as its store knows it."""

    @property
    def agent(self) -> Hashable:
        """The name of its agent, or its graph."""

    @property
    def readers(self) -> int:
        """How many readers it has in this process."""

    @property
    def needs_readers(self) -> bool:
        """Whether it is stopped when its last reader has left."""

    def published(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """As `attach`, for a store that publishes the events to other processes: it does not count as a reader."""

    def stop(self, ending: Ending) -> None:
        """Ends the readers' streams with this ending, and cancels the graph; nothing for a run that has ended."""


def is_news(run: ActiveRun, shown: ActiveRun | None, since: int = 0) -> bool:
    """Whether a reader has yet to get this run: one later than `shown`, the last that it got, or `shown` come back.
    `since`: the number of the last run in the state that the reader began with."""
    if shown is None:
        return run.number > since
    return run is not shown and (run.number > shown.number or (shown.is_lost and run.number == shown.number))


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the last run of a thread ended.

    - `run_id`, `started_at`: its id, and when it was started.
    - `ending`: how it ended, without the objects of an exception.
    - `is_interrupted`: whether it waits for an answer.
    - `is_at_breakpoint`: whether it stopped at a static breakpoint.
    - `number`: as `ActiveRun.number`.
    - `waiting_messages`, `asking_calls`: if it waits for an answer, what the translator's members of these names gave.
    - `run`: the run itself, where its graph has no checkpointer: its messages are stored nowhere else.
    """

    run_id: str
    started_at: datetime
    ending: Ending
    is_interrupted: bool
    is_at_breakpoint: bool
    number: int
    waiting_messages: Sequence[dict[str, Any]] = ()
    asking_calls: Mapping[str, str | None] = field(default_factory=dict)
    run: ActiveRun | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ThreadNow:
    """What a store knows of a thread, all of one moment.

    - `active`: the run that is running or stopping on it.
    - `last`: how its last run ended, as long as that is kept.
    - `revision`: a number that changes when a run starts, and when it ends.
    - `has_inputs`: whether an input has the turn, or waits for it; True also where a run of this process is active, and
      nobody else was asked.
    """

    active: ActiveRun | None
    last: LastRun | None
    revision: int
    has_inputs: bool

    @property
    def readable(self) -> ActiveRun | None:
        """The active run, or the last one, if its graph has no checkpointer."""
        return self.active or (None if self.last is None else self.last.run)
