"""A message in any form as one view of its fields, not copied where it need not be.

LangGraph hands out, depending on the source: a LangChain object; its JSON (a platform's stream); the serialised
constructor `{"lc": 1, "type": "constructor", ...}`; `messages_to_dict`'s `{"type", "data"}`; an OpenAI style `{"role",
"content"}`; a `(role, content)` pair or a bare string, as nodes may return them.
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
"""The kinds that most messages are of."""
_CLASSES: Final = frozenset({HumanMessage, AIMessage, AIMessageChunk, ToolMessage, SystemMessage})
"""The classes that most messages are of: a look-up is faster than `issubclass` of an abstract class."""


def fields(message: Any) -> Mapping[str, Any]:
    """The fields of a message by LangChain's names (`type`, `content`, `id`, `tool_calls`, ...).

    Takes a message object or any of its other forms; gives an empty mapping for what is no message. Never raises. What
    is given may be the message's own dictionary: it is for reading, and shows later changes.
    """
    kind = type(message)  # `isinstance` would read an attribute, which may raise
    if kind in _CLASSES or issubclass(kind, BaseMessage):
        return message.__dict__  # type: ignore[no-any-return]
    if kind is dict and "content" in message and type(named := message.get("type")) is str and named in _ORDINARY:
        return message  # type: ignore[no-any-return]
    if issubclass(kind, str):
        return {"type": "human", "content": message}
    try:
        if issubclass(kind, Mapping):
            return _of_mapping(message)
        if issubclass(kind, tuple | list) and len(message) == 2 and issubclass(type(message[0]), str):
            return {"type": _TYPE_OF_ROLE.get(message[0], "chat"), "role": message[0], "content": message[1]}
    except Exception:  # what cannot be read is no message
        pass
    return _NOTHING


def kind_of(view: Mapping[str, Any]) -> str:
    """What a message is: `human`, `ai`, `system`, `tool`, `function`, `chat`, `remove`; "" for what is no message."""
    kind = view.get("type")
    if not isinstance(kind, str):
        return ""
    if kind in _ORDINARY:
        return kind
    if kind.endswith("MessageChunk"):
        kind = kind[: -len("MessageChunk")].lower()
    return "system" if kind == "developer" else kind


def is_chunk(view: Mapping[str, Any]) -> bool:
    """Whether the message is a chunk of a streamed one."""
    kind = view.get("type")
    return isinstance(kind, str) and kind.endswith("Chunk")


def as_name(value: Any) -> str | None:
    """A field that has an id or a name; None where it has none: for no str, and for an empty one."""
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
    view = {**message, "type": _TYPE_OF_ROLE.get(role, "chat")}
    if isinstance(message.get("tool_calls"), list):
        view.update(_openai_calls(message["tool_calls"]))
    return view


def _constructed(message: Mapping[str, Any]) -> Mapping[str, Any]:
    kwargs = message["kwargs"]
    path = message.get("id")
    name = path[-1] if isinstance(path, list | tuple) and path else ""
    if isinstance(kwargs.get("type"), str) or not isinstance(name, str):
        return {**kwargs}
    return {**kwargs, "type": _TYPE_OF_CLASS.get(name, name)}


def _openai_calls(calls: list[Any]) -> dict[str, Any]:
    """Calls in LangChain's form out of OpenAI's `{"id", "function": {"name", "arguments"}}`."""
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
