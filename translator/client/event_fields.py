"""Which events are shaped so that they can be applied.

Here: the fields a reducer reads, their JSON types, and one question, `readable`.
Never here: the protocol's full schemas (a client checks those itself), and what events mean.

The client ends the run at an event of another shape, so there is nothing to be equal to: the view passes over it.
"""

from typing import Any

__all__ = ["readable", "readable_message"]

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


def readable(event: dict[str, Any]) -> bool:
    """Whether the fields a reducer reads of `event` (a wire dict) are there and of their type."""
    kind = event.get("type")
    required = _REQUIRED.get(kind) if isinstance(kind, str) else None
    if required is None or not _typed(event, required, must=True) or not _typed(event, _OPTIONAL, must=False):
        return False
    if kind == "MESSAGES_SNAPSHOT":
        return all(map(readable_message, event["messages"]))
    if kind == "RUN_STARTED":
        messages = event.get("input", {}).get("messages", [])
        return isinstance(messages, list) and all(map(readable_message, messages))
    if kind == "RUN_FINISHED":
        interrupts = event.get("outcome", {}).get("interrupts", [])
        return isinstance(interrupts, list)
    return True


def readable_message(message: Any) -> bool:
    """Whether a wire message has what finds and joins messages: id, role, and calls with ids, names and arguments."""
    if not isinstance(message, dict):
        return False
    if not (isinstance(message.get("id"), str) and isinstance(message.get("role"), str)):
        return False
    if "metadata" in message and not isinstance(message["metadata"], dict):
        return False
    calls = message.get("toolCalls", ())
    return calls == () or (isinstance(calls, list) and all(map(_readable_call, calls)))


def _readable_call(call: Any) -> bool:
    if not isinstance(call, dict) or not _typed(call, {"id": str, "function": dict}, must=True):
        return False
    if not isinstance(call.get("metadata", {}), dict):
        return False
    return _typed(call["function"], {"name": str, "arguments": str}, must=True)


def _typed(holder: dict[str, Any], fields: dict[str, _Types], *, must: bool) -> bool:
    for name, types in fields.items():
        value = holder.get(name, _ABSENT)
        if value is _ABSENT:
            if must:
                return False
        elif not isinstance(value, types):
            return False
    return True
