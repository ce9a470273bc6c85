"""A client's answers to what a thread waits for: `answers`. Which run they make, `plan` says.

Rules:

1. `resume` entries answer interrupts by id. One that names nothing that waits is passed over, with a line in the log:
   it was answered already, in another tab perhaps. What no entry names stays pending.
2. An answer that the interrupt can't be resumed with is refused: see `decisions`. So is all that comes with it.
3. A cancelled entry answers with what `Intake.answer_cancelled` gives for the interrupt's value; without it, with
   `decisions.cancelled`.
4. A breakpoint takes no answer: resolved, the run continues; cancelled, what is left of it is dropped.
5. Older CopilotKit clients answer in `forwardedProps.command.resume`, one interrupt at a time; which, where several
   wait, `interruptEvent` says by their value, or the answer itself by being an object of their ids.
   A text is read as JSON where it is any, as `ag-ui-langgraph` reads it. `resume` wins over it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from ag_ui.core import ResumeEntry, RunAgentInput

from ....translator import is_breakpoint, to_json
from ...errors import InvalidInputError, log_context
from ..thread_state import ThreadState
from .decisions import cancelled, resumed_with

_log = logging.getLogger(__name__)

LONGEST = 480
"""Characters of a run's id that one made from it keeps, so that it can be one too."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What of a client's answers has a question."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """By interrupt id, what each is resumed with."""
    continues: bool | None = None
    """At a breakpoint: whether the run continues. None: no answer."""

    def __bool__(self) -> bool:
        return bool(self.values) or self.continues is not None


def is_answering(given: RunAgentInput) -> bool:
    """Whether an input means to answer something."""
    return bool(given.resume) or _command(given) is not None


def without_answers(given: RunAgentInput) -> RunAgentInput:
    """The same input without its answers, as one that follows: what else it brought, under an id of its own."""
    forwarded = given.forwarded_props
    if isinstance(forwarded, Mapping):
        forwarded = {name: value for name, value in forwarded.items() if name != "command"}
    run_id = f"{given.run_id[:LONGEST]}-messages"
    return given.model_copy(update={"resume": None, "forwarded_props": forwarded, "run_id": run_id})


def answers(given: RunAgentInput, state: ThreadState, answer_cancelled: Callable[[Any], Any] | None) -> Answers:
    """The answers in an input to what a thread waits for.

    Raises `InvalidInputError` where several interrupts wait and one answer does not say which it is for, and for an
    answer that does not fit its interrupt.
    """
    if given.resume:
        return _entries(given, given.resume, state, answer_cancelled)
    command = _command(given)
    if command is None:
        return Answers()
    found = _by_command(given, command, state)
    waiting = {id_of(interrupt): interrupt for interrupt in state.interrupts}
    return replace(found, values={name: _fitted(value, waiting[name]) for name, value in found.values.items()})


def id_of(interrupt: Any) -> str:
    """The id of an interrupt, an object or its JSON."""
    return str(interrupt.get("id") if isinstance(interrupt, Mapping) else interrupt.id)


def _value_of(interrupt: Any) -> Any:
    return interrupt.get("value") if isinstance(interrupt, Mapping) else interrupt.value


def _schema_of(interrupt: Any) -> Any:
    """LangGraph's schema of the answer; older versions have none."""
    name = "response_schema"
    return interrupt.get(name) if isinstance(interrupt, Mapping) else getattr(interrupt, name, None)


def _fitted(answer: Any, interrupt: Any) -> Any:
    return resumed_with(answer, _value_of(interrupt), _schema_of(interrupt))


def _cancelled(interrupt: Any, answer_cancelled: Callable[[Any], Any] | None) -> Any:
    if answer_cancelled is None:
        return cancelled(_value_of(interrupt), _schema_of(interrupt))
    return _fitted(answer_cancelled(_value_of(interrupt)), interrupt)


def log_ignored(given: RunAgentInput) -> None:
    """Logs that an answer reaches no interrupt: it was answered already, perhaps by an answer that failed."""
    _log.warning(
        "An answer is ignored: its interrupt is not pending (%s).", log_context(None, given.thread_id, given.run_id)
    )


def _entries(
    given: RunAgentInput,
    entries: list[ResumeEntry],
    state: ThreadState,
    answer_cancelled: Callable[[Any], Any] | None,
) -> Answers:
    waiting = {id_of(interrupt): interrupt for interrupt in state.interrupts}
    found: dict[str, Any] = {}
    continues: bool | None = None
    is_late = False
    for entry in entries:
        if entry.interrupt_id in waiting:
            asked = waiting[entry.interrupt_id]
            if entry.status == "cancelled":
                found[entry.interrupt_id] = _cancelled(asked, answer_cancelled)
            else:
                found[entry.interrupt_id] = _fitted(entry.payload, asked)
        elif state.is_stopped and is_breakpoint(entry.interrupt_id):
            continues = entry.status == "resolved"
        else:
            is_late = True
    if is_late:
        log_ignored(given)
    return Answers(found, continues)


def _command(given: RunAgentInput) -> Mapping[str, Any] | None:
    """What an older client puts in place of `resume`."""
    forwarded = given.forwarded_props
    command = forwarded.get("command") if isinstance(forwarded, Mapping) else None
    return command if isinstance(command, Mapping) and command.get("resume") is not None else None


def _by_command(given: RunAgentInput, command: Mapping[str, Any], state: ThreadState) -> Answers:
    answer = _parsed(command["resume"])
    if state.is_stopped and not state.interrupts:
        return Answers(continues=True)
    if not state.interrupts:
        log_ignored(given)
        return Answers()
    ids = [id_of(interrupt) for interrupt in state.interrupts]
    if isinstance(answer, Mapping) and answer and set(answer) <= set(ids):
        return Answers(dict(answer))
    if len(ids) == 1:
        return Answers({ids[0]: answer})
    value = to_json(_parsed(command.get("interruptEvent")))
    meant = [id_of(each) for each in state.interrupts if to_json(_value_of(each)) == value]
    if not meant:
        raise InvalidInputError(
            f"{len(ids)} interrupts wait; expected `resume` entries with their ids, got one answer that does not say "
            "which it is for"
        )
    return Answers({meant[0]: answer})


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value
