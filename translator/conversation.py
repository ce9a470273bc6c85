"""The messages of a thread as a conversation: the ids that a client knows them by, and the tool calls that wait for a
result. Functions on messages in any form that LangGraph knows: objects, their JSON, pairs, texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .convert.to_agui import id_of
from .parts.message import fields, kind_of


def message_ids(messages: Iterable[Any]) -> list[str]:
    """The ids under which a client knows a thread's messages; one without an id is named by its position."""
    return [id_of(fields(message), position) for position, message in enumerate(messages)]


def unanswered_calls(messages: Sequence[Any]) -> list[tuple[str, str]]:
    """The tool calls, by id and name, that wait for a result.

    They are those of a thread's last assistant message that no result follows, unless a user message does: only there
    can a result still go in, right after its call. A call whose arguments are broken waits too, because some providers
    send it to their model again, and then miss its result.
    """
    results: set[str] = set()
    for message in reversed(messages):
        view = fields(message)
        match kind_of(view):
            case "tool":
                results.add(str(view.get("tool_call_id")))
            case "human":
                return []
            case "ai":
                return [(call_id, name) for call_id, name in _calls(view) if call_id not in results]
            case "chat" if view.get("role") in ("user", "human"):
                return []
    return []


def _calls(view: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The calls of an assistant message that have an id and a name."""
    kwargs = view.get("additional_kwargs")
    given = [call for field in ("tool_calls", "invalid_tool_calls") for call in _listed(view.get(field))]
    for call in given or (_listed(kwargs.get("tool_calls")) if isinstance(kwargs, Mapping) else ()):
        if isinstance(call, Mapping):
            function = call.get("function")
            call_id, name = call.get("id"), (function if isinstance(function, Mapping) else call).get("name")
            if isinstance(call_id, str) and isinstance(name, str) and call_id and name:
                yield call_id, name


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
