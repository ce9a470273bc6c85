"""Derives ids for items without an id from the message, tool call, channel or run that each item belongs to.

An item gets the same derived id while it is streaming, when it is read from a checkpoint, and in every later run. So
the client treats all copies as one item. This module alone defines the formats of derived ids, except for interrupt id
formats, which are defined in `run/interrupts.py`.
"""

from __future__ import annotations

_REASONING = "-reasoning-"


def reasoning_id(message_id: str, number: int) -> str:
    """The id of the reasoning message for a reasoning block without an id. `number` is the position of the block among
    the message's reasoning blocks, counted from 0."""
    return f"{message_id}{_REASONING}{number}"


def message_of_reasoning(reasoning_id: str) -> str:
    """The id of the message to which a reasoning message with a derived id belongs, or "" if the id was not derived."""
    return reasoning_id.rpartition(_REASONING)[0]


def call_id(message_id: str, number: int) -> str:
    """The id for a tool call without an id. `number` is its position among the message's tool calls, counted from 0."""
    return f"{message_id}-call-{number}"


def repeated_call_id(message_id: str, call_id: str) -> str:
    """The id for a subagent's tool call if another of the client's messages already contains a tool call with the
    original id. Ids repeat because some models number their tool calls from the same start in each conversation."""
    return f"{message_id}-{call_id}"


def repeated_message_id(message_id: str, task: str) -> str:
    """The id for a subagent's message if the client already has another agent's message with the original id. `task` is
    the id of the LangGraph task that produced the message."""
    return f"{message_id}-{task}"


def position_id(position: int) -> str:
    """The id for a stored message without an id, derived from the message's position in the list."""
    return f"message-{position}"


def media_id(message_id: str, number: int) -> str:
    """The id of the activity for a media block. `number` is the position of the block among the message's media blocks,
    counted from 0."""
    return f"{message_id}-media-{number}"


def progress_id(call_id: str) -> str:
    """The id of the activity that displays the progress of a tool call."""
    return f"{call_id}-progress"


def plan_id(channel: str) -> str:
    """The id of the activity that displays the plan stored in this channel."""
    return f"plan-{channel}"


def error_id(run_id: str) -> str:
    """The id of the activity that displays a run's error."""
    return f"{run_id}-error"


def result_id(message_id: str, call_id: str) -> str:
    """The id for the result of a tool call in this message whose tool the provider ran itself."""
    return f"{message_id}-result-{call_id}"
