"""A platform's `messages` mode (`messages/partial|complete|metadata`) as chunks.

The server adds the chunks up and sends the whole message so far; metadata comes once, under the message's id. Each
message is compared with the one before it, and the difference becomes a chunk. If a message does not continue the one
before, because a provider took text back, no chunk is made: the `values` of the root graph correct it. For a tool call
the server sends what a lenient parser makes of the arguments so far. The part of their JSON before its closing brackets
can no longer change, so it is read at once; the rest follows when the superstep ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..jsonable.to_json import freeze
from .part import Namespace, Part, is_within

_NO_METADATA: Mapping[str, Any] = {}
_CLOSERS: Final = '"]}'


class AccumulatedMessages:
    """The messages of one run so far."""

    def __init__(self) -> None:
        self._metadata: dict[str, Mapping[str, Any]] = {}
        self._so_far: dict[str, Mapping[str, Any]] = {}
        self._arguments: dict[tuple[str, int], str] = {}
        """By message and position of a call: the arguments that have been read."""

    def add_metadata(self, metadata: Any) -> Iterator[Part]:
        """Takes the data of a `messages/metadata` part, which does not have a message."""
        if isinstance(metadata, Mapping):
            self._metadata.update({key: _metadata(value) for key, value in metadata.items()})
        yield from ()

    def read(self, kind: str, message: Any) -> Iterator[Part]:
        """The `messages` parts for one message of a part: chunks while it grows, and otherwise the message itself."""
        if not isinstance(message, Mapping):
            return
        message_id = message.get("id")
        key = message_id if isinstance(message_id, str) else ""
        metadata = self._metadata.get(key, _NO_METADATA)
        before = self._so_far.get(key)
        if kind == "messages/complete" and before is None:
            yield _part(message, metadata)
            return
        self._so_far[key] = message
        new = _since(before or {}, message, self._calls(key, message, ended=False))
        if new is not None and kind == "messages/complete":
            new["chunk_position"] = "last"
        if new is not None:
            yield _part(new, metadata)

    @property
    def has_open_calls(self) -> bool:
        """Whether there are calls whose last fragments have not been read."""
        return bool(self._arguments)

    def remaining(self, ns: Namespace) -> Iterator[Part]:
        """The `messages` parts that end the calls of the graph at `ns` and of the graphs within it, because their
        messages have ended."""
        for key in {key: None for key, _ in self._arguments}:
            metadata = self._metadata.get(key, _NO_METADATA)
            if is_within(_namespace(metadata), ns):
                message = self._so_far[key]
                calls = self._calls(key, message, ended=True)
                self._arguments = {call: read for call, read in self._arguments.items() if call[0] != key}
                if calls:
                    yield _part(_chunk(message, "", calls, None), metadata)

    def _calls(self, key: str, message: Mapping[str, Any], *, ended: bool) -> list[Mapping[str, Any]]:
        """What is new in the calls of a message, as the fragments that a model would have sent."""
        new: list[Mapping[str, Any]] = []
        for position, call in enumerate(_as_list(message.get("tool_calls"))):
            if not isinstance(call, Mapping):
                continue
            arguments = freeze(call.get("args")).data.decode()
            so_far = arguments if ended else _stable(arguments)
            before = self._arguments.get((key, position))
            added = so_far[len(before or "") :] if so_far.startswith(before or "") else ""
            if added or before is None:
                self._arguments[key, position] = (before or "") + added
                new.append({"index": position, "id": call.get("id"), "name": call.get("name"), "args": added})
        return new


def _part(message: Mapping[str, Any], metadata: Mapping[str, Any]) -> Part:
    """A part of the `messages` mode. The server leaves the namespace out, but the metadata has it."""
    return Part(_namespace(metadata), "messages", (message, metadata), from_start=True)


def _namespace(metadata: Mapping[str, Any]) -> Namespace:
    task = metadata.get("langgraph_checkpoint_ns")
    return tuple(task.split("|")[:-1]) if isinstance(task, str) else ()


def _metadata(value: Any) -> Mapping[str, Any]:
    inner = value.get("metadata") if isinstance(value, Mapping) else None
    return inner if isinstance(inner, Mapping) else _NO_METADATA


def _since(before: Mapping[str, Any], now: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """A chunk that leads from `before` to `now`; None if `now` does not continue it."""
    content = _content_since(before.get("content") or "", now.get("content") or "")
    if content is None:
        return None
    return _chunk(now, content, calls, _counts_since(before.get("usage_metadata"), now.get("usage_metadata")))


def _chunk(now: Mapping[str, Any], content: Any, calls: list[Mapping[str, Any]], usage: Any) -> dict[str, Any]:
    new = {"content": content, "tool_call_chunks": calls, "tool_calls": [], "invalid_tool_calls": []}
    return {**now, **new, "usage_metadata": usage, "type": "AIMessageChunk"}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


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


def _stable(arguments: str) -> str:
    """The beginning of a call's arguments that can no longer change: they lack the characters that close them."""
    open_ended = arguments.rstrip(_CLOSERS)
    return open_ended.removesuffix("null")
