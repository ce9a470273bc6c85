"""One stored assistant message, told as wire messages. Never tool, user or system messages, and nothing of a stream.

Rules
1. Everything is read by `read_content`, as in a stream: the text is all Text blocks joined, calls are in the order of
   their first mention, reasoning is one message for each block.
2. Order: reasoning messages, the assistant message, media activities, results of tools the provider ran.
3. A reasoning block that has neither text nor an encrypted value is not told. Its number counts all the same.
4. A call without a name is not told: a client can do nothing with it. A message that says nothing but hidden calls is
   not told; one that says nothing at all is, as an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..content.blocks import Block, Citation, Encrypted, Media, Reasoning, ServerResult, Signature, Text, ToolCallBlock
from ..content.reader import Report, finish_reason, log_unreadable, read_content
from ..content.reasoning import ReasoningBlocks
from ..wire import ids

Wire = dict[str, Any]


class ReasoningBlock(NamedTuple):
    """A reasoning block of a stored message, whole."""

    id: str
    text: str
    encrypted: str


class AssistantContent:
    """All that a stored assistant message says, sorted by kind."""

    def __init__(self, view: Mapping[str, Any], message_id: str, report: Report = log_unreadable) -> None:
        self.message_id = message_id
        self.text = ""
        self.thoughts: list[ReasoningBlock] = []
        self.calls: list[Wire] = []
        self.results: list[ServerResult] = []
        self.media: list[Wire] = []
        self.metadata: Wire = {}
        self.signature: str | None = None
        self.pieces = read_content(view, whole=True, report=report)
        self.server_calls: list[str] = []
        self._read(self.pieces)
        if reason := finish_reason(view):
            self.metadata["finishReason"] = reason

    def _read(self, told: list[Block]) -> None:
        texts: list[str] = []
        citations: list[Wire] = []
        signatures: dict[str, str] = {}
        for piece in told:
            match piece:
                case Text():
                    texts.append(piece.text)
                case ToolCallBlock():
                    self._call(piece)
                case ServerResult():
                    self._result(piece)
                case Media():
                    self.media.append(piece.part)
                case Citation():
                    citations.append(piece.citation)
                case Signature(call_id=None):
                    self.signature = piece.value
                case Signature(call_id=str(call_id)):
                    signatures[call_id] = piece.value
                case _:
                    pass
        self.text = "".join(texts)
        self.thoughts = reasoning_of(told, self.message_id)
        if citations:
            self.metadata["citations"] = citations
        for call in self.calls:
            if call["id"] in signatures:
                call["encryptedValue"] = signatures[call["id"]]

    def _call(self, piece: ToolCallBlock) -> None:
        call_id = piece.id or ids.call_id(self.message_id, len(self.calls))
        function = {"name": piece.name or "", "arguments": piece.args or ""}
        self.calls.append({"id": call_id, "type": "function", "function": function})
        if piece.server:
            self.server_calls.append(call_id)

    def _result(self, piece: ServerResult) -> None:
        call_id = piece.call_id or (self.server_calls[-1] if self.server_calls else "")
        self.results.append(ServerResult(call_id, piece.content, piece.error))


def is_text(view: Mapping[str, Any]) -> bool:
    """Whether a message is a text and nothing else, as most are: it is told by `text_message`, a short cut."""
    if type(view.get("content")) is not str or view.get("additional_kwargs"):
        return False
    if view.get("tool_calls") or view.get("invalid_tool_calls"):
        return False
    metadata = view.get("response_metadata")
    return not metadata or (type(metadata) is dict and "grounding_metadata" not in metadata)


def text_message(view: Mapping[str, Any], message_id: str, name: Any) -> Wire:
    """The wire message of a message that is a text and nothing else."""
    message: Wire = {"id": message_id, "role": "assistant", "content": view["content"]}
    if isinstance(name, str) and name:
        message["name"] = name
    if reason := finish_reason(view):
        message["metadata"] = {"finishReason": reason}
    return message


def reasoning_of(told: list[Block], message_id: str) -> list[ReasoningBlock]:
    """The reasoning blocks among the pieces of a message, in order of appearance, those without content included."""
    blocks = ReasoningBlocks()
    texts: list[str] = []
    names: list[str] = []
    encrypted: list[str] = []
    for piece in told:
        if not isinstance(piece, Reasoning | Encrypted):
            continue
        placed = blocks.place(piece)
        if placed.ordinal == len(texts):
            texts.append("")
            encrypted.append("")
            names.append(ids.reasoning_id(message_id, placed.ordinal))
        texts[placed.ordinal] += placed.delta
        names[placed.ordinal] = placed.id or names[placed.ordinal]
        encrypted[placed.ordinal] = placed.encrypted or encrypted[placed.ordinal]
    return [ReasoningBlock(*thought) for thought in zip(names, texts, encrypted, strict=True)]


def reasoning_message(thought: ReasoningBlock) -> Wire:
    """The wire message of a reasoning block."""
    message = {"id": thought.id, "role": "reasoning", "content": thought.text}
    if thought.encrypted:
        message["encryptedValue"] = thought.encrypted
    return message


def media_message(message_id: str, number: int, part: Wire) -> Wire:
    """The activity that shows one piece of media."""
    return {"id": ids.media_id(message_id, number), "role": "activity", "activityType": "media", "content": part}


def assistant_message(said: AssistantContent, calls: list[Wire], name: Any) -> Wire:
    """The wire message of the answer itself, with the calls to be told."""
    message: Wire = {"id": said.message_id, "role": "assistant"}
    if said.text or not calls:
        message["content"] = said.text
    if calls:
        message["toolCalls"] = calls
    if isinstance(name, str) and name:
        message["name"] = name
    if said.signature is not None:
        message["encryptedValue"] = said.signature
    if said.metadata:
        message["metadata"] = said.metadata
    return message
