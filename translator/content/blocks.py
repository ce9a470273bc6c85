"""The neutral pieces that message content is read into. Types only: `content` reads, others give them a meaning.

A *piece* is the smallest thing a message says, the same for every provider. The pieces of all chunks of one model call,
in order, and the pieces of the message they add up to, tell the same texts, calls, reasoning, media and citations;
chunks only say it in more and smaller pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Key = int | str | None
"""What a provider tells fragments of one block, or of one call, by; None: it told nothing."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text the model says: an answer, a refusal, or the transcript of an audio answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A fragment of a reasoning block; its text may be empty, where only the block's id or a new part is told."""

    block: Key
    """Equal for fragments of one block. None: told by `id`, or else the block goes on that was told without a key."""
    text: str
    id: str | None = None
    """The provider's id of the block, where this fragment carries it."""
    part: Key = None
    """The part of the block the text belongs to; parts are set apart by an empty line."""
    form: str = "reasoning"
    """The shape it was read from: see `reasoning_forms`. A stream has no use for it."""


@dataclass(frozen=True, slots=True)
class Encrypted:
    """A reasoning block's signature or encrypted content (a fragment of it; fragments of one block are joined)."""

    block: Key
    value: str
    redacted: bool = False
    """The block is nothing else: there is no text beside it (Anthropic's and Bedrock's redacted thinking)."""
    form: str = "reasoning"


@dataclass(frozen=True, slots=True)
class Signature:
    """Opaque proof of thought on a tool call, or (without a call id) on the answer itself (Gemini)."""

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
    """What a tool gave that the provider ran. An empty `call_id` means the message's latest server call."""

    call_id: str
    content: str
    error: bool


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound, a film or a document the model made, as an AG-UI content part."""

    part: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of what is said, in the shape of LangChain's standard `citation` annotation."""

    citation: dict[str, Any]


Block = Text | Reasoning | Encrypted | Signature | ToolCallBlock | ServerResult | Media | Citation
