"""`*_CHUNK` events, as a client expands them: into START, CONTENT (or ARGS) and END. Pure."""

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
    """The events of one stream with its chunks expanded, one event at a time."""

    def __init__(self) -> None:
        self._open: tuple[str, str, str] | None = None
        """What the last chunk was of: its kind, the name of its id, and the id."""

    def expand(self, event: Event) -> Iterator[Event]:
        """The events in place of the next one."""
        kind = event.get("type")
        if kind not in _KINDS:
            yield from self._close()
            yield event
            return
        what, id_field, delta = _KINDS[kind]
        key = event.get(id_field) or (self._open[2] if self._open is not None and self._open[0] == what else None)
        if self._open is not None and self._open != (what, id_field, key):
            yield from self._close()
        if self._open is None:
            start = {name: value for name, value in event.items() if name not in ("type", "delta")}
            role = {"TEXT_MESSAGE": "assistant", "REASONING_MESSAGE": "reasoning"}.get(what)
            yield {"type": f"{what}_START", **({"role": role} if role else {}), **start}
            self._open = what, id_field, str(key)
        if event.get("delta"):
            yield {"type": f"{what}_{delta}", id_field: key, "delta": event["delta"]}

    def _close(self) -> Iterator[Event]:
        if self._open is not None:
            what, id_field, key = self._open
            self._open = None
            yield {"type": f"{what}_END", id_field: key}
