"""Constructs wire events, which are plain dicts with camelCase keys. Fields without a value are left out.

The parameter `subagent` is the run id of the subagent that the event belongs to (`subagentRunId`), or None for the main
agent. The fields are documented at https://docs.ag-ui.com/concepts/events. This module does not check the order of
events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Event = dict[str, Any]


def _filled(event: Event, **optional: Any) -> Event:
    for key, value in optional.items():
        if value is not None:
            event[key] = value
    return event


def _owned(event: Event, subagent: str | None) -> Event:
    if subagent is not None:
        event["subagentRunId"] = subagent
    return event


def run_started(
    thread_id: str, run_id: str, version: str | None, parent_run_id: str | None = None, trace_id: str | None = None
) -> Event:
    """`RUN_STARTED`. `version` is the protocol version that this package implements, not the one that the client
    declares."""
    return _filled(
        {"type": "RUN_STARTED", "threadId": thread_id, "runId": run_id},
        protocolVersion=version,
        parentRunId=parent_run_id,
        metadata=None if trace_id is None else {"traceId": trace_id},
    )


def run_finished(
    thread_id: str,
    run_id: str,
    outcome: Event | None,
    result: Any = None,
    usage: Sequence[Event] = (),
) -> Event:
    """`RUN_FINISHED` with the run's outcome (`success`, `interrupt` or `cancelled`), result and token usage."""
    return _filled(
        {"type": "RUN_FINISHED", "threadId": thread_id, "runId": run_id},
        outcome=outcome,
        result=result,
        usage=list(usage) or None,
    )


def run_error(
    message: str,
    code: str | None = None,
    usage: Sequence[Event] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Event:
    """`RUN_ERROR`. AG-UI allows items to be open when this event is sent. A translator closes them first, if it can."""
    return _filled(
        {"type": "RUN_ERROR", "message": message}, code=code, usage=list(usage) or None, metadata=metadata or None
    )


def step_started(name: str, subagent: str | None = None) -> Event:
    """`STEP_STARTED`."""
    return _owned({"type": "STEP_STARTED", "stepName": name}, subagent)


def step_finished(name: str, subagent: str | None = None) -> Event:
    """`STEP_FINISHED`."""
    return _owned({"type": "STEP_FINISHED", "stepName": name}, subagent)


def text_start(message_id: str, role: str = "assistant", name: str | None = None, subagent: str | None = None) -> Event:
    """`TEXT_MESSAGE_START`."""
    event = {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": role}
    if name is not None:
        event["name"] = name
    return _owned(event, subagent)


def text_content(message_id: str, delta: str, subagent: str | None = None) -> Event:
    """`TEXT_MESSAGE_CONTENT`."""
    if subagent is None:
        return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta}
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta, "subagentRunId": subagent}


def text_end(message_id: str, metadata: Mapping[str, Any] | None = None, subagent: str | None = None) -> Event:
    """`TEXT_MESSAGE_END`. The client merges `metadata` into the message."""
    return _filled(
        {"type": "TEXT_MESSAGE_END", "messageId": message_id}, metadata=metadata or None, subagentRunId=subagent
    )


def tool_start(call_id: str, name: str, parent: str | None, subagent: str | None = None) -> Event:
    """`TOOL_CALL_START`. If the client does not know the assistant message `parent`, it adds that message."""
    return _filled(
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        parentMessageId=parent,
        subagentRunId=subagent,
    )


def tool_args(call_id: str, delta: str, subagent: str | None = None) -> Event:
    """`TOOL_CALL_ARGS`."""
    return _owned({"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta}, subagent)


def tool_end(call_id: str, subagent: str | None = None) -> Event:
    """`TOOL_CALL_END`."""
    return _owned({"type": "TOOL_CALL_END", "toolCallId": call_id}, subagent)


def tool_result(
    message_id: str,
    call_id: str,
    content: Any,
    metadata: Mapping[str, Any] | None = None,
    subagent: str | None = None,
) -> Event:
    """`TOOL_CALL_RESULT`. The client adds a message for every such event, so each result must be emitted only once."""
    return _filled(
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": message_id,
            "toolCallId": call_id,
            "content": content,
            "role": "tool",
        },
        metadata=metadata or None,
        subagentRunId=subagent,
    )


def reasoning_start(reasoning_id: str, subagent: str | None = None) -> list[Event]:
    """`REASONING_START` and `REASONING_MESSAGE_START`. The span and its only message have the same id."""
    return [
        _filled({"type": "REASONING_START", "messageId": reasoning_id}, subagentRunId=subagent),
        _filled(
            {"type": "REASONING_MESSAGE_START", "messageId": reasoning_id, "role": "reasoning"}, subagentRunId=subagent
        ),
    ]


def reasoning_content(reasoning_id: str, delta: str, subagent: str | None = None) -> Event:
    """`REASONING_MESSAGE_CONTENT`."""
    return _filled(
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": reasoning_id, "delta": delta}, subagentRunId=subagent
    )


def reasoning_end(
    reasoning_id: str, metadata: Mapping[str, Any] | None = None, subagent: str | None = None
) -> list[Event]:
    """`REASONING_MESSAGE_END` and `REASONING_END`."""
    return [
        _filled(
            {"type": "REASONING_MESSAGE_END", "messageId": reasoning_id},
            metadata=metadata or None,
            subagentRunId=subagent,
        ),
        _filled({"type": "REASONING_END", "messageId": reasoning_id}, subagentRunId=subagent),
    ]


def reasoning_encrypted(entity_id: str, value: str, subagent: str | None = None) -> Event:
    """`REASONING_ENCRYPTED_VALUE` for a message."""
    return _filled(
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": entity_id},
        encryptedValue=value,
        subagentRunId=subagent,
    )


def call_encrypted(call_id: str, value: str, subagent: str | None = None) -> Event:
    """`REASONING_ENCRYPTED_VALUE` for a tool call."""
    return _filled(
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": call_id},
        encryptedValue=value,
        subagentRunId=subagent,
    )


def state_snapshot(snapshot: Any) -> Event:
    """`STATE_SNAPSHOT`."""
    return {"type": "STATE_SNAPSHOT", "snapshot": snapshot}


def state_delta(delta: list[Event]) -> Event:
    """`STATE_DELTA` with RFC 6902 operations."""
    return {"type": "STATE_DELTA", "delta": delta}


def messages_snapshot(messages: list[Event]) -> Event:
    """`MESSAGES_SNAPSHOT`."""
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages}


def activity_snapshot(message_id: str, activity_type: str, content: Event, subagent: str | None = None) -> Event:
    """`ACTIVITY_SNAPSHOT`."""
    return _filled(
        {"type": "ACTIVITY_SNAPSHOT", "messageId": message_id, "activityType": activity_type, "content": content},
        subagentRunId=subagent,
    )


def activity_delta(message_id: str, activity_type: str, patch: list[Event], subagent: str | None = None) -> Event:
    """`ACTIVITY_DELTA` with RFC 6902 operations on the content of an activity. The client must already know the
    activity."""
    return _filled(
        {"type": "ACTIVITY_DELTA", "messageId": message_id, "activityType": activity_type, "patch": patch},
        subagentRunId=subagent,
    )


def subagent_started(
    subagent: str,
    name: str,
    description: str | None = None,
    parent: str | None = None,
    parent_call: str | None = None,
    parent_message: str | None = None,
) -> Event:
    """`SUBAGENT_STARTED`."""
    return _filled(
        {"type": "SUBAGENT_STARTED", "subagentRunId": subagent, "name": name},
        description=description,
        parentSubagentRunId=parent,
        parentToolCallId=parent_call,
        parentMessageId=parent_message,
    )


def subagent_finished(subagent: str, outcome: Event) -> Event:
    """`SUBAGENT_FINISHED`."""
    return _filled({"type": "SUBAGENT_FINISHED", "subagentRunId": subagent}, outcome=outcome)


def subagent_error(subagent: str, message: str, code: str | None = None) -> Event:
    """`SUBAGENT_ERROR`."""
    return _filled({"type": "SUBAGENT_ERROR", "subagentRunId": subagent, "message": message}, code=code)


def custom(name: str, value: Any, subagent: str | None = None) -> Event:
    """`CUSTOM`. `value` may be any JSON value, including null."""
    return _owned({"type": "CUSTOM", "name": name, "value": value}, subagent)


def raw(event: Any) -> Event:
    """`RAW`, which contains a part of the LangGraph stream as it arrived."""
    return {"type": "RAW", "event": event, "source": "langgraph"}
