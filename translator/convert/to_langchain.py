"""AG-UI messages as LangChain messages: `to_langchain_messages`. It makes no ids.

Rules
1. An assistant message whose metadata has its original content (`to_agui_messages`) gets that, if its text is still the
   same. Its reasoning and media are in there.
2. To any other assistant message its reasoning and media are added, in LangChain's standard form; reasoning that has
   the id of an item of the Responses API is added as such an item. Other activities are a front end's own, and are left
   out.
3. A reasoning message belongs to the assistant message that its id names, if that came before it, and otherwise to the
   next one: a client has the reasoning from the middle of an answer behind that answer.
4. A call's arguments are parsed. If they are not a JSON object, the call becomes an invalid call with their text.
5. What is not an AG-UI message, and a part of a message's content that AG-UI or LangChain has no form for, is left out,
   with one line in the log. A message none of whose parts can be read is left out whole.
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
from ..content.reader import CALL_SIGNATURES, read_content
from ..parts.message import as_name
from ..wire import ids
from .to_agui import AG_UI_MESSAGE, METADATA_KEY, ORIGINAL_FIELDS

_log = logging.getLogger(__name__)
_RESPONSES_ID: Final = "rs_"

Wire = Mapping[str, Any]


def to_langchain_messages(messages: Iterable[Any]) -> list[BaseMessage]:
    """LangChain messages with the content of the AG-UI messages.

    Takes `ag_ui.core` models or their wire form (camelCase dictionaries). What their metadata has under `langchain` is
    believed: remove it from messages of clients, as `connect` does. Nothing raises: a message that cannot be read, or a
    part of its content, is left out, with a warning in the log.
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
    """A message without those parts of its content that AG-UI or LangChain has no form for. Raises the error of the
    first one if no part is left."""
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
        """The reasoning messages that wait for the next answer."""
        self._answers: dict[str, AIMessage] = {}
        """By id of an answer: the message to which reasoning and media of the answer are added."""
        self._last: AIMessage | None = None
        self._names: dict[str, str] = {}
        self._inside: set[str] = set()
        """The ids of the calls whose call and result are in the original content of a message."""

    def read(self, wire: Wire) -> None:
        """Takes the next message."""
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
        """What was read, in order."""
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
        self._last = self._answers[wire["id"]] = AIMessage("") if original else message  # the original has everything
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
    """The original content of an assistant message, and the ids of the calls in it, which its provider ran. `({},
    set())` if the original is not known, or the message has another text by now."""
    text = wire.get("content") or ""
    given = {name: value for name, value in _own(wire).items() if name in ORIGINAL_FIELDS}
    original = {"content": text, **given}
    blocks = read_content({"type": "ai", **original})
    if not given or "".join(one.text for one in blocks if isinstance(one, Text)) != text:
        return {}, set()
    calls = [one for one in blocks if isinstance(one, ToolCallBlock)]
    return original, {call.id or ids.call_id(wire["id"], number) for number, call in enumerate(calls)}


def _ai_message(wire: Wire, calls: list[Wire], content: Wire) -> AIMessage:
    made: dict[str, Any] = {"tool_calls": [], "invalid_tool_calls": []}
    for call in calls:
        kind, read = _call(call)
        made[kind].append(read)
    return AIMessage(id=_id(wire), name=wire.get("name"), **made, **content)


def _standard(wire: Wire, calls: list[Wire], reasoning: list[Wire]) -> Wire:
    """The content of an answer in standard blocks, as fields of a LangChain message; a plain text if there is nothing
    else."""
    text = wire.get("content") or ""
    last: dict[str, Any] = {"type": "text", "text": text}
    if citations := _metadata(wire).get("citations"):
        last["annotations"] = citations
    if signature := wire.get("encryptedValue"):
        last["extras"] = {"signature": signature}
    blocks = [_reasoning_block(each) for each in reasoning] + ([last] if text or len(last) > 2 else [])
    made: dict[str, Any] = {"content": blocks if reasoning or len(last) > 2 else text}
    if signatures := {call["id"]: call["encryptedValue"] for call in calls if call.get("encryptedValue")}:
        made["additional_kwargs"] = {CALL_SIGNATURES: signatures}
    if reason := _metadata(wire).get("finishReason"):
        made["response_metadata"] = {"finish_reason": reason}
    return made


def _blocks_of(message: AIMessage) -> list[Any]:
    """The content of a message as a list of blocks, to which others can be added."""
    if isinstance(message.content, str):
        message.content = [{"type": "text", "text": message.content}] if message.content else []
    return message.content


def _reasoning_block(wire: Wire) -> dict[str, Any]:
    """The standard block of a reasoning message; if it has the id of an item of the Responses API, that item."""
    id_, text, encrypted = wire["id"], wire["content"], wire.get("encryptedValue")
    if id_.startswith(_RESPONSES_ID):
        summary = [{"type": "summary_text", "text": text}] if text else []
        item = {"type": "reasoning", "id": id_, "summary": summary}
        return {**item, "encrypted_content": encrypted} if encrypted else item
    block = {"type": "reasoning", "reasoning": text}
    return {**block, "extras": {"signature": encrypted}} if encrypted else block


def _call(call: Wire) -> tuple[str, dict[str, Any]]:
    """A call in LangChain's form, and the field of the message that it belongs to."""
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
    """The content of a user's message or a tool's result."""
    if isinstance(content, str):
        return content
    return [{"type": "text", "text": part["text"]} if part["type"] == "text" else block_of(part) for part in content]


def _id(wire: Wire) -> str | None:
    return as_name(wire["id"])


def _metadata(wire: Wire) -> Wire:
    return wire.get("metadata") or {}


def _own(wire: Wire) -> Wire:
    """What `to_agui_messages` has put into the metadata, because AG-UI has no field for it."""
    value = _metadata(wire).get(METADATA_KEY)
    return value if isinstance(value, Mapping) else {}
