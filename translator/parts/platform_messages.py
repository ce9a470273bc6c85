"""Converts a platform's `messages` mode (`messages/partial`, `messages/complete` and `messages/metadata`) to chunks.

In this mode, the server adds up the chunks of a message, and for each chunk sends the whole message so far. It sends
the metadata only once, under the message's id. Each version of a message is compared with the previous version, and the
difference becomes a chunk. If a provider withdraws text, a version does not continue the previous one. In that case, no
chunk is made, and a later `values` part of the root graph corrects the text.

For the arguments of a tool call, the server sends the object that a lenient parser has read from the incomplete JSON.
This object is written as JSON again. The text before its closing brackets can no longer change, so it is emitted at
once. The rest is emitted when the superstep ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..jsonable.to_json import freeze
from .part import Namespace, Part, is_within

_NO_METADATA: Mapping[str, Any] = {}
_CLOSERS: Final = '"]}'


class AccumulatedMessages:
    """Keeps the latest version of each of a run's messages."""

    def __init__(self) -> None:
        self._metadata: dict[str, Mapping[str, Any]] = {}
        self._so_far: dict[str, Mapping[str, Any]] = {}
        self._arguments: dict[tuple[str, int], str] = {}
        """For each tool call, the beginning of the arguments that has been read so far. A key consists of the message's
        id and the position of the tool call."""

    def add_metadata(self, metadata: Any) -> Iterator[Part]:
        """Stores the metadata from a `messages/metadata` part. Yields nothing, because such a part contains no
        message."""
        if isinstance(metadata, Mapping):
            self._metadata.update({key: _metadata(value) for key, value in metadata.items()})
        yield from ()

    def read(self, kind: str, message: Any) -> Iterator[Part]:
        """Yields the `messages` parts for one version of a message. If the first version is already complete, the part
        contains the message itself. Otherwise the part contains a chunk with only the new content."""
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
        """Whether there are tool calls whose arguments may not have been read completely."""
        return bool(self._arguments)

    def remaining(self, ns: Namespace) -> Iterator[Part]:
        """Yields the `messages` parts that complete the tool calls made by the graph at `ns` and by the graphs inside
        it. This method is called when a superstep has ended, because the messages of these graphs are complete then."""
        for key in {key: None for key, _ in self._arguments}:
            metadata = self._metadata.get(key, _NO_METADATA)
            if is_within(_namespace(metadata), ns):
                message = self._so_far[key]
                calls = self._calls(key, message, ended=True)
                self._arguments = {call: read for call, read in self._arguments.items() if call[0] != key}
                if calls:
                    yield _part(_chunk(message, "", calls, None), metadata)

    def _calls(self, key: str, message: Mapping[str, Any], *, ended: bool) -> list[Mapping[str, Any]]:
        """Returns the new pieces of a message's tool calls, in the form of the fragments that a model would have
        sent."""
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
    """Returns a part in the `messages` mode. The server does not send the namespace, so it is taken from the
    metadata."""
    return Part(_namespace(metadata), "messages", (message, metadata), from_start=True)


def _namespace(metadata: Mapping[str, Any]) -> Namespace:
    task = metadata.get("langgraph_checkpoint_ns")
    return tuple(task.split("|")[:-1]) if isinstance(task, str) else ()


def _metadata(value: Any) -> Mapping[str, Any]:
    inner = value.get("metadata") if isinstance(value, Mapping) else None
    return inner if isinstance(inner, Mapping) else _NO_METADATA


def _since(before: Mapping[str, Any], now: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Returns the chunk that has to be added to `before` to get `now`; None if `now` does not continue `before`."""
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
    """Returns the beginning of a tool call's arguments that can no longer change. It does not include the closing
    brackets and quotes."""
    open_ended = arguments.rstrip(_CLOSERS)
    return open_ended.removesuffix("null")
