"""How a stream ends: what is closed, in which order, and the one terminal event. Nothing of what came before.

Rules:

1. After success or an interrupt the client's conversation is the checkpoint's: what streamed and was not saved is
   dropped. After an error, a cancel or a loss partial text stays; nothing is compared.
2. Closed first: messages, then steps, then subagents (innermost first), then the terminal event. A subagent with an
   interrupt inside is suspended, one in a run that failed has failed, any other is done.
3. The result is the ending's, or else the `structured_response` of the last state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from . import events
from .channels import channels
from .dialect import CANCELLED_MESSAGE, spoken
from .endings import Cancelled, Ending, Failed, Finished, Lost
from .events import Event
from .failure import Failure, failure
from .plain import plain

if TYPE_CHECKING:
    from .translator import Translator


def tell_end(run: Translator, ending: Ending) -> None:
    """Tells the end of a run."""
    if isinstance(ending, Finished):
        _finished(run, ending)
    elif isinstance(ending, Cancelled):
        _close(run, Failure(CANCELLED_MESSAGE, "cancelled"))
        _terminal(run, events.run_finished(run.thread_id, run.run_id, {"type": "cancelled"}, None, run.usage.totals()))
    else:
        failed = _failure(run, ending)
        _close(run, failed)
        _terminal(run, events.run_error(failed.message, failed.code, run.usage.totals(), failed.metadata))


def _finished(run: Translator, ending: Finished) -> None:
    run.speech.end_all()
    if ending.interrupts:
        run.interrupts.add((), ending.interrupts)
    if ending.state is None:
        run.root.judge()
    else:
        run.root.last = ending.state
        run.root.settle(ending.state, going_on=False)
    run.state.finish()
    _close(run, None)
    result = ending.result
    if result is None:
        result = (channels(run.root.last) or {}).get("structured_response")
    outcome: Event | None = {"type": "success"}
    if run.interrupts:
        outcome = _interrupted(run)
    result = None if run.interrupts else plain(result)
    _terminal(run, events.run_finished(run.thread_id, run.run_id, outcome, result, run.usage.totals()))


def _interrupted(run: Translator) -> Event | None:
    """The outcome, and the custom events of older clients, by option."""

    def owner(ns: tuple[str, ...]) -> str | None:
        return run.subagents.owner(ns)[0]

    if run.options.interrupts != "outcome":
        run.outbox.tell_all(run.interrupts.legacy(owner))
    if run.options.interrupts == "legacy":
        return None
    told = run.interrupts.told(run.run_id, _unanswered(run.view.messages), owner)
    return {"type": "interrupt", "interrupts": told}


def _close(run: Translator, failed: Failure | None) -> None:
    run.speech.end_all()
    run.steps.settled(())
    for subagent in run.subagents.going():
        if failed is None:
            run.end_subagent(subagent)
        else:
            run.subagents.fail(subagent, failed.message, failed.code)


def _failure(run: Translator, ending: Failed | Lost) -> Failure:
    if isinstance(ending, Failed):
        return failure(ending.error, run.options.error_detail)
    raised = issubclass(type(ending.reason), BaseException)
    reason = ending.reason if raised else {"message": ending.reason}
    return failure(reason, run.options.error_detail)._replace(code="lost")


def _terminal(run: Translator, event: Event) -> None:
    run.outbox.tell(spoken(event, run.options.protocol_version))


def _unanswered(messages: list[Event]) -> Mapping[str, tuple[str, Any]]:
    """The conversation's unanswered tool calls: id to name and arguments."""
    answered = {message["toolCallId"] for message in messages if message["role"] == "tool"}
    calls = [call for message in messages for call in message.get("toolCalls", ()) if call["id"] not in answered]
    return {call["id"]: (call["function"]["name"], _json(call["function"]["arguments"])) for call in calls}


def _json(arguments: str) -> Any:
    try:
        return orjson.loads(arguments)
    except ValueError:
        return arguments
