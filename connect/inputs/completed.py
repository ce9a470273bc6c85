"""New messages, with a result for every tool call that comes before them: `completed`. Models refuse a conversation in
which an answer to a call is missing, or is not right after its call, or belongs to none."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ...translator import unanswered_calls
from .messages import left_unanswered

_log = logging.getLogger(__name__)


def completed(stored: Sequence[Any], new: Iterable[BaseMessage]) -> list[BaseMessage]:
    """The messages that go in after the stored ones: results right after their calls, in the calls' order, and one
    that says so for each call that was left unanswered."""
    items = list(new)
    results = {message.tool_call_id: message for message in items if isinstance(message, ToolMessage)}
    others = [message for message in items if not isinstance(message, ToolMessage)]
    found = list(_answered(dict(unanswered_calls(stored)), results, continues=bool(items)))
    for index, message in enumerate(others):
        found.append(message)
        if isinstance(message, AIMessage):
            calls = {str(call["id"]): call["name"] for call in message.tool_calls if call["id"]}
            found += _answered(calls, results, continues=index + 1 < len(others) or bool(calls.keys() & results.keys()))
    if results:
        _log.warning("%d tool results are passed over: no call waits for them", len(results))
    return found


def _answered(calls: Mapping[str, str], results: dict[str, ToolMessage], *, continues: bool) -> Iterator[BaseMessage]:
    for call_id, name in calls.items():
        result = results.pop(call_id, None)
        if result is not None:
            yield result.model_copy(update={"name": name or None})  # some models want it; the call is not the client's
        elif continues:
            yield left_unanswered(call_id, name)
