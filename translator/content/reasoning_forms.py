"""The shape a reasoning block had at its provider, kept beside its text so that it can go back as it was.

Pure text and shapes; nothing here knows messages or the wire beyond the one metadata entry, `METADATA_KEY`.

Rules
1. A form is `{"form": <name>, "parts": [lengths]?, "at": <n>?}`: how the block was written; the lengths of its parts
   where there are several (a part may hold empty lines itself); how much of the answer's text came before it, if any.
2. The client's text counts: lengths that no longer fit it are not used.
3. A block that came without a form (another server's) is written as LangChain's standard `reasoning` block, or as an
   item of the Responses API if it has the id of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .blocks import Block, Encrypted, Reasoning, Text
from .reasoning import PART_SEPARATOR, ReasoningBlocks

METADATA_KEY: Final = "langchain"
KWARGS_FORMS: Final = frozenset({"kwargs-text", "kwargs-item"})


def reasoning_forms(told: Iterable[Block]) -> list[dict[str, Any]]:
    """The forms of a message's reasoning blocks, by ordinal. Takes the message's pieces."""
    blocks = ReasoningBlocks()
    found: list[dict[str, Any]] = []
    lengths: list[list[int]] = []
    spoken = 0
    for piece in told:
        if isinstance(piece, Text):
            spoken += len(piece.text)
        if not isinstance(piece, Reasoning | Encrypted):
            continue
        placed = blocks.place(piece)
        if placed.ordinal == len(found):
            form = {"form": piece.form}
            found.append({**form, "at": spoken} if spoken and piece.form not in KWARGS_FORMS else form)
            lengths.append([])
        if isinstance(piece, Reasoning):
            _measure(lengths[placed.ordinal], piece.text, placed.delta)
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


def _measure(parts: list[int], text: str, delta: str) -> None:
    if len(delta) > len(text) or not parts:
        parts.append(len(text))
    else:
        parts[-1] += len(text)


def _split(text: str, lengths: Any) -> list[str]:
    if not isinstance(lengths, list) or not all(isinstance(length, int) and length > 0 for length in lengths):
        return [text]
    if sum(lengths) + len(PART_SEPARATOR) * (len(lengths) - 1) != len(text):
        return [text]
    parts, start = [], 0
    for length in lengths:
        parts.append(text[start : start + length])
        start += length + len(PART_SEPARATOR)
    return parts


def _with(block: dict[str, Any], **more: str | None) -> dict[str, Any]:
    """The block with those of `more` that are not empty."""
    return block | {name: value for name, value in more.items() if value}
