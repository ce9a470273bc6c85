"""Defines the types of content blocks. The content of a message is read into blocks of these types, whatever provider
it comes from.

LangChain and the providers call the parts of a message's content *content blocks*. `read_blocks.py` converts these
parts to the types in this module. It also converts content that adapters keep in other fields. Together, the chunks of
one model call give the same texts, tool calls, reasoning, media and citations as the complete message, but in more and
smaller blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Key = int | str | None
"""The number or name by which a provider distinguishes blocks or tool calls. All fragments of the same block or tool
call have the same key. The key is None if the provider sends none."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text from an answer or a refusal, or the transcript of an audio answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A fragment of a reasoning block. A fragment with an empty text only supplies the block's id, or begins a new
    part."""

    block: Key
    """The block's key. It is None if `id` identifies the block, or if the fragment belongs to the latest block without
    a key."""
    text: str
    id: str | None = None
    """The provider's id for the block, if this fragment contains that id."""
    part: Key = None
    """The part of the block that the text belongs to. An empty line separates parts."""


@dataclass(frozen=True, slots=True)
class Encrypted:
    """The signature or the encrypted content of a reasoning block, or a fragment of either. Fragments are joined."""

    block: Key
    value: str
    redacted: bool = False
    """Whether the block has no other content, as is the case for redacted thinking from Anthropic and Bedrock."""


@dataclass(frozen=True, slots=True)
class Signature:
    """An opaque signature for Gemini's thoughts (https://ai.google.dev/gemini-api/docs/thought-signatures). It belongs
    to a tool call or, if `call_id` is None, to the answer itself."""

    call_id: str | None
    value: str


@dataclass(frozen=True, slots=True)
class ToolCallBlock:
    """A tool call or a fragment of one. `args`: the next piece of its arguments, as JSON text."""

    index: Key
    id: str | None
    name: str | None
    args: str | None
    server: bool = False
    """Whether the provider itself runs the tool. If so, the same message also contains the `ServerResult`."""


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The result of a tool that the provider ran. If `call_id` is empty, the result belongs to the message's latest
    call to such a tool."""

    call_id: str
    content: str
    error: bool


@dataclass(frozen=True, slots=True)
class Media:
    """An image, an audio file, a video or a document that the model generated, as an AG-UI content part."""

    part: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that the answer cites, in the form of LangChain's standard `citation` annotation."""

    citation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A content block whose type is not known. It is left out, and its type is logged. `kind`: the type; empty if the
    block has none."""

    kind: str


Block = Text | Reasoning | Encrypted | Signature | ToolCallBlock | ServerResult | Media | Citation | Unknown
