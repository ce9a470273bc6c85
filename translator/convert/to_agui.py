"""LangChain messages as AG-UI messages: `shown`, what a client is to hold of a checkpoint, and `to_agui_messages`.

Nothing here knows a stream or an event. The assistant's side is in `assistant_message`.

Rules
1. One stored message becomes no, one or several wire messages, by that message and the options alone.
2. Roles: human is user, ai is assistant, tool is tool. A chat message keeps the role user, assistant or system; any
   other role is an assistant of that name. A function message (OpenAI's calls before there were tools) belongs to no
   call that a client could hold, and is not told. System and developer messages are never shown.
3. A user's content is text, or content parts where it is a list. What is neither text nor media is left out.
4. A tool's content is its text; where it has media, content parts (as text for clients older than 1.0, which refuse
   parts there); anything else, compact JSON.
5. `to_agui_messages` tells more than a front end is to see: system and developer messages, results whole, errors also
   in `error`, and under `metadata.langchain` what only LangChain has words for, so that it can go back.
6. A tool result beyond the limit is cut, with its true size in metadata; media beyond it is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ag_ui.core import Message
from pydantic import TypeAdapter

from ..content.blocks import ServerResult
from ..content.media import is_media_block, part_of
from ..content.reader import Report, kind_of_block, log_unreadable, text_of
from ..content.reasoning import METADATA_KEY, reasoning_forms
from ..content.server_tools import result_text
from ..jsonable.to_json import to_json
from ..options import Options
from ..parts.message import fields, kind_of
from ..wire import ids
from ..wire.older_clients import parts_as_text
from .assistant import (
    AssistantContent,
    Wire,
    assistant_message,
    is_text,
    media_message,
    reasoning_message,
    text_message,
)

_log = logging.getLogger(__name__)
_MESSAGE: Final = TypeAdapter[Message](Message)
_EVERYTHING: Final = Options(result_limit=None)
_TEXT_BLOCKS: Final = frozenset({"text", "output_text", "input_text"})


def to_agui(message: Any, position: int, options: Options, report: Report = log_unreadable) -> list[Wire]:
    """The wire messages that one stored message becomes.

    Takes the message (an object or its JSON), its position in the list of messages, which names it if it has no id, the
    options that say what is visible, and `report`, which takes the errors of its content blocks. Gives [] for what is
    not visible: system messages, removals, no messages at all.
    """
    view = fields(message)
    kind, role = _speaker(view)
    message_id = id_of(view, position)
    if kind == "ai":
        return _assistant(view, message_id, role, options, report)
    if kind == "human":
        return [_user(view, message_id, report)]
    if kind == "tool" and options.tool_results and not _is_hidden(view.get("name"), options):
        return [_tool(view, message_id, options)]
    return []


def to_agui_messages(messages: Iterable[Any]) -> list[Message]:
    """AG-UI messages (`ag_ui.core` models) that say what the LangChain messages say; see rule 5.

    Takes messages in any form LangGraph knows. Nothing raises: what can't be read, or AG-UI has no message for, is
    passed over, with a warning in the log.
    """
    told: list[Message] = []
    for position, message in enumerate(messages):
        try:
            wires = _whole(message, position)
            if not wires:
                _log.warning("a %s message is passed over: AG-UI has none like it", kind_of(fields(message)) or "non-")
            told += [_MESSAGE.validate_python(to_json(wire)) for wire in wires]
        except Exception as error:
            _log.warning("a message is passed over: %s", error)
    return told


def id_of(view: Mapping[str, Any], position: int) -> str:
    """A stored message's id; by its position where it has none."""
    given = view.get("id")
    return given if isinstance(given, str) and given else f"message-{position}"


def _tool_content(content: Any, options: Options) -> tuple[str | list[Wire], Wire]:
    """A tool result's wire content, and what its metadata says of its size."""
    told = _tool_parts(content)
    limit = options.result_limit
    if isinstance(told, str):
        if limit is None or len(told) <= limit:
            return told, {}
        return told[:limit], {"truncated": True, "size": len(told)}
    size = sum(len(part["text"]) if part["type"] == "text" else len(part["source"]["value"]) for part in told)
    if limit is None or size <= limit:
        return parts_as_text(told) if options.legacy else told, {}
    text = "".join(part["text"] for part in told if part["type"] == "text")
    return text[:limit], {"truncated": True, "size": size}


def result_message(message_id: str, result: ServerResult, options: Options) -> Wire:
    """The wire message of a result of a tool the provider ran."""
    view = {"content": result.content, "tool_call_id": result.call_id, "status": "error" if result.error else "success"}
    return _tool(view, ids.result_id(message_id, result.call_id), options)


def _speaker(view: Mapping[str, Any]) -> tuple[str, str | None]:
    """A message's kind, and the name that a role of its own gives it."""
    kind = kind_of(view)
    if kind != "chat":
        return kind, None
    role = view.get("role")
    if role in ("user", "human"):
        return "human", None
    if role in ("system", "developer"):
        return "system", None
    return "ai", role if isinstance(role, str) and role not in ("assistant", "ai") else None


def _is_hidden(name: Any, options: Options) -> bool:
    return isinstance(name, str) and name in options.hidden_tools


def _assistant(
    view: Mapping[str, Any], message_id: str, role: str | None, options: Options, report: Report
) -> list[Wire]:
    if is_text(view):
        return [text_message(view, message_id, view.get("name") or role)]
    said = AssistantContent(view, message_id, report)
    hidden = {call["id"] for call in said.calls if call["function"]["name"] in options.hidden_tools}
    calls = [call for call in said.calls if call["id"] not in hidden and call["function"]["name"]]
    told: list[Wire] = []
    if options.reasoning:
        told += [reasoning_message(thought) for thought in said.thoughts if thought.text or thought.encrypted]
    if said.text or calls or not hidden:
        told.append(assistant_message(said, calls, view.get("name") or role))
    told += [media_message(message_id, number, part) for number, part in enumerate(said.media)]
    if options.tool_results:
        told += [result_message(message_id, item, options) for item in said.results if item.call_id not in hidden]
    return told


def _whole(message: Any, position: int) -> list[Wire]:
    """All that a message says, for `to_agui_messages`."""
    view = fields(message)
    kind, role = _speaker(view)
    message_id = id_of(view, position)
    if kind == "system":
        return [_system(view, message_id)]
    if kind == "tool":
        wire = _tool(view, message_id, _EVERYTHING)
        if view.get("status") == "error":
            wire["error"] = wire["content"] if isinstance(wire["content"], str) else "error"
        return [wire]
    if kind != "ai":
        return to_agui(message, position, _EVERYTHING)
    said = AssistantContent(view, message_id)
    told = []
    for thought, form in zip(said.thoughts, reasoning_forms(said.pieces), strict=True):
        if thought.text or thought.encrypted or not ids.is_reasoning_of(thought.id, message_id):
            told.append({**reasoning_message(thought), "metadata": {METADATA_KEY: form}})
    for call in said.calls:
        if call["id"] in said.server_calls:
            call["metadata"] = {METADATA_KEY: {"server": True}}
    told.append(assistant_message(said, said.calls, view.get("name") or role))
    told += [media_message(message_id, number, part) for number, part in enumerate(said.media)]
    return told + [result_message(message_id, result, _EVERYTHING) for result in said.results]


def _system(view: Mapping[str, Any], message_id: str) -> Wire:
    kwargs = view.get("additional_kwargs")
    marked = isinstance(kwargs, Mapping) and kwargs.get("__openai_role__") == "developer"
    role = "developer" if marked or "developer" in (view.get("role"), view.get("type")) else "system"
    message = {"id": message_id, "role": role, "content": text_of(view)}
    return message | ({"name": view["name"]} if isinstance(view.get("name"), str) else {})


def _user(view: Mapping[str, Any], message_id: str, report: Report) -> Wire:
    content = view.get("content")
    message: Wire = {"id": message_id, "role": "user"}
    message["content"] = content if issubclass(type(content), str) else _parts(content, view, report)
    if isinstance(view.get("name"), str) and view["name"]:
        message["name"] = view["name"]
    return message


def _tool(view: Mapping[str, Any], message_id: str, options: Options) -> Wire:
    content, metadata = _tool_content(view.get("content"), options)
    call_id = view.get("tool_call_id")
    if view.get("status") == "error":
        metadata["status"] = "error"
    message: Wire = {"id": message_id, "role": "tool", "content": content}
    message["toolCallId"] = call_id if isinstance(call_id, str) else ""
    if metadata:
        message["metadata"] = metadata
    return message


def _tool_parts(content: Any) -> str | list[Wire]:
    if not issubclass(type(content), list | tuple):  # asked in the content's place, which may raise at every look
        return result_text(content)
    try:
        parts = [_part(block) for block in content]
    except Exception:  # a block of no known form: the client gets the whole content as JSON
        return result_text(content)
    if None in parts:
        return result_text(content)
    told = [part for part in parts if part is not None]
    if all(part["type"] == "text" for part in told):
        return "".join(part["text"] for part in told)
    return told


def _parts(content: Any, view: Mapping[str, Any], report: Report) -> list[Wire]:
    parts: list[Wire] = []
    for block in content if issubclass(type(content), list | tuple) else [content]:
        try:
            part = _part(block)
        except Exception as error:
            report(view, error)
        else:
            parts += [] if part is None else [part]
    return parts


def _part(block: Any) -> Wire | None:
    """The content part of one block; None for what is neither text nor media."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = kind_of_block(block)
    if kind in _TEXT_BLOCKS:
        text = block.get("text")
        return {"type": "text", "text": text} if isinstance(text, str) else None
    return part_of(block) if is_media_block(kind) else None
