"""How a stream ends: what is closed, in which order, and the one terminal event. Nothing of what came before.

Rules:

1. After success or an interrupt the client's conversation is the checkpoint's: what streamed and was not saved is
   dropped. After an error, a cancel or a loss partial text stays; nothing is compared. However the run ends, the last
   known values replace predicted state.
2. Closed first: messages, then steps, then subagents (innermost first), then the terminal event. A subagent with an
   interrupt inside is suspended, one in a run that failed has failed, any other is done.
3. The result is the ending's, or else the `structured_response` of the last state.
4. What the client did not get in the run (`losses`) is counted in the terminal event's metadata: `{"lost": n}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from ..client.open_events import closed
from ..client.open_items import Open
from ..endings import Cancelled, Ending, Failed, Finished, Lost
from ..jsonable.to_json import to_json
from ..parts.channels import channels
from ..wire import events
from ..wire.events import Event
from ..wire.older_clients import CANCELLED_MESSAGE, downgraded
from .error_detail import NEUTRAL, Failure, failure

if TYPE_CHECKING:
    from ..translator import Translator
    from .subagents import Subagent


def tell_end(run: Translator, ending: Ending) -> None:
    """Emits the end of a run. What raises is left out, what is open is closed, and the terminal event is emitted."""
    attempt = run.losses.attempt
    attempt("The opening", run.root.open_now, otherwise=None)
    if isinstance(ending, Finished):
        _end_messages(run)
        attempt("The interrupts of the ending", _ask, run, ending, otherwise=None)
        attempt("The last state", _settle, run, ending, otherwise=None)
        attempt("The state", run.state.finish, otherwise=None)
        _close(run, None)
        _terminal(run, _finished(run, ending))
    elif isinstance(ending, Cancelled):
        _close(run, Failure(CANCELLED_MESSAGE, "cancelled"))
        _terminal(run, events.run_finished(run.thread_id, run.run_id, {"type": "cancelled"}, None, _usage(run)))
    else:
        failed = attempt("The error", _failure, run, ending, otherwise=Failure(NEUTRAL))
        _close(run, failed)
        _terminal(run, events.run_error(failed.message, failed.code, _usage(run), failed.metadata))


def _ask(run: Translator, ending: Finished) -> None:
    try:
        asked = tuple(ending.interrupts)
    except Exception:  # interrupts that cannot be read still end the run with the outcome `interrupt`
        run.interrupts.add((), ())
        raise
    if asked:
        run.interrupts.add((), asked)


def _settle(run: Translator, ending: Finished) -> None:
    if ending.state is None:
        run.root.judge()
    else:
        run.root.last = ending.state
        run.root.settle(ending.state, going_on=False)


def _finished(run: Translator, ending: Finished) -> Event:
    attempt = run.losses.attempt
    if not run.interrupts:
        result = attempt("The result", _result, run, ending, otherwise=None)
        return events.run_finished(run.thread_id, run.run_id, {"type": "success"}, result, _usage(run))
    outcome: Event | None = None
    if run.options.interrupts != "outcome":
        attempt("The interrupts for older clients", _ask_older, run, otherwise=None)
    if run.options.interrupts != "legacy":
        told = attempt("The details of the interrupts", _interrupts, run, otherwise=None)
        outcome = {"type": "interrupt", "interrupts": told or run.interrupts.bare(run.run_id)}
    return events.run_finished(run.thread_id, run.run_id, outcome, None, _usage(run))


def _result(run: Translator, ending: Finished) -> Any:
    if ending.result is not None:
        return to_json(ending.result)
    return to_json((channels(run.root.last) or {}).get("structured_response"))


def _ask_older(run: Translator) -> None:
    run.outbox.tell_all(run.interrupts.legacy(lambda ns: run.subagents.owner(ns)[0]))


def _interrupts(run: Translator) -> list[Event]:
    return run.interrupts.told(run.run_id, _unanswered(run.view.messages), lambda ns: run.subagents.owner(ns)[0])


def _usage(run: Translator) -> list[Event]:
    return run.losses.attempt("The token usage", run.usage.totals, otherwise=[])


def _close(run: Translator, failed: Failure | None) -> None:
    attempt = run.losses.attempt
    _end_messages(run)
    attempt("The true values of predicted state", run.state.end_predictions, otherwise=None)
    attempt("The end of the steps", run.steps.settled, (), otherwise=None)
    none: list[Subagent] = []
    for subagent in attempt("The end of the subagents", run.subagents.going, otherwise=none):
        if failed is None:
            attempt("The end of a subagent", run.end_subagent, subagent, otherwise=None)
        else:
            attempt("The end of a subagent", run.subagents.fail, subagent, failed.message, failed.code, otherwise=None)
    run.outbox.tell_all(closed(run.view.open, Open()))  # empty, unless one of these raised


def _end_messages(run: Translator) -> None:
    run.losses.attempt("The end of the messages", run.speech.end_all, otherwise=None)
    close_messages(run)


def close_messages(run: Translator) -> None:
    """Closes the messages that the client has open still: there are any only if ending them raised."""
    opened = run.view.open
    left = closed(opened, Open(steps=opened.steps, started=opened.started, ended=opened.ended))
    if left:
        run.outbox.tell_all(left)
        run.speech.realign()


def _failure(run: Translator, ending: Failed | Lost) -> Failure:
    if isinstance(ending, Failed):
        return failure(ending.error, run.options.error_detail)
    raised = issubclass(type(ending.reason), BaseException)
    reason = ending.reason if raised else {"message": ending.reason}
    return failure(reason, run.options.error_detail)._replace(code="lost")


def _terminal(run: Translator, event: Event) -> None:
    if lost := len(run.losses):
        event["metadata"] = {**event.get("metadata", {}), "lost": lost}
    run.outbox.tell(downgraded(event, run.options.protocol_version))


def _unanswered(messages: list[Event]) -> Mapping[str, tuple[str, Any]]:
    """The conversation's unanswered tool calls: id to name and arguments."""
    answered = {message.get("toolCallId") for message in messages if message["role"] == "tool"}
    calling = [message.get("toolCalls") or () for message in messages if message["role"] == "assistant"]
    calls = [call for calls in calling for call in calls if call["id"] not in answered]
    return {call["id"]: (call["function"]["name"], _json(call["function"]["arguments"])) for call in calls}


def _json(arguments: str) -> Any:
    try:
        return orjson.loads(arguments)
    except ValueError:
        return arguments
