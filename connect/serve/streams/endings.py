"""The ends of runs that answer interrupts, in a form after which older clients can continue. No I/O of its own.

CopilotKit's client, and `@ag-ui/client` 0.0.59 in it, which declare no protocol version, were observed to do this:

1. It keeps the interrupts that it answers until a `RUN_FINISHED` comes. An answer that ends in anything else leaves a
   chat that takes no message until the page is loaded again.
2. It takes a `RUN_STARTED` after a `RUN_ERROR`, shows the failure, and then has the outcome of that second run.
3. It shows every `RUN_ERROR` as a failure, unless its code is `abort`; also the end of a run that was stopped in
   another tab, or in this one before it was loaded again.

So for such a client (the first row for CopilotKit's alone, whose wire does it):

| a run that | ends in |
|---|---|
| was stopped | `RUN_ERROR`, code `abort` |
| was stopped, and was to answer an interrupt | plain `RUN_FINISHED` |
| failed | `RUN_ERROR` |
| failed, and was to answer an interrupt | `RUN_ERROR`, and a second run: `RUN_STARTED`, `RUN_FINISHED` |
| could not be begun, and was to answer an interrupt | the same, with all that the thread has; an active run is
followed |

Where the thread still waits for the answer after that, a last `RUN_FINISHED` has the interrupt: the question is visible
again.
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
"""The events of a connection to the thread, with past failures as custom events."""


def answers(given: RunAgentInput) -> bool:
    """Whether this is an answer to interrupts, by a client that keeps them until a `RUN_FINISHED` comes."""
    return given.protocol_version is None and bool(given.resume)


@relaying
async def unbegun(why: Event, thread: Batches) -> Relayed:
    """The events in place of a run that could not be begun: `why`, and then those of `thread`: its state and its active
    run."""
    yield to_batch([why])
    yield thread


async def answered(batches: Batches, given: RunAgentInput, connected: Connected) -> Batches:
    """The batches of a run that answers interrupts, and a `RUN_FINISHED` that frees the client if they have none.
    `connected`: called after a bad end."""
    end = _End(given)
    async with aclosing(batches) as emitted:
        async for batch in emitted:
            yield [end.note(each) for each in batch]
    if end.is_bad:
        outcome = await _pending(connected, end.run_id)
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

    def note(self, emitted: EncodedEvent) -> EncodedEvent:
        """The event as it is emitted."""
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
        """A run without events between its start and its end."""
        started = agui.run_started(self._thread_id, self.run_id, None)
        return to_batch([started, agui.run_finished(self._thread_id, self.run_id, outcome)])


async def _pending(connected: Connected, run_id: str) -> Event | None:
    """The outcome that says what the thread still waits for; None if for nothing, or if another run is active there."""
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
    """Whether a run was stopped, as the protocol has it or as older clients get it (`for_client_version`)."""
    if event["type"] == "RUN_ERROR":
        return bool(event.get("code") == "cancelled")
    return event["type"] == "RUN_FINISHED" and bool(event.get("outcome", {}).get("type") == "cancelled")
