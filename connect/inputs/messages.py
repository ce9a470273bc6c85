"""Converts a client's messages for a graph (`to_graph_messages`), and compares the messages of a thread with those of a
client (`same_content`). No I/O. Which messages are new is decided in `plan`.

| role | converted | left out |
|---|---|---|
| user | text; media by its source, with the name of the file | other metadata, other kinds of parts |
| system, developer | text | |
| assistant | text, calls whose arguments are an object; nothing of a message without either | other calls |
| tool | text and media; an error if the field `error` says why the call failed | a status in the metadata |
| reasoning, activity | nothing | everything |

All of them keep their id, which must be valid, and their name. Anything that only a server may say is left out:
encrypted values and signatures, metadata, whatever AG-UI has no field for, and all messages of a subagent, which do not
belong to the thread. So no reducer can take a message of a client for a removal or an overwrite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeGuard

import orjson
from ag_ui.core import AssistantMessage, Message, ToolCall
from ag_ui.core import ToolMessage as ToolResult
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic import BaseModel

from ...translator import to_agui_messages, to_langchain_messages
from ..errors import InvalidInputError, id_error

Wire = dict[str, Any]

REMOVE_ALL_MESSAGES: Final = "__remove_all__"
"""LangGraph's id for the removal of all messages. It is repeated here because importing LangGraph's module that defines
it imports an HTTP client."""
_SAME_ROLE: Final[Mapping[str, tuple[str, ...]]] = {
    "user": ("user",),
    "assistant": ("assistant",),
    "tool": ("tool",),
    "system": ("system", "developer"),
    "developer": ("system", "developer"),
}
"""The roles that a message may be stored with, by the role it was sent with. Other roles are not converted."""
_SOURCE_FIELDS: Final = ("type", "value", "mimeType", "provider")
_FILE_NAMES: Final = ("filename", "title")
_UNANSWERED: Final = "This call was not run: the user continued without it."


def to_graph_messages(messages: Sequence[Message]) -> list[BaseMessage]:
    """Returns the LangChain messages for a graph, with the client's ids, as in the table above.

    A repeated message is converted once. Raises `InvalidInputError` for an invalid id, and if two different messages
    have the same id. The error names their positions in `messages`.
    """
    wires: dict[str, tuple[int, Wire]] = {}
    for index, message in enumerate(messages):
        if message.role not in _SAME_ROLE or message.subagent_run_id is not None:
            continue
        _check_id(message.id, index)
        wire = _allow(message)
        first, same = wires.setdefault(message.id, (index, wire))
        if same != wire:
            raise InvalidInputError(f"messages[{index}] has the same id as messages[{first}], but other content")
    converted = to_langchain_messages([wire for _, wire in wires.values()])
    return [message for message in map(_without_broken_calls, converted) if _has_content(message)]


def same_content(stored: Any, sent: Message) -> bool:
    """Whether a client's message has the same content as a message of the thread, which is an object or JSON, has for
    clients.

    Ids, names and metadata are not compared. It makes no difference whether a text is in one part or several, what
    white space surrounds it, how its lines end, or how media is written. The client may lack tool calls, because they
    may have been hidden from it. A message that was truncated for the client always counts as the same.
    """
    roles = _SAME_ROLE.get(sent.role, ())
    own = next((message for message in to_agui_messages([stored]) if message.role in roles), None)
    if own is None:
        return False
    if _is_object(sent.metadata) and sent.metadata.get("truncated") is True:
        return True
    if isinstance(sent, ToolResult):
        return _is_result(own.content, sent)
    if isinstance(sent, AssistantMessage) and isinstance(own, AssistantMessage):
        calls = [_comparable_call(call) for call in own.tool_calls or ()]
        if any(_comparable_call(call) not in calls for call in sent.tool_calls or ()):
            return False
    return _comparable(own.content) == _comparable(_as_stored(sent).content)


def is_from_user(stored: Any) -> bool:
    """Whether a message of the thread, which is an object or JSON, is from a user."""
    return any(message.role == "user" for message in to_agui_messages([stored]))


def is_result(stored: Any) -> bool:
    """Whether a message of the thread, which is an object or JSON, is the result of a tool call."""
    return any(message.role == "tool" for message in to_agui_messages([stored]))


def left_unanswered(call_id: str, name: str) -> ToolMessage:
    """Returns the result for a call that was not run, which says so. The same call gives the same message."""
    return ToolMessage(_UNANSWERED, tool_call_id=call_id, name=name, id=f"{call_id}-unanswered", status="error")


def as_json(message: BaseMessage) -> dict[str, Any]:
    """Returns a message as JSON from which a platform makes an equal message. For messages of `to_graph_messages`."""
    wire: dict[str, Any] = {"type": message.type, "content": message.content, "id": message.id}
    if isinstance(message, AIMessage) and message.tool_calls:
        wire["tool_calls"] = message.tool_calls
    if isinstance(message, ToolMessage):
        wire |= {"tool_call_id": message.tool_call_id, "status": message.status}
    for name in ("name", "additional_kwargs"):
        if value := getattr(message, name):
            wire[name] = value
    return wire


def _check_id(message_id: str, index: int) -> None:
    field = f"id of messages[{index}]"
    if (reason := id_error(field, message_id, in_url=False)) is not None:
        raise InvalidInputError(reason)
    if message_id == REMOVE_ALL_MESSAGES:
        raise InvalidInputError(f"The {field} is reserved by LangGraph.")


def _allow(message: Message) -> Wire:
    """Returns the parts of a message that may be converted, as JSON."""
    wire: Wire = {"id": message.id, "role": message.role}
    if not isinstance(message, ToolResult) and (name := getattr(message, "name", None)):
        wire["name"] = name
    wire["content"] = _allow_content(message.content)
    if isinstance(message, ToolResult):
        wire |= {"toolCallId": message.tool_call_id, "error": message.error}
    if isinstance(message, AssistantMessage):
        wire["toolCalls"] = [_allow_call(call) for call in message.tool_calls or () if call.id]
    return wire


def _allow_call(call: ToolCall) -> Wire:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _allow_content(content: Any) -> str | list[Wire]:
    if not isinstance(content, list):
        return content or ""
    return [_allow_part(part.model_dump(by_alias=True)) for part in content] or ""


def _allow_part(part: Wire) -> Wire:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    wire = {"type": part["type"], "source": {key: part["source"].get(key) for key in _SOURCE_FIELDS}}
    metadata = part.get("metadata")
    if not _is_object(metadata):
        return wire
    names = {key: metadata[key] for key in _FILE_NAMES if isinstance(metadata.get(key), str)}
    return {**wire, "metadata": names} if names else wire


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _without_broken_calls(message: BaseMessage) -> BaseMessage:
    """Removes calls whose arguments are not an object. They can't be run, and a platform has no field for them."""
    return message.model_copy(update={"invalid_tool_calls": []}) if isinstance(message, AIMessage) else message


def _has_content(message: BaseMessage) -> bool:
    return not isinstance(message, AIMessage) or bool(message.content or message.tool_calls)


def _as_stored(sent: Any) -> Any:
    """Returns a client's message as it reads after it was stored. Media is stored in a single form."""
    if not isinstance(sent.content, list):
        return sent
    read = to_agui_messages(to_langchain_messages([sent]))
    return next((message for message in read if message.role == sent.role), sent)


def _is_result(stored: Any, sent: ToolResult) -> bool:
    """Whether a client's result is the stored one. Older clients send its parts as JSON text."""
    own = _comparable(stored)
    return own == _comparable(_as_stored(sent).content) or (
        isinstance(stored, list) and own == _comparable(_parse_json(sent.content))
    )


def _comparable(content: Any) -> list[Any]:
    """Returns the blocks to compare: texts, with adjacent ones joined, and media as pairs of a kind and a source."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    blocks: list[Any] = []
    for item in parts:
        part = item.model_dump(by_alias=True, exclude_none=True) if isinstance(item, BaseModel) else item
        if not _is_object(part):
            continue
        text = part.get("text") if part.get("type") == "text" else None
        if isinstance(text, str) and blocks and isinstance(blocks[-1], str):
            blocks[-1] += text
        elif isinstance(text, str):
            blocks.append(text)
        elif _is_object(part.get("source")):
            blocks.append((part.get("type"), part["source"]))
    texts = (item.replace("\r\n", "\n").strip() if isinstance(item, str) else item for item in blocks)
    return [item for item in texts if item != ""]


def _parse_json(text: Any) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _comparable_call(call: ToolCall) -> tuple[str, str, str]:
    arguments = call.function.arguments
    with suppress(ValueError, TypeError):  # text that is not JSON, or too deep to write, is compared as is
        arguments = orjson.dumps(orjson.loads(arguments or "{}"), option=orjson.OPT_SORT_KEYS).decode()
    return call.id, call.function.name, arguments
