"""`RunInput`: what another process needs to continue a run of this one, as the run store keeps it. No I/O.

To continue a run is to submit its input again, to the same graph and with the same run id. LangGraph takes the input if
the thread has no checkpoint of the run yet, and drops it and continues if it has one. `RunInput.after` leaves out the
parts of the input that LangGraph would take twice (`checkpoints.progress`).

Only JSON is kept: another process cannot read anything else, and must not run what it reads. So a run cannot be
continued if its input, its user, or what the owner's hook has added for it is not JSON (`NotJsonError`). Messages are
kept in the form of LangChain. Nothing else that the graph gets is kept, because each process that serves the agent has
it: the graph itself, and the config and the context of the agent's intake.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from ag_ui.core import RunAgentInput
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langgraph.types import Command, Overwrite

from ...access import AuthUser
from ..checkpoints.progress import Progress

_FORMAT: Final = 1
"""The format of the JSON. It rises with each change that an earlier version can't read."""
_KIND: Final = "__agui__"
"""The key that says what an object of the JSON stands for: a message, a user of LangGraph's `auth`, an `Overwrite`."""
MOST_LOSSES: Final = 3
"""The number of processes with which a run is lost, until it is not tried again."""


class NotJsonError(Exception):
    """A part of a run's input is not JSON. `part`: the name of the part."""

    def __init__(self, part: str) -> None:
        super().__init__(f"{part} is not JSON")
        self.part = part


class UnreadableInputError(Exception):
    """The stored input of a run cannot be read by this process. The text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInput:
    """The input of a run, and how the run was started.

    - `run_id`, `user`: the id of the run, and the user who has started it.
    - `values`: the values that it writes to channels.
    - `is_turn`: whether the values are the graph's input. If not, the run continues at a checkpoint, and they update
      the state there.
    - `answers`: the answers that it resumes with, by interrupt id; None if it does not answer.
    - `asked`: for each of these interrupts, the task that has raised it, and the number of answers that this task had
      taken before the run began.
    - `checkpoint_id`: the earlier checkpoint where it starts; None is the newest one.
    - `config`: what the owner's hook has added to the config.
    - `context`: the graph's runtime context. `has_own_context`: whether that of the agent's intake is added to it.
    - `client_input`: the client's input, as JSON, if it has more than this run does: then the rest is submitted when
      the run has succeeded. None if this run is all.
    - `queued`: the inputs that were queued behind the run when it was handed over; see `queued_input`.
    - `parent_run_id`: as in `RUN_STARTED`.
    - `attempt`: how often the run has been tried, with this time.
    - `losses`: how often it was lost with its process. A process that ends and hands the run over is not lost.
    """

    run_id: str
    user: Any = None
    values: Mapping[str, Any] = field(default_factory=dict)
    is_turn: bool = True
    answers: Mapping[str, Any] | None = None
    asked: Mapping[str, list[Any]] = field(default_factory=dict)
    checkpoint_id: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    context: Any = None
    has_own_context: bool = False
    client_input: Mapping[str, Any] | None = None
    queued: list[dict[str, Any]] = field(default_factory=list)
    parent_run_id: str | None = None
    attempt: int = 1
    losses: int = 0

    @property
    def graph_input(self) -> Any:
        """What the graph is called with."""
        if self.is_turn:
            return dict(self.values)
        if self.answers is not None:
            return Command(resume=self.answers, update=self.values or None)
        return Command(update=self.values) if self.values else None

    def after(self, progress: Progress) -> RunInput:
        """Returns the input with which the run continues after this progress: without the checkpoint where it started,
        once it has made one itself, and without the values and the answers that the thread already has. A turn keeps
        its values, which LangGraph drops if it has them."""
        if progress.has_begun:
            kept = self if self.is_turn else replace(self, values={}, answers=None)
            return replace(kept, checkpoint_id=None)
        if self.is_turn:
            return self
        values = {name: value for name, value in self.values.items() if name not in progress.written}
        answers = {id_: answer for id_, answer in (self.answers or {}).items() if not self._is_taken(id_, progress)}
        return replace(self, values=values, answers=answers or None)

    def before(self, progress: Progress) -> RunInput:
        """Returns the input with what has to be known of the thread before the run begins."""
        asked = {id_: [task, progress.taken.get(task, 0)] for id_, task in progress.tasks.items()}
        return replace(self, asked={id_: asked[id_] for id_ in self.answers or () if id_ in asked})

    def _is_taken(self, interrupt_id: str, progress: Progress) -> bool:
        """Returns whether a task has taken the answer to this interrupt since the run began."""
        task, taken = self.asked.get(interrupt_id, ("", 0))
        return progress.taken.get(task, 0) > taken

    def to_json(self) -> bytes:
        """Returns the JSON that is kept. Raises `NotJsonError`."""
        stored = {part.name: _stored(getattr(self, part.name), part.name) for part in fields(self)}
        return json.dumps({"format": _FORMAT, **stored}).encode()

    @classmethod
    def from_json(cls, stored: bytes) -> RunInput:
        """Reads what `to_json` returned. Raises `UnreadableInputError` if the format is unknown."""
        read = json.loads(stored)
        if read.pop("format") != _FORMAT:
            raise UnreadableInputError("it is of another version")
        return cls(**{name: _restored(value) for name, value in read.items()})


def queued_input(client_input: RunAgentInput, user: Any, before: Sequence[str] | None) -> dict[str, Any]:
    """Returns a queued input as `RunInput` keeps it: the input of the client, as JSON, the user, and the ids of the
    messages that the thread had when the input arrived. Raises `NotJsonError`."""
    try:
        sent = as_json(client_input)
    except ValueError:
        raise NotJsonError("client_input") from None
    queued = {"input": sent, "user": user, "before": None if before is None else list(before)}
    for part, value in queued.items():
        _stored(value, part)
    return queued


def as_json(client_input: RunAgentInput) -> dict[str, Any]:
    """Returns the input of a client as JSON. Raises `ValueError` if a caller of this process has put something into it
    that is not JSON."""
    stored: dict[str, Any] = client_input.model_dump(mode="json", by_alias=True, exclude_none=True)
    return stored


def _stored(value: Any, part: str) -> Any:
    """Returns a value as JSON from which `_restored` makes the same value. Raises `NotJsonError`."""
    kind = type(value)
    if value is None or kind in (str, bool, int) or (kind is float and math.isfinite(value)):
        return value
    if kind is list:
        return [_stored(item, part) for item in value]
    if kind is dict and _KIND not in value and all(type(name) is str for name in value):
        return {name: _stored(item, part) for name, item in value.items()}
    if isinstance(value, BaseMessage):
        return {_KIND: "message", "value": _stored(message_to_dict(value), part)}
    if isinstance(value, AuthUser):
        return {_KIND: "user", "value": _stored(dict(value), part)}
    if kind is Overwrite:
        return {_KIND: "overwrite", "value": _stored(value.value, part)}
    raise NotJsonError(part)


def _restored(stored: Any) -> Any:
    if isinstance(stored, list):
        return [_restored(item) for item in stored]
    if not isinstance(stored, dict):
        return stored
    values = {name: _restored(value) for name, value in stored.items()}
    kind = values.pop(_KIND, None)
    if kind == "message":
        return messages_from_dict([values["value"]])[0]
    if kind == "user":
        return AuthUser(values["value"])
    return Overwrite(values["value"]) if kind == "overwrite" else values
