"""Reads the channels in the payload of a `values` part, which is the state of a graph, and of an `updates` part, which
is the output of a node.

A payload may be an object of any user-defined class, and a user's channel may have a name that LangGraph uses too. The
functions in this module never raise an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import Any, Final

from pydantic import BaseModel

from .message import fields_of, kind_of

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
"""The types of values that contain no tool call and no result. Most channels have such values."""


class UnreadableChannel:
    """Replaces the value of a channel if reading the channel raised an exception."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def channels(values: Any) -> Mapping[str, Any] | None:
    """Returns the channels in a `values` payload, which is a mapping, a pydantic model or a dataclass; None if the
    payload is anything else or cannot be read. If reading a channel raises an exception, the value of the channel is an
    `UnreadableChannel`. The class of the payload is examined and not the payload itself, because reading an attribute
    of the payload may raise an exception."""
    kind = type(values)
    if kind is dict:
        return values  # type: ignore[no-any-return]
    try:
        if issubclass(kind, Mapping):
            return _each(values, values.__getitem__)
        if issubclass(kind, BaseModel):
            return values.__dict__  # type: ignore[no-any-return]
        if is_dataclass(kind):
            names = [field.name for field in dataclass_fields(kind)]
            return _each(names, lambda name: getattr(values, name, None))
    except Exception:  # a user's class must not end a stream
        pass
    return None


def _each(names: Iterable[Any], read: Callable[[Any], Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in names:
        try:
            values[name] = read(name)
        except Exception as error:
            values[name] = UnreadableChannel(error)
    return values


def as_sequence(items: Any) -> Sequence[Any]:
    """Returns `items` if it is a list or a tuple, which are the types that LangGraph uses. Otherwise returns an empty
    tuple, because a user's channel with the same name may contain any value."""
    return items if type(items) in (tuple, list) else ()


def updates_in(output: Any) -> list[Mapping[str, Any]]:
    """Returns the updates in a node's raw output, each as a mapping from channels to values. There are several if the
    node returned several commands or wrote to a channel twice, and none if the output names no channel."""
    if type(output) is dict:
        return [output]
    return [named for item in _outputs(output) if (named := channels(item)) is not None]


def writes_channels(output: Any) -> bool:
    """Returns whether a node's raw output writes to any channel. The output of a function may be any value; only None
    and an empty mapping write nothing."""
    return any(item is not None and channels(item) != {} for item in _outputs(output))


def written_messages(updates: Sequence[Mapping[str, Any]], key: str) -> list[Any]:
    """Returns the messages that the updates of a node write to the channel `key`."""
    values: list[Any] = [update.get(key) for update in updates]
    return [message for messages in values if type(messages) in (list, tuple) for message in messages]


def unanswered_calls_in(updates: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], set[str]]:
    """Returns the unanswered tool calls, as a mapping from their ids to their channels, and the ids of the answered
    ones. In each list of messages, only the last assistant message and the results after it are considered. `updates`:
    the updates of a node, or the values of a graph as a single update. All channels are searched."""
    calls: dict[str, str] = {}
    answered: set[str] = set()
    for update in updates:
        for channel, value in update.items():
            if type(value) in _SCALARS:
                continue
            for message in reversed(value if type(value) in (list, tuple) else (value,)):
                fields = fields_of(message)
                kind = kind_of(fields)
                if kind == "tool":
                    answered.add(str(fields.get("tool_call_id")))
                    continue
                for call in as_sequence(fields.get("tool_calls")) if kind == "ai" else ():
                    if type(call) is dict and isinstance(call.get("id"), str):
                        calls[call["id"]] = channel
                break
    return {call_id: channel for call_id, channel in calls.items() if call_id not in answered}, answered


def channels_with_user_message(updates: Sequence[Mapping[str, Any]]) -> set[str]:
    """Returns the channels to which the updates of a node add a user's message at the end."""
    lasts = (
        (channel, value[-1] if type(value) in (list, tuple) and value else value)
        for update in updates
        for channel, value in update.items()
    )
    return {channel for channel, last in lasts if type(last) is not str and kind_of(fields_of(last)) == "human"}


def _outputs(output: Any) -> Sequence[Any]:
    """Returns a node's output as a sequence, which it may already be (see `updates_in`)."""
    return output if type(output) in (list, tuple) else (output,)


def without_interrupts(values: Any) -> Any:
    """Returns a `values` payload without the key `__interrupt__`, which LangGraph adds to payloads that are
    dictionaries."""
    if type(values) is dict and "__interrupt__" in values:
        return {name: value for name, value in values.items() if name != "__interrupt__"}
    return values
