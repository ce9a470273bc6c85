"""A platform's thread as an input finds it, read off the server's answers; and the arguments of a new run. No I/O."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..inputs.channels import json_of
from ..inputs.graph_input import GraphInput
from ..inputs.plan import Begin, Fork, Plan, Resume
from ..inputs.thread_state import ThreadState
from ..run_outcome import RunOutcome
from ..thread_info import Checkpoint
from .outcome import interrupts_of, run_outcome
from .thread import Answered, Look, client_run_id

_TOP: dict[str, Any] = {"checkpoint_ns": ""}
"""The newest checkpoint of a thread's graph; with an id, that one."""


def thread_state_of(look: Look | None, messages_key: str) -> ThreadState:
    """The state of a thread. One on which a run is active waits for no answer, and has left nothing undone."""
    if look is None:
        return ThreadState()
    values = look.state.get("values") or {}
    messages = values.get(messages_key) or ()
    if look.active is not None:
        return ThreadState(messages=messages, values=values, status="running")
    now, interrupts = last_of(look), interrupts_of(look.state)
    return ThreadState(
        messages=messages,
        values=values,
        interrupts=interrupts,
        is_stopped=now.stopped and not interrupts,
        is_unfinished=bool(look.state.get("next")),
        status=now.status,
        run_id=now.run_id or None,
        checkpoint_id=look.checkpoint_id,
        has_pending_writes=len(look.state.get("next") or ()) < len(look.state.get("tasks") or ()),
    )


def last_of(look: Look) -> RunOutcome:
    """How the run ended that made the thread's newest state; or else the last one."""
    maker = (look.state.get("metadata") or {}).get("run_id")
    run = next((run for run in look.recent if run["run_id"] == maker), look.last)
    thread = look.thread if run is look.last else {}
    if run is None:
        return run_outcome(None, look.state, thread, run_id="")
    found = run_outcome(run, look.state, thread, run_id=str(run["run_id"]))
    return replace(found, run_id=client_run_id(run), values=look.state.get("values") or {})


def checkpoint_of(state: Answered) -> Checkpoint:
    """A state of a thread's history."""
    return Checkpoint(
        id=str(state["checkpoint"]["checkpoint_id"]),
        parent_id=(state.get("parent_checkpoint") or {}).get("checkpoint_id"),
        created_at=state.get("created_at"),
        values=state.get("values") or {},
        next=state.get("next") or (),
        metadata=state.get("metadata") or {},
    )


def create_arguments(wanted: Plan, goes_in: GraphInput, checkpoint_id: str | None) -> dict[str, Any]:
    """The arguments of `runs.create` for what is done, and where: at this checkpoint, or at the newest.

    A run that continues and writes nothing is created by a checkpoint without an id: Aegra takes no request without
    any of these.
    """
    at = {} if checkpoint_id is None else {"checkpoint": {**_TOP, "checkpoint_id": checkpoint_id}}
    values = json_of(goes_in.values)
    if isinstance(wanted, Begin | Fork):
        return {"input": values, **at}
    command: dict[str, Any] = {"resume": wanted.values} if isinstance(wanted, Resume) else {}
    if values:
        command["update"] = values
    return {"command": command, **at} if command else at or {"checkpoint": _TOP}
