"""Converts AG-UI messages to LangChain messages. No ids are created.

Rules:

1. `to_agui_messages` adds the original content of an assistant message to its metadata. If this metadata is present,
   and the text has not changed since, the original content is restored. It includes the message's reasoning and media.
2. If the original content is not restored, the message's reasoning and media are added as LangChain's standard content
   blocks. Reasoning whose id comes from OpenAI's Responses API is added as a Responses API item. Other activities are
   left out, because they belong to the front end.
3. If the id of a reasoning message is derived from the id of an earlier assistant message, the reasoning belongs to
   that message. The reasoning follows its message if a client has joined in the middle of an answer. Any other
   reasoning message belongs to the next assistant message.
4. The arguments of a tool call are parsed. If they are not a JSON object, the tool call becomes an invalid tool call
   that contains the arguments as text.
5. A value that is not an AG-UI message is left out, and so is a content part that AG-UI or LangChain cannot express.
   Each of them is logged. If none of a message's content parts can be read, the whole message is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from ..content.blocks import Text, ToolCallBlock
from ..content.media import block_of
from ..content.read_blocks import CALL_SIGNATURES, read_content
from ..parts.message import as_name
from ..wire import ids
from .to_agui import AG_UI_MESSAGE, METADATA_KEY, ORIGINAL_FIELDS

_log = logging.getLogger(__name__)
_RESPONSES_ID: Final = "rs_"

Wire = Mapping[str, Any]


def to_langchain_messages(messages: Iterable[Any]) -> list[BaseMessage]:
    """Converts AG-UI messages to LangChain messages.

    Accepts `ag_ui.core` models or their wire form (camelCase dictionaries). The metadata fields under `langchain` are
    trusted, so remove them from messages that clients sent, as `connect` does. This function never raises an exception.
    A message or content part that cannot be read is left out, and a warning is logged.
    """
    reader = _Reader()
    for message in messages:
        try:
            try:
                reader.read(_wire(message))
            except Exception:
                reader.read(_wire(_without_unreadable_parts(message)))
        except Exception as error:
            _log.warning("An AG-UI message is left out: %s", error)
    return reader.messages()


def _without_unreadable_parts(message: Any) -> Any:
    """Returns a message without the content parts that AG-UI or LangChain cannot express, and logs each of these parts.
    If no part is left, the first part's error is raised."""
    wire = message.model_dump(by_alias=True) if isinstance(message, BaseModel) else message
    if not isinstance(wire, Mapping) or not isinstance(wire.get("content"), list):
        return message
    readable: list[Any] = []
    errors: list[Exception] = []
    for part in wire["content"]:
        try:
            _blocks(_wire({**wire, "content": [part]})["content"])
            readable.append(part)
        except Exception as error:
            errors.append(error)
    if errors and not readable:
        raise errors[0]
    for reason in errors:
        _log.warning("A part of the AG-UI message %r is left out: %s", wire.get("id"), reason)
    return {**wire, "content": readable}


def _wire(message: Any) -> Wire:
    return AG_UI_MESSAGE.validate_python(message).model_dump(by_alias=True)


class _Reader:
    def __init__(self) -> None:
        self._read: list[BaseMessage] = []
        self._reasoning: list[Wire] = []
        """The reasoning messages that belong to the next answer, which has not been read yet."""
        self._answers: dict[str, AIMessage] = {}
        """A mapping from the id of each answer to the message that gets the answer's reasoning and media."""
        self._last: AIMessage | None = None
        self._names: dict[str, str] = {}
        self._inside: set[str] = set()
        """The ids of the tool calls in restored original content. The results of these tool calls are also part of that
        content."""

    def read(self, wire: Wire) -> None:
        """Converts the next message, or keeps it until the answer that it belongs to has been read."""
        role = wire["role"]
        if role == "user":
            self._user(wire)
        elif role in ("system", "developer"):
            kwargs = {"__openai_role__": "developer"} if role == "developer" else {}
            message = SystemMessage(wire["content"], id=_id(wire), name=wire.get("name"), additional_kwargs=kwargs)
            self._read.append(message)
        elif role == "assistant":
            self._assistant(wire)
        elif role == "tool":
            self._tool(wire)
        elif role == "reasoning":
            self._thought(wire)
        elif wire["activityType"] == "media" and self._last is not None:
            block = block_of(wire["content"])
            _blocks_of(self._last).append(block)

    def messages(self) -> list[BaseMessage]:
        """Returns the converted messages in order. Logs a warning for each reasoning message that no answer follows."""
        for wire in self._reasoning:
            _log.warning("A reasoning message is left out: no answer follows it (id %r).", wire["id"])
        return self._read

    def _user(self, wire: Wire) -> None:
        message = HumanMessage(_blocks(wire["content"]), id=_id(wire), name=wire.get("name"))
        if middleware := _own(wire).get("lc_source"):
            message.additional_kwargs["lc_source"] = middleware
        self._read.append(message)

    def _assistant(self, wire: Wire) -> None:
        original, inside = _original(wire)
        self._inside |= inside
        calls = [call for call in wire.get("toolCalls") or () if call["id"] not in inside]
        message = _ai_message(wire, calls, original or _standard(wire, calls, self._reasoning))
        self._reasoning = []
        self._read.append(message)
        # original content already includes the reasoning and media, so they must not be added a second time
        self._last = self._answers[wire["id"]] = AIMessage("") if original else message
        self._names.update((call["id"], call["function"]["name"]) for call in calls)

    def _thought(self, wire: Wire) -> None:
        answer = self._answers.get(ids.message_of_reasoning(wire["id"]))
        if answer is None:
            self._reasoning.append(wire)
            return
        blocks = _blocks_of(answer)
        blocks.insert(sum(block["type"] == "reasoning" for block in blocks), _reasoning_block(wire))

    def _tool(self, wire: Wire) -> None:
        call_id, error = wire["toolCallId"], wire.get("error")
        if call_id in self._inside:
            return
        failed = error or _metadata(wire).get("status") == "error"
        self._read.append(
            ToolMessage(
                content=_blocks(wire["content"]) or error or "",
                tool_call_id=call_id,
                id=_id(wire),
                name=self._names.get(call_id) or None,
                status="error" if failed else "success",
            )
        )


def _original(wire: Wire) -> tuple[Wire, set[str]]:
    """Returns the original content of an assistant message, and the ids of the tool calls in that content. The provider
    ran these tools itself. Returns `({}, set())` if the original content is unknown, or if the message's text has
    changed since."""
    text = wire.get("content") or ""
    original_fields = {name: value for name, value in _own(wire).items() if name in ORIGINAL_FIELDS}
    original = {"content": text, **original_fields}
    blocks = read_content({"type": "ai", **original})
    if not original_fields or "".join(one.text for one in blocks if isinstance(one, Text)) != text:
        return {}, set()
    calls = [one for one in blocks if isinstance(one, ToolCallBlock)]
    return original, {call.id or ids.call_id(wire["id"], number) for number, call in enumerate(calls)}


def _ai_message(wire: Wire, calls: list[Wire], content: Wire) -> AIMessage:
    calls_by_field: dict[str, Any] = {"tool_calls": [], "invalid_tool_calls": []}
    for call in calls:
        kind, read = _call(call)
        calls_by_field[kind].append(read)
    return AIMessage(id=_id(wire), name=wire.get("name"), **calls_by_field, **content)


def _standard(wire: Wire, calls: list[Wire], reasoning: list[Wire]) -> Wire:
    """Converts an answer to fields for a LangChain message, with the content as standard content blocks. If the answer
    contains only text, its content stays a plain string."""
    text = wire.get("content") or ""
    last: dict[str, Any] = {"type": "text", "text": text}
    if citations := _metadata(wire).get("citations"):
        last["annotations"] = citations
    if signature := wire.get("encryptedValue"):
        last["extras"] = {"signature": signature}
    blocks = [_reasoning_block(each) for each in reasoning] + ([last] if text or len(last) > 2 else [])
    message_fields: dict[str, Any] = {"content": blocks if reasoning or len(last) > 2 else text}
    if signatures := {call["id"]: call["encryptedValue"] for call in calls if call.get("encryptedValue")}:
        message_fields["additional_kwargs"] = {CALL_SIGNATURES: signatures}
    if reason := _metadata(wire).get("finishReason"):
        message_fields["response_metadata"] = {"finish_reason": reason}
    return message_fields


def _blocks_of(message: AIMessage) -> list[Any]:
    """Returns a message's content as a list to which blocks can be added. Replaces plain text content with such a
    list."""
    if isinstance(message.content, str):
        message.content = [{"type": "text", "text": message.content}] if message.content else []
    return message.content


def _reasoning_block(wire: Wire) -> dict[str, Any]:
    """Converts a reasoning message to a standard content block. If its id comes from OpenAI's Responses API, the result
    is a Responses API item instead."""
    id_, text, encrypted = wire["id"], wire["content"], wire.get("encryptedValue")
    if id_.startswith(_RESPONSES_ID):
        summary = [{"type": "summary_text", "text": text}] if text else []
        item = {"type": "reasoning", "id": id_, "summary": summary}
        return {**item, "encrypted_content": encrypted} if encrypted else item
    block = {"type": "reasoning", "reasoning": text}
    return {**block, "extras": {"signature": encrypted}} if encrypted else block


def _call(call: Wire) -> tuple[str, dict[str, Any]]:
    """Returns the name of the LangChain message field for a tool call, and the tool call in LangChain's form."""
    name, text = call["function"]["name"], call["function"]["arguments"]
    try:
        args = orjson.loads(text) if text.strip() else {}
    except ValueError:
        args = None
    if isinstance(args, dict) and name:
        return "tool_calls", {"id": call["id"], "name": name, "args": args, "type": "tool_call"}
    read = {"id": call["id"], "name": name or None, "args": text, "error": None, "type": "invalid_tool_call"}
    return "invalid_tool_calls", read


def _blocks(content: str | list[Wire]) -> str | list[str | dict[Any, Any]]:
    """Converts the content of a user message or a tool result."""
    if isinstance(content, str):
        return content
    return [{"type": "text", "text": part["text"]} if part["type"] == "text" else block_of(part) for part in content]


def _id(wire: Wire) -> str | None:
    return as_name(wire["id"])


def _metadata(wire: Wire) -> Wire:
    return wire.get("metadata") or {}


def _own(wire: Wire) -> Wire:
    """Returns the metadata fields that `to_agui_messages` adds because AG-UI has no fields for their values."""
    value = _metadata(wire).get(METADATA_KEY)
    return value if isinstance(value, Mapping) else {}
