"""The content blocks that a message's content is read into, the same for every provider. Types only.

LangChain and the providers call the parts of a message's content *content blocks*. `reader` reads these, and what
adapters keep outside the content, into the types of this module. All chunks of one model call together give the same
texts, calls, reasoning, media and citations as the whole message, in more and smaller blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Key = int | str | None
"""The number or name by which a provider tells blocks or calls apart: fragments of one have the same key. None: it has
none."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text of an answer or a refusal, or the transcript of an audio answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A fragment of a reasoning block. Its text may be empty: then it only brings the block's id, or begins a new
    part."""

    block: Key
    """The key of the block. None: the block is known by `id`, or is the latest one without a key."""
    text: str
    id: str | None = None
    """The provider's id of the block, if this fragment has it."""
    part: Key = None
    """The part of the block that the text belongs to. An empty line separates parts."""


@dataclass(frozen=True, slots=True)
class Encrypted:
    """The signature or the encrypted content of a reasoning block, or a fragment of it. Fragments are joined."""

    block: Key
    value: str
    redacted: bool = False
    """Whether the block has nothing else, as Anthropic's and Bedrock's redacted thinking."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Gemini's opaque signature of its thoughts, on a tool call or, without a call id, on the answer itself
    (https://ai.google.dev/gemini-api/docs/thought-signatures)."""

    call_id: str | None
    value: str


@dataclass(frozen=True, slots=True)
class ToolCallBlock:
    """A tool call or a fragment of one. `args`: the next piece of its JSON text."""

    index: Key
    id: str | None
    name: str | None
    args: str | None
    server: bool = False
    """Whether the provider runs the tool itself. Then its `ServerResult` is in the same message."""


@dataclass(frozen=True, slots=True)
class ServerResult:
    """The result of a tool that the provider ran. An empty `call_id` means the message's latest server call."""

    call_id: str
    content: str
    error: bool


@dataclass(frozen=True, slots=True)
class Media:
    """An image, audio, a video or a document that the model made, as an AG-UI content part."""

    part: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of the answer, in the form of LangChain's standard `citation` annotation."""

    citation: dict[str, Any]


Block = Text | Reasoning | Encrypted | Signature | ToolCallBlock | ServerResult | Media | Citation
