"""Expands `*_CHUNK` events into START, CONTENT (or ARGS) and END events, as an AG-UI client does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...testing.grammar import Event

_KINDS: Final = {
    "TEXT_MESSAGE_CHUNK": ("TEXT_MESSAGE", "messageId", "CONTENT"),
    "TOOL_CALL_CHUNK": ("TOOL_CALL", "toolCallId", "ARGS"),
    "REASONING_MESSAGE_CHUNK": ("REASONING_MESSAGE", "messageId", "CONTENT"),
}


class Chunks:
    """Expands the chunks of one stream, one event at a time."""

    def __init__(self) -> None:
        self._open: tuple[str, str, str] | None = None
        """The item that the last chunk belonged to: its kind, the name of its id field, and its id."""

    def expand(self, event: Event) -> Iterator[Event]:
        """Yields the events that replace the next event of the stream."""
        kind = event.get("type")
        if kind not in _KINDS:
            yield from self._close()
            yield event
            return
        item, id_field, delta = _KINDS[kind]
        key = event.get(id_field) or (self._open[2] if self._open is not None and self._open[0] == item else None)
        if self._open is not None and self._open != (item, id_field, key):
            yield from self._close()
        if self._open is None:
            start = {name: value for name, value in event.items() if name not in ("type", "delta")}
            role = {"TEXT_MESSAGE": "assistant", "REASONING_MESSAGE": "reasoning"}.get(item)
            yield {"type": f"{item}_START", **({"role": role} if role else {}), **start}
            self._open = item, id_field, str(key)
        if event.get("delta"):
            yield {"type": f"{item}_{delta}", id_field: key, "delta": event["delta"]}

    def _close(self) -> Iterator[Event]:
        if self._open is not None:
            item, id_field, key = self._open
            self._open = None
            yield {"type": f"{item}_END", id_field: key}
