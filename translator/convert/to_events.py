"""Converts a complete wire message to the events that add it to a client's messages.

Events cannot express every message. A user or assistant message whose content is a list of parts needs a snapshot, and
so does a tool result with an `error` that is missing from its metadata. Some metadata of a message cannot be expressed
in its events, and is left out. A caller that needs this metadata has to compare the client's messages afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..wire import events
from ..wire.events import Event
from .compare import same_arguments


def as_events(message: Mapping[str, Any], subagent: str | None = None) -> list[Event] | None:
    """Returns the events that append `message` to a client's messages, or None if events cannot express the message."""
    role = message.get("role")
    if role == "assistant":
        return _assistant(message, subagent)
    if role == "tool":
        return _tool(message, subagent)
    if role == "reasoning":
        return _reasoning(message, subagent)
    if role == "activity":
        return [events.activity_snapshot(message["id"], message["activityType"], message["content"], subagent)]
    if role in ("user", "system", "developer") and isinstance(message.get("content"), str):
        return [*_text(message, str(role), subagent), *_encrypted(message, subagent)]
    return None


def continuation(
    present: Mapping[str, Any], message: Mapping[str, Any], subagent: str | None = None
) -> list[Event] | None:
    """Returns the events that turn `present`, the client's copy of a message, into `message`. Returns None if events
    cannot express the change, for example because `message` does not begin with `present`.

    The events add missing text, missing arguments, new tool calls, metadata and encrypted values. If the arguments are
    equivalent as JSON in both copies, no event is emitted for them.
    """
    role = message.get("role")
    if role != present.get("role") or role == "tool":
        return None
    if role == "activity":
        return as_events(message, subagent)
    text = _tail(present.get("content"), message.get("content"))
    calls = _later_calls(present.get("toolCalls") or [], message.get("toolCalls") or [])
    if text is None or calls is None:
        return None
    later = {"id": message["id"], "role": role, "content": text, "toolCalls": calls}
    later["metadata"] = _later(present.get("metadata") or {}, message.get("metadata") or {})
    if message.get("encryptedValue") != present.get("encryptedValue"):
        later["encryptedValue"] = message.get("encryptedValue")
    elif not (text or calls or later["metadata"]):
        return []
    return as_events(later, subagent)


def _tail(present: Any, text: Any) -> str | None:
    """Returns the text that follows `present` in `text`, or None if `text` does not begin with `present`."""
    if present == text:
        return ""
    present = "" if present is None else present
    if isinstance(present, str) and isinstance(text, str) and text.startswith(present):
        return text[len(present) :]
    return None


def _later(present: Mapping[str, Any], marks: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in marks.items() if key not in present or present[key] != value}


def _later_calls(present: list[Event], calls: list[Event]) -> list[Event] | None:
    """Returns the tool calls that are new or have changed. A changed tool call contains only the new part of its
    arguments. Returns None if events cannot express the change."""
    if [call["id"] for call in present] != [call["id"] for call in calls[: len(present)]]:
        return None
    later: list[Event] = []
    for before, call in zip(present, calls, strict=False):
        arguments, wanted = before["function"]["arguments"], call["function"]["arguments"]
        rest = _tail(arguments, wanted)
        if rest is None and not same_arguments(arguments, wanted):
            return None
        if rest or {**before, "function": call["function"]} != call:
            later.append({**call, "function": {**call["function"], "arguments": rest or ""}})
    return later + calls[len(present) :]


def _text(message: Mapping[str, Any], role: str, subagent: str | None) -> list[Event]:
    start = events.text_start(message["id"], role, message.get("name"), subagent)
    content = message.get("content")
    text = [events.text_content(message["id"], content, subagent)] if content else []
    return [start, *text, events.text_end(message["id"], message.get("metadata"), subagent)]


def _assistant(message: Mapping[str, Any], subagent: str | None) -> list[Event] | None:
    if not isinstance(message.get("content", ""), str):
        return None
    calls = message.get("toolCalls") or []
    needs_text = message.get("content") or message.get("name") or message.get("metadata") or not calls
    *text, end = _text(message, "assistant", subagent) if needs_text else [None]
    tools: list[Event] = []
    for call in calls:
        function = call["function"]
        tools.append(events.tool_start(call["id"], function["name"], message["id"], subagent))
        if function["arguments"]:
            tools.append(events.tool_args(call["id"], function["arguments"], subagent))
        tools.append(events.tool_end(call["id"], subagent))
        if call.get("encryptedValue"):
            tools.append(events.call_encrypted(call["id"], call["encryptedValue"], subagent))
    return [event for event in (*text, *tools, *_encrypted(message, subagent), end) if event is not None]


def _tool(message: Mapping[str, Any], subagent: str | None) -> list[Event] | None:
    if "error" in message and message.get("metadata", {}).get("error") != message["error"]:
        return None  # the result event has no field for the error (`ordinary.with_failure`)
    result = events.tool_result(
        message["id"], message["toolCallId"], message["content"], message.get("metadata"), subagent
    )
    return [result, *_encrypted(message, subagent)]


def _reasoning(message: Mapping[str, Any], subagent: str | None) -> list[Event]:
    made = events.reasoning_start(message["id"], subagent)
    if message.get("content"):
        made.append(events.reasoning_content(message["id"], message["content"], subagent))
    return [
        *made,
        *_encrypted(message, subagent),
        *events.reasoning_end(message["id"], message.get("metadata"), subagent),
    ]


def _encrypted(message: Mapping[str, Any], subagent: str | None) -> list[Event]:
    value = message.get("encryptedValue")
    return [events.reasoning_encrypted(message["id"], value, subagent)] if value else []
