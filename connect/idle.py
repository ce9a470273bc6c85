"""A thread on which nothing runs, told as its last run: what it holds, and how that run ended. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..translator import Ending, Options, Translator
from ..translator import events as agui
from .reader import Reader

Event = dict[str, Any]

PastErrors = Literal["error", "custom"]
"""How a run that failed or was cancelled before the reader came is told: as it ended, or as a run that finished, with
the failure in a custom event `past_error`. A page that raises every `RUN_ERROR` would raise the first on each load."""

PAST_ERROR = "past_error"

_FIRST = {"RUN_STARTED": 0, "STATE_SNAPSHOT": 1, "STATE_DELTA": 1}


@dataclass(frozen=True, slots=True)
class Ended:
    """The last run of a thread: its id, what the thread holds after it, and how it ended."""

    run_id: str
    values: Any
    ending: Ending
    stopped: bool = False
    """Whether it stopped at a static breakpoint."""


def told_idle(
    reader: Reader, thread_id: str, ended: Ended, options: Options, past_errors: PastErrors = "error"
) -> list[Event]:
    """The run's start, its state, its messages, its end; of what the reader is known to hold already, nothing."""
    run = Translator(thread_id, ended.run_id, options, reader.view)
    events = run.start() + run.feed(("values", ended.values))
    if ended.stopped:
        events += run.feed(("updates", {"__interrupt__": ()}))
    events.sort(key=lambda event: _FIRST.get(event["type"], 2))
    events += run.finish(ended.ending)
    return _mild(events, thread_id, ended.run_id) if past_errors == "custom" else events


def _mild(events: list[Event], thread_id: str, run_id: str) -> list[Event]:
    *rest, last = events
    cancelled = last.get("outcome", {}).get("type") == "cancelled"
    if last["type"] != "RUN_ERROR" and not cancelled:
        return events
    what = {"runId": run_id, "message": last.get("message", ""), "code": "cancelled" if cancelled else last.get("code")}
    value = {name: item for name, item in what.items() if item is not None}
    return [*rest, agui.custom(PAST_ERROR, value), agui.run_finished(thread_id, run_id, {"type": "success"}, None, ())]
