"""Frames are the bytes that ag_ui's own encoder gives."""

from copy import deepcopy
from typing import Any

import pytest
from ag_ui.core import BaseEvent, Event
from ag_ui.core import events as ag_ui_events
from ag_ui.encoder import EventEncoder
from langgraph_agui.translator.wire.sse import encode, to_model
from pydantic import BaseModel, TypeAdapter

TEXT = 'é"\\\n\u2028\U0001f600\x00'
MODELS: TypeAdapter[Any] = TypeAdapter(Event)
VALUE = {"a": [1, 1.5, None, {"b_c": TEXT}]}
TOOL_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGES = [
    {"id": "u", "role": "user", "content": [{"type": "text", "text": TEXT}]},
    {"id": "a", "role": "assistant", "toolCalls": [TOOL_CALL]},
    {"id": "t", "role": "tool", "toolCallId": "c", "content": "done"},
]
EVENTS: list[dict[str, Any]] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "name": "n"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": TEXT, "subagentRunId": "s"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": VALUE},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": TEXT},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": TEXT},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "delta": TEXT},
    {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": TEXT, "role": "tool"},
    {"type": "STATE_SNAPSHOT", "snapshot": VALUE},
    {"type": "STATE_SNAPSHOT", "snapshot": None},
    {
        "type": "STATE_DELTA",
        "delta": [{"op": "replace", "path": "/a~1b", "value": VALUE}, {"op": "remove", "path": "/c"}],
    },
    {"type": "STATE_DELTA", "delta": [{"op": "move", "from": "/a", "path": "/b"}]},
    {"type": "MESSAGES_SNAPSHOT", "messages": MESSAGES},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "x", "activityType": "media", "content": VALUE},
    {
        "type": "ACTIVITY_DELTA",
        "messageId": "x",
        "activityType": "media",
        "patch": [{"op": "add", "path": "/a", "value": None}],
    },
    {"type": "RAW", "event": VALUE, "source": "here"},
    {"type": "CUSTOM", "name": "n", "value": VALUE},
    {"type": "CUSTOM", "name": "n", "value": None},
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
    {
        "type": "RUN_FINISHED",
        "threadId": "t",
        "runId": "r",
        "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "metadata": VALUE}]},
        "usage": [{"model": "m", "inputTokens": 1}],
    },
    {"type": "RUN_ERROR", "message": TEXT, "code": "c"},
    {"type": "STEP_STARTED", "stepName": "s"},
    {"type": "STEP_FINISHED", "stepName": "s"},
    {"type": "REASONING_START", "messageId": "r"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": TEXT},
    {"type": "REASONING_MESSAGE_END", "messageId": "r"},
    {"type": "REASONING_MESSAGE_CHUNK", "messageId": "r", "delta": TEXT},
    {"type": "REASONING_END", "messageId": "r"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r", "encryptedValue": "e"},
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": VALUE},
    {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "m"},
]


def test_every_event_type_is_here() -> None:
    assert {event["type"] for event in EVENTS} == {kind.value for kind in ag_ui_events.EventType}


def clear(value: Any) -> None:
    """Empties the lists and dicts of a model, at every depth."""
    inner = vars(value).values() if isinstance(value, BaseModel) else value.values() if type(value) is dict else value
    if not isinstance(inner, str | int | float | None):
        for item in list(inner):
            clear(item)
    if isinstance(value, dict | list):
        value.clear()


def test_changing_a_model_changes_no_event() -> None:
    for event in EVENTS:
        before = deepcopy(event)
        clear(to_model(event))
        assert event == before


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["type"])
def test_a_model_is_encoded_as_ag_ui_encodes_it(event: dict[str, Any]) -> None:
    model: BaseEvent = MODELS.validate_python(event)
    assert encode(model) == EventEncoder().encode(model).encode()


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["type"])
def test_a_wire_event_says_what_its_model_says(event: dict[str, Any]) -> None:
    model: BaseEvent = MODELS.validate_python(event)
    in_model_order = {key: event[key] for key in MODELS.dump_python(model, by_alias=True)}
    assert MODELS.validate_json(encode(in_model_order)[6:]) == model


def test_a_dict_that_is_not_json_is_made_json() -> None:
    assert encode({"type": "CUSTOM", "name": "\ud800", "value": {1: {2**53}}}) == (
        b'data: {"type":"CUSTOM","name":"\xef\xbf\xbd","value":{"1":["9007199254740992"]}}\n\n'
    )


def test_a_model_that_pydantic_cannot_write_is_made_json() -> None:
    cyclic: list[Any] = [b"\xff", object()]
    cyclic.append(cyclic)
    frame = encode(ag_ui_events.CustomEvent(name="n", value=cyclic))
    assert frame.startswith(b'data: {"type":"CUSTOM","name":"n","value":["/w==","<object>",')
    assert b"<cycle>" in frame
