"""AG-UI messages as LangChain messages: `to_langchain_messages`. It makes no ids.

Rules
1. What AG-UI has beside an assistant message becomes part of it again: reasoning messages part of its content, in the
   shape their provider gave them (`reasoning_forms`); media activities content blocks; calls and results of tools that
   the provider ran standard content blocks. Other activities are a front end's own, and are left out.
2. Reasoning belongs to the assistant message that its id names, if that came before it, and else to the next one: a
   client has reasoning from the middle of an answer after that answer.
3. A call's arguments are parsed; what is no JSON object makes an invalid call, with its text as it is.
4. An unknown or malformed item costs that item and one line in the log, never the list.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from ..content.media import block_of
from ..content.reader import CALL_SIGNATURES
from ..content.reasoning import KWARGS_FORMS, METADATA_KEY, reasoning_blocks
from ..parts.message import as_name
from ..wire import ids

_log = logging.getLogger(__name__)
_RESPONSES_ID: Final = "rs_"

Wire = Mapping[str, Any]


def to_langchain_messages(messages: Iterable[Any]) -> list[BaseMessage]:
    """LangChain messages with the content of the AG-UI messages.

    Takes `ag_ui.core` models or their wire form (camelCase dictionaries). Nothing raises: what cannot be read is left
    out, with a warning in the log.
    """
    reader = _Reader()
    for message in messages:
        try:
            reader.read(message.model_dump(by_alias=True) if isinstance(message, BaseModel) else message)
        except Exception as error:
            _log.warning("An AG-UI message is left out: %s", error)
    return list(reader.messages())


@dataclass(slots=True)
class _Answer:
    """An assistant message and all that AG-UI has beside it."""

    wire: Wire
    calls: list[Wire]
    reasoning: list[Wire] = field(default_factory=list)
    media: list[Wire] = field(default_factory=list)
    results: dict[str, Wire] = field(default_factory=dict)


class _Reader:
    def __init__(self) -> None:
        self._read: list[BaseMessage | _Answer] = []
        self._reasoning: list[Wire] = []
        self._answers: dict[str, _Answer] = {}
        self._names: dict[str, str] = {}
        self._server_calls: dict[str, _Answer] = {}

    def read(self, wire: Any) -> None:
        """Take the next message; raises for what is none."""
        if not isinstance(wire, Mapping):
            raise TypeError(f"a message is an object, not {type(wire).__name__}")
        role = wire.get("role")
        if role == "user":
            self._user(wire)
        elif role in ("system", "developer"):
            more = {"additional_kwargs": {"__openai_role__": "developer"}} if role == "developer" else {}
            self._read.append(SystemMessage(_text(wire, "content"), id=_id(wire), name=wire.get("name"), **more))
        elif role == "assistant":
            self._assistant(wire)
        elif role == "tool":
            self._tool(wire)
        elif role == "reasoning":
            self._thought(wire)
        elif role == "activity":
            self._activity(wire)
        else:
            raise ValueError(f"no message has the role {role!r}")

    def messages(self) -> Iterator[BaseMessage]:
        """What was read, in order."""
        for wire in self._reasoning:
            _log.warning("A reasoning message is left out: no answer follows it (id %r).", wire.get("id"))
        for item in self._read:
            if isinstance(item, BaseMessage):
                yield item
                continue
            try:
                yield _ai_message(item)
            except Exception as error:
                _log.warning("An AG-UI message is left out: %s", error)

    def _user(self, wire: Wire) -> None:
        message = HumanMessage(_user_content(wire.get("content")), id=_id(wire), name=wire.get("name"))
        if middleware := _own(wire).get("lc_source"):
            message.additional_kwargs["lc_source"] = middleware
        self._read.append(message)

    def _assistant(self, wire: Wire) -> None:
        if wire.get("content") is not None:
            _text(wire, "content")
        answer = _Answer(wire, list(_calls(wire)), self._reasoning)
        self._reasoning = []
        self._read.append(answer)
        if id_ := _id(wire):
            self._answers[id_] = answer
        for call in answer.calls:
            self._names[call["id"]] = call["function"]["name"]
            if _own(call).get("server"):
                self._server_calls[call["id"]] = answer

    def _thought(self, wire: Wire) -> None:
        _text(wire, "content")
        owner = ids.message_of_reasoning(_id(wire) or "")
        named = self._answers.get(owner) if owner else None
        (self._reasoning if named is None else named.reasoning).append(wire)

    def _tool(self, wire: Wire) -> None:
        call_id = _text(wire, "toolCallId")
        if call_id in self._server_calls:
            self._server_calls[call_id].results[call_id] = wire
            return
        error = wire.get("error")
        failed = bool(error) or _metadata(wire).get("status") == "error"
        self._read.append(
            ToolMessage(
                content=_user_content(wire.get("content")) or (error if isinstance(error, str) else ""),
                tool_call_id=call_id,
                id=_id(wire),
                name=self._names.get(call_id) or None,
                status="error" if failed else "success",
            )
        )

    def _activity(self, wire: Wire) -> None:
        if wire.get("activityType") != "media" or not isinstance(wire.get("content"), Mapping):
            return
        answers = [item for item in self._read if isinstance(item, _Answer)]
        if answers:
            answers[-1].media.append(wire["content"])


def _ai_message(answer: _Answer) -> AIMessage:
    wire = answer.wire
    made: dict[str, Any] = {"tool_calls": [], "invalid_tool_calls": [], "additional_kwargs": {}}
    signatures: dict[str, str] = {}
    server: list[dict[str, Any]] = []
    for call in answer.calls:
        if isinstance(call.get("encryptedValue"), str):
            signatures[call["id"]] = call["encryptedValue"]
        if _own(call).get("server"):
            server += _server_blocks(call, answer.results.get(call["id"]))
        else:
            kind, read = _call(call)
            made[kind].append(read)
    if signatures:
        made["additional_kwargs"][CALL_SIGNATURES] = signatures
    if reason := _metadata(wire).get("finishReason"):
        made["response_metadata"] = {"finish_reason": reason}
    content = _content(answer, server, made["additional_kwargs"])
    return AIMessage(content=content, id=_id(wire), name=wire.get("name"), **made)


def _content(answer: _Answer, server: list[dict[str, Any]], kwargs: dict[str, Any]) -> str | list[Any]:
    """The content: text alone where there is nothing else, or blocks, with reasoning at its place in the text."""
    text = answer.wire.get("content") or ""
    blocks: list[Any] = []
    start = 0
    for wire in answer.reasoning:
        form = _own(wire)
        at = form.get("at")
        if isinstance(at, int) and start < at <= len(text):
            blocks.append({"type": "text", "text": text[start:at]})
            start = at
        thought = reasoning_blocks(
            _provider_id(wire, answer.wire), wire["content"], wire.get("encryptedValue") or "", form
        )
        if form.get("form") == "kwargs-text":
            kwargs["reasoning_content"] = kwargs.get("reasoning_content", "") + wire["content"]
        elif form.get("form") in KWARGS_FORMS:
            kwargs["reasoning"] = thought[0]
        else:
            blocks += thought
    blocks += server
    last: dict[str, Any] = {"type": "text", "text": text[start:]}
    if citations := _metadata(answer.wire).get("citations"):
        last["annotations"] = citations
    if isinstance(answer.wire.get("encryptedValue"), str):
        last["extras"] = {"signature": answer.wire["encryptedValue"]}
    if last["text"] or len(last) > 2:
        blocks.append(last)
    blocks += [block for part in answer.media if (block := block_of(part)) is not None]
    return text if not blocks or blocks == [{"type": "text", "text": text}] else blocks


def _provider_id(wire: Wire, answer: Wire) -> str | None:
    """The provider's id of a reasoning message; None if the provider did not assign its id."""
    given = wire.get("id")
    if not isinstance(given, str) or ids.is_reasoning_of(given, str(answer.get("id"))):
        return None
    return given if _own(wire) or given.startswith(_RESPONSES_ID) else None


def _call(call: Wire) -> tuple[str, dict[str, Any]]:
    """One call in LangChain's form, and the field it belongs to."""
    name, text = call["function"]["name"], call["function"]["arguments"]
    try:
        args = orjson.loads(text) if text.strip() else {}
    except ValueError:
        args = None
    if isinstance(args, dict) and name:
        return "tool_calls", {"id": call["id"], "name": name, "args": args, "type": "tool_call"}
    read = {"id": call["id"], "name": name or None, "args": text, "error": None, "type": "invalid_tool_call"}
    return "invalid_tool_calls", read


def _server_blocks(call: Wire, result: Wire | None) -> list[dict[str, Any]]:
    """The standard blocks of a tool the provider ran."""
    kind, read = _call(call)
    args = read["args"] if kind == "tool_calls" else {}
    blocks = [{"type": "server_tool_call", "id": call["id"], "name": call["function"]["name"], "args": args}]
    if result is not None:
        failed = bool(result.get("error")) or _metadata(result).get("status") == "error"
        status = "error" if failed else "success"
        output = _value(result.get("content"))
        blocks.append({"type": "server_tool_result", "tool_call_id": call["id"], "status": status, "output": output})
    return blocks


def _value(text: Any) -> Any:
    """The value of a result's text: the array or object that it is the JSON of, or the text itself."""
    if not isinstance(text, str) or text[:1] not in ("[", "{"):
        return text
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def _user_content(content: Any) -> str | list[str | dict[Any, Any]]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError(f"content is text or a list of parts, not {type(content).__name__}")
    blocks: list[str | dict[Any, Any]] = []
    for part in content:
        if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
            blocks.append({"type": "text", "text": part["text"]})
        elif isinstance(part, Mapping) and (block := block_of(part)) is not None:
            blocks.append(block)
        else:
            _log.warning("A content part is left out: it is neither text nor media.")
    return blocks


def _calls(wire: Wire) -> Iterator[Wire]:
    calls = wire.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        if _is_call(call):
            yield call
        else:
            _log.warning("A call of the AG-UI message %r is left out: it has no id, name or arguments.", _id(wire))


def _is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return False
    return all(isinstance(value, str) for value in (call.get("id"), function.get("name"), function.get("arguments")))


def _text(wire: Wire, name: str) -> str:
    value = wire.get(name)
    if not isinstance(value, str):
        raise TypeError(f"{name!r} is text, not {type(value).__name__}")
    return value


def _id(wire: Wire) -> str | None:
    return as_name(wire.get("id"))


def _metadata(wire: Wire) -> Wire:
    value = wire.get("metadata")
    return value if isinstance(value, Mapping) else {}


def _own(wire: Wire) -> Wire:
    """What only LangChain has words for, as `to_agui_messages` puts it in the metadata."""
    value = _metadata(wire).get(METADATA_KEY)
    return value if isinstance(value, Mapping) else {}
