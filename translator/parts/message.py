"""Reads the fields of a message in any form. The fields are copied only if necessary.

A message may be in any of these forms:

- a LangChain object
- the JSON of such an object, in a platform's stream
- the serialised constructor `{"lc": 1, "type": "constructor", ...}`
- `{"type", "data"}`, as `messages_to_dict` returns it
- `{"role", "content"}` in OpenAI's style
- a `(role, content)` pair or a string, both of which nodes may return
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage

_NOTHING: Final[Mapping[str, Any]] = {}
_TYPE_OF_ROLE: Final[Mapping[str, str]] = {
    "user": "human",
    "human": "human",
    "assistant": "ai",
    "ai": "ai",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "function",
    "remove": "remove",
}
_TYPE_OF_CLASS: Final[Mapping[str, str]] = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
    "RemoveMessage": "remove",
}


_ORDINARY: Final = frozenset({"human", "ai", "tool", "system"})
"""The types that most messages have."""
_CLASSES: Final = frozenset({HumanMessage, AIMessage, AIMessageChunk, ToolMessage, SystemMessage})
"""The classes of most messages. Looking a class up here is faster than `issubclass` with an abstract class."""


def is_object(message: Any) -> bool:
    """Returns whether the message is a LangChain object."""
    kind = type(message)
    return kind in _CLASSES or (kind is not dict and issubclass(kind, BaseMessage))


def fields_of(message: Any) -> Mapping[str, Any]:
    """Returns the fields of a message under LangChain's names (`type`, `content`, `id`, `tool_calls`, ...).

    Takes a message in any form, and returns an empty mapping for anything else. Never raises an exception. The result
    may be the message's own dictionary. So the caller must not change it, and later changes to the message may appear
    in it.
    """
    kind = type(message)  # `isinstance` would read an attribute, which may raise an exception
    if kind in _CLASSES:
        return message.__dict__  # type: ignore[no-any-return]
    if kind is dict:
        if "content" in message and type(named := message.get("type")) is str and named != "constructor":
            return message  # type: ignore[no-any-return]
    elif issubclass(kind, str):
        return {"type": "human", "content": message}
    elif issubclass(kind, BaseMessage):
        return message.__dict__  # type: ignore[no-any-return]
    try:
        if kind is dict or issubclass(kind, Mapping):
            return _of_mapping(message)
        if issubclass(kind, (tuple, list)) and len(message) == 2 and issubclass(type(message[0]), str):
            return {"type": _TYPE_OF_ROLE.get(message[0], "chat"), "role": message[0], "content": message[1]}
    except Exception:  # an object that cannot be read is not treated as a message
        pass
    return _NOTHING


def kind_of(fields: Mapping[str, Any]) -> str:
    """Returns the kind of a message, which is `human`, `ai`, `system`, `tool`, `function`, `chat` or `remove`. If the
    type is not a string, returns an empty string."""
    kind = fields.get("type")
    if not isinstance(kind, str):
        return ""
    if kind in _ORDINARY:
        return kind
    if kind == "AIMessageChunk":
        return "ai"
    if kind.endswith("MessageChunk"):
        kind = kind[: -len("MessageChunk")].lower()
    return "system" if kind == "developer" else kind


def is_chunk(fields: Mapping[str, Any]) -> bool:
    """Returns whether the message is a chunk of a streamed message."""
    kind = fields.get("type")
    return isinstance(kind, str) and kind.endswith("Chunk")


def mapping_in(fields: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """Returns the mapping in a field of a message; an empty mapping if the field contains anything else."""
    value = fields.get(field)
    return value if type(value) is dict or isinstance(value, Mapping) else _NOTHING


def as_name(value: Any) -> str | None:
    """Returns `value` if it is a non-empty string, and so can be an id or a name; otherwise None."""
    return value if isinstance(value, str) and value else None


def _of_mapping(message: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = message.get("type")
    if kind == "constructor" and isinstance(message.get("kwargs"), Mapping):
        return _constructed(message)
    if isinstance(kind, str) and isinstance(message.get("data"), Mapping) and "content" not in message:
        return {**message["data"], "type": kind}
    if isinstance(kind, str):
        return message
    role = message.get("role")
    if not isinstance(role, str):
        return message if "content" in message else _NOTHING
    fields = {**message, "type": _TYPE_OF_ROLE.get(role, "chat")}
    if isinstance(message.get("tool_calls"), list):
        fields.update(_openai_calls(message["tool_calls"]))
    return fields


def _constructed(message: Mapping[str, Any]) -> Mapping[str, Any]:
    kwargs = message["kwargs"]
    path = message.get("id")
    name = path[-1] if isinstance(path, (list, tuple)) and path else ""
    if isinstance(kwargs.get("type"), str) or not isinstance(name, str):
        return {**kwargs}
    return {**kwargs, "type": _TYPE_OF_CLASS.get(name, name)}


def _openai_calls(calls: list[Any]) -> dict[str, Any]:
    """Returns tool calls in LangChain's form, made from OpenAI's `{"id", "function": {"name", "arguments"}}`."""
    good: list[Any] = []
    bad: list[Any] = []
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            good.append(call)
            continue
        read = {"id": call.get("id"), "name": function.get("name"), "args": function.get("arguments")}
        with suppress(TypeError, ValueError):
            read["args"] = orjson.loads(read["args"] or "{}")
        (good if isinstance(read["args"], dict) else bad).append(read)
    return {"tool_calls": good, "invalid_tool_calls": bad}
