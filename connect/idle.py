"""The events of a thread on which nothing runs: its last run as it ended, and the replies to inputs that start no run.
No I/O."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from ..translator import Cancelled, ClientView, Ending, Finished, Options, Translator
from ..translator import events as agui
from .events.encoded import Batches, EncodedEvent, Event
from .events.readers import Reader, catch_up_events
from .events.relay import Relayed, relaying
from .inputs.answers.resume import id_of
from .inputs.off_loop import off_loop
from .inputs.plan import Nothing, Wait
from .inputs.request import RunRequest
from .inputs.thread_state import ThreadState
from .run_outcome import PAST_ERROR, PastErrors, RunOutcome, Subgraph

_log = logging.getLogger(__name__)
_AS_FAST: Final = 10
"""How many messages can be emitted in the time that it takes to compare one with an input. `off_loop` takes its sizes
in compared messages."""

INTERRUPT_PENDING = "interrupt_pending"
"""The custom event that says why an input was not run: interrupts (`interruptIds`) wait for an answer, and so the new
messages of the input (`messageIds`) wait too. The client keeps these messages, and sends them again after the
answer."""


MESSAGES_UNUSED = "messages_unused"
"""The custom event after the start of a run that names the new messages (`messageIds`) that the thread does not get,
because the graph's input takes no messages. The user still sees them in the client."""
STATE_UNUSED = "state_unused"
"""The custom event after the start of a run that names the `channels` of the client's state that differ from the
thread's, and that the client may not write. The client then gets the thread's values."""


def unused_messages(ids: Sequence[str]) -> Event:
    """Returns the event that names messages which reach nothing, because the graph's input takes none."""
    return agui.custom(MESSAGES_UNUSED, {"messageIds": list(ids)})


def unused_state(names: Sequence[str]) -> Event:
    """Returns the event that names what a client has changed in the state and may not write."""
    return agui.custom(STATE_UNUSED, {"channels": list(names)})


@relaying
async def with_unused(batches: Batches, notices: Sequence[Event]) -> Relayed:
    """Returns the batches of a run, with notices after its start that tell its client what of the input is not used."""
    async with aclosing(batches):
        async for batch in batches:
            start = next((at for at, encoded in enumerate(batch) if encoded.event["type"] == "RUN_STARTED"), None)
            if start is not None:
                yield [*batch[: start + 1], *map(EncodedEvent, notices), *batch[start + 1 :]]
                break
            yield batch
        yield batches


def end_events(run: Translator, outcome: RunOutcome, options: Options) -> list[Event]:
    """Returns the events that end a run that was followed: the parts of the thread that its stream did not show, and
    the terminal event. `options`: those of the run."""
    if outcome.is_undone:
        return _rolled_back_events(run, outcome, options)
    events = subgraph_events(run, outcome.waiting)
    if outcome.values is not None and not isinstance(outcome.ending, Finished):
        events += run.apply_checkpoint(outcome.values)
    return events + run.finish(_ending(outcome))


def subgraph_events(run: Translator, waiting: Iterable[Subgraph]) -> list[Event]:
    """Returns the events for subgraphs that wait at the end of a run, and whose messages and state the run's own values
    do not contain."""
    return [
        event
        for subgraph in waiting
        for event in run.apply_checkpoint(
            subgraph.values, subgraph.ns, subgraph.interrupts, at_breakpoint=not subgraph.interrupts
        )
    ]


def _ending(outcome: RunOutcome) -> Ending:
    """Returns an outcome as the ending that a translator takes."""
    if not isinstance(outcome.ending, Finished):
        return outcome.ending
    at_breakpoint = outcome.stopped or outcome.ending.at_breakpoint
    return replace(outcome.ending, at_breakpoint=at_breakpoint, waiting_messages=outcome.waiting_messages)


def _rolled_back_events(run: Translator, outcome: RunOutcome, options: Options) -> list[Event]:
    """Returns the events that end a run that was rolled back: they remove its messages and restore the state."""
    view = ClientView(version=options.protocol_version)
    before = Translator(str(run.view.thread_id), str(run.view.run_id), options, view)
    before.start()
    values = outcome.values or {}
    before.feed(("values", {options.messages_key: [], **values} if isinstance(values, Mapping) else values))
    before.finish(outcome.ending)
    events = catch_up_events(before.view, run.view, options)
    for event in events:
        run.view.apply_emitted(event)
    return events


def idle_events(
    reader: Reader, thread_id: str, outcome: RunOutcome, options: Options, past_errors: PastErrors = "error"
) -> list[Event]:
    """Returns the start of the last run, its state, its messages and its end, without anything that the reader is known
    to have.

    A reader that is already in this run does not get its start again. A reader that is in another run first gets the
    end of that run, as lost.
    """
    view, final = _past_run(thread_id, outcome, options, reader.view)
    *events, end = reader.join(view)
    events += [*(event for event in final if event["type"] == "CUSTOM"), end]
    return _with_custom_error(events, thread_id, outcome.run_id) if past_errors == "custom" else events


async def idle_events_off_loop(
    reader: Reader, thread_id: str, outcome: RunOutcome, options: Options, past_errors: PastErrors = "error"
) -> list[Event]:
    """Returns `idle_events`, made in a worker thread if the conversation is long. Until it returns, nothing else may
    use `reader`."""
    messages = outcome.values.get(options.messages_key) if isinstance(outcome.values, Mapping) else None
    size = len(messages) // _AS_FAST if isinstance(messages, list | tuple) else 0
    return await off_loop(idle_events, size, reader, thread_id, outcome, options, past_errors)


def idle_view(thread_id: str, outcome: RunOutcome, options: Options) -> ClientView:
    """Returns the view of a client that has received `idle_events`."""
    return _past_run(thread_id, outcome, options)[0]


def with_thread(view: ClientView, thread_id: str, outcome: RunOutcome, options: Options) -> ClientView:
    """Returns a client's view, completed with the messages of its thread that the client lacks, in the thread's order.

    A client may send an older conversation, or only its new message. A run that began with such a view would remove the
    other messages from the thread's other readers, until its first `values`. Messages that only the client has stay
    after the message that they followed. Those after the last message that the thread has too, such as a new one, stay
    at the end. Activities do not count as messages of the thread, because one of them may show the error of its last
    run.
    """
    shown = idle_view(thread_id, outcome, options).messages
    thread = [message for message in shown if message["role"] != "activity"]
    ids, own = {message["id"] for message in thread}, {message["id"]: message for message in view.messages}
    behind: dict[str | None, list[Event]] = {}
    last: str | None = None
    for message in view.messages:
        if message["id"] in ids:
            last = message["id"]
        else:
            behind.setdefault(last, []).append(message)
    at_the_end = behind.pop(last, [])
    messages = behind.pop(None, [])
    for message in thread:
        messages += [own.get(message["id"], message), *behind.pop(message["id"], ())]
    return ClientView([*messages, *at_the_end], view.state, view.version)


def _past_run(
    thread_id: str, outcome: RunOutcome, options: Options, held: ClientView | None = None
) -> tuple[ClientView, list[Event]]:
    """Returns the view after a run that has ended, and the events of its end. `held`: the reader's view; None if it is
    not known. A thread without messages does not contain the conversation. In that case, a client keeps the messages of
    its users, and loses those of models, which nobody saved (`Options.unsaved`)."""
    view = ClientView(version=options.protocol_version)
    is_over = bool(outcome.values) and not outcome.stopped and not outcome.interrupts
    if is_over and held is not None and held.knows_messages and not _has_messages(outcome.values, options):
        view = ClientView(held.messages, version=options.protocol_version)
    run = Translator(thread_id, outcome.run_id, options, view, source="local")
    run.start()
    run.feed(("values", outcome.values or {}))
    subgraph_events(run, outcome.waiting)
    return run.view, run.finish(_ending(outcome))


def _has_messages(values: Any, options: Options) -> bool:
    return isinstance(values, Mapping) and isinstance(values.get(options.messages_key), list | tuple)


def _with_custom_error(events: list[Event], thread_id: str, run_id: str) -> list[Event]:
    *rest, last = events
    cancelled = last.get("outcome", {}).get("type") == "cancelled"
    if last["type"] != "RUN_ERROR" and not cancelled:
        return events
    code = Cancelled.code if cancelled else last.get("code")
    what = {"runId": run_id, "message": last.get("message", ""), "code": code}
    value = {name: item for name, item in what.items() if item is not None}
    return [*rest, agui.custom(PAST_ERROR, value), agui.run_finished(thread_id, run_id, {"type": "success"}, None, ())]


def waiting_events(request: RunRequest, wait: Wait, state: ThreadState, outcome: RunOutcome | None) -> list[Event]:
    """Returns the events of a run that names the pending interrupts, and changes nothing that the client has. `state`:
    the state of the thread. `outcome`: how its last run ended.

    If the request is the rest of an input, and the thread asks again after the answers in that input, the waiting
    messages move to the end again.
    """
    run_input, view = request.run_input, request.reader().view
    messages = view.messages
    run = Translator(
        run_input.thread_id, run_input.run_id, request.options, view, parent_run_id=run_input.parent_run_id
    )
    ids = [id_of(interrupt) for interrupt in state.interrupts]
    value = {"interruptIds": ids, "messageIds": list(wait.message_ids)}
    events = run.start()
    if request.follows:
        events += _at_the_end(messages, wait.message_ids)
    events += run.feed(("custom", {"name": INTERRUPT_PENDING, "value": value}))
    interrupts = outcome.interrupts if outcome is not None else ()
    return events + run.finish(Finished(tuple(interrupts or state.interrupts), at_breakpoint=state.is_stopped))


def _at_the_end(messages: list[dict[str, Any]], ids: Collection[str]) -> list[Event]:
    """Returns the events that move these messages behind all others, unless they are there already. A client leaves the
    messages that it has in their places, so the messages are removed first."""
    last = [message for message in messages if message["id"] in ids]
    if messages[len(messages) - len(last) :] == last:
        return []
    others = [message for message in messages if message["id"] not in ids]
    return [agui.messages_snapshot(others), agui.messages_snapshot([*others, *last])]


def log_late(nothing: Nothing, label: str) -> None:
    """Logs that tool results came too late. `label`: see `errors.log_context`."""
    if nothing.late:
        _log.warning(
            "%d tool results came too late: no call waits for them. Nothing was run (%s).", len(nothing.late), label
        )


def unchanged_events(request: RunRequest, outcome: RunOutcome | None) -> list[Event]:
    """Returns the events of a run that changes nothing. They bring the client up to date with the thread, and say how
    its last run ended. `outcome`: that end; None for a thread without a run."""
    run_id, thread_id = request.run_input.run_id, request.run_input.thread_id
    outcome = RunOutcome(run_id, {}, Finished()) if outcome is None else replace(outcome, run_id=run_id)
    return idle_events(request.reader(), thread_id, outcome, request.options, request.past_errors)
