"""Ids of what has none of its own, derived from the id of the message, call, channel or run it belongs to.

The same id is derived while a message streams and from its stored copy, in this run and in any later one: that makes
the two the same message at the client. No other module writes the form of such an id.
"""

from __future__ import annotations

_REASONING = "-reasoning-"


def reasoning_id(message_id: str, number: int) -> str:
    """The reasoning message of a message's reasoning block that has no id; `number` counts all its blocks from 0."""
    return f"{message_id}{_REASONING}{number}"


def message_of_reasoning(reasoning_id: str) -> str:
    """The id of the message that a derived id names; "" if the id is not derived."""
    return reasoning_id.rpartition(_REASONING)[0]


def call_id(message_id: str, number: int) -> str:
    """A message's tool call that has no id; `number` counts all its calls from 0."""
    return f"{message_id}-call-{number}"


def repeated_call_id(message_id: str, call_id: str) -> str:
    """A subagent's tool call whose own id the client knows from another message."""
    return f"{message_id}-{call_id}"


def repeated_message_id(message_id: str, task: str) -> str:
    """A subagent's message whose own id the client knows from another agent; `task` says it."""
    return f"{message_id}-{task}"


def position_id(position: int) -> str:
    """A stored message that has no id, at this position of its list."""
    return f"message-{position}"


def media_id(message_id: str, number: int) -> str:
    """The activity that shows a message's media block; `number` counts these from 0."""
    return f"{message_id}-media-{number}"


def progress_id(call_id: str) -> str:
    """The activity that shows the progress of a tool call."""
    return f"{call_id}-progress"


def plan_id(channel: str) -> str:
    """The activity that shows a thread's plan, which is in this channel."""
    return f"plan-{channel}"


def error_id(run_id: str) -> str:
    """The activity that shows why a run failed."""
    return f"{run_id}-error"


def result_id(message_id: str, call_id: str) -> str:
    """The result of a tool that the provider ran, for a call of this message."""
    return f"{message_id}-result-{call_id}"
