"""A run as any server process sees it, `ActiveRun`; the key of a thread, and how its last run ended. No I/O."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol

from langgraph.checkpoint.serde.base import CipherProtocol

from ....translator import Ending
from ...access import Metadata
from ...events.encoded import Batch
from ...events.event_log import EventLog
from ...events.readers import Reader

CANCEL_WAIT: Final = 10.0
"""Seconds for which `ActiveRun.cancel` waits until the graph has stopped."""

RunStatus = Literal["running", "stopping", "finished", "interrupted", "failed", "cancelled"]
"""`running`; `stopping` after the run has ended and until its thread is free; or how the run ended."""


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """A thread as a store knows it.

    - `namespace`: where its checkpoints are. It is the same for all threads of a checkpointer, whichever agent uses
      them.
    - `thread_id`: the id of the thread in this namespace.
    - `cipher`: encrypts what leaves this process of the thread; None if its checkpoints are not encrypted either. It is
      not part of the identity of the thread.
    """

    namespace: str
    thread_id: str
    cipher: CipherProtocol | None = field(default=None, compare=False, repr=False)


class ActiveRun(Protocol):
    """A run of any process, from its claim on. It can be read even after it has ended."""

    @property
    def number(self) -> int:
        """Its number among the runs of its thread, as in `Offset.run`; 0 before the thread is claimed."""

    @property
    def thread_id(self) -> str:
        """The id of its thread."""

    @property
    def run_id(self) -> str:
        """Its id, as in `RUN_STARTED`."""

    @property
    def metadata(self) -> Metadata:
        """The metadata of its thread that decide who may use the thread; see `access`."""

    @property
    def label(self) -> str:
        """Its agent, thread and id, for a log line."""

    @property
    def status(self) -> RunStatus:
        """See `RunStatus`."""

    @property
    def is_lost(self) -> bool:
        """Whether its stream has ended in an error because its process was lost. If the process comes back, the run is
        active again, as another object with the same number."""

    @property
    def is_readable(self) -> bool:
        """Whether this process can read its events. If not, only its checkpoints show its progress."""

    def attach(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """Yields the events that bring `reader` up to date, and then the events of the run until its end. If the
        reader has an offset of this run, it gets the events after that offset unchanged, as long as they are kept."""

    async def cancel(self, wait: float = CANCEL_WAIT) -> RunStatus:
        """Stops the run, waits up to `wait` seconds until its graph has stopped, and returns the status."""

    async def wait(self) -> RunStatus:
        """Waits until the thread is free again, and returns how the run ended."""

    async def stream_end(self) -> bool:
        """Waits until the graph's stream has ended, but not longer than `cancel` does. Returns whether the thread is
        free: synchronous functions may still be running."""


class OwnedRun(ActiveRun, Protocol):
    """A run of this process, as its store knows it."""

    @property
    def agent(self) -> Hashable:
        """The name of its agent, or its graph."""

    @property
    def readers(self) -> int:
        """The number of its readers in this process."""

    @property
    def needs_readers(self) -> bool:
        """Whether it is stopped when its last reader has left."""

    @property
    def is_handed_over(self) -> bool:
        """Whether another process is to continue it."""

    @property
    def outcome(self) -> RunStatus | None:
        """How it ended; None while it runs."""

    def published(self, reader: Reader) -> AsyncGenerator[Batch, None]:
        """Yields the same as `attach`, but does not count as a reader: for a store that publishes the events."""

    def stop(self, ending: Ending) -> None:
        """Ends the readers' streams with this ending, and cancels the graph. Does nothing if the run has ended."""

    def give_way(self) -> EventLog | None:
        """Cancels the graph, and emits no end. Returns the event log, to which the continuation of the run in another
        process adds its events from now on; None if the run has ended."""


def is_news(run: ActiveRun, shown: ActiveRun | None, since: int = 0) -> bool:
    """Returns whether a reader has not received this run yet.

    - `shown`: the last run that the reader received. A later run is new to it, and so is the same run if it was lost
      and has come back.
    - `since`: the number of the last run in the state that the reader began with.
    """
    if shown is None:
        return run.number > since
    return run is not shown and (run.number > shown.number or (shown.is_lost and run.number == shown.number))


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the last run of a thread ended.

    - `run_id`, `started_at`: its id, and when it was started.
    - `ending`: how it ended; an error has values only, not the exception.
    - `is_interrupted`: whether it waits for an answer.
    - `is_at_breakpoint`: whether it stopped at a static breakpoint.
    - `number`: see `ActiveRun.number`.
    - `waiting_messages`, `asking_calls`: the values of these members of its translator, if it waits for an answer.
    - `run`: the run itself, if its graph has no checkpointer: its messages are stored nowhere else.
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
    """What a store knows of a thread at one moment.

    - `active`: the run that is running or stopping on the thread.
    - `last`: how its last run ended, as long as that is kept.
    - `revision`: a number that changes when a run starts, and when it ends.
    - `has_inputs`: whether an input has the turn, or waits for it. Also True if a run of this process is active, since
      the database is not asked then.
    """

    active: ActiveRun | None
    last: LastRun | None
    revision: int
    has_inputs: bool

    @property
    def readable(self) -> ActiveRun | None:
        """The active run; or the last one, if its graph has no checkpointer."""
        return self.active or (None if self.last is None else self.last.run)
