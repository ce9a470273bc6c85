"""A platform's `messages` mode (`messages/partial|complete|metadata`) read as chunks. Decides nothing about ids or
telling.

The server adds the chunks up and sends the message so far; metadata comes once, under the message's id. What is new
since the last time is cut off again here. Where a message so far is not the continuation of the one before (a provider
that takes text back), nothing is cut off: the root `values` mends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NO_METADATA: Mapping[str, Any] = {}


class Accumulated:
    """The messages of one run, as far as they have been heard."""

    def __init__(self) -> None:
        self._metadata: dict[str, Mapping[str, Any]] = {}
        self._so_far: dict[str, Mapping[str, Any]] = {}

    def read(self, kind: str, data: Any) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """The `(message, metadata)` pairs of a part: chunks while a message grows, the message itself otherwise."""
        if kind == "messages/metadata":
            if isinstance(data, Mapping):
                self._metadata.update({key: _metadata(value) for key, value in data.items()})
            return
        for message in data if isinstance(data, list) else ():
            if isinstance(message, Mapping):
                yield from self._one(kind, message)

    def _one(self, kind: str, message: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        message_id = message.get("id")
        key = message_id if isinstance(message_id, str) else ""
        metadata = self._metadata.get(key, _NO_METADATA)
        before = self._so_far.get(key)
        if kind == "messages/complete" and before is None:
            yield message, metadata
            return
        self._so_far[key] = message
        new = _since(before or {}, message)
        if new is not None and kind == "messages/complete":
            new["chunk_position"] = "last"
        if new is not None:
            yield new, metadata


def _metadata(value: Any) -> Mapping[str, Any]:
    inner = value.get("metadata") if isinstance(value, Mapping) else None
    return inner if isinstance(inner, Mapping) else _NO_METADATA


def _since(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """A chunk that leads from `before` to `now`; None if `now` does not go on from it."""
    content = _content_since(before.get("content") or "", now.get("content") or "")
    if content is None:
        return None
    calls = _calls_since(before.get("tool_call_chunks") or [], now.get("tool_call_chunks") or [])
    return {
        **now,
        "content": content,
        "tool_call_chunks": calls,
        "tool_calls": [],
        "invalid_tool_calls": [],
        "usage_metadata": _counts_since(before.get("usage_metadata"), now.get("usage_metadata")),
        "type": "AIMessageChunk",
    }


def _counts_since(before: Any, now: Any) -> Any:
    if isinstance(now, Mapping):
        before = before if isinstance(before, Mapping) else {}
        return {key: _counts_since(before.get(key), value) for key, value in now.items()}
    return now - before if isinstance(now, int) and isinstance(before, int) else now


def _content_since(before: Any, now: Any) -> Any:
    if isinstance(now, str) and isinstance(before, str):
        return now[len(before) :] if now.startswith(before) else None
    blocks_before = before if isinstance(before, list) else ([before] if before else [])
    blocks = now if isinstance(now, list) else [now]
    new = []
    for position, block in enumerate(blocks):
        old = blocks_before[position] if position < len(blocks_before) else None
        if block != old:
            new.append(_block_since(old, block))
    return new


def _block_since(old: Any, block: Any) -> Any:
    if isinstance(old, str) and isinstance(block, str) and block.startswith(old):
        return block[len(old) :]
    if not isinstance(old, Mapping) or not isinstance(block, Mapping):
        return block
    grown = dict(block)
    for key, value in block.items():
        was = old.get(key)
        if key not in ("type", "id", "index") and isinstance(value, str) and isinstance(was, str):
            grown[key] = value[len(was) :] if value.startswith(was) else value
        elif isinstance(value, list) and isinstance(was, list) and key in ("summary", "content"):
            grown[key] = _content_since(was, value)
    return grown


def _calls_since(before: list[Any], now: list[Any]) -> list[Any]:
    new = []
    for position, call in enumerate(now):
        if not isinstance(call, Mapping):
            continue
        old = before[position] if position < len(before) and isinstance(before[position], Mapping) else {}
        args, was = call.get("args") or "", old.get("args") or ""
        if isinstance(args, str) and isinstance(was, str) and (args != was or not old):
            rest = args[len(was) :] if args.startswith(was) else args
            new.append({**call, "args": rest, "index": position if call.get("index") is None else call["index"]})
    return new
