"""Reads the reasoning blocks of any provider, and decides which fragments belong to the same block.

Rules:

1. `read` reads the following forms:
   - `thinking` from Anthropic and Gemini, and `redacted_thinking`
   - `reasoning_content` from Bedrock
   - LangChain's standard `reasoning`
   - `reasoning` from OpenAI's Responses API, with parts in `summary` or `content`
2. A fragment belongs to the block with the same provider id. If there is no such block, it belongs to the block with
   the same index. But if that block has a different id, the fragment begins a new block. langchain-core merges chunks
   in the same way (https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/utils/_merge.py).
3. A fragment with neither an id nor an index continues the latest block without an index. If that block has already
   been signed, the fragment begins a new block, because providers sign a block at its end.
4. An empty line separates two parts of a block that both contain text. A fragment that names no part belongs to the
   same part as the previous fragment.
5. In LangChain's v1 format, each part of an item from the Responses API is a separate block. Its index is `lc_rs_`,
   followed by `<item>_<part>` in hexadecimal. This index is decoded into the item and the part.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..parts.message import as_name
from .blocks import Block, Encrypted, Key, Reasoning

BLOCK_TYPES: Final = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
KWARGS: Final = ("reasoning_content", "reasoning")
"""The keys in `additional_kwargs` that may contain reasoning."""
_SEPARATOR: Final = "\n\n"
_STANDARD_INDEX: Final = "lc_rs_"


class Placed(NamedTuple):
    """The block that a fragment belongs to, and what the fragment adds to the block."""

    ordinal: int
    """The block's position among the reasoning blocks of the message, starting at 0."""
    id: str | None
    """The provider's id for the block, if a fragment has contained that id."""
    delta: str
    """The text to append to the block. If it begins a new part, it starts with the separator."""
    encrypted: str | None
    """The block's whole encrypted value so far, if this fragment added to it; otherwise None."""


@dataclass(slots=True)
class _Block:
    ordinal: int
    id: str | None
    part: Key = None
    has_text: bool = False
    gap: bool = False
    encrypted: str = ""


class ReasoningBlocks:
    """Assembles the reasoning blocks of one message from fragments. The fragments come from chunks or from a complete
    message."""

    __slots__ = ("_by_id", "_by_index", "_count", "_keyless")

    def __init__(self) -> None:
        self._by_index: dict[Key, _Block] = {}
        self._by_id: dict[str | None, _Block] = {}
        self._keyless: _Block | None = None
        self._count = 0

    def place(self, fragment: Reasoning | Encrypted) -> Placed:
        """Adds the next fragment. Returns the block that the fragment belongs to and what it adds to the block."""
        if isinstance(fragment, Encrypted):
            block = self._block(fragment.block, None, fresh=fragment.redacted and fragment.block is None)
            block.encrypted += fragment.value
            return Placed(block.ordinal, block.id, "", block.encrypted)
        block = self._block(fragment.block, fragment.id, fresh=False)
        if fragment.part is not None and fragment.part != block.part:
            block.part, block.gap = fragment.part, block.has_text
        if not fragment.text:
            return Placed(block.ordinal, block.id, "", None)
        delta = _SEPARATOR + fragment.text if block.gap else fragment.text
        block.has_text, block.gap = True, False
        return Placed(block.ordinal, block.id, delta, None)

    def _block(self, index: Key, id: str | None, *, fresh: bool) -> _Block:  # noqa: A002
        block = self._known(index, id, fresh)
        if block is None:
            block = _Block(self._count, id)
            self._count += 1
        if index is None:
            self._keyless = block
        else:
            self._by_index[index] = block
        if id is not None:
            block.id = id
            self._by_id[id] = block
        return block

    def _known(self, index: Key, id: str | None, fresh: bool) -> _Block | None:  # noqa: A002
        if id in self._by_id:
            return self._by_id[id]
        block = self._keyless if index is None else self._by_index.get(index)
        if block is None or fresh or (id is not None and block.id is not None):
            return None
        return None if index is None and (block.encrypted or id is not None) else block


def read(block: Mapping[str, Any], position: int | None) -> Iterator[Block]:
    """Yields the blocks for one reasoning block in a content list.

    `position`: the block's position in a complete message; None for a chunk. In a complete message, blocks that have
    the same id and no index are parts of one item.
    """
    kind = block.get("type")
    key, part = _key(block.get("index"))
    id_ = as_name(block.get("id"))
    if key is None and id_ is not None:
        part = position
    if kind == "redacted_thinking":
        yield from _encrypted(key, block.get("data"), redacted=True)
    elif kind == "reasoning_content":
        yield from _bedrock(key, block.get("reasoning_content"))
    elif kind == "thinking":
        yield Reasoning(key, _joined(block.get("thinking")), id_, part)
        yield from _encrypted(key, block.get("signature"))
    else:
        yield from _standard(block, key, part)


def read_kwargs(kwargs: Mapping[str, Any]) -> Iterator[Block]:
    """Yields the reasoning in `additional_kwargs`. The adapters for DeepSeek, Qwen, Groq and xAI put it there, and so
    does OpenAI's older format."""
    for field in KWARGS:
        reasoning = kwargs.get(field)
        if isinstance(reasoning, str) and reasoning:
            yield Reasoning(field, reasoning)
            return
        if isinstance(reasoning, Mapping):
            yield from _standard(reasoning, field, None)


def _standard(block: Mapping[str, Any], key: Key, part: Key) -> Iterator[Block]:
    id_ = as_name(block.get("id"))
    text = block.get("reasoning")
    if not isinstance(text, str):
        text = block.get("text")
    items = {field: block[field] for field in ("summary", "content") if isinstance(block.get(field), (list, tuple))}
    if text or id_ is not None or not any(items.values()):
        yield Reasoning(key, text if isinstance(text, str) else "", id_, part)
    for field, parts in items.items():
        for number, item in enumerate(parts):
            item = {"text": item} if isinstance(item, str) else item
            index = item.get("index", number)
            yield Reasoning(key, item["text"], None, f"{field}-{index}")
    extras = block.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    for field in ("encrypted_content", "signature"):
        yield from _encrypted(key, block.get(field) or extras.get(field))
    yield from _encrypted(key, extras.get("redacted_content") or extras.get("data"), redacted=True)


def _bedrock(key: Key, value: Any) -> Iterator[Block]:
    text, redacted = value.get("text"), value.get("redacted_content")
    if redacted is None or text:
        yield Reasoning(key, text if isinstance(text, str) else "")
    yield from _encrypted(key, value.get("signature"))
    yield from _encrypted(key, redacted, redacted=True)


def _encrypted(key: Key, value: Any, *, redacted: bool = False) -> Iterator[Block]:
    if isinstance(value, (bytes, bytearray)):
        value = b64encode(value).decode()
    if isinstance(value, str) and value:
        yield Encrypted(key, value, redacted)


def _joined(value: Any) -> str:
    """Returns the text of a `thinking` block. Some providers send this text as a list."""
    if isinstance(value, (list, tuple)):
        return "".join(item if isinstance(item, str) else item["text"] for item in value)
    return value if isinstance(value, str) else ""


def _key(index: Any) -> tuple[Key, Key]:
    """Returns the block and the part that a provider's index stands for (rule 5)."""
    if isinstance(index, str) and index.startswith(_STANDARD_INDEX):
        try:
            item, _, part = bytes.fromhex(index[len(_STANDARD_INDEX) :]).decode().partition("_")
            return int(item) if item.isdecimal() else item, part or None
        except ValueError:
            return index, None
    return (index, None) if isinstance(index, (int, str)) else (None, None)
