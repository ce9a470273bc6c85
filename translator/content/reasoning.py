"""Reasoning of any provider: its blocks read, which fragments are one block, and the shape it came in, to give it back.

Rules
1. Every shape is read by `read`: Anthropic and Gemini `thinking`, `redacted_thinking`, Bedrock `reasoning_content`,
   LangChain's standard `reasoning`, and Responses' `reasoning` with its `summary` or `content` parts.
2. A fragment belongs to the block that has its provider id, else to the one that has its index; a fragment whose index
   and id contradict each other begins a new block. This is how langchain-core adds chunks up.
3. A fragment with neither continues the latest block without an index, unless that one is already signed: providers
   sign a block at its end.
4. Parts of one block are separated by an empty line, wherever both have text. A fragment that names no part belongs to
   the part before it.
5. In LangChain's v1 form each part of a Responses item is a block of its own, with the index
   `lc_rs_` + hex("<item>_<part>"): it is read back to the item and its part.
6. A form is `{"form": <name>, "parts": [lengths]?, "at": <n>?}`: the shape a block came in; the lengths of its parts
   where there are several (a part may contain empty lines itself); how much of the answer's text came before it, if
   any. It is kept in the metadata of the AG-UI message.
7. The client's text counts: lengths that do not fit it are not used.
8. A block that comes without a form (from another server) is written as LangChain's standard `reasoning` block, or as
   an item of the Responses API if it has the id of one.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ..parts.message import as_name
from .blocks import Block, Encrypted, Key, Reasoning, Text

BLOCK_TYPES: Final = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
METADATA_KEY: Final = "langchain"
"""The key of an AG-UI message's metadata for what only LangChain has words for."""
KWARGS_FORMS: Final = frozenset({"kwargs-text", "kwargs-item"})
"""Forms of reasoning that is kept in `additional_kwargs`, and not in the content."""
_SEPARATOR: Final = "\n\n"
_STANDARD_INDEX: Final = "lc_rs_"


class Placed(NamedTuple):
    """Where a fragment belongs and what it adds."""

    ordinal: int
    """0-based, among all reasoning blocks of the message."""
    id: str | None
    """The provider's id of the block, once a fragment has brought it."""
    delta: str
    """Text to append to the block, with the separator where a new part begins."""
    encrypted: str | None
    """The block's encrypted value so far, when this fragment changed it."""


class _Block:
    __slots__ = ("encrypted", "gap", "has_text", "id", "ordinal", "part")

    def __init__(self, ordinal: int, id: str | None) -> None:  # noqa: A002
        self.ordinal = ordinal
        self.id = id
        self.part: Key = None
        self.has_text = False
        self.gap = False
        self.encrypted = ""


class ReasoningBlocks:
    """The reasoning blocks of one message, as its fragments come in. The same for a chunked and a whole message."""

    __slots__ = ("_by_id", "_by_index", "_count", "_keyless")

    def __init__(self) -> None:
        self._by_index: dict[Key, _Block] = {}
        self._by_id: dict[str | None, _Block] = {}
        self._keyless: _Block | None = None
        self._count = 0

    def place(self, fragment: Reasoning | Encrypted) -> Placed:
        """Take the next fragment; gives its block and what it adds."""
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
    """The blocks of one reasoning block of a content list.

    `position` is the block's place in a whole message (None for a chunk): in a whole message, blocks without an index
    that share an id are the parts of one item.
    """
    kind = block.get("type")
    key, part = _key(block.get("index"))
    id_ = as_name(block.get("id"))
    if key is None and id_ is not None:
        part = position
    if kind == "redacted_thinking":
        yield from _encrypted(key, block.get("data"), kind, redacted=True)
    elif kind == "reasoning_content":
        yield from _bedrock(key, block.get("reasoning_content"))
    elif kind == "thinking":
        yield Reasoning(key, _joined(block.get("thinking")), id_, part, kind)
        yield from _encrypted(key, block.get("signature"), kind)
    else:
        yield from _standard(block, key, part, "summary" if isinstance(block.get("summary"), list) else "reasoning")


def read_kwargs(kwargs: Mapping[str, Any]) -> Iterator[Block]:
    """The reasoning that some adapters keep in `additional_kwargs` (DeepSeek, Qwen, Groq, xAI; Responses v0)."""
    plain_text = kwargs.get("reasoning_content")
    reasoning = kwargs.get("reasoning")
    if isinstance(plain_text, str) and plain_text:
        yield Reasoning("reasoning_content", plain_text, form="kwargs-text")
    elif isinstance(reasoning, str) and reasoning:
        yield Reasoning("reasoning", reasoning, form="kwargs-text")
    elif isinstance(reasoning, Mapping):
        yield from _standard(reasoning, "reasoning", None, "kwargs-item")


def reasoning_forms(content: Iterable[Block]) -> list[dict[str, Any]]:
    """The forms of a message's reasoning blocks, by ordinal (rule 6). Takes the blocks of a whole message."""
    placing = ReasoningBlocks()
    found: list[dict[str, Any]] = []
    lengths: list[list[int]] = []
    before = 0
    for block in content:
        if isinstance(block, Text):
            before += len(block.text)
        if not isinstance(block, Reasoning | Encrypted):
            continue
        placed = placing.place(block)
        if placed.ordinal == len(found):
            form = {"form": block.form}
            found.append({**form, "at": before} if before and block.form not in KWARGS_FORMS else form)
            lengths.append([])
        if isinstance(block, Reasoning):
            _measure(lengths[placed.ordinal], block.text, placed.delta)
    for form_, parts in zip(found, lengths, strict=True):
        if len(parts) > 1:
            form_["parts"] = parts
    return found


def reasoning_blocks(id_: str | None, text: str, encrypted: str, form: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The content blocks a reasoning block is written as; `id_` only where it is the provider's."""
    name = form.get("form")
    if name == "thinking":
        return [_with({"type": "thinking", "thinking": text}, signature=encrypted)]
    if name == "redacted_thinking":
        return [{"type": "redacted_thinking", "data": encrypted}]
    if name == "redacted_content":
        return [{"type": "reasoning_content", "reasoning_content": {"redacted_content": encrypted}}]
    if name == "reasoning_content":
        return [{"type": "reasoning_content", "reasoning_content": _with({"text": text}, signature=encrypted)}]
    parts = _split(text, form.get("parts"))
    if name in ("summary", "kwargs-item") or (name is None and id_ is not None):
        summary = [{"type": "summary_text", "text": part} for part in parts if part]
        return [_with({"type": "reasoning", "id": id_, "summary": summary}, encrypted_content=encrypted)]
    blocks: list[dict[str, Any]] = [_with({"type": "reasoning", "reasoning": part}, id=id_) for part in parts]
    if encrypted:
        blocks[-1]["extras"] = {"signature" if id_ is None else "encrypted_content": encrypted}
    return blocks


def _standard(block: Mapping[str, Any], key: Key, part: Key, form: str) -> Iterator[Block]:
    id_ = as_name(block.get("id"))
    text = block.get("reasoning")
    if not isinstance(text, str):
        text = block.get("text")
    parts = [(field, block[field]) for field in ("summary", "content") if isinstance(block.get(field), list | tuple)]
    if text or id_ is not None or not any(items for _, items in parts):
        yield Reasoning(key, text if isinstance(text, str) else "", id_, part, form)
    for field, items in parts:
        for number, item in enumerate(items):
            yield from _part(key, field, number, item, form)
    extras = block.get("extras")
    extras = extras if isinstance(extras, Mapping) else {}
    for field in ("encrypted_content", "signature"):
        yield from _encrypted(key, block.get(field) or extras.get(field), form)
    yield from _encrypted(key, extras.get("redacted_content") or extras.get("data"), form, redacted=True)


def _part(key: Key, field: str, number: int, item: Any, form: str) -> Iterator[Block]:
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        index = item.get("index")
        part = f"{field}-{index if isinstance(index, int | str) else number}"
        yield Reasoning(key, item["text"], None, part, form)
    elif isinstance(item, str):
        yield Reasoning(key, item, None, f"{field}-{number}", form)


def _bedrock(key: Key, value: Any) -> Iterator[Block]:
    form = "reasoning_content"
    if isinstance(value, Mapping):
        text = value.get("text")
        redacted = value.get("redacted_content")
        if redacted is None or text:
            yield Reasoning(key, text if isinstance(text, str) else "", form=form)
        yield from _encrypted(key, value.get("signature"), form)
        yield from _encrypted(key, redacted, "redacted_content", redacted=True)
    elif isinstance(value, str):
        yield Reasoning(key, value, form=form)


def _encrypted(key: Key, value: Any, form: str, *, redacted: bool = False) -> Iterator[Block]:
    if opaque := _opaque(value):
        yield Encrypted(key, opaque, redacted, form)


def _opaque(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    return value if isinstance(value, str) else ""


def _joined(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple):
        return ""
    texts = (item.get("text") if isinstance(item, Mapping) else item for item in value)
    return "".join(text for text in texts if isinstance(text, str))


def _key(index: Any) -> tuple[Key, Key]:
    """Block and part of a provider's index (rule 5)."""
    if isinstance(index, str) and index.startswith(_STANDARD_INDEX):
        try:
            item, _, part = bytes.fromhex(index[len(_STANDARD_INDEX) :]).decode().partition("_")
            return int(item) if item.isdecimal() else item, part or None
        except ValueError:
            return index, None
    return (index, None) if isinstance(index, int | str) else (None, None)


def _measure(parts: list[int], text: str, delta: str) -> None:
    if len(delta) > len(text) or not parts:
        parts.append(len(text))
    else:
        parts[-1] += len(text)


def _split(text: str, lengths: Any) -> list[str]:
    if not isinstance(lengths, list) or not all(isinstance(length, int) and length > 0 for length in lengths):
        return [text]
    if sum(lengths) + len(_SEPARATOR) * (len(lengths) - 1) != len(text):
        return [text]
    parts, start = [], 0
    for length in lengths:
        parts.append(text[start : start + length])
        start += length + len(_SEPARATOR)
    return parts


def _with(block: dict[str, Any], **more: str | None) -> dict[str, Any]:
    """The block with those of `more` that are not empty."""
    return block | {name: value for name, value in more.items() if value}
