"""`answers` reads a client's answers to the interrupts that a thread waits for. `plan` decides which run follows.

Rules:

1. `resume` entries answer interrupts by id. An entry for an interrupt that is not pending is skipped and logged:
   perhaps it was answered in another tab. Interrupts that no entry names stay pending.
2. An answer that does not fit its interrupt (`decisions`) is refused, together with the whole input.
3. For a cancelled entry, the answer is what `Intake.answer_cancelled` returns for the interrupt's value, or else
   `decisions.cancelled`.
4. A breakpoint takes no answer. If its entry is resolved, the run continues; if it is cancelled, the rest of the run is
   dropped.
5. Older CopilotKit clients answer in `forwardedProps.command.resume`, one interrupt at a time. If several wait,
   `interruptEvent` identifies the interrupt by its value, or the answer is an object whose keys are interrupt ids. A
   text is parsed as JSON if possible, as `ag-ui-langgraph` does. `resume` takes precedence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson
from ag_ui.core import ResumeEntry, RunAgentInput

from ....translator import is_breakpoint, to_json
from ...errors import InvalidInputError, log_context
from ..thread_state import ThreadState
from .decisions import cancelled, resumed_with

_log = logging.getLogger(__name__)

_ANSWER: Final = ("resume", "interruptEvent")
"""What the command of an older client has of its answer."""
LONGEST = 480
"""Characters of a run id that are kept in an id derived from it, so that the derived id is not too long."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a client to pending interrupts."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """By interrupt id, the value with which the interrupt is resumed."""
    continues: bool | None = None
    """Whether the run continues at a breakpoint; None without an answer."""

    def __bool__(self) -> bool:
        return bool(self.values) or self.continues is not None


def is_answering(run_input: RunAgentInput) -> bool:
    """Returns whether an input has answers."""
    return bool(run_input.resume) or _command(run_input) is not None


def without_answers(run_input: RunAgentInput) -> RunAgentInput:
    """Returns the rest of an input, without its answers, as an input that follows it: with a run id of its own."""
    forwarded = run_input.forwarded_props
    if isinstance(forwarded, Mapping):
        command = {name: value for name, value in (_command(run_input) or {}).items() if name not in _ANSWER}
        rest = {name: value for name, value in forwarded.items() if name != "command"}
        forwarded = {**rest, "command": command} if command else rest
    run_id = f"{run_input.run_id[:LONGEST]}-messages"
    return run_input.model_copy(update={"resume": None, "forwarded_props": forwarded, "run_id": run_id})


def answers(run_input: RunAgentInput, state: ThreadState, answer_cancelled: Callable[[Any], Any] | None) -> Answers:
    """Returns the answers in an input to the interrupts that a thread waits for.

    Raises `InvalidInputError` if an answer does not fit its interrupt, or if several interrupts wait and an answer does
    not say which one it is for.
    """
    if run_input.resume:
        return _answers_of_entries(run_input, run_input.resume, state, answer_cancelled)
    command = _command(run_input)
    if command is None:
        return Answers()
    by_command = _answers_of_command(run_input, command, state)
    waiting = {id_of(interrupt): interrupt for interrupt in state.interrupts}
    values = {name: _fit(value, waiting[name]) for name, value in by_command.values.items()}
    return replace(by_command, values=values)


def id_of(interrupt: Any) -> str:
    """Returns the id of an interrupt, which is an object or its JSON."""
    return str(interrupt.get("id") if isinstance(interrupt, Mapping) else interrupt.id)


def _value_of(interrupt: Any) -> Any:
    return interrupt.get("value") if isinstance(interrupt, Mapping) else interrupt.value


def _schema_of(interrupt: Any) -> Any:
    """Returns LangGraph's schema of the answer, which older versions do not have."""
    name = "response_schema"
    return interrupt.get(name) if isinstance(interrupt, Mapping) else getattr(interrupt, name, None)


def _fit(answer: Any, interrupt: Any) -> Any:
    return resumed_with(answer, _value_of(interrupt), _schema_of(interrupt))


def _answer_of_cancel(interrupt: Any, answer_cancelled: Callable[[Any], Any] | None) -> Any:
    if answer_cancelled is None:
        return cancelled(_value_of(interrupt), _schema_of(interrupt))
    return _fit(answer_cancelled(_value_of(interrupt)), interrupt)


def log_ignored(run_input: RunAgentInput) -> None:
    """Logs that an answer is ignored, because its interrupt has been answered already, perhaps by one that failed."""
    _log.warning(
        "An answer is ignored: its interrupt is not pending (%s).",
        log_context(None, run_input.thread_id, run_input.run_id),
    )


def _answers_of_entries(
    run_input: RunAgentInput,
    entries: list[ResumeEntry],
    state: ThreadState,
    answer_cancelled: Callable[[Any], Any] | None,
) -> Answers:
    waiting = {id_of(interrupt): interrupt for interrupt in state.interrupts}
    values: dict[str, Any] = {}
    continues: bool | None = None
    is_late = False
    for entry in entries:
        if entry.interrupt_id in waiting:
            interrupt = waiting[entry.interrupt_id]
            if entry.status == "cancelled":
                values[entry.interrupt_id] = _answer_of_cancel(interrupt, answer_cancelled)
            else:
                values[entry.interrupt_id] = _fit(entry.payload, interrupt)
        elif state.is_stopped and is_breakpoint(entry.interrupt_id):
            continues = entry.status == "resolved"
        else:
            is_late = True
    if is_late:
        log_ignored(run_input)
    return Answers(values, continues)


def _command(run_input: RunAgentInput) -> Mapping[str, Any] | None:
    """Returns the command that older clients send in place of `resume`."""
    forwarded = run_input.forwarded_props
    command = forwarded.get("command") if isinstance(forwarded, Mapping) else None
    return command if isinstance(command, Mapping) and command.get("resume") is not None else None


def _answers_of_command(run_input: RunAgentInput, command: Mapping[str, Any], state: ThreadState) -> Answers:
    answer = _parse(command["resume"])
    if state.is_stopped and not state.interrupts:
        return Answers(continues=True)
    if not state.interrupts:
        log_ignored(run_input)
        return Answers()
    ids = [id_of(interrupt) for interrupt in state.interrupts]
    if isinstance(answer, Mapping) and answer and set(answer) <= set(ids):
        return Answers(dict(answer))
    if len(ids) == 1:
        return Answers({ids[0]: answer})
    value = to_json(_parse(command.get("interruptEvent")))
    meant = [id_of(interrupt) for interrupt in state.interrupts if to_json(_value_of(interrupt)) == value]
    if not meant:
        raise InvalidInputError(
            f"{len(ids)} interrupts wait; expected `resume` entries with their ids, got one answer that does not say "
            "which it is for"
        )
    return Answers({meant[0]: answer})


def _parse(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value
