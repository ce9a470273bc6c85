"""Any history, rewritten in any way from step to step, streamed or not, is what the client holds after each step."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import ClientView, Options

from tests.support.random.examples import examples
from tests.support.streams.translator_runs import TranslatorRun, left_open

SETTINGS = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
FIRST = HumanMessage("the question", id="question")


@pytest.mark.parametrize("version", ["1.0", None])
@SETTINGS
@given(chance=st.randoms(use_true_random=False), steps=st.integers(1, 8))
def test_the_client_holds_the_checkpoint_after_every_step(version: str | None, chance: Random, steps: int) -> None:
    options = Options(protocol_version=version)
    run = TranslatorRun(options, chance.choice(VIEWS)(version))
    messages: list[BaseMessage] = [FIRST]
    run.feed(("values", {"messages": messages}))
    for step in range(1, steps + 1):
        before, messages = messages, chance.choice(REWRITES)(messages, step, chance)
        stream(run, [message for message in messages if message not in before], step, chance)
        run.feed(("values", {"messages": messages}))
        *order, _ = comparable(run.view.messages)  # beside it, a client keeps reasoning it cannot be made to drop
        assert order == comparable(expected({"messages": messages}, options).messages)[:-1]
        assert run.feed(("values", {"messages": messages})) == []
    run.finish()
    assert left_open(run.events) == []


def stream(run: TranslatorRun, messages: list[BaseMessage], step: int, chance: Random) -> None:
    """Some of the new messages come before the values, in chunks or whole, ended or not; and some that are not kept."""
    if chance.random() < 0.2:
        messages = [*messages, AIMessage("not kept", id=f"ghost-{step}")]
    for message in messages:
        node = {"langgraph_checkpoint_ns": f"n:{step}", "langgraph_node": "n"}
        if chance.random() < 0.2 or message.type == "human":
            continue
        if isinstance(message, AIMessage) and chance.random() < 0.6:
            node["ls_model_type"] = "chat"
            run.feed(("messages", (chunk_of(message), node)))
            if chance.random() < 0.8:
                run.feed(("messages", (AIMessageChunk(content="", id=message.id, chunk_position="last"), node)))
        else:
            run.feed(("messages", (message, node)))


def chunk_of(message: AIMessage) -> AIMessageChunk:
    args = '{{"n": {}}}'
    calls = [
        tool_call_chunk(name="f", args=args.format(call["args"]["n"]), id=call["id"], index=place)
        for place, call in enumerate(message.tool_calls)
    ]
    return AIMessageChunk(content=message.content, id=message.id, tool_call_chunks=calls)


def made(number: int, chance: Random) -> BaseMessage:
    """A message of any kind; ids, and ids of calls, may be those of others."""
    name = chance.choice([f"m{number}"] * 9 + ["twice"])
    call: Any = {
        "name": "f",
        "args": {"n": number},
        "id": chance.choice([f"c{number}", "repeated"]),
        "type": "tool_call",
    }
    answered = chance.choice([f"c{number - 1}", f"c{number - 2}", "repeated"])
    thinking: dict[str, Any] = {"type": "thinking", "thinking": f"thought {number}"}
    text: dict[str, Any] = {"type": "text", "text": "said"}
    return chance.choice(
        [
            HumanMessage(f"human {number}", id=name),
            AIMessage(f"ai {number}", id=name, name=chance.choice([None, "bob"])),
            AIMessage(chance.choice(["", "calling"]), id=name, tool_calls=[call]),
            ToolMessage(f"result {number}", id=name, tool_call_id=answered),
            AIMessage([thinking, text], id=name),
            AIMessage([{**thinking, "signature": "sealed"}, text], id=name),
        ]
    )


Messages = list[BaseMessage]


def add(messages: Messages, step: int, chance: Random) -> Messages:
    added = list(messages)
    for number in range(step * 10, step * 10 + chance.randint(1, 3)):
        message = made(number, chance)
        place = next((at for at, other in enumerate(added) if other.id == message.id), len(added))
        added[place : place + 1] = [message]  # as `add_messages` does
    return added


def edit(messages: Messages, step: int, chance: Random) -> Messages:
    return _changed(messages, chance, content=f"edited {step}")


def rename(messages: Messages, step: int, chance: Random) -> Messages:
    return _changed(messages, chance, id=f"renamed-{step}")


def insert(messages: Messages, step: int, chance: Random) -> Messages:
    place = chance.randint(0, len(messages))
    return [*messages[:place], AIMessage("inserted", id=f"inserted-{step}"), *messages[place:]]


def remove(messages: Messages, step: int, chance: Random) -> Messages:
    place = chance.randint(0, len(messages))
    return messages[:place] + messages[place + 1 :]


def shuffle(messages: Messages, step: int, chance: Random) -> Messages:
    return chance.sample(messages, len(messages))


def keep_the_end(messages: Messages, step: int, chance: Random) -> Messages:
    return messages[chance.randint(0, len(messages)) :]


def leave(messages: Messages, step: int, chance: Random) -> Messages:
    return messages


def _changed(messages: Messages, chance: Random, **fields: Any) -> Messages:
    place = chance.randint(0, len(messages))
    return [one.model_copy(update=fields) if at == place else one for at, one in enumerate(messages)]


REWRITES: list[Callable[[Messages, int, Random], Messages]] = [
    *[add] * 6,
    *(edit, rename, insert, remove, shuffle, keep_the_end, leave),
]
VIEWS: list[Callable[[str | None], ClientView]] = [
    lambda version: ClientView(version=version),
    lambda version: ClientView([], {}, version),
    lambda version: ClientView([{"id": "question", "role": "user", "content": "the question"}], {}, version),
    lambda version: ClientView([{"id": "m10", "role": "assistant", "content": "stale"}], {}, version),
]
