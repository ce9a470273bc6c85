"""A fast way for the messages that most conversations consist of: `ordinary`, which does not read content blocks.

An ordinary message has an id, is a user's text, a tool's text, or an assistant's text and calls, and becomes exactly
one wire message, the one that `to_agui` would make of it. For any other message, and in doubt, `ordinary` returns None.

The wire message is JSON as it is, unless a string has a lone surrogate: its strings are exactly `str`, and its dicts
are new.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..content.reader import finish_reason_in, has_content
from ..content.server_tools import json_text
from ..options import Options
from ..wire.events import Event

_LONGEST_ERROR: Final = 1_000
"""Characters of a failed result that say why it failed; its content has the rest."""


def ordinary(view: Mapping[str, Any], options: Options) -> Event | None:
    """The wire message of an ordinary message; None for any other. `view`: its `fields`. `options`: as for
    `to_agui`."""
    if type(view) is not dict:  # reading a mapping of another class may raise
        return None
    message_id, content, name = view.get("id"), view.get("content"), view.get("name")
    if type(message_id) is not str or type(content) is not str or not message_id:
        return None
    if name is not None and type(name) is not str:
        return None
    kind = view.get("type")
    if type(kind) is not str:
        return None
    if kind == "ai" or kind == "AIMessageChunk":
        return _assistant(view, message_id, content, name, options)
    if kind == "tool":
        return _tool(view, message_id, content, name, options)
    if kind != "human" or view.get("additional_kwargs"):
        return None
    message = {"id": message_id, "role": "user", "content": content}
    if name:
        message["name"] = name
    return message


def _assistant(
    view: Mapping[str, Any], message_id: str, content: str, name: str | None, options: Options
) -> Event | None:
    kwargs, metadata = view.get("additional_kwargs"), view.get("response_metadata")
    if (kwargs and (type(kwargs) is not dict or has_content(kwargs))) or view.get("invalid_tool_calls"):
        return None
    if metadata and (type(metadata) is not dict or "grounding_metadata" in metadata):
        return None
    message: Event = {"id": message_id, "role": "assistant"}
    if given := view.get("tool_calls"):
        calls = _calls(given, options)
        if calls is None:
            return None
        if content:
            message["content"] = content
        message["toolCalls"] = calls
    else:
        message["content"] = content
    if name:
        message["name"] = name
    if metadata and (reason := finish_reason_in(metadata)):
        message["metadata"] = {"finishReason": reason}
    return message


def _calls(given: Any, options: Options) -> list[Event] | None:
    """The calls of a message; None if a call is hidden, has no id or no name, or has the id of another."""
    if type(given) is not list:
        return None
    calls: dict[str, Event] = {}
    for call in given:
        if type(call) is not dict:
            return None
        call_id, name, arguments = call.get("id"), call.get("name"), call.get("args")
        if type(call_id) is not str or type(name) is not str or isinstance(arguments, str):
            return None
        if not call_id or not name or call_id in calls or name in options.hidden_tools:
            return None
        function = {"name": name, "arguments": json_text({} if arguments is None else arguments)}
        calls[call_id] = {"id": call_id, "type": "function", "function": function}
    return list(calls.values())


def _tool(view: Mapping[str, Any], message_id: str, content: str, name: str | None, options: Options) -> Event | None:
    call_id = view.get("tool_call_id")
    if type(call_id) is not str or not options.tool_results or (name and name in options.hidden_tools):
        return None
    if options.result_limit is not None and len(content) > options.result_limit:
        return None
    message: Event = {"id": message_id, "role": "tool", "content": content, "toolCallId": call_id}
    return with_failure(message) if view.get("status") == "error" else message


def with_failure(message: Event) -> Event:
    """The result of a tool that failed: `error`, AG-UI's field of a message, and the same in the metadata, next to the
    status. `TOOL_CALL_RESULT` has no field for it, and clients drop what they do not know
    (https://github.com/ag-ui-protocol/ag-ui/pull/2549), so that a client that follows a run has the metadata alone."""
    content = message["content"]
    reason = content[:_LONGEST_ERROR] if isinstance(content, str) else "error"
    metadata = {**message.get("metadata", {}), "status": "error", "error": reason}
    return {**message, "error": reason, "metadata": metadata}
