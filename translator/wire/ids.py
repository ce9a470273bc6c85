"""Derives ids for items that have none. A derived id is made from the id of the message, tool call, channel or run that
the item belongs to.

An item gets the same derived id while it is streaming, when it is read from a checkpoint, and in every later run. So
the client treats all copies as one item. The formats of all derived ids are defined here, except for those of
interrupts, which are in `run/interrupts.py`.
"""

from __future__ import annotations

_REASONING = "-reasoning-"


def reasoning_id(message_id: str, number: int) -> str:
    """The id of the reasoning message for a reasoning block without an id. `number` is the position of the block among
    the message's reasoning blocks, counted from 0."""
    return f"{message_id}{_REASONING}{number}"


def message_of_reasoning(reasoning_id: str) -> str:
    """The id of the message that a reasoning message belongs to, taken from the derived id of the reasoning message. If
    that id was not derived, the result is ""."""
    return reasoning_id.rpartition(_REASONING)[0]


def call_id(message_id: str, number: int) -> str:
    """The id for a tool call without an id. `number` is its position among the message's tool calls, counted from 0."""
    return f"{message_id}-call-{number}"


def repeated_call_id(message_id: str, call_id: str) -> str:
    """The id for a subagent's tool call if another of the client's messages already contains a tool call with the
    original id. Ids repeat because some models number their tool calls from the beginning in each conversation."""
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
    """The id for the result of a tool that the provider ran itself, for a tool call in this message."""
    return f"{message_id}-result-{call_id}"
