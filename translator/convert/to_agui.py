"""LangChain messages as AG-UI messages: `to_agui`, what a client gets of a stored one, and `to_agui_messages`.

Streams and events are not known here.

Rules
1. One stored message becomes no, one or several wire messages, by that message and the options alone.
2. Roles: human is user, ai is assistant, tool is tool. A chat message keeps the role user, assistant or system; any
   other role is an assistant of that name. A function message (OpenAI's calls before there were tools) belongs to no
   call that a client could have, and becomes none. System and developer messages are never visible, and user messages
   that a middleware wrote for its model (a summary, say; it marks them `lc_source`) are not either.
3. A user's content is text, or content parts where it is a list. What is neither text nor media is left out.
4. A tool's content is its text; where it has media, content parts (as text for clients older than 1.0, which refuse
   parts there); anything else, compact JSON.
5. A tool result beyond the limit is truncated, with its true size in metadata; its media are left out.
6. An assistant's content is read by `read_content`, as in a stream: its text is all Text blocks joined, its calls have
   the order of their first mention. It becomes, in this order: one reasoning message for each reasoning block, the
   assistant message, media activities, results of tools that the provider ran.
7. A reasoning block with neither text nor an encrypted value becomes no message; its number counts all the same.
8. A call without a name is left out: a client has no use for it. A message of hidden calls alone becomes none; one that
   has nothing at all becomes an empty one.
9. `to_agui_messages` gives more than a front end displays: system and developer messages, user messages of
   middlewares, results whole, errors also in `error`, and under `metadata.langchain` what only LangChain has words for,
   so that it can be given back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Set
from typing import Any, Final, NamedTuple

from ag_ui.core import Message
from pydantic import TypeAdapter

from ..content.blocks import Block, Citation, Encrypted, Media, Reasoning, ServerResult, Signature, Text, ToolCallBlock
from ..content.media import is_media_block, part_of
from ..content.reader import Report, finish_reason, kind_of_block, log_unreadable, read_content, text_of
from ..content.reasoning import METADATA_KEY, ReasoningBlocks, reasoning_forms
from ..content.server_tools import result_text
from ..jsonable.to_json import to_json
from ..options import Options
from ..parts.message import as_name, fields, kind_of
from ..wire import ids
from ..wire.events import Event
from ..wire.older_clients import parts_as_text

_log = logging.getLogger(__name__)
_MESSAGE: Final = TypeAdapter[Message](Message)
_EVERYTHING: Final = Options(result_limit=None)
_TEXT_BLOCKS: Final = frozenset({"text", "output_text", "input_text"})


def to_agui(message: Any, position: int, options: Options, report: Report = log_unreadable) -> list[Event]:
    """The wire messages that one stored message becomes.

    Takes the message (an object or its JSON), its position in the list of messages, which names it if it has no id, the
    options that say what is visible, and `report`, which takes the errors of its content blocks. Gives [] for what is
    not visible: system messages, a middleware's summaries, removals, no messages at all.
    """
    view = fields(message)
    kind, role = _kind_and_role(view)
    message_id = id_of(view, position)
    if kind == "ai":
        return _assistant(view, message_id, role, options, report)
    if kind == "human" and _middleware(view) is None:
        return [_user(view, message_id, report)]
    if kind == "tool" and options.tool_results and not _is_hidden(view.get("name"), options):
        return [_tool(view, message_id, options)]
    return []


def to_agui_messages(messages: Iterable[Any]) -> list[Message]:
    """AG-UI messages (`ag_ui.core` models) with all that the LangChain messages have.

    That is more than a front end displays: system and developer messages, a middleware's summaries, whole results, and
    under `metadata.langchain` what AG-UI has no field for, so that `to_langchain_messages` can give it back.

    Takes messages in any form that LangGraph takes. Nothing raises: what cannot be read, or AG-UI has no message for,
    is left out, with a warning in the log.
    """
    found: list[Message] = []
    for position, message in enumerate(messages):
        try:
            wires = _complete(message, position)
            if not wires:
                _log.warning("A %s message is left out: AG-UI has none like it.", kind_of(fields(message)) or "non-")
            found += [_MESSAGE.validate_python(to_json(wire)) for wire in wires]
        except Exception as error:
            _log.warning("A message is left out: %s", error)
    return found


def id_of(view: Mapping[str, Any], position: int) -> str:
    """A stored message's id; by its position where it has none."""
    return as_name(view.get("id")) or f"message-{position}"


def result_message(message_id: str, result: ServerResult, options: Options) -> Event:
    """The wire message of a result of a tool that the provider ran."""
    view = {"content": result.content, "tool_call_id": result.call_id, "status": "error" if result.error else "success"}
    return _tool(view, ids.result_id(message_id, result.call_id), options)


class _ReasoningBlock(NamedTuple):
    """A reasoning block of a stored message, whole."""

    id: str
    text: str
    encrypted: str


class _Answer:
    """The content of a stored assistant message, by kind."""

    def __init__(self, view: Mapping[str, Any], message_id: str, report: Report = log_unreadable) -> None:
        self.message_id = message_id
        self.text = ""
        self.calls: list[Event] = []
        self.server_calls: list[str] = []
        self.results: list[ServerResult] = []
        self.media: list[Event] = []
        self.metadata: Event = {}
        self.signature: str | None = None
        self.blocks = read_content(view, whole=True, report=report)
        self.reasoning = _reasoning(self.blocks, message_id)
        signatures: dict[str, str] = {}
        for block in self.blocks:
            match block:
                case Text():
                    self.text += block.text
                case ToolCallBlock():
                    self._call(block)
                case ServerResult():
                    call_id = block.call_id or (self.server_calls[-1] if self.server_calls else "")
                    self.results.append(ServerResult(call_id, block.content, block.error))
                case Media():
                    self.media.append(block.part)
                case Citation():
                    self.metadata.setdefault("citations", []).append(block.citation)
                case Signature(call_id=None):
                    self.signature = block.value
                case Signature(call_id=str(call_id)):
                    signatures[call_id] = block.value
                case _:
                    pass
        for call in self.calls:
            if call["id"] in signatures:
                call["encryptedValue"] = signatures[call["id"]]
        if reason := finish_reason(view):
            self.metadata["finishReason"] = reason

    def _call(self, block: ToolCallBlock) -> None:
        call_id = block.id or ids.call_id(self.message_id, len(self.calls))
        function = {"name": block.name or "", "arguments": block.args or ""}
        self.calls.append({"id": call_id, "type": "function", "function": function})
        if block.server:
            self.server_calls.append(call_id)

    def message(self, calls: list[Event], name: Any) -> Event:
        """The assistant message itself, with those of its calls that are visible."""
        message: Event = {"id": self.message_id, "role": "assistant"}
        if self.text or not calls:
            message["content"] = self.text
        if calls:
            message["toolCalls"] = calls
        if isinstance(name, str) and name:
            message["name"] = name
        if self.signature is not None:
            message["encryptedValue"] = self.signature
        if self.metadata:
            message["metadata"] = self.metadata
        return message

    def beside(self, options: Options, hidden: Set[str] = frozenset()) -> list[Event]:
        """The messages that follow it: its media, and the results of visible calls that the provider ran."""
        media = [
            {"id": ids.media_id(self.message_id, number), "role": "activity", "activityType": "media", "content": part}
            for number, part in enumerate(self.media)
        ]
        results = self.results if options.tool_results else ()
        return media + [result_message(self.message_id, one, options) for one in results if one.call_id not in hidden]


def _kind_and_role(view: Mapping[str, Any]) -> tuple[str, str | None]:
    """A message's kind, and the name that a role of its own gives it (rule 2)."""
    kind = kind_of(view)
    if kind != "chat":
        return kind, None
    role = view.get("role")
    if role in ("user", "human"):
        return "human", None
    if role in ("system", "developer"):
        return "system", None
    return "ai", role if isinstance(role, str) and role not in ("assistant", "ai") else None


def _middleware(view: Mapping[str, Any]) -> str | None:
    """The middleware that wrote a user message, as LangChain's and deepagents' middlewares mark them."""
    kwargs = view.get("additional_kwargs")
    return as_name(kwargs.get("lc_source")) if isinstance(kwargs, Mapping) else None


def _is_hidden(name: Any, options: Options) -> bool:
    return isinstance(name, str) and name in options.hidden_tools


def _assistant(
    view: Mapping[str, Any], message_id: str, role: str | None, options: Options, report: Report
) -> list[Event]:
    name = view.get("name") or role
    if _is_text(view):
        return [_text_message(view, message_id, name)]
    answer = _Answer(view, message_id, report)
    hidden = {call["id"] for call in answer.calls if call["function"]["name"] in options.hidden_tools}
    calls = [call for call in answer.calls if call["id"] not in hidden and call["function"]["name"]]
    wires: list[Event] = []
    if options.reasoning:
        wires += [_reasoning_message(block) for block in answer.reasoning if block.text or block.encrypted]
    if answer.text or calls or not hidden:
        wires.append(answer.message(calls, name))
    return wires + answer.beside(options, hidden)


def _is_text(view: Mapping[str, Any]) -> bool:
    """Whether a message is a text and nothing else, as most are: these need not be read block by block."""
    if type(view.get("content")) is not str or view.get("additional_kwargs"):
        return False
    if view.get("tool_calls") or view.get("invalid_tool_calls"):
        return False
    metadata = view.get("response_metadata")
    return not metadata or (type(metadata) is dict and "grounding_metadata" not in metadata)


def _text_message(view: Mapping[str, Any], message_id: str, name: Any) -> Event:
    """The wire message of a message that is a text and nothing else."""
    message: Event = {"id": message_id, "role": "assistant", "content": view["content"]}
    if isinstance(name, str) and name:
        message["name"] = name
    if reason := finish_reason(view):
        message["metadata"] = {"finishReason": reason}
    return message


def _reasoning(blocks: list[Block], message_id: str) -> list[_ReasoningBlock]:
    """The reasoning among the blocks of a message, in order of appearance, blocks without content included."""
    placing = ReasoningBlocks()
    found: list[_ReasoningBlock] = []
    for block in blocks:
        if not isinstance(block, Reasoning | Encrypted):
            continue
        number, id_, delta, encrypted = placing.place(block)
        if number == len(found):
            found.append(_ReasoningBlock(ids.reasoning_id(message_id, number), "", ""))
        before = found[number]
        found[number] = _ReasoningBlock(id_ or before.id, before.text + delta, encrypted or before.encrypted)
    return found


def _reasoning_message(block: _ReasoningBlock) -> Event:
    message = {"id": block.id, "role": "reasoning", "content": block.text}
    return message | ({"encryptedValue": block.encrypted} if block.encrypted else {})


def _complete(message: Any, position: int) -> list[Event]:
    """All that a message has, for `to_agui_messages`."""
    view = fields(message)
    kind, role = _kind_and_role(view)
    message_id = id_of(view, position)
    if kind == "system":
        return [_system(view, message_id)]
    if kind == "tool":
        wire = _tool(view, message_id, _EVERYTHING)
        if view.get("status") == "error":
            wire["error"] = wire["content"] if isinstance(wire["content"], str) else "error"
        return [wire]
    if kind == "human":
        wire = _user(view, message_id, log_unreadable)
        if middleware := _middleware(view):
            wire["metadata"] = {METADATA_KEY: {"lc_source": middleware}}
        return [wire]
    if kind != "ai":
        return []
    answer = _Answer(view, message_id)
    wires = []
    for block, form in zip(answer.reasoning, reasoning_forms(answer.blocks), strict=True):
        if block.text or block.encrypted or not ids.is_reasoning_of(block.id, message_id):
            wires.append({**_reasoning_message(block), "metadata": {METADATA_KEY: form}})
    for call in answer.calls:
        if call["id"] in answer.server_calls:
            call["metadata"] = {METADATA_KEY: {"server": True}}
    return [*wires, answer.message(answer.calls, view.get("name") or role), *answer.beside(_EVERYTHING)]


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
    if isinstance(view.get("name"), str) and view["name"]:
        message["name"] = view["name"]
    return message


def _tool(view: Mapping[str, Any], message_id: str, options: Options) -> Event:
    content, metadata = _tool_content(view.get("content"), options)
    call_id = view.get("tool_call_id")
    if view.get("status") == "error":
        metadata["status"] = "error"
    message: Event = {"id": message_id, "role": "tool", "content": content}
    message["toolCallId"] = call_id if isinstance(call_id, str) else ""
    if metadata:
        message["metadata"] = metadata
    return message


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
        return parts_as_text(wire) if options.legacy else wire, {}
    text = "".join(part["text"] for part in wire if part["type"] == "text")
    return text[:limit], {"truncated": True, "size": size}


def _tool_parts(content: Any) -> str | list[Event]:
    if not issubclass(type(content), list | tuple):  # `isinstance` would read an attribute, which may raise
        return result_text(content)
    try:
        parts = [_part(block) for block in content]
    except Exception:  # a block of no known form: the client gets the whole content as JSON
        return result_text(content)
    if None in parts:
        return result_text(content)
    found = [part for part in parts if part is not None]
    if all(part["type"] == "text" for part in found):
        return "".join(part["text"] for part in found)
    return found


def _parts(content: Any, view: Mapping[str, Any], report: Report) -> list[Event]:
    parts: list[Event] = []
    for block in content if issubclass(type(content), list | tuple) else [content]:
        try:
            part = _part(block)
        except Exception as error:
            report(view, error)
        else:
            parts += [] if part is None else [part]
    return parts


def _part(block: Any) -> Event | None:
    """The content part of one block; None for what is neither text nor media."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = kind_of_block(block)
    if kind in _TEXT_BLOCKS:
        text = block.get("text")
        return {"type": "text", "text": text} if isinstance(text, str) else None
    return part_of(block) if is_media_block(kind) else None
