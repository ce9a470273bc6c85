"""Which foreign events and messages can be applied: they have the fields that a reducer reads, of their JSON types.

Never here: the protocol's full schemas (a client checks those itself), and what events mean. An event of another shape
ends the run in the client, so there is nothing to be equal to: `ClientView.apply` passes over it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["is_readable", "is_readable_call", "is_readable_message"]

_Types = type | tuple[type, ...]

_REQUIRED: dict[str, dict[str, _Types]] = {
    "TEXT_MESSAGE_START": {"messageId": str},
    "TEXT_MESSAGE_END": {"messageId": str},
    "REASONING_START": {"messageId": str},
    "REASONING_END": {"messageId": str},
    "REASONING_MESSAGE_START": {"messageId": str},
    "REASONING_MESSAGE_END": {"messageId": str},
    "REASONING_ENCRYPTED_VALUE": {"subtype": str, "entityId": str, "encryptedValue": str},
    "TOOL_CALL_START": {"toolCallId": str, "toolCallName": str},
    "TOOL_CALL_END": {"toolCallId": str},
    "TOOL_CALL_RESULT": {"messageId": str, "toolCallId": str, "content": (str, list)},
    "ACTIVITY_SNAPSHOT": {"messageId": str, "activityType": str, "content": dict},
    "ACTIVITY_DELTA": {"messageId": str, "activityType": str, "patch": list},
    "MESSAGES_SNAPSHOT": {"messages": list},
    "STATE_SNAPSHOT": {"snapshot": object},
    "STATE_DELTA": {"delta": list},
    "RUN_STARTED": {"threadId": str, "runId": str},
    "RUN_FINISHED": {"threadId": str, "runId": str},
    "RUN_ERROR": {"message": str},
    "STEP_STARTED": {"stepName": str},
    "STEP_FINISHED": {"stepName": str},
    "SUBAGENT_STARTED": {"subagentRunId": str, "name": str},
    "SUBAGENT_FINISHED": {"subagentRunId": str},
    "SUBAGENT_ERROR": {"subagentRunId": str, "message": str},
}
_OPTIONAL: dict[str, _Types] = {
    "metadata": dict,
    "subagentRunId": str,
    "parentMessageId": str,
    "parentSubagentRunId": str,
    "parentRunId": str,
    "role": str,
    "name": str,
    "replace": bool,
    "outcome": dict,
    "input": dict,
}
_ABSENT = object()


def is_readable(event: dict[str, Any]) -> bool:
    """Whether the fields of `event` (a wire dict) that a reducer reads are there and of their types."""
    kind = event.get("type")
    required = _REQUIRED.get(kind) if isinstance(kind, str) else None
    if required is None or not _has(event, required, must=True) or not _has(event, _OPTIONAL, must=False):
        return False
    if kind == "MESSAGES_SNAPSHOT":
        return all(map(is_readable_message, event["messages"]))
    if kind == "RUN_STARTED":
        messages = event.get("input", {}).get("messages", [])
        return isinstance(messages, list) and all(map(is_readable_message, messages))
    if kind == "RUN_FINISHED":
        return isinstance(event.get("outcome", {}).get("interrupts", []), list)
    return True


def is_readable_message(message: Any) -> bool:
    """Whether a wire message has what finds and joins messages: id, role, and tool calls that events can reach."""
    if not isinstance(message, dict):
        return False
    if not (isinstance(message.get("id"), str) and isinstance(message.get("role"), str)):
        return False
    if "metadata" in message and not isinstance(message["metadata"], dict):
        return False
    calls = message.get("toolCalls", ())
    return calls == () or (isinstance(calls, list) and all(map(is_readable_call, calls)))


def is_readable_call(call: Any) -> bool:
    """Whether a tool call has an id, a name and arguments."""
    if not isinstance(call, dict) or not isinstance(call.get("id"), str):
        return False
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(call.get("metadata", {}), dict):
        return False
    return isinstance(function.get("name"), str) and isinstance(function.get("arguments"), str)


def _has(event: dict[str, Any], fields: dict[str, _Types], *, must: bool) -> bool:
    for name, types in fields.items():
        value = event.get(name, _ABSENT)
        if value is _ABSENT:
            if must:
                return False
        elif not isinstance(value, types):
            return False
    return True
