"""What a client is told whose input runs nothing: that its thread waits for an answer (`waiting_events`), or how it
stands (`unchanged_events`). No I/O."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from ag_ui.core import RunAgentInput

from ..translator import Finished, Options, Translator
from .idle import PastErrors, idle_events
from .inputs.plan import Nothing, Wait
from .inputs.resume import id_of
from .inputs.thread_state import ThreadState
from .readers import Reader
from .run_outcome import RunOutcome

_log = logging.getLogger(__name__)

Event = dict[str, Any]

INTERRUPT_PENDING = "interrupt_pending"
"""The custom event that says why an input was not run: `interruptIds` wait for an answer, and `messageIds`, the new
messages of the input, with them. The client keeps those, and they go in with the next input after the answer."""


def waiting_events(
    given: RunAgentInput, wait: Wait, standing: ThreadState, options: Options, reader: Reader
) -> list[Event]:
    """A run that says what the thread waits for, and changes nothing of what the client holds."""
    run = Translator(given.thread_id, given.run_id, options, reader.view, parent_run_id=given.parent_run_id)
    ids = [id_of(interrupt) for interrupt in standing.interrupts]
    what = {"interruptIds": ids, "messageIds": list(wait.message_ids)}
    events = run.start()
    events += run.feed(("custom", {"name": INTERRUPT_PENDING, "value": what}))
    if standing.is_stopped and not standing.interrupts:
        events += run.feed(("updates", {"__interrupt__": ()}))
    return events + run.finish(Finished(tuple(standing.interrupts)))


def log_late(nothing: Nothing, place: str) -> None:
    """Logs that tool results came too late; `place`: as `failures.where` names it."""
    if nothing.late:
        _log.warning(
            "%d tool results came too late: no call waits for them. Nothing was run (%s).", len(nothing.late), place
        )


def unchanged_events(
    given: RunAgentInput, ended: RunOutcome | None, options: Options, reader: Reader, past_errors: PastErrors
) -> list[Event]:
    """A run that changes nothing: what of the thread the client lacks, and how its last run ended."""
    now = RunOutcome(given.run_id, {}, Finished()) if ended is None else replace(ended, run_id=given.run_id)
    return idle_events(reader, given.thread_id, now, options, past_errors)
