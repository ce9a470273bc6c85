"""LangChain messages as AG-UI messages: `to_agui`, which makes what a client gets of a stored message, and
`to_agui_messages`. Streams and events are not known here.

Rules
1. One stored message becomes none, one or several wire messages. These depend on the message and the options only.
2. `human` becomes the role user, `ai` assistant, and `tool` tool. A chat message keeps the roles user, assistant and
   system; any other role of it becomes an assistant with the role as its name. A function message (OpenAI's calls
   before there were tools) belongs to no call that a client could have, and becomes none. System and developer messages
   are never visible, nor are user messages that a middleware wrote for its model, such as a summary: LangChain's
   middlewares mark them with `lc_source`.
3. A user's content is text, or content parts if it is a list. A block that is neither text nor media, and media whose
   source AG-UI has no form for, are left out, and `report` gets the error.
4. A tool's content is its text; content parts, if it has media (as text for clients older than 1.0, which refuse parts
   there); and compact JSON for anything else.
5. A tool result beyond the limit is truncated, and its metadata has the true size. Its media are left out.
6. An assistant's content is read by `read_content`, as in a stream. Its text is all `Text` blocks joined, and its calls
   have the order in which they are first mentioned. It becomes, in this order: a reasoning message for each reasoning
   block, the assistant message, activities for media, and the results of tools that the provider ran.
7. A reasoning block that has neither text nor an encrypted value becomes no message, but counts in the numbering.
8. A call without a name is left out, since a client can do nothing with it. A message that has only hidden calls
   becomes none; a message that has nothing at all becomes an empty one.
9. `to_agui_messages` makes more than a front end displays: system and developer messages, user messages of middlewares,
   and whole results. `metadata.langchain` has the fields of the LangChain message that AG-UI has no place for, so that
   `to_langchain_messages` gives them back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ag_ui.core import Message
from pydantic import TypeAdapter

from ..content.blocks import Block, Citation, Encrypted, Media, Reasoning, ServerResult, Signature, Text, ToolCallBlock
from ..content.media import part_of
from ..content.reader import Report, finish_reason, kind_of_block, log_unreadable, read_content, text_of
from ..content.reasoning import ReasoningBlocks
from ..content.server_tools import result_text
from ..jsonable.to_json import to_json
from ..losses import Losses, Reason
from ..options import Options
from ..parts.message import as_name, fields, kind_of
from ..wire import ids
from ..wire.events import Event
from ..wire.older_clients import result_content
from .ordinary import ordinary, with_failure

AG_UI_MESSAGE: Final = TypeAdapter[Message](Message)
"""Validates the protocol's messages and makes their models."""
METADATA_KEY: Final = "langchain"
"""The key in an AG-UI message's metadata for what AG-UI has no field for."""
ORIGINAL_FIELDS: Final = ("content", "additional_kwargs", "response_metadata")
"""The fields of an assistant message that go into the metadata, if the AG-UI message does not have their value."""
_log = logging.getLogger(__name__)
_EVERYTHING: Final = Options(result_limit=None)
_KIND_OF_ROLE: Final = {"user": "human", "human": "human", "system": "system", "developer": "system"}
_TEXT_BLOCKS: Final = frozenset({"text", "output_text", "input_text"})


def to_agui(message: Any, position: int, options: Options, losses: Losses | None = None) -> list[Event]:
    """The wire messages that one stored message becomes.

    Takes the message (an object or its JSON), its position in the list of messages, which names it if it has no id, the
    options that say what is visible, and the losses of the run, which take what is left out; None: it is of no run.
    Gives [] for what is not visible: system messages, a middleware's summaries, removals, no messages at all.
    """
    view = fields(message)
    if (wire := ordinary(view, options)) is not None:
        return [wire]
    kind, role = kind_and_role(view)
    message_id = id_of(view, position)
    if kind == "ai":
        return _assistant(view, message_id, role, options, losses)
    if kind == "human" and _middleware(view) is None:
        return [_user(view, message_id, log_unreadable if losses is None else losses.block)]
    if kind == "tool" and options.tool_results and as_name(view.get("name")) not in options.hidden_tools:
        return [_tool(view, message_id, options)]
    if losses is not None and kind:
        losses.drop("message", message_id, Reason.OPTION if kind == "tool" else Reason.NOT_DISPLAYED)
    return []


def to_agui_messages(messages: Iterable[Any]) -> list[Message]:
    """AG-UI messages (`ag_ui.core` models) that `to_langchain_messages` can turn back into the LangChain messages.

    They have more than a front end displays: system and developer messages, a middleware's summaries, whole results,
    and under `metadata.langchain` the content blocks, `additional_kwargs` and `response_metadata` of an assistant's
    message. Fields of other messages that AG-UI has no place for, such as a tool message's `artifact`, are left out.

    Takes messages in any form that LangGraph takes. Nothing raises: a message that cannot be read, or that AG-UI has no
    message for, is left out, with a warning in the log.
    """
    found: list[Message] = []
    for position, message in enumerate(messages):
        try:
            wires = _complete(message, position)
            if not wires:
                _log.warning("A %s message is left out: AG-UI has none like it.", kind_of(fields(message)) or "non-")
            found += [AG_UI_MESSAGE.validate_python(to_json(wire)) for wire in wires]
        except Exception as error:
            _log.warning("A message is left out: %s", error)
    return found


def id_of(view: Mapping[str, Any], position: int) -> str:
    """A stored message's id; one that is made from its position if it has none."""
    return as_name(view.get("id")) or ids.position_id(position)


def result_message(message_id: str, result: ServerResult, options: Options) -> Event:
    """The wire message of a result of a tool that the provider ran."""
    view = {"content": result.content, "tool_call_id": result.call_id, "status": "error" if result.error else "success"}
    return _tool(view, ids.result_id(message_id, result.call_id), options)


def kind_and_role(view: Mapping[str, Any]) -> tuple[str, str | None]:
    """A message's kind, as `kind_of` has it but for chat messages, and the name that a role of its own gives it
    (rule 2)."""
    kind = kind_of(view)
    if kind != "chat":
        return kind, None
    role = as_name(view.get("role"))
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
        """By id of a call; None: the signature of the answer itself."""
        self._placing = ReasoningBlocks()
        self._server_call = ""

    def add(self, block: Block) -> None:
        """Takes the next content block."""
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


def _middleware(view: Mapping[str, Any]) -> str | None:
    """The name of the middleware that wrote a user message, as LangChain's and deepagents' middlewares mark it."""
    kwargs = view.get("additional_kwargs")
    return as_name(kwargs.get("lc_source")) if isinstance(kwargs, Mapping) else None


def _assistant(
    view: Mapping[str, Any], message_id: str, role: str | None, options: Options, losses: Losses | None
) -> list[Event]:
    answer = _Answer(message_id)
    for block in read_content(view, whole=True, report=log_unreadable if losses is None else losses.block):
        answer.add(block)
    if losses is not None:
        _log_left_out(answer, options, losses)
    hidden = {call["id"] for call in answer.calls if call["function"]["name"] in options.hidden_tools}
    calls = [call for call in answer.calls if call["id"] not in hidden and call["function"]["name"]]
    wires = [one for one in answer.reasoning if one["content"] or "encryptedValue" in one] if options.reasoning else []
    if answer.text or calls or not hidden:
        wires.append(_answer_message(answer, calls, view, role))
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
    for result in answer.results if not options.tool_results else ():
        losses.drop("result", ids.result_id(answer.message_id, result.call_id), Reason.OPTION)


def _answer_message(answer: _Answer, calls: list[Event], view: Mapping[str, Any], role: str | None) -> Event:
    """The assistant message itself, with its visible calls."""
    message: Event = {"id": answer.message_id, "role": "assistant"}
    if answer.text or not calls:
        message["content"] = answer.text
    if calls:
        message["toolCalls"] = calls
    for call in calls:
        if call["id"] in answer.signatures:
            call["encryptedValue"] = answer.signatures[call["id"]]
    message |= _name(view, role)
    if None in answer.signatures:
        message["encryptedValue"] = answer.signatures[None]
    metadata: Event = {"citations": answer.citations} if answer.citations else {}
    if reason := finish_reason(view):
        metadata["finishReason"] = reason
    if metadata:
        message["metadata"] = metadata
    return message


def _name(view: Mapping[str, Any], role: str | None) -> Event:
    """An assistant message's name: its own, or else the name of its role."""
    return {"name": name} if (name := as_name(view.get("name")) or role) else {}


def _complete(message: Any, position: int) -> list[Event]:
    """The wire messages of a message for `to_agui_messages` (rule 9)."""
    view = fields(message)
    kind, _ = kind_and_role(view)
    message_id = id_of(view, position)
    if kind == "system":
        return [_system(view, message_id)]
    if kind == "human":
        wire = _user(view, message_id, log_unreadable)
        if middleware := _middleware(view):
            wire["metadata"] = {METADATA_KEY: {"lc_source": middleware}}
        return [wire]
    wires = to_agui(message, position, _EVERYTHING)
    if kind == "ai":
        itself = next(wire for wire in wires if wire["id"] == message_id)
        in_agui: tuple[Any, ...] = (None, {}, itself.get("content", ""))
        if original := {name: view[name] for name in ORIGINAL_FIELDS if view.get(name) not in in_agui}:
            itself["metadata"] = {**itself.get("metadata", {}), METADATA_KEY: original}
    return wires


def _system(view: Mapping[str, Any], message_id: str) -> Event:
    kwargs = view.get("additional_kwargs")
    marked = isinstance(kwargs, Mapping) and kwargs.get("__openai_role__") == "developer"
    role = "developer" if marked or "developer" in (view.get("role"), view.get("type")) else "system"
    message = {"id": message_id, "role": role, "content": text_of(view)}
    return message | ({"name": view["name"]} if isinstance(view.get("name"), str) else {})


def _user(view: Mapping[str, Any], message_id: str, report: Report) -> Event:
    content = view.get("content")
    message: Event = {"id": message_id, "role": "user"}
    message["content"] = content if issubclass(type(content), str) else _parts(content, view, report)
    if name := as_name(view.get("name")):
        message["name"] = name
    return message


def _tool(view: Mapping[str, Any], message_id: str, options: Options) -> Event:
    content, metadata = _tool_content(view.get("content"), options)
    call_id = view.get("tool_call_id")
    message: Event = {"id": message_id, "role": "tool", "content": content}
    message["toolCallId"] = call_id if isinstance(call_id, str) else ""
    if metadata:
        message["metadata"] = metadata
    return with_failure(message) if view.get("status") == "error" else message


def _tool_content(content: Any, options: Options) -> tuple[str | list[Event], Event]:
    """A tool result's wire content, and what its metadata has of its size (rules 4 and 5)."""
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
    if not issubclass(type(content), list | tuple):  # `isinstance` would read an attribute, which may raise
        return result_text(content)
    try:
        parts = [_part(block) for block in content]
    except Exception:  # a block of no known form: the client gets the whole content as JSON
        return result_text(content)
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _parts(content: Any, view: Mapping[str, Any], report: Report) -> list[Event]:
    parts: list[Event] = []
    for block in content if issubclass(type(content), list | tuple) else [content]:
        try:
            parts.append(_part(block))
        except Exception as error:
            report(view, error)
    return parts


def _part(block: Any) -> Event:
    """The content part of one block; raises for what is neither text nor media."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if kind_of_block(block) in _TEXT_BLOCKS and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    return part_of(block)
