"""A client's input, read without what a newer version of AG-UI may add: `read_input`.

| unknown | is skipped |
|---|---|
| the role of a message | the message |
| the type of a content part, or of its source | the part; the message too if no part is left, unless it is a result |
| the type of a tool call | the call |
| the status of a `resume` entry | the entry: its interrupt stays pending |

A `binary` content part, which older clients send, is read as the part of its MIME type that took its place.

Only a text can be an unknown kind. Anything else in its place is no AG-UI, and is refused as before. What is skipped is
logged, once for each input. The client keeps it: it is not part of the thread.

A run is refused where nothing would be left to run: all messages are unknown, or the whole content of the last one is;
unless it answers an interrupt.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from ag_ui.core import RunAgentInput
from pydantic import BaseModel

from ..errors import InvalidInputError, log_context
from .validation import validated

_Item = TypeVar("_Item")

_ROLES: Final = frozenset({"user", "assistant", "tool", "system", "developer", "reasoning", "activity"})
_PARTS: Final = frozenset({"text", "image", "audio", "video", "document"})
_SOURCES: Final = frozenset({"data", "url", "file"})
_CALLS: Final = frozenset({"function"})
_STATUSES: Final = frozenset({"resolved", "cancelled"})
_NAME: Final = re.compile(r"[A-Za-z][\w-]{0,40}")
_MOST_LOGGED: Final = 8

_log = logging.getLogger(__name__)


def read_input(given: RunAgentInput | Mapping[str, Any], agent: object, *, is_run: bool = True) -> RunAgentInput:
    """The input that this object, or its JSON, is, without what is unknown. `agent`: for the log, as `log_context`
    takes it. `is_run`: whether it is to be run. Raises pydantic's `ValidationError` for JSON that is no input, and
    `InvalidInputError` for a run of which nothing is known."""
    skipped: list[str] = []
    messages = _listed(_get(given, "messages"), lambda each: _message(each, skipped))
    known = _replaced(given, "messages", messages)
    entries = _listed(_get(given, "resume"), lambda each: _known(each, "status", _STATUSES, "resume status", skipped))
    known = _replaced(known, "resume", entries)
    found = known if isinstance(known, RunAgentInput) else validated(known)
    if skipped:
        context = log_context(agent, found.thread_id, found.run_id)
        _log.warning(
            "%d items of an input are skipped; their kinds are unknown: %s (%s).",
            len(skipped),
            _named(skipped),
            context,
        )
        if is_run and not _get(given, "resume"):
            _check_last(_get(given, "messages"), messages, skipped)
    return found


def _check_last(sent: list[Any], messages: list[Any], skipped: list[str]) -> None:
    """Raises `InvalidInputError` if no message is left, or nothing of what the last one says."""
    if not messages:
        raise InvalidInputError(f"messages: expected at least one of a known kind, got {_named(skipped)}")
    of_last: list[str] = []
    if _message(sent[-1], of_last) is None and _known(sent[-1], "role", _ROLES, "role", []) is not None:
        raise InvalidInputError(f"messages[{len(sent) - 1}]: expected content of a known kind, got {_named(of_last)}")


def _named(skipped: list[str]) -> str:
    return ", ".join(list(dict.fromkeys(skipped))[:_MOST_LOGGED])


def _message(message: Any, skipped: list[str]) -> Any | None:
    """The message without what is unknown; None if it is unknown itself."""
    if _known(message, "role", _ROLES, "role", skipped) is None:
        return None
    content = _get(message, "content")
    if isinstance(content, list) and content:
        parts = _listed(content, lambda part: _part(part, skipped))
        if not parts and _get(message, "role") != "tool":
            return None
        message = _replaced(message, "content", parts)
    for name in ("toolCalls", "tool_calls"):
        calls = _listed(_get(message, name), lambda call: _known(call, "type", _CALLS, "tool call", skipped))
        message = _replaced(message, name, calls)
    return message


def _part(part: Any, skipped: list[str]) -> Any | None:
    part = _of_binary(part) or part
    if _known(part, "type", _PARTS, "content part", skipped) is None:
        return None
    is_known = _known(_get(part, "source"), "type", _SOURCES, "source", skipped) is not None
    return part if is_known or _get(part, "source") is None else None


def _of_binary(part: Any) -> dict[str, Any] | None:
    """The part that a `binary` one of an older client is now; None for any other part, and without data and URL."""
    if not isinstance(part, Mapping) or part.get("type") != "binary":
        return None
    data, url, mime_type = part.get("data"), part.get("url"), part.get("mimeType")
    source = {"type": "data", "value": data} if data else {"type": "url", "value": url} if url else None
    if source is None or not isinstance(mime_type, str):
        return None
    family = mime_type.partition("/")[0]
    kind = family if family in ("image", "audio", "video") else "document"
    return {"type": kind, "source": {**source, "mimeType": mime_type}}


def _known(item: Any, field: str, kinds: frozenset[str], what: str, skipped: list[str]) -> Any | None:
    """The item; None if its kind is an unknown text."""
    kind = _get(item, field)
    if not isinstance(kind, str) or kind in kinds:
        return item
    skipped.append(f"{what} {kind!r}" if _NAME.fullmatch(kind) else what)
    return None


def _listed(items: Any, known: Callable[[Any], Any | None]) -> Any:
    """The items that are known; what is no list is left as it is."""
    if not isinstance(items, list):
        return items
    return [found for each in items if (found := known(each)) is not None or each is None]


def _get(item: Any, name: str) -> Any:
    if type(item) is dict:
        return item.get(name)
    if isinstance(item, BaseModel):  # `getattr` of what a model does not have is slow
        found = item.__dict__.get(name)
        return (item.model_extra or {}).get(name) if found is None else found
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _replaced(item: _Item, name: str, value: Any) -> Any:
    """The item with another value of a field that it has; itself if nothing differs."""
    before: Any = _get(item, name)
    if before is value or (isinstance(before, list) and len(before) == len(value) and _same(before, value)):
        return item
    return {**item, name: value} if isinstance(item, Mapping) else item.model_copy(update={name: value})  # type: ignore[attr-defined]


def _same(first: list[Any], second: list[Any]) -> bool:
    return all(one is other for one, other in zip(first, second, strict=True))
