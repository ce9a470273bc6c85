"""Reads a client's input without the items that only a newer version of AG-UI defines: `read_input`.

| unknown | what is skipped |
|---|---|
| the role of a message | the message |
| the type of a content part, or of its source | the part; if no part is left, the message too, unless it is a result |
| the type of a tool call | the call |
| the status of a `resume` entry | the entry: its interrupt stays pending |

A `binary` content part, which older clients send, is read as the part of its MIME type that has replaced it.

A kind is unknown only if it is a string. Any other value is not valid AG-UI, and is refused. The items of an input that
are skipped are logged in one line. The client still has them, but they do not become part of the thread.

A run is refused if it would have nothing to run on: if all messages are unknown, or the whole content of the last one.
This does not apply to a run that answers an interrupt.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from ag_ui.core import RunAgentInput
from pydantic import BaseModel

from ..errors import InvalidInputError, log_context
from .validation import validate_input

_Item = TypeVar("_Item")

_ROLES: Final = frozenset({"user", "assistant", "tool", "system", "developer", "reasoning", "activity"})
_PARTS: Final = frozenset({"text", "image", "audio", "video", "document"})
_SOURCES: Final = frozenset({"data", "url", "file"})
_CALLS: Final = frozenset({"function"})
_STATUSES: Final = frozenset({"resolved", "cancelled"})
_NAME: Final = re.compile(r"[A-Za-z][\w-]{0,40}")
_MOST_LOGGED: Final = 8

_log = logging.getLogger(__name__)


def read_input(data: RunAgentInput | Mapping[str, Any], agent: object, *, is_run: bool = True) -> RunAgentInput:
    """Returns the input in an object or JSON, without unknown items. `agent` is for the log, as in `log_context`.
    `is_run` says whether the input is to be run. Raises pydantic's `ValidationError` for JSON that is not an input, and
    `InvalidInputError` for a run with nothing known to run on."""
    skipped: list[str] = []
    messages = _filter(_get(data, "messages"), lambda message: _read_message(message, skipped))
    entries = _filter(
        _get(data, "resume"), lambda entry: _if_known(entry, "status", _STATUSES, "resume status", skipped)
    )
    readable = _with_field(_with_field(data, "messages", messages), "resume", entries)
    run_input = readable if isinstance(readable, RunAgentInput) else validate_input(readable)
    if skipped:
        context = log_context(agent, run_input.thread_id, run_input.run_id)
        _log.warning(
            "%d items of an input are skipped, because their kinds are unknown: %s (%s).",
            len(skipped),
            _list_kinds(skipped),
            context,
        )
        if is_run and not _get(data, "resume"):
            _check_last(_get(data, "messages"), messages, skipped)
    return run_input


def _check_last(original: list[Any], messages: list[Any], skipped: list[str]) -> None:
    """Raises `InvalidInputError` if no message is left, or nothing of the content of the last one."""
    if not messages:
        raise InvalidInputError(f"messages: expected at least one of a known kind, got {_list_kinds(skipped)}")
    last, of_last = original[-1], list[str]()
    if _read_message(last, of_last) is None and _if_known(last, "role", _ROLES, "role", []) is not None:
        kinds = _list_kinds(of_last)
        raise InvalidInputError(f"messages[{len(original) - 1}]: expected content of a known kind, got {kinds}")


def _list_kinds(skipped: list[str]) -> str:
    return ", ".join(list(dict.fromkeys(skipped))[:_MOST_LOGGED])


def _read_message(message: Any, skipped: list[str]) -> Any | None:
    """Returns the message without unknown items, or None if the message itself is unknown."""
    if _if_known(message, "role", _ROLES, "role", skipped) is None:
        return None
    content = _get(message, "content")
    if isinstance(content, list) and content:
        parts = _filter(content, lambda part: _read_part(part, skipped))
        if not parts and _get(message, "role") != "tool":
            return None
        message = _with_field(message, "content", parts)
    for name in ("toolCalls", "tool_calls"):
        calls = _filter(_get(message, name), lambda call: _if_known(call, "type", _CALLS, "tool call", skipped))
        message = _with_field(message, name, calls)
    return message


def _read_part(part: Any, skipped: list[str]) -> Any | None:
    part = _of_binary(part) or part
    if _if_known(part, "type", _PARTS, "content part", skipped) is None:
        return None
    is_known = _if_known(_get(part, "source"), "type", _SOURCES, "source", skipped) is not None
    return part if is_known or _get(part, "source") is None else None


def _of_binary(part: Any) -> dict[str, Any] | None:
    """Returns the part that has replaced a `binary` part of an older client. Returns None for any other part, and for
    one without data and URL."""
    if not isinstance(part, Mapping) or part.get("type") != "binary":
        return None
    data, url, mime_type = part.get("data"), part.get("url"), part.get("mimeType")
    source = {"type": "data", "value": data} if data else {"type": "url", "value": url} if url else None
    if source is None or not isinstance(mime_type, str):
        return None
    family = mime_type.partition("/")[0]
    kind = family if family in ("image", "audio", "video") else "document"
    return {"type": kind, "source": {**source, "mimeType": mime_type}}


def _if_known(item: Any, field: str, kinds: frozenset[str], label: str, skipped: list[str]) -> Any | None:
    """Returns the item, or None if its kind is an unknown string, which is then added to `skipped`."""
    kind = _get(item, field)
    if not isinstance(kind, str) or kind in kinds:
        return item
    skipped.append(f"{label} {kind!r}" if _NAME.fullmatch(kind) else label)
    return None


def _filter(items: Any, read: Callable[[Any], Any | None]) -> Any:
    """Returns the items as `read` returns them, without those for which it returns None. A value that is not a list is
    returned unchanged."""
    if not isinstance(items, list):
        return items
    return [result for item in items if (result := read(item)) is not None or item is None]


def _get(item: Any, name: str) -> Any:
    if type(item) is dict:
        return item.get(name)
    if isinstance(item, BaseModel):  # `getattr` for a missing attribute of a model is slow
        value = item.__dict__.get(name)
        return (item.model_extra or {}).get(name) if value is None else value
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _with_field(item: _Item, name: str, value: Any) -> Any:
    """Returns the item with another value for a field that it has, or the item itself if nothing differs."""
    before: Any = _get(item, name)
    if before is value or (isinstance(before, list) and len(before) == len(value) and _same(before, value)):
        return item
    return {**item, name: value} if isinstance(item, Mapping) else item.model_copy(update={name: value})  # type: ignore[attr-defined]


def _same(first: list[Any], second: list[Any]) -> bool:
    return all(one is other for one, other in zip(first, second, strict=True))
