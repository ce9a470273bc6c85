"""Ids for what has no id of its own, derived from the id of the message, call, channel or run that it belongs to.

A message gets the same derived id while it streams, from its stored copy, and in any later run. So the client takes all
of them for one message. The forms of these ids are written here only; those of interrupts in `run/interrupts.py`.
"""

from __future__ import annotations

_REASONING = "-reasoning-"


def reasoning_id(message_id: str, number: int) -> str:
    """The reasoning message made of a reasoning block without an id. `number`: its place among the message's reasoning
    blocks, from 0."""
    return f"{message_id}{_REASONING}{number}"


def message_of_reasoning(reasoning_id: str) -> str:
    """The message that a reasoning message belongs to, by its derived id; "" for an id that was not derived."""
    return reasoning_id.rpartition(_REASONING)[0]


def call_id(message_id: str, number: int) -> str:
    """A tool call without an id. `number`: its place among the message's calls, from 0."""
    return f"{message_id}-call-{number}"


def repeated_call_id(message_id: str, call_id: str) -> str:
    """A subagent's tool call whose own id the client already has in another message: models number their calls again in
    each conversation."""
    return f"{message_id}-{call_id}"


def repeated_message_id(message_id: str, task: str) -> str:
    """A subagent's message whose own id the client already has from another agent. `task`: the task it comes from."""
    return f"{message_id}-{task}"


def position_id(position: int) -> str:
    """A stored message without an id, by its position in the list."""
    return f"message-{position}"


def media_id(message_id: str, number: int) -> str:
    """The activity that shows a media block. `number`: its place among the message's media, from 0."""
    return f"{message_id}-media-{number}"


def progress_id(call_id: str) -> str:
    """The activity that shows the progress of a tool call."""
    return f"{call_id}-progress"


def plan_id(channel: str) -> str:
    """The activity that shows the plan in a channel of the thread."""
    return f"plan-{channel}"


def error_id(run_id: str) -> str:
    """The activity that shows why a run failed."""
    return f"{run_id}-error"


def result_id(message_id: str, call_id: str) -> str:
    """The result of a tool that the provider ran for a call of this message."""
    return f"{message_id}-result-{call_id}"
