"""The answers of a platform about the runs and the state of a thread, as values: `ThreadRuns`, and `Look`, a thread at
one moment. No I/O. `outcome` combines several answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple

import orjson

from ..access import Metadata
from ..inputs.thread_state import ThreadState
from ..page_calls import page_calls, questions
from ..run_outcome import RunOutcome
from ..thread_info import RUN_ID, Checkpoint, CheckpointTask
from .outcome import interrupts_of, run_outcome

JsonObject = Mapping[str, Any]

WRITTEN: Final = "agui_written"
"""The key of a run's metadata that names, as JSON, the checkpoint that the run continues from, and the channels that it
and earlier runs have written there (`written_at`)."""


def has_kwargs(run: JsonObject) -> bool:
    """Returns whether a run says how it was started. On a server whose runs do not (Aegra), the events of all runs are
    kept, and states can't be searched for by their metadata."""
    kwargs = run.get("kwargs")
    return isinstance(kwargs, Mapping) and bool(kwargs)


def run_metadata(run: JsonObject) -> Metadata:
    """Returns the metadata that a run was started with. (Aegra shows only those in its config.)"""
    merged: dict[str, Any] = {}
    for owner in (run.get("config"), run):
        metadata = owner.get("metadata") if isinstance(owner, Mapping) else None
        merged.update(metadata if isinstance(metadata, Mapping) else {})
    return merged


def client_run_id(run: JsonObject) -> str:
    """Returns the id under which a run is emitted: its client's, or else the platform's."""
    run_id = run_metadata(run).get(RUN_ID)
    return run_id if isinstance(run_id, str) and run_id else str(run["run_id"])


def written_at(checkpoint_id: str | None, runs: Sequence[JsonObject]) -> frozenset[str]:
    """Returns the channels that these runs have written after they continued from this checkpoint, which the thread's
    state does not say. No run may write one of them again (see `inputs.unsent`)."""
    channels: set[str] = set()
    for run in runs:
        with suppress(KeyError, TypeError, ValueError):  # another program started the run
            mark = orjson.loads(run_metadata(run).get(WRITTEN) or "{}")
            channels.update(mark["channels"] if mark and mark["checkpoint"] == checkpoint_id else ())
    return frozenset(channels)


def written_mark(checkpoint_id: str | None, channels: Collection[str]) -> str:
    """Returns the value under `WRITTEN` in a run's metadata. `channels`: those of this run and of earlier ones."""
    return orjson.dumps({"checkpoint": checkpoint_id, "channels": sorted(channels)}).decode()


class ThreadRuns(NamedTuple):
    """The runs of a thread, as one request lists them."""

    active: JsonObject | None
    """The run that is running, or else the one that has been queued longest."""
    recent: Sequence[JsonObject]
    """The newest runs, whatever their status, the newest first."""

    def with_id(self, run_id: str) -> JsonObject | None:
        """Returns the run with this id, or None if it is not among them."""
        runs = self.recent if self.active is None else (self.active, *self.recent)
        return next((run for run in runs if run["run_id"] == run_id), None)

    def before(self, run: JsonObject) -> frozenset[str] | None:
        """Returns the ids of the newest runs that came before this one; None if it is not among the newest."""
        ids = [str(recent["run_id"]) for recent in self.recent]
        return frozenset(ids[ids.index(str(run["run_id"])) + 1 :]) if str(run["run_id"]) in ids else None


class Look(NamedTuple):
    """A thread at one moment, as nearly as one round of requests can show it."""

    runs: ThreadRuns
    state: JsonObject
    """Its newest state, with those of its subgraphs."""
    thread: JsonObject
    """The thread itself, as the server describes it; often empty. It is requested only if the last run did not succeed
    or made no state, because it repeats all values of the state."""

    @property
    def active(self) -> JsonObject | None:
        """See `ThreadRuns`."""
        return self.runs.active

    @property
    def recent(self) -> Sequence[JsonObject]:
        """See `ThreadRuns`."""
        return self.runs.recent

    @property
    def last(self) -> JsonObject | None:
        """The newest run."""
        return next(iter(self.recent), None)

    @property
    def outcome(self) -> RunOutcome:
        """The outcome of the run that made the thread's newest state, or else of the last run."""
        maker = (self.state.get("metadata") or {}).get("run_id")
        run = next((run for run in self.recent if run["run_id"] == maker), self.last)
        thread = self.thread if run is self.last else {}
        if run is None:
            return run_outcome(None, self.state, thread, run_id="")
        outcome = run_outcome(run, self.state, thread, run_id=str(run["run_id"]))
        return replace(outcome, run_id=client_run_id(run), values=self.state.get("values") or {})

    def thread_state(self, messages_key: str) -> ThreadState:
        """Returns the thread as an input sees it. While a run is active, it has no pending interrupts and no unfinished
        work."""
        values = self.state.get("values") or {}
        messages = values.get(messages_key) or ()
        if self.active is not None:
            return ThreadState(messages=messages, values=values, status="running")
        outcome, interrupts = self.outcome, interrupts_of(self.state)
        return ThreadState(
            messages=messages,
            values=values,
            interrupts=questions(interrupts),
            page_calls=page_calls(interrupts),
            is_stopped=outcome.stopped and not interrupts,
            is_unfinished=bool(self.state.get("next")),
            status=outcome.status,
            run_id=outcome.run_id or None,
            checkpoint_id=self.checkpoint_id,
            has_pending_writes=len(self.state.get("next") or ()) < len(self.state.get("tasks") or ()),
        )

    @property
    def checkpoint_id(self) -> str | None:
        """The id of the newest checkpoint; None if nothing was ever written."""
        checkpoint = self.state.get("checkpoint") or {}
        checkpoint_id = self.state.get("checkpoint_id") or checkpoint.get("checkpoint_id")
        return None if checkpoint_id is None else str(checkpoint_id)


def as_state(checkpoint: JsonObject) -> JsonObject:
    """Returns a checkpoint from the server's list as the server describes a thread's state: `next` has only the tasks
    that have not returned."""
    tasks = checkpoint.get("tasks") or ()
    return {**checkpoint, "next": [task.get("name") for task in tasks if task.get("result") is None]}


def checkpoint_of(state: JsonObject) -> Checkpoint:
    """Converts a state from the server's list."""
    return Checkpoint(
        id=str(state["checkpoint"]["checkpoint_id"]),
        parent_id=(state.get("parent_checkpoint") or {}).get("checkpoint_id"),
        created_at=state.get("created_at"),
        values=state.get("values") or {},
        next=state.get("next") or (),
        tasks=[
            CheckpointTask(node=str(task.get("name")), interrupts=task.get("interrupts") or (), error=task.get("error"))
            for task in state.get("tasks") or ()
        ],
        metadata=state.get("metadata") or {},
    )
