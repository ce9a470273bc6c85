"""Converts LangChain messages to AG-UI messages. `to_agui` makes the messages that a client gets for a stored message.
`to_agui_messages` makes messages that can be converted back. This module knows nothing about streams or events.

Rules:

1. One stored message becomes zero, one or several wire messages. The result depends only on the message, its position
   and the options.
2. A `human` message gets the role user, an `ai` message the role assistant, and a `tool` message the role tool. A chat
   message keeps the roles user, assistant and system. A chat message with another role becomes an assistant message
   with that role as its name. Function messages, which come from the time before OpenAI's tool calls, are left out,
   because a client cannot know the call that they answer. System and developer messages are never visible. User
   messages that a middleware wrote for the model, such as a summary, are not visible either. LangChain's middlewares
   mark them with `lc_source`
   (https://github.com/langchain-ai/langchain/blob/master/libs/langchain_v1/langchain/agents/middleware/summarization.py).
3. The content of a user message stays a string if it is one. Any other content becomes a list of content parts. A block
   that is neither text nor media is left out, and so are media whose source AG-UI cannot express. The callback `report`
   receives the error.
4. The content of a tool result becomes a string. If it contains media, it becomes a list of content parts. Clients
   older than 1.0 refuse content parts in a tool result, so they get the parts as JSON text. Content that is neither
   text nor media becomes compact JSON.
5. A tool result that is longer than the limit is truncated and loses its media. Its metadata contains the original
   size.
6. The content of an assistant message is read with `read_content`, as in a stream. The text of all `Text` blocks is
   joined, and the tool calls keep the order in which they are first mentioned. The wire messages have this order: a
   reasoning message for each reasoning block, the assistant message, activities for media, and the results of tools
   that the provider ran itself.
7. A reasoning block that contains neither text nor an encrypted value does not become a message. It still counts when
   reasoning blocks are numbered.
8. A tool call without a name is left out, because a client cannot use it. A message that contains nothing but hidden
   tool calls is left out. A message without any content becomes an empty message.
9. The result of `to_agui_messages` also contains messages that a front end does not display: system and developer
   messages, and user messages from middlewares. It contains the full text of tool results. `metadata.langchain`
   contains the LangChain fields for which AG-UI has no field, so that `to_langchain_messages` can restore them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ag_ui.core import Message
from pydantic import TypeAdapter

from ..content.blocks import (
    Block,
    Citation,
    Encrypted,
    Media,
    Reasoning,
    ServerResult,
    Signature,
    Text,
    ToolCallBlock,
    Unknown,
)
from ..content.media import part_of
from ..content.read_blocks import Report, finish_reason, kind_of_block, log_unreadable, read_content, text_of
from ..content.reasoning import ReasoningBlocks
from ..content.server_tools import result_text
from ..jsonable.to_json import to_json
from ..losses import Losses, Reason
from ..options import Options
from ..parts.message import as_name, fields_of, kind_of
from ..wire import ids
from ..wire.events import Event
from ..wire.older_clients import result_content
from .ordinary import ordinary, with_failure

AG_UI_MESSAGE: Final = TypeAdapter[Message](Message)
"""Validates AG-UI messages and converts them to models."""
METADATA_KEY: Final = "langchain"
"""The metadata key under which an AG-UI message keeps values for which AG-UI has no field."""
ORIGINAL_FIELDS: Final = ("content", "additional_kwargs", "response_metadata")
"""The LangChain fields of an assistant message that are kept in the metadata if the AG-UI message does not contain
their value."""
_log = logging.getLogger(__name__)
_EVERYTHING: Final = Options(result_limit=None)
_KIND_OF_ROLE: Final = {"user": "human", "human": "human", "system": "system", "developer": "system"}
_TEXT_BLOCKS: Final = frozenset({"text", "output_text", "input_text"})


def to_agui(message: Any, position: int, options: Options, losses: Losses | None = None) -> list[Event]:
    """Converts one stored message to its wire messages. The list is empty if the message is not visible, as is the case
    for system messages, summaries from middlewares, removals, and values that are not messages.

    `message`: the message, as an object or as JSON.
    `position`: the position in the list of messages. A message without an id gets an id derived from this position.
    `options`: decides which contents are visible.
    `losses`: counts and logs the contents that are left out; None if the message does not belong to a run.
    """
    fields = fields_of(message)
    if (wire := ordinary(fields, options)) is not None:
        return [wire]
    kind, role = kind_and_role(fields)
    message_id = id_of(fields, position)
    if kind == "ai":
        return _assistant(fields, message_id, role, options, losses)
    if kind == "human" and _middleware(fields) is None:
        return [_user(fields, message_id, log_unreadable if losses is None else losses.block)]
    if kind == "tool" and options.tool_results and as_name(fields.get("name")) not in options.hidden_tools:
        return [_tool(fields, message_id, options)]
    if losses is not None and kind:
        losses.drop("message", message_id, Reason.OPTION if kind == "tool" else Reason.NOT_DISPLAYED)
    return []


def to_agui_messages(messages: Iterable[Any]) -> list[Message]:
    """Converts LangChain messages to AG-UI messages (`ag_ui.core` models) that `to_langchain_messages` can convert
    back.

    The result contains more than a front end displays. It includes system and developer messages, middleware summaries
    and complete results. An assistant message keeps its content blocks, `additional_kwargs` and `response_metadata`
    under `metadata.langchain`. Fields of other messages for which AG-UI has no field, such as a tool message's
    `artifact`, are left out.

    Accepts messages in any form that LangGraph accepts, and never raises an exception. A message that cannot be read,
    or that AG-UI cannot express, is left out and a warning is logged.
    """
    converted: list[Message] = []
    for position, message in enumerate(messages):
        try:
            wires = _complete(message, position)
            if not wires:
                _log.warning(
                    "A message of type %r is left out: AG-UI has no such message type.", kind_of(fields_of(message))
                )
            converted += [AG_UI_MESSAGE.validate_python(to_json(wire)) for wire in wires]
        except Exception as error:
            _log.warning("A message is left out: %s", error)
    return converted


def id_of(fields: Mapping[str, Any], position: int) -> str:
    """Returns the id of a stored message. If the message has no id, one is derived from its position."""
    return as_name(fields.get("id")) or ids.position_id(position)


def result_message(message_id: str, result: ServerResult, options: Options) -> Event:
    """Returns the wire message for the result of a tool that the provider ran itself."""
    fields = {
        "content": result.content,
        "tool_call_id": result.call_id,
        "status": "error" if result.error else "success",
    }
    return _tool(fields, ids.result_id(message_id, result.call_id), options)


def kind_and_role(fields: Mapping[str, Any]) -> tuple[str, str | None]:
    """Returns a message's kind, and the name that a chat message gets from its role (rule 2). The kind is the result of
    `kind_of`, except for chat messages."""
    kind = kind_of(fields)
    if kind != "chat":
        return kind, None
    role = as_name(fields.get("role"))
    kind = _KIND_OF_ROLE.get(role or "", "ai")
    return kind, role if kind == "ai" and role not in ("assistant", "ai") else None


class _Answer:
    """The content of a stored assistant message, sorted by kind."""

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.text = ""
        self.calls: list[Event] = []
        self.reasoning: list[Event] = []
        self.results: list[ServerResult] = []
        self.media: list[Event] = []
        self.citations: list[Event] = []
        self.signatures: dict[str | None, str] = {}
        """A mapping from tool call ids to signatures. The key for the signature of the answer itself is None."""
        self.unknown: list[str] = []
        """The types of the content blocks that were not recognized."""
        self._placing = ReasoningBlocks()
        self._server_call = ""

    def add(self, block: Block) -> None:
        """Adds the next content block."""
        match block:
            case Text():
                self.text += block.text
            case Reasoning() | Encrypted():
                self._add_reasoning(block)
            case ToolCallBlock():
                call_id = block.id or ids.call_id(self.message_id, len(self.calls))
                function = {"name": block.name or "", "arguments": block.args or ""}
                self.calls.append({"id": call_id, "type": "function", "function": function})
                self._server_call = call_id if block.server else self._server_call
            case ServerResult():
                self.results.append(ServerResult(block.call_id or self._server_call, block.content, block.error))
            case Media():
                number = len(self.media)
                media_id = ids.media_id(self.message_id, number)
                media = {"id": media_id, "role": "activity", "activityType": "media", "content": block.part}
                self.media.append(media)
            case Citation():
                self.citations.append(block.citation)
            case Signature():
                self.signatures[block.call_id] = block.value
            case Unknown():
                self.unknown.append(block.kind)

    def _add_reasoning(self, block: Reasoning | Encrypted) -> None:
        placed = self._placing.place(block)
        if placed.ordinal == len(self.reasoning):
            own_id = ids.reasoning_id(self.message_id, placed.ordinal)
            self.reasoning.append({"id": own_id, "role": "reasoning", "content": ""})
        message = self.reasoning[placed.ordinal]
        message["id"] = placed.id or message["id"]
        message["content"] += placed.delta
        if placed.encrypted:
            message["encryptedValue"] = placed.encrypted


def _middleware(fields: Mapping[str, Any]) -> str | None:
    """Returns the name of the middleware that wrote a user message, or None. The middlewares of LangChain and
    deepagents mark their messages with `lc_source`."""
    kwargs = fields.get("additional_kwargs")
    return as_name(kwargs.get("lc_source")) if isinstance(kwargs, Mapping) else None


def _assistant(
    fields: Mapping[str, Any], message_id: str, role: str | None, options: Options, losses: Losses | None
) -> list[Event]:
    answer = _Answer(message_id)
    for block in read_content(fields, whole=True, report=log_unreadable if losses is None else losses.block):
        answer.add(block)
    if losses is not None:
        _log_left_out(answer, options, losses)
    hidden = {call["id"] for call in answer.calls if call["function"]["name"] in options.hidden_tools}
    calls = [call for call in answer.calls if call["id"] not in hidden and call["function"]["name"]]
    wires = [one for one in answer.reasoning if one["content"] or "encryptedValue" in one] if options.reasoning else []
    if answer.text or calls or not hidden:
        wires.append(_answer_message(answer, calls, fields, role))
    wires += answer.media
    if options.tool_results:
        wires += [result_message(message_id, one, options) for one in answer.results if one.call_id not in hidden]
    return wires


def _log_left_out(answer: _Answer, options: Options, losses: Losses) -> None:
    for call in answer.calls:
        name = call["function"]["name"]
        if not name or name in options.hidden_tools:
            losses.drop("tool call", call["id"], Reason.OPTION if name else Reason.NO_NAME)
    if answer.reasoning and not options.reasoning:
        losses.drop("reasoning of the message", answer.message_id, Reason.OPTION)
    for kind in answer.unknown:
        losses.drop("content block", kind, Reason.UNKNOWN_BLOCK)
    for result in answer.results if not options.tool_results else ():
        losses.drop("result", ids.result_id(answer.message_id, result.call_id), Reason.OPTION)


def _answer_message(answer: _Answer, calls: list[Event], fields: Mapping[str, Any], role: str | None) -> Event:
    """Returns the assistant message with its visible tool calls."""
    message: Event = {"id": answer.message_id, "role": "assistant"}
    if answer.text or not calls:
        message["content"] = answer.text
    if calls:
        message["toolCalls"] = calls
    for call in calls:
        if call["id"] in answer.signatures:
            call["encryptedValue"] = answer.signatures[call["id"]]
    message |= _name(fields, role)
    if None in answer.signatures:
        message["encryptedValue"] = answer.signatures[None]
    metadata: Event = {"citations": answer.citations} if answer.citations else {}
    if reason := finish_reason(fields):
        metadata["finishReason"] = reason
    if metadata:
        message["metadata"] = metadata
    return message


def _name(fields: Mapping[str, Any], role: str | None) -> Event:
    """Returns a dict with the field `name` for an assistant message. The value is the message's own name or, without
    one, the name from its role. The dict is empty if the message has neither."""
    return {"name": name} if (name := as_name(fields.get("name")) or role) else {}


def _complete(message: Any, position: int) -> list[Event]:
    """Converts one message to wire messages for `to_agui_messages` (rule 9)."""
    fields = fields_of(message)
    kind, _ = kind_and_role(fields)
    message_id = id_of(fields, position)
    if kind == "system":
        return [_system(fields, message_id)]
    if kind == "human":
        wire = _user(fields, message_id, log_unreadable)
        if middleware := _middleware(fields):
            wire["metadata"] = {METADATA_KEY: {"lc_source": middleware}}
        return [wire]
    wires = to_agui(message, position, _EVERYTHING)
    if kind == "ai":
        itself = next(wire for wire in wires if wire["id"] == message_id)
        in_agui: tuple[Any, ...] = (None, {}, itself.get("content", ""))
        if original := {name: fields[name] for name in ORIGINAL_FIELDS if fields.get(name) not in in_agui}:
            itself["metadata"] = {**itself.get("metadata", {}), METADATA_KEY: original}
    return wires


def _system(fields: Mapping[str, Any], message_id: str) -> Event:
    kwargs = fields.get("additional_kwargs")
    marked = isinstance(kwargs, Mapping) and kwargs.get("__openai_role__") == "developer"
    role = "developer" if marked or "developer" in (fields.get("role"), fields.get("type")) else "system"
    message = {"id": message_id, "role": role, "content": text_of(fields)}
    return message | ({"name": fields["name"]} if isinstance(fields.get("name"), str) else {})


def _user(fields: Mapping[str, Any], message_id: str, report: Report) -> Event:
    content = fields.get("content")
    message: Event = {"id": message_id, "role": "user"}
    message["content"] = content if issubclass(type(content), str) else _parts(content, fields, report)
    if name := as_name(fields.get("name")):
        message["name"] = name
    return message


def _tool(fields: Mapping[str, Any], message_id: str, options: Options) -> Event:
    content, metadata = _tool_content(fields.get("content"), options)
    call_id = fields.get("tool_call_id")
    message: Event = {"id": message_id, "role": "tool", "content": content}
    message["toolCallId"] = call_id if isinstance(call_id, str) else ""
    if metadata:
        message["metadata"] = metadata
    return with_failure(message) if fields.get("status") == "error" else message


def _tool_content(content: Any, options: Options) -> tuple[str | list[Event], Event]:
    """Returns a tool result's wire content and the metadata fields for truncated content (rules 4 and 5)."""
    wire = _tool_parts(content)
    limit = options.result_limit
    if isinstance(wire, str):
        if limit is None or len(wire) <= limit:
            return wire, {}
        return wire[:limit], {"truncated": True, "size": len(wire)}
    size = sum(len(part["text"]) if part["type"] == "text" else len(part["source"]["value"]) for part in wire)
    if limit is None or size <= limit:
        return result_content(wire, options.protocol_version), {}
    text = "".join(part["text"] for part in wire if part["type"] == "text")
    return text[:limit], {"truncated": True, "size": size}


def _tool_parts(content: Any) -> str | list[Event]:
    if not issubclass(type(content), (list, tuple)):  # `isinstance` would read an attribute, which may raise an error
        return result_text(content)
    try:
        parts = [_part(block) for block in content]
    except Exception:  # the form of a block is unknown, so the client gets the whole content as JSON
        return result_text(content)
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _parts(content: Any, fields: Mapping[str, Any], report: Report) -> list[Event]:
    parts: list[Event] = []
    for block in content if issubclass(type(content), (list, tuple)) else [content]:
        try:
            parts.append(_part(block))
        except Exception as error:
            report(fields, error)
    return parts


def _part(block: Any) -> Event:
    """Converts one block to a content part. Raises an exception if the block is neither text nor media."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if kind_of_block(block) in _TEXT_BLOCKS and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    return part_of(block)
