"""Serves what happened on a thread, for inspectors.

    GET /threads/{id}/runs      {"runs": [...]}, newest first: runId, status, startedAt, endedAt, events, bytes, kept
                                ?agent=&limit=
    GET /threads/{id}/events    the events of a run that has ended, each with its `timestamp`, as an event stream or as
                                lines of JSON; ?agent=&run=
    GET /threads/{id}/checkpoints   {"checkpoints": [...], "next", "writable"}, newest first: id, parentId, createdAt,
                                runId, source, next, asks, error, state. `next` is the `before` of the next page.
                                ?agent=&limit=&before=

The id of a thread, and the parameter `agent`, are those of the other routes of threads (`copilotkit.threads`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...inputs.time_travel import is_checkpoint_id
from ...thread_info import RunInfo
from ..operations import CheckpointList, ListCheckpoints, ListRuns, ReadRun, Result, RunList, ShownCheckpoint
from ..protocol import Call, Endpoint, Reply, invalid, limit_of, plain_reply

_THREAD: Final = "/threads/{thread:path}"


def endpoints() -> Iterator[Endpoint]:
    """Yields the endpoints."""
    lists = "The runs of a thread, newest first"
    yield Endpoint(method="GET", path=f"{_THREAD}/runs", summary=lists, parse=_runs, reply=_reply)
    lists = "The checkpoints of a thread, newest first"
    yield Endpoint(method="GET", path=f"{_THREAD}/checkpoints", summary=lists, parse=_checkpoints, reply=_reply)
    reads = "The events of a run that has ended, with their times"
    yield Endpoint(method="GET", path=f"{_THREAD}/events", summary=reads, parse=_events)


def _runs(call: Call) -> ListRuns:
    return ListRuns(agent=_agent(call), thread_id=call.path["thread"], limit=limit_of(call))


def _events(call: Call) -> ReadRun:
    run_id = call.query.get("run")
    if not run_id:
        raise invalid("run: expected the id of a run.")
    return ReadRun(agent=_agent(call), thread_id=call.path["thread"], run_id=run_id)


def _checkpoints(call: Call) -> ListCheckpoints:
    before = call.query.get("before")
    if before is not None and not is_checkpoint_id(before):
        raise invalid("before: expected the id of a checkpoint.")
    return ListCheckpoints(agent=_agent(call), thread_id=call.path["thread"], limit=limit_of(call), before=before)


def _agent(call: Call) -> str:
    """Returns the agent that a request names. Raises `Refusal`."""
    return call.agents.named(call.query.get("agent") or call.query.get("agentId"))


def _reply(call: Call, result: Result) -> Reply:
    if isinstance(result, RunList):
        return Reply({"runs": [_json(run) for run in result.runs]})
    if isinstance(result, CheckpointList):
        checkpoints = [_checkpoint(shown) for shown in result.checkpoints]
        return Reply({"checkpoints": checkpoints, "next": result.next, "writable": result.writable})
    return plain_reply(result)


def _checkpoint(shown: ShownCheckpoint) -> dict[str, Any]:
    checkpoint = shown.checkpoint
    return {
        "id": checkpoint.id,
        "parentId": checkpoint.parent_id,
        "createdAt": checkpoint.created_at,
        "runId": checkpoint.client_run_id,
        "source": checkpoint.metadata.get("source"),
        "next": list(checkpoint.next),
        "asks": any(task.interrupts for task in checkpoint.tasks),
        "error": shown.error,
        "state": shown.state,
    }


def _json(run: RunInfo) -> dict[str, Any]:
    return {
        "runId": run.run_id,
        "status": run.status,
        "startedAt": None if run.started_at is None else run.started_at.isoformat(),
        "endedAt": None if run.ended_at is None else run.ended_at.isoformat(),
        "events": run.events,
        "bytes": run.size,
        "kept": run.is_kept,
    }
