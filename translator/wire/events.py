"""Constructors of wire events: plain dicts with camelCase keys, without the fields that have no value.

`subagent`: the subagent run that an event belongs to (`subagentRunId`); None: the main agent. Which event may follow
which is not known here. The fields are those of https://docs.ag-ui.com/concepts/events.
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


def run_started(
    thread_id: str, run_id: str, version: str | None, parent_run_id: str | None = None, trace_id: str | None = None
) -> Event:
    """`RUN_STARTED`. `version`: the protocol version that this package speaks, not the client's."""
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
    """`RUN_FINISHED` with its outcome (`success`, `interrupt`, `cancelled`), the run's result and its token usage."""
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
    """`RUN_ERROR`. AG-UI allows open items before it; this package closes them first all the same."""
    return _filled(
        {"type": "RUN_ERROR", "message": message}, code=code, usage=list(usage) or None, metadata=metadata or None
    )


def step_started(name: str, subagent: str | None = None) -> Event:
    """`STEP_STARTED`."""
    return _filled({"type": "STEP_STARTED", "stepName": name}, subagentRunId=subagent)


def step_finished(name: str, subagent: str | None = None) -> Event:
    """`STEP_FINISHED`."""
    return _filled({"type": "STEP_FINISHED", "stepName": name}, subagentRunId=subagent)


def text_start(message_id: str, role: str = "assistant", name: str | None = None, subagent: str | None = None) -> Event:
    """`TEXT_MESSAGE_START`."""
    return _filled(
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": role}, name=name, subagentRunId=subagent
    )


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
    """`TOOL_CALL_START`. A client that does not have the assistant message `parent` adds it."""
    return _filled(
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        parentMessageId=parent,
        subagentRunId=subagent,
    )


def tool_args(call_id: str, delta: str, subagent: str | None = None) -> Event:
    """`TOOL_CALL_ARGS`."""
    return _filled({"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta}, subagentRunId=subagent)


def tool_end(call_id: str, subagent: str | None = None) -> Event:
    """`TOOL_CALL_END`."""
    return _filled({"type": "TOOL_CALL_END", "toolCallId": call_id}, subagentRunId=subagent)


def tool_result(
    message_id: str,
    call_id: str,
    content: Any,
    metadata: Mapping[str, Any] | None = None,
    subagent: str | None = None,
) -> Event:
    """`TOOL_CALL_RESULT`. The client adds a message for each one it gets, so it must be emitted once only."""
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
    """`REASONING_START` and `REASONING_MESSAGE_START`: the span and the one message in it have the same id."""
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
    """`REASONING_ENCRYPTED_VALUE` of a message."""
    return _filled(
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": entity_id},
        encryptedValue=value,
        subagentRunId=subagent,
    )


def call_encrypted(call_id: str, value: str, subagent: str | None = None) -> Event:
    """`REASONING_ENCRYPTED_VALUE` of a tool call."""
    return _filled(
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": call_id},
        encryptedValue=value,
        subagentRunId=subagent,
    )


def state_snapshot(snapshot: Any) -> Event:
    """`STATE_SNAPSHOT`."""
    return {"type": "STATE_SNAPSHOT", "snapshot": snapshot}


def state_delta(delta: list[Event]) -> Event:
    """`STATE_DELTA`: RFC 6902 operations."""
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
    """`ACTIVITY_DELTA`: RFC 6902 operations on the content of an activity, which the client must have."""
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
    """`CUSTOM`. `value` may be any JSON, including null."""
    return _filled({"type": "CUSTOM", "name": name, "value": value}, subagentRunId=subagent)


def raw(event: Any) -> Event:
    """`RAW`: a part as it came."""
    return {"type": "RAW", "event": event, "source": "langgraph"}
