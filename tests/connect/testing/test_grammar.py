"""What `grammar` calls a mistake, the real client refuses or warns of; what it lets pass, the client takes.

Events are drawn at random. Those without a mistake make a stream; at each event with one, the client is asked about the
stream with it and without it.
"""

from random import Random
from typing import Any

import pytest
from langgraph_agui.connect.testing.grammar import Grammar
from langgraph_agui.translator import ClientView

from tests.support.clients.agui_client import AguiClient

Event = dict[str, Any]

RUN = {"threadId": "t", "runId": "r"}
STRICTER = (
    "still open",
    "the run that started",
    "two interrupts",
    "the activity does not exist",
    "chunks can't be mixed",
)
"""How the mistakes begin that the client does not look for."""


def drawn(random: Random) -> Event:
    """An event of any kind, on few ids."""
    key, call, sub = random.choice("ab"), random.choice("cd"), random.choice("sz")
    message: Event = {"id": key, "role": random.choice(["assistant", "user"]), "content": "x"}
    if message["role"] == "assistant" and random.random() < 0.5:
        message["toolCalls"] = [{"id": call, "type": "function", "function": {"name": "f", "arguments": ""}}]
    patch = [{"op": random.choice(["add", "replace", "remove"]), "path": f"/{key}", "value": 1}]
    if patch[0]["op"] == "remove":
        del patch[0]["value"]
    of_call = {"toolCallId": call}
    of_message = {"messageId": key}
    of_reasoning = {"messageId": random.choice("qb")}
    event: Event = random.choice(
        [
            {"type": "RUN_STARTED", **RUN, "protocolVersion": "1.0"},
            {"type": "RUN_FINISHED", **RUN},
            {"type": "RUN_FINISHED", "threadId": "t", "runId": "other"},
            {
                "type": "RUN_FINISHED",
                **RUN,
                "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}]},
            },
            {"type": "RUN_FINISHED", **RUN, "outcome": {"type": "unheard"}},
            {"type": "RUN_ERROR", "message": "m"},
            *[{"type": "TEXT_MESSAGE_START", **of_message, "role": "assistant"}] * 3,
            *[{"type": "TEXT_MESSAGE_CONTENT", **of_message, "delta": "d"}] * 4,
            {"type": "TEXT_MESSAGE_CONTENT", **of_message, "delta": None},
            *[{"type": "TEXT_MESSAGE_END", **of_message}] * 3,
            *[{"type": "TOOL_CALL_START", **of_call, "toolCallName": "f", "parentMessageId": key}] * 3,
            {"type": "TOOL_CALL_START", **of_call, "toolCallName": "g"},
            *[{"type": "TOOL_CALL_ARGS", **of_call, "delta": "{}"}] * 3,
            *[{"type": "TOOL_CALL_END", **of_call}] * 3,
            {"type": "TOOL_CALL_RESULT", **of_call, "messageId": "of-" + call, "content": "x", "role": "tool"},
            *[{"type": "REASONING_START", **of_reasoning}] * 2,
            *[{"type": "REASONING_MESSAGE_START", **of_reasoning, "role": "reasoning"}] * 2,
            *[{"type": "REASONING_MESSAGE_CONTENT", **of_reasoning, "delta": "d"}] * 2,
            *[{"type": "REASONING_MESSAGE_END", **of_reasoning}] * 2,
            *[{"type": "REASONING_END", **of_reasoning}] * 2,
            *[{"type": "STEP_STARTED", "stepName": key}] * 2,
            *[{"type": "STEP_FINISHED", "stepName": key}] * 3,
            {"type": "SUBAGENT_STARTED", "subagentRunId": sub, "name": "n"},
            {"type": "SUBAGENT_STARTED", "subagentRunId": sub, "name": "n", "parentSubagentRunId": "s"},
            *[{"type": "SUBAGENT_FINISHED", "subagentRunId": sub}] * 2,
            {"type": "SUBAGENT_ERROR", "subagentRunId": sub, "message": "m"},
            {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}},
            {"type": "STATE_DELTA", "delta": patch},
            {"type": "MESSAGES_SNAPSHOT", "messages": [message]},
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "x", "activityType": "y", "content": {"a": 1}},
            {"type": "ACTIVITY_DELTA", "messageId": "x", "activityType": "y", "patch": patch},
            {"type": "CUSTOM", "name": "n", "value": None, "unknown": 1},
            {"type": "CUSTOM", "name": "n"},
            {"type": "NO_SUCH_EVENT"},
        ]
    )
    owned = event["type"].startswith(("TEXT", "TOOL", "STEP", "REASONING")) and random.random() < 0.1
    return {**event, "subagentRunId": sub} if owned else event


@pytest.mark.parametrize("seed", range(6))
def test_a_mistake_is_what_the_client_refuses_or_warns_of(agui_client: AguiClient, seed: int) -> None:
    random, view = Random(seed), ClientView([], {})
    grammar, stream = Grammar(view), list[Event]()
    for _ in range(600):
        event = drawn(random)
        sentence = next(grammar.mistakes(event), None)
        if sentence is None:
            stream.append(event)
            view.apply(event)
        elif not sentence.startswith(STRICTER) and random.random() < 0.2:
            assert not agui_client.play([*stream, event]).accepted, (sentence, event, stream)
        if len(stream) > 40:
            assert agui_client.play(stream).accepted, stream
            view = ClientView([], {})
            grammar, stream = Grammar(view), []
