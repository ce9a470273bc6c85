"""Ends of runs as CopilotKit's client can go on from them. Never what is told before the end. No I/O of its own.

That client, and `@ag-ui/client` 0.0.59 in it, which declares no protocol version, were watched doing this:

1. It keeps the interrupts that it answers until a `RUN_FINISHED` comes. An answer that ends in anything else leaves a
   chat that takes no message until the page is loaded again.
2. It takes a `RUN_STARTED` after a `RUN_ERROR`, shows the failure, and then holds what that second run's end says.
3. It shows every `RUN_ERROR` as a failure, unless its code is `abort`; so also the end of a run that somebody stopped
   in another tab, or in this one before it was reloaded.

So to such a client:

| a run that | ends in |
|---|---|
| was stopped | `RUN_ERROR`, code `abort` |
| was stopped, and was to answer an interrupt | plain `RUN_FINISHED` |
| failed | `RUN_ERROR` |
| failed, and was to answer an interrupt | `RUN_ERROR`, and a second run: `RUN_STARTED`, `RUN_FINISHED` |
| could not be begun, and was to answer an interrupt | the same, with all that the thread holds; what runs is followed |

Where the thread still waits for the answer after that, a last `RUN_FINISHED` says so: the question is shown again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from ag_ui.core import RunAgentInput

from ...translator import events as agui
from ...translator import for_client_version
from ..encoded import Batch, Batches, EncodedEvent, to_batch

Event = dict[str, Any]
Stands = Callable[[], Batches]
"""What somebody is told who connects to the thread, past failures as customs."""

ABORT = "abort"
"""The code of an end that the client does not show as a failure."""


def answers(given: RunAgentInput) -> bool:
    """Whether this is an answer to interrupts, by a client that keeps them until a `RUN_FINISHED` comes."""
    return given.protocol_version is None and bool(given.resume)


async def readable(batches: Batches, given: RunAgentInput, stands: Stands) -> Batches:
    """A run's batches, with ends that the client that asked for it can go on from. `stands`: asked after a bad end."""
    if given.protocol_version is not None:
        mended = batches
    else:
        mended = _answered(batches, given, stands) if answers(given) else _stopped(batches)
    async with aclosing(mended) as told:
        async for batch in told:
            yield batch


async def unbegun(why: Event, standing: Batches, given: RunAgentInput, stands: Stands) -> Batches:
    """What is told in place of a run that was to answer interrupts and could not be begun: why, and then `standing`:
    what the thread holds, and what goes on there."""

    async def told() -> Batches:
        yield to_batch([why])
        async with aclosing(standing) as batches:
            async for batch in batches:
                yield batch

    async with aclosing(_answered(told(), given, stands)) as batches:
        async for batch in batches:
            yield batch


async def _stopped(batches: Batches) -> Batches:
    async with aclosing(batches) as told:
        async for batch in told:
            yield [_as_abort(each) for each in batch]


def _as_abort(told: EncodedEvent) -> EncodedEvent:
    if not _is_cancelled(told.event):
        return told
    return EncodedEvent({**(for_client_version(told.event, None) or {}), "code": ABORT})


async def _answered(batches: Batches, given: RunAgentInput, stands: Stands) -> Batches:
    """Until a `RUN_FINISHED` was told that frees the client, and one more if none was."""
    end = _End(given)
    async with aclosing(batches) as told:
        async for batch in told:
            yield [end.note(each) for each in batch]
    if end.is_bad:
        outcome = await _pending(stands, end.run_id)
        if outcome is not None or not end.is_free:
            yield end.again(outcome)


class _End:
    """How a stream that was to answer interrupts has ended so far."""

    def __init__(self, given: RunAgentInput) -> None:
        self._thread_id = given.thread_id
        self.run_id = given.run_id
        self.is_free = False
        """Whether the client has been freed of what it answered."""
        self.is_bad = False
        """Whether the last run was stopped or failed."""

    def note(self, told: EncodedEvent) -> EncodedEvent:
        """The event as it is told."""
        event = told.event
        if _is_cancelled(event):
            self.is_free = self.is_bad = True
            return EncodedEvent(agui.run_finished(self._thread_id, self.run_id, None, None, event.get("usage", ())))
        match event["type"]:
            case "RUN_STARTED":
                self._thread_id, self.run_id, self.is_bad = event["threadId"], event["runId"], False
            case "RUN_ERROR":
                self.is_bad = True
            case "RUN_FINISHED":
                self.is_free, self.is_bad = True, False
        return told

    def again(self, outcome: Event | None) -> Batch:
        """A run in which nothing happens but its end."""
        started = agui.run_started(self._thread_id, self.run_id, None)
        return to_batch([started, agui.run_finished(self._thread_id, self.run_id, outcome)])


async def _pending(stands: Stands, run_id: str) -> Event | None:
    """The outcome that says what the thread still waits for; None if nothing, or if another run goes on there."""
    async with aclosing(stands()) as batches:
        async for batch in batches:
            for told in batch:
                event = told.event
                if event["type"] == "RUN_STARTED" and event["runId"] != run_id:
                    return None
                if event["type"] == "RUN_FINISHED":
                    outcome: Event | None = event.get("outcome")
                    return outcome if outcome is not None and outcome["type"] == "interrupt" else None
    return None


def _is_cancelled(event: Event) -> bool:
    """Whether a run was stopped, in the protocol's words or in those of older clients (see `dialect`)."""
    if event["type"] == "RUN_ERROR":
        return bool(event.get("code") == "cancelled")
    return event["type"] == "RUN_FINISHED" and bool(event.get("outcome", {}).get("type") == "cancelled")
