"""Converts the most common kinds of messages on a fast path that does not read content blocks.

An ordinary message has an id. It is a user message with plain text, a text result from a tool, or an assistant message
with plain text and tool calls. It becomes exactly one wire message, which is the message that the slower code in
`to_agui` would make. For all other messages, and for messages that it cannot classify with certainty, `ordinary`
returns None.

The dicts of the wire message are new, and its strings are exactly of type `str`. So the message does not have to be
converted to JSON values, unless a string contains a lone surrogate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..content.read_blocks import finish_reason_in, has_content
from ..content.server_tools import json_text
from ..options import Options
from ..wire.events import Event

_LONGEST_ERROR: Final = 1_000
"""The maximum length of the `error` field of a failed result, in characters. The field repeats the beginning of the
content, and the content itself stays complete."""


def ordinary(fields: Mapping[str, Any], options: Options) -> Event | None:
    """Returns the wire message for an ordinary message, or None for any other message. `fields` is the result of
    `fields_of` for the message, and `options` has the same meaning as in `to_agui`."""
    if type(fields) is not dict:  # reading a mapping of another class may raise an exception
        return None
    message_id, content, name = fields.get("id"), fields.get("content"), fields.get("name")
    if type(message_id) is not str or type(content) is not str or not message_id:
        return None
    if name is not None and type(name) is not str:
        return None
    kind = fields.get("type")
    if type(kind) is not str:
        return None
    if kind == "ai" or kind == "AIMessageChunk":
        return _assistant(fields, message_id, content, name, options)
    if kind == "tool":
        return _tool(fields, message_id, content, name, options)
    if kind != "human" or fields.get("additional_kwargs"):
        return None
    message = {"id": message_id, "role": "user", "content": content}
    if name:
        message["name"] = name
    return message


def _assistant(
    fields: Mapping[str, Any], message_id: str, content: str, name: str | None, options: Options
) -> Event | None:
    kwargs, metadata = fields.get("additional_kwargs"), fields.get("response_metadata")
    if (kwargs and (type(kwargs) is not dict or has_content(kwargs))) or fields.get("invalid_tool_calls"):
        return None
    if metadata and (type(metadata) is not dict or "grounding_metadata" in metadata):
        return None
    message: Event = {"id": message_id, "role": "assistant"}
    if tool_calls := fields.get("tool_calls"):
        calls = _calls(tool_calls, options)
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


def _calls(tool_calls: Any, options: Options) -> list[Event] | None:
    """Converts a message's tool calls. Returns None if a tool call is hidden, lacks an id or a name, has arguments that
    are a string, or has the same id as another tool call."""
    if type(tool_calls) is not list:
        return None
    calls: dict[str, Event] = {}
    for call in tool_calls:
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


def _tool(fields: Mapping[str, Any], message_id: str, content: str, name: str | None, options: Options) -> Event | None:
    call_id = fields.get("tool_call_id")
    if type(call_id) is not str or not options.tool_results or (name and name in options.hidden_tools):
        return None
    if options.result_limit is not None and len(content) > options.result_limit:
        return None
    message: Event = {"id": message_id, "role": "tool", "content": content, "toolCallId": call_id}
    return with_failure(message) if fields.get("status") == "error" else message


def with_failure(message: Event) -> Event:
    """Adds the reason for a tool's failure to its result. The reason is in AG-UI's message field `error`, and in the
    metadata together with the status. The metadata is needed because `TOOL_CALL_RESULT` has no field `error`, and
    clients drop unknown fields (https://github.com/ag-ui-protocol/ag-ui/pull/2549). So a client that follows the run
    gets only the metadata."""
    content = message["content"]
    reason = content[:_LONGEST_ERROR] if isinstance(content, str) else "error"
    metadata = {**message.get("metadata", {}), "status": "error", "error": reason}
    return {**message, "error": reason, "metadata": metadata}
