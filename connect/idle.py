"""The end of a run, known and told; and a thread on which nothing runs, told as its last run. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ..translator import Cancelled, ClientView, Ending, Finished, Options, Translator
from ..translator import events as agui
from .readers import Reader, caught_up

Event = dict[str, Any]

PastErrors = Literal["error", "custom"]
"""How a run that failed or was cancelled before the reader came is told: as it ended, or as a run that finished, with
the failure in a custom event `past_error`. A page that raises every `RUN_ERROR` would raise the first on each load."""

PAST_ERROR = "past_error"


class Subgraph(NamedTuple):
    """A subgraph that waits for an answer: what it holds is not in its thread's values yet."""

    ns: tuple[str, ...]
    values: Any
    interrupts: tuple[Any, ...]
    """What waits there; nothing at a static breakpoint."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The last run of a thread: its id, what the thread holds after it, and how it ended."""

    run_id: str
    values: Any
    ending: Ending
    stopped: bool = False
    """Whether it stopped at a static breakpoint."""
    is_undone: bool = False
    """Whether what it did was taken back (a rollback): the values are those of before."""
    checkpoint_id: str | None = None
    """The checkpoint that the values are of, where there is no telling whose it is but by that."""
    is_input: bool = False
    """Whether that is one a run began with: nothing of it is done yet."""
    waiting: Sequence[Subgraph] = ()
    """The subgraphs that wait for an answer, outer ones first."""


def written_as(checkpoint_id: str) -> str:
    """The run id under which a checkpoint is told that no known run wrote."""
    return f"checkpoint-{checkpoint_id}"


def was_written(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a checkpoint with this metadata is no run's, but somebody's who wrote the state (`update_state`)."""
    return (metadata or {}).get("source") in ("update", "fork")


def told_end(run: Translator, ended: Ended, options: Options) -> list[Event]:
    """The events that end a run which was followed: what its stream did not show of the thread, and the end; `options`:
    the run's."""
    if ended.is_undone:
        return _undone(run, ended, options)
    events = told_subgraphs(run, ended.waiting)
    if ended.stopped and not run.interrupted:
        events += run.feed(("updates", {"__interrupt__": ()}))
    elif ended.values is not None and not isinstance(ended.ending, Finished):
        events += run.apply_checkpoint(ended.values)
    return events + run.finish(ended.ending)


def told_subgraphs(run: Translator, waiting: Iterable[Subgraph]) -> list[Event]:
    """What a run emits at once that ends where these subgraphs wait."""
    return [event for each in waiting for event in run.apply_checkpoint(each.values, each.ns, each.interrupts)]


def _undone(run: Translator, ended: Ended, options: Options) -> list[Event]:
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


def told_idle(
    reader: Reader, thread_id: str, ended: Ended, options: Options, past_errors: PastErrors = "error"
) -> list[Event]:
    """The run's start, its state, its messages, its end; of what the reader is known to hold already, nothing.

    To a reader that is in this very run it is told without its start; one that is in another is told first that this
    one's end was lost.
    """
    run = Translator(thread_id, ended.run_id, options, ClientView(version=options.protocol_version))
    run.start()
    run.feed(("values", ended.values or {}))
    told_subgraphs(run, ended.waiting)
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
