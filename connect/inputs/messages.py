"""A client's messages on their way into a graph: `taken`; and whether a thread's message is what the client sends:
`same_content`. No I/O, and never which of the messages are new (`plan`).

What is taken of each role:

| role | is taken | stays outside |
|---|---|---|
| user | text; media by its source, with the name of the file | other metadata, other kinds of parts |
| system, developer | text | |
| assistant | text, calls whose arguments are an object; nothing of a message without either | other calls |
| tool | text and media; as an error if it says why it failed (`error`) | what its metadata says of its status |
| reasoning, activity | nothing | |

Of all of them the id, which must be one, and the name. Outside stays what only a server may say: encrypted values and
signatures, metadata, whatever AG-UI has no field for, and all messages of a subagent (it is no part of a thread). So
nothing that comes in can be read as a removal or as an overwrite by a reducer.
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
"""LangGraph's id of the removal of every message; its own module for it imports its HTTP client."""
_SAME_ROLE: Final[Mapping[str, tuple[str, ...]]] = {
    "user": ("user",),
    "assistant": ("assistant",),
    "tool": ("tool",),
    "system": ("system", "developer"),
    "developer": ("system", "developer"),
}
"""By the role of a sent message, the roles that it may be stored with. Other roles are not taken."""
_SOURCE_FIELDS: Final = ("type", "value", "mimeType", "provider")
_FILE_NAMES: Final = ("filename", "title")
_UNANSWERED: Final = "This call was not run: the user continued without it."


def taken(messages: Sequence[Message]) -> list[BaseMessage]:
    """The LangChain messages that go into a graph, with the client's ids; see the table above.

    A message that comes twice is taken once. Raises `InvalidInputError` for an id that can be none, and for one that
    two messages have; it names their places in `messages`.
    """
    wires: dict[str, tuple[int, Wire]] = {}
    for index, message in enumerate(messages):
        if message.role not in _SAME_ROLE or message.subagent_run_id is not None:
            continue
        _check_id(message.id, index)
        wire = _allowed(message)
        first, same = wires.setdefault(message.id, (index, wire))
        if same != wire:
            raise InvalidInputError(f"messages[{index}] has the id of messages[{first}], and says something else")
    found = to_langchain_messages([wire for _, wire in wires.values()])
    return [message for message in map(_without_broken_calls, found) if _speaks(message)]


def same_content(stored: Any, sent: Message) -> bool:
    """Whether a client's message has the content that a thread's message, an object or its JSON, has for a client.

    Ids, names and metadata do not count; nor does whether a text is one part or several, what white space is around it,
    how its lines end, or how media is written down.
    Calls that a client does not have may have been hidden from it. Of a message that was truncated for it, it has no
    other content.
    """
    kinds = _SAME_ROLE.get(sent.role, ())
    kept = next((message for message in to_agui_messages([stored]) if message.role in kinds), None)
    if kept is None:
        return False
    if _is_object(sent.metadata) and sent.metadata.get("truncated") is True:
        return True
    if isinstance(sent, ToolResult):
        return _is_result(kept.content, sent)
    if isinstance(sent, AssistantMessage) and isinstance(kept, AssistantMessage):
        calls = [_comparable_call(call) for call in kept.tool_calls or ()]
        if any(_comparable_call(call) not in calls for call in sent.tool_calls or ()):
            return False
    return _comparable(kept.content) == _comparable(_as_stored(sent).content)


def is_from_user(stored: Any) -> bool:
    """Whether a thread's message, an object or its JSON, is a user's."""
    return any(message.role == "user" for message in to_agui_messages([stored]))


def left_unanswered(call_id: str, name: str) -> ToolMessage:
    """The result of a call that was left unanswered: that it was not run. The same call gives the same message."""
    return ToolMessage(_UNANSWERED, tool_call_id=call_id, name=name, id=f"{call_id}-unanswered", status="error")


def as_json(message: BaseMessage) -> dict[str, Any]:
    """A message as a platform takes it, which makes an equal one of it. For messages that come from here."""
    found: dict[str, Any] = {"type": message.type, "content": message.content, "id": message.id}
    if isinstance(message, AIMessage) and message.tool_calls:
        found["tool_calls"] = message.tool_calls
    if isinstance(message, ToolMessage):
        found |= {"tool_call_id": message.tool_call_id, "status": message.status}
    for name in ("name", "additional_kwargs"):
        if value := getattr(message, name):
            found[name] = value
    return found


def _check_id(message_id: str, index: int) -> None:
    what = f"id of messages[{index}]"
    if (reason := id_error(what, message_id, in_url=False)) is not None:
        raise InvalidInputError(reason)
    if message_id == REMOVE_ALL_MESSAGES:
        raise InvalidInputError(f"The {what} is one that LangGraph keeps for itself.")


def _allowed(message: Message) -> Wire:
    """What may be taken of a message, in its wire form."""
    wire: Wire = {"id": message.id, "role": message.role}
    if not isinstance(message, ToolResult) and (name := getattr(message, "name", None)):
        wire["name"] = name
    wire["content"] = _allowed_content(message.content)
    if isinstance(message, ToolResult):
        wire |= {"toolCallId": message.tool_call_id, "error": message.error}
    if isinstance(message, AssistantMessage):
        wire["toolCalls"] = [_allowed_call(call) for call in message.tool_calls or () if call.id]
    return wire


def _allowed_call(call: ToolCall) -> Wire:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _allowed_content(content: Any) -> str | list[Wire]:
    if not isinstance(content, list):
        return content or ""
    return [_allowed_part(part.model_dump(by_alias=True)) for part in content] or ""


def _allowed_part(part: Wire) -> Wire:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    found = {"type": part["type"], "source": {key: part["source"].get(key) for key in _SOURCE_FIELDS}}
    given = part.get("metadata")
    names = {key: given[key] for key in _FILE_NAMES if isinstance(given.get(key), str)} if _is_object(given) else {}
    return {**found, "metadata": names} if names else found


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _without_broken_calls(message: BaseMessage) -> BaseMessage:
    """A call whose arguments are no object: it can't be run, and a platform has no field for it."""
    return message.model_copy(update={"invalid_tool_calls": []}) if isinstance(message, AIMessage) else message


def _speaks(message: BaseMessage) -> bool:
    return not isinstance(message, AIMessage) or bool(message.content or message.tool_calls)


def _as_stored(sent: Any) -> Any:
    """A client's message as it reads when it has been stored: media in the one form that it is stored in."""
    if not isinstance(sent.content, list):
        return sent
    read = to_agui_messages(to_langchain_messages([sent]))
    return next((message for message in read if message.role == sent.role), sent)


def _is_result(kept: Any, sent: ToolResult) -> bool:
    """Whether a client sends a stored result: whole, or with its parts as text, as older clients have it."""
    mine = _comparable(kept)
    return mine == _comparable(_as_stored(sent).content) or (
        isinstance(kept, list) and mine == _comparable(_parsed(sent.content))
    )


def _comparable(content: Any) -> list[Any]:
    """The blocks that are compared: texts, adjacent ones joined, and media, each by its kind and its source."""
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


def _parsed(text: Any) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _comparable_call(call: ToolCall) -> tuple[str, str, str]:
    arguments = call.function.arguments
    with suppress(ValueError, TypeError):  # not JSON, or too deep to be written: it compares as text
        arguments = orjson.dumps(orjson.loads(arguments or "{}"), option=orjson.OPT_SORT_KEYS).decode()
    return call.id, call.function.name, arguments
