"""What message content is read into: blocks that are the same for every provider. Types only.

LangChain and the providers call the parts of a message's content *content blocks*. `reader` reads them, and what
adapters keep beside the content, into the blocks of this module. The blocks of all chunks of one model call, in order,
and the blocks of the whole message have the same texts, calls, reasoning, media and citations; those of chunks are
smaller and more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Key = int | str | None
"""What a provider numbers blocks or calls by, so that fragments of one have the same key; None: it gave none."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text of an answer, of a refusal, or the transcript of an audio answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A fragment of a reasoning block; its text may be empty, where it only brings the block's id or a new part."""

    block: Key
    """Equal for fragments of one block. None: the block is known by `id`, or is the latest without a key."""
    text: str
    id: str | None = None
    """The provider's id of the block, where this fragment has it."""
    part: Key = None
    """The part of the block the text belongs to; parts are separated by an empty line."""


@dataclass(frozen=True, slots=True)
class Encrypted:
    """A reasoning block's signature or encrypted content, or a fragment of it; fragments of one block are joined."""

    block: Key
    value: str
    redacted: bool = False
    """The block has nothing else: there is no text beside it (redacted thinking of Anthropic and Bedrock)."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Gemini's opaque signature of its thoughts, on a tool call, or (without a call id) on the answer itself."""

    call_id: str | None
    value: str


@dataclass(frozen=True, slots=True)
class ToolCallBlock:
    """A tool call or a fragment of one. `args` is the next stretch of its JSON text."""

    index: Key
    id: str | None
    name: str | None
    args: str | None
    server: bool = False
    """The provider runs the tool itself; its `ServerResult` is in the same message."""


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The result of a tool that the provider ran. An empty `call_id` means the message's latest server call."""

    call_id: str
    content: str
    error: bool


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound, a film or a document that the model made, as an AG-UI content part."""

    part: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of the answer, in the shape of LangChain's standard `citation` annotation."""

    citation: dict[str, Any]


Block = Text | Reasoning | Encrypted | Signature | ToolCallBlock | ServerResult | Media | Citation
