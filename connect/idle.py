"""The end of a run, known and told; and a thread on which nothing runs, told as its last run. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ..translator import Cancelled, ClientView, Finished, Options, Translator
from ..translator import events as agui
from .readers import Reader, caught_up
from .run_outcome import RunOutcome, Subgraph

Event = dict[str, Any]

PastErrors = Literal["error", "custom"]
"""How a run that failed or was cancelled before the reader came is told: as it ended, or as a run that finished, with
the failure in a custom event `past_error`. A page that raises every `RUN_ERROR` would raise the first on each load."""

PAST_ERROR = "past_error"


def end_events(run: Translator, ended: RunOutcome, options: Options) -> list[Event]:
    """The events that end a run which was followed: what its stream did not show of the thread, and the end; `options`:
    the run's."""
    if ended.is_undone:
        return _undone(run, ended, options)
    events = subgraph_events(run, ended.waiting)
    if ended.stopped and not run.interrupted:
        events += run.feed(("updates", {"__interrupt__": ()}))
    elif ended.values is not None and not isinstance(ended.ending, Finished):
        events += run.apply_checkpoint(ended.values)
    return events + run.finish(ended.ending)


def subgraph_events(run: Translator, waiting: Iterable[Subgraph]) -> list[Event]:
    """What a run emits at once that ends where these subgraphs wait."""
    return [event for each in waiting for event in run.apply_checkpoint(each.values, each.ns, each.interrupts)]


def _undone(run: Translator, ended: RunOutcome, options: Options) -> list[Event]:
    """The end of a run of which nothing is left: what was told of it is taken back, streamed or shown."""
    view = ClientView(version=options.protocol_version)
    before = Translator(str(run.view.thread_id), str(run.view.run_id), options, view)
    before.start()
    held = ended.values or {}
    before.feed(("values", {options.messages_key: [], **held} if isinstance(held, Mapping) else held))
    before.finish(ended.ending)
    events = caught_up(before.view, run.view, options)
    for event in events:
        run.view.apply_emitted(event)
    return events


def idle_events(
    reader: Reader, thread_id: str, ended: RunOutcome, options: Options, past_errors: PastErrors = "error"
) -> list[Event]:
    """The run's start, its state, its messages, its end; of what the reader is known to hold already, nothing.

    To a reader that is in this very run it is told without its start; one that is in another is told first that this
    one's end was lost.
    """
    run = Translator(thread_id, ended.run_id, options, ClientView(version=options.protocol_version))
    run.start()
    run.feed(("values", ended.values or {}))
    subgraph_events(run, ended.waiting)
    if ended.stopped and not run.interrupted:
        run.feed(("updates", {"__interrupt__": ()}))
    *_, end = told = run.finish(ended.ending)
    *events, end = reader.join(run.view)
    events += [*(event for event in told if event["type"] == "CUSTOM"), end]
    return _mild(events, thread_id, ended.run_id) if past_errors == "custom" else events


def _mild(events: list[Event], thread_id: str, run_id: str) -> list[Event]:
    *rest, last = events
    cancelled = last.get("outcome", {}).get("type") == "cancelled"
    if last["type"] != "RUN_ERROR" and not cancelled:
        return events
    code = Cancelled.code if cancelled else last.get("code")
    what = {"runId": run_id, "message": last.get("message", ""), "code": code}
    value = {name: item for name, item in what.items() if item is not None}
    return [*rest, agui.custom(PAST_ERROR, value), agui.run_finished(thread_id, run_id, {"type": "success"}, None, ())]
