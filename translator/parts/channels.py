"""Payloads of `values` and `updates` by channel: a graph's state, and the output of a node.

A payload may be any object that a user defined, and a user's channel may have a name that LangGraph uses too. Nothing
here raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import Any

from pydantic import BaseModel

from .message import fields, kind_of


class UnreadableChannel:
    """Stands for the value of a channel that raised when it was read."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def channels(values: Any) -> Mapping[str, Any] | None:
    """The channels of a `values` payload (a mapping, a pydantic model or a dataclass); None if it has none or cannot be
    read. The value of a channel that raises is an `UnreadableChannel`. Only the type of the payload is checked, because
    the attributes of the object itself may raise."""
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
    """`items`, if it is a list or tuple, as from LangGraph; else empty: a user's channel of that name may have any
    value."""
    return items if type(items) in (tuple, list) else ()


def written_channels(output: Any) -> list[str]:
    """The names of the channels that a node's raw output writes."""
    return [name for item in _outputs(output) for name in channels(item) or () if isinstance(name, str)]


def written_messages(output: Any, key: str) -> list[Any]:
    """The messages that a node's raw output writes to the channel `key`."""
    values: list[Any] = [named.get(key) for item in _outputs(output) if (named := channels(item)) is not None]
    return [message for messages in values if type(messages) in (list, tuple) for message in messages]


def unanswered_calls_in(output: Any) -> tuple[set[str], set[str]]:
    """The tool calls that wait for their results at the end of a list of messages, in any channel; and the calls that
    the results there answer. `output`: a node's raw output, or values."""
    waiting: set[str] = set()
    answered: set[str] = set()
    for item in _outputs(output):
        for value in (channels(item) or {}).values():
            for message in reversed(value if type(value) in (list, tuple) else (value,)):
                view = fields(message)
                kind = kind_of(view)
                if kind == "tool":
                    answered.add(str(view.get("tool_call_id")))
                    continue
                if kind == "ai":
                    calls = (call.get("id") for call in as_sequence(view.get("tool_calls")) if type(call) is dict)
                    waiting.update(call_id for call_id in calls if isinstance(call_id, str))
                break
    return waiting - answered, answered


def _outputs(output: Any) -> Sequence[Any]:
    """The output of a node as a list, which it is already if the node returned several commands or wrote a channel
    twice."""
    return output if type(output) in (list, tuple) else (output,)


def without_interrupts(values: Any) -> Any:
    """A `values` payload without the interrupts that LangGraph puts among its channels."""
    if type(values) is dict and "__interrupt__" in values:
        return {name: value for name, value in values.items() if name != "__interrupt__"}
    return values
