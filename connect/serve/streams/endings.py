"""Ends runs that answer interrupts in such a way that older clients can continue. No I/O of its own.

CopilotKit's client contains `@ag-ui/client` 0.0.59, and declares no protocol version. Its observed behavior:

1. It keeps the interrupts that it answers until a `RUN_FINISHED` arrives. If an answer ends in any other way, the chat
   accepts no more messages until the page is reloaded.
2. It accepts a `RUN_STARTED` after a `RUN_ERROR`: it displays the failure, and then has the outcome of the second run.
3. It displays every `RUN_ERROR` as a failure, unless its code is `abort`. That includes the end of a run that was
   stopped in another tab, or in the same tab before a reload.

So runs end as follows for clients without a protocol version. (The first row applies only to CopilotKit's client, and
is implemented in its wire.)

| a run that | ends in |
|---|---|
| was stopped | `RUN_ERROR`, code `abort` |
| answered an interrupt, and was stopped | plain `RUN_FINISHED` |
| failed | `RUN_ERROR` |
| answered an interrupt, and failed | `RUN_ERROR`, and a second run: `RUN_STARTED`, `RUN_FINISHED` |
| was to answer an interrupt, and could not begin | the same, with the whole thread; an active run is followed |

If the thread still waits for the answer after that, the last `RUN_FINISHED` contains the interrupt, so that the client
displays the question again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from ag_ui.core import RunAgentInput

from ....translator import events as agui
from ...events.encoded import Batch, Batches, EncodedEvent, to_batch
from ...events.relay import Relayed, relaying

Event = dict[str, Any]
Connected = Callable[[], Batches]
"""Connects to the thread, and returns its events, with past failures as custom events."""


def answers(run_input: RunAgentInput) -> bool:
    """Whether an input answers interrupts, and its client keeps them until a `RUN_FINISHED` arrives."""
    return run_input.protocol_version is None and bool(run_input.resume)


@relaying
async def unbegun(why: Event, thread: Batches) -> Relayed:
    """Yields the events for a run that could not begin: `why`, the error, and then the events of a connection to the
    thread."""
    yield to_batch([why])
    yield thread


async def with_run_finished(batches: Batches, run_input: RunAgentInput, connected: Connected) -> Batches:
    """Yields the batches of a run that answers interrupts, followed by a `RUN_FINISHED` if the client still keeps these
    interrupts. `connected` is called if the run was stopped or has failed."""
    end = _End(run_input)
    async with aclosing(batches) as emitted:
        async for batch in emitted:
            yield [end.note(event) for event in batch]
    if end.is_bad:
        outcome = await _pending(connected, end.run_id)
        if outcome is not None or not end.is_free:
            yield end.again(outcome)


class _End:
    """Records how the runs of a stream that answers interrupts have ended so far."""

    def __init__(self, run_input: RunAgentInput) -> None:
        self._thread_id = run_input.thread_id
        self.run_id = run_input.run_id
        self.is_free = False
        """Whether the client no longer keeps the interrupts that it answered."""
        self.is_bad = False
        """Whether the last run was stopped or failed."""

    def note(self, emitted: EncodedEvent) -> EncodedEvent:
        """Records an event. Returns the event to emit in its place, which may be the same."""
        event = emitted.event
        if is_cancelled(event):
            self.is_free = self.is_bad = True
            return EncodedEvent(agui.run_finished(self._thread_id, self.run_id, None, None, event.get("usage", ())))
        match event["type"]:
            case "RUN_STARTED":
                self._thread_id, self.run_id, self.is_bad = event["threadId"], event["runId"], False
            case "RUN_ERROR":
                self.is_bad = True
            case "RUN_FINISHED":
                self.is_free, self.is_bad = True, False
        return emitted

    def again(self, outcome: Event | None) -> Batch:
        """Returns a run that has only a start and an end, with this outcome."""
        started = agui.run_started(self._thread_id, self.run_id, None)
        return to_batch([started, agui.run_finished(self._thread_id, self.run_id, outcome)])


async def _pending(connected: Connected, run_id: str) -> Event | None:
    """Returns the outcome with the interrupts that the thread still waits for, or None if it waits for none or another
    run is active on it."""
    async with aclosing(connected()) as batches:
        async for batch in batches:
            for emitted in batch:
                event = emitted.event
                if event["type"] == "RUN_STARTED" and event["runId"] != run_id:
                    return None
                if event["type"] == "RUN_FINISHED":
                    outcome: Event | None = event.get("outcome")
                    return outcome if outcome is not None and outcome["type"] == "interrupt" else None
    return None


def is_cancelled(event: Event) -> bool:
    """Whether an event says that its run was stopped, in the form of the protocol or in the form for older clients
    (`for_client_version`)."""
    if event["type"] == "RUN_ERROR":
        return bool(event.get("code") == "cancelled")
    return event["type"] == "RUN_FINISHED" and bool(event.get("outcome", {}).get("type") == "cancelled")
