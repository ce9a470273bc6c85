"""A large input is validated item by item: with the same result as in one piece, and beside the event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph_agui.connect.inputs import Intake
from langgraph_agui.connect.inputs.planning import NoEdits, make_plan
from langgraph_agui.connect.inputs.request import RunRequest
from langgraph_agui.connect.inputs.thread_state import ThreadState
from langgraph_agui.connect.inputs.validation import validate_input
from langgraph_agui.connect.serve import Limits
from langgraph_agui.connect.serve.agents import AgentNames
from langgraph_agui.connect.serve.errors import Refusal
from langgraph_agui.connect.serve.protocol import Call, parsed
from langgraph_agui.connect.serve.requests.body import input_of
from langgraph_agui.translator import Options
from pydantic import ValidationError

from tests.support.random.examples import examples
from tests.support.random.fuzzed_inputs import inputs, odd

TOOL = {"name": "paint", "description": "paints", "parameters": {}}
TEXT = {"type": "text", "text": "hi"}
CALL = {"id": "c", "type": "function", "function": {"name": "paint", "arguments": "{}"}}
BASE: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": [], "tools": [TOOL] * 200}
fields = st.sampled_from(["messages", "tools", "context", "resume", "state", "content", "toolCalls", "tool_calls", "x"])


def outcome(call: Callable[[Any], RunAgentInput], body: Any) -> tuple[RunAgentInput | None, set[Any]]:
    """What a call gives for a body, or the beginnings of the paths that it says are wrong."""
    try:
        return call(body), set()
    except ValidationError as error:
        return None, {each["loc"][:2] for each in error.errors()}


@settings(max_examples=examples(150), deadline=None, database=None)
@given(body=inputs, broken=st.dictionaries(fields, odd, max_size=1), at=st.none() | st.integers(0, 3))
@example(body={"messages": [{"id": "u", "role": "user", "content": [TEXT] * 3, "toolCalls": [1]}]}, broken={}, at=None)
@example(body={"messages": [{"id": "a", "role": "assistant", "tool_calls": [CALL]}]}, broken={}, at=None)
@example(body={"messages": [{"id": "a", "role": "assistant", "content": [TEXT]}]}, broken={}, at=None)
@example(body={"messages": [{"id": "a", "role": "assistant", "toolCalls": [CALL, 1]}]}, broken={}, at=None)
@example(body={"messages": [{"id": "u", "role": "user", "content": [TEXT, {}]}, 1, None]}, broken={}, at=None)
@example(body={"messages": [{"id": "t", "role": "tool", "toolCallId": "c", "content": [TEXT]}]}, broken={}, at=None)
def test_the_result_is_that_of_validation_in_one_piece(body: Any, broken: Any, at: int | None) -> None:
    body = {**BASE, **body, "tools": [*(body.get("tools") or ()), *BASE["tools"]]}
    messages = body["messages"]
    if at is not None and at < len(messages) and isinstance(messages[at], dict):
        body["messages"] = [*messages[:at], {**messages[at], **broken}, *messages[at + 1 :]]
    else:
        body |= broken
    whole, expected = outcome(RunAgentInput.model_validate, body)
    by_items, wrong = outcome(validate_input, body)
    assert (by_items is None) == (whole is None)
    assert wrong <= expected
    if whole is not None and by_items is not None:
        assert by_items == whole
        assert by_items.model_dump(by_alias=True) == whole.model_dump(by_alias=True)


def test_the_errors_of_a_large_input_are_looked_for_until_there_are_a_few() -> None:
    wrong_parts: dict[str, Any] = {"id": "u", "role": "user", "content": [{}] * 5_000}
    wrong_lists: list[list[Any]] = [[{}] * 5_000, [wrong_parts]]
    for messages in wrong_lists:
        with pytest.raises(ValidationError) as wrong:
            validate_input({**BASE, "messages": messages})
        assert 0 < wrong.value.error_count() <= 4
    bodies: list[Any] = [[[]] * 5_000, "text", 7, None]
    for odd_body in bodies:
        with pytest.raises(ValidationError):
            validate_input(odd_body)


async def checked_input(body: Any) -> RunAgentInput:
    """The input of a request, as an endpoint parses it."""
    call = Call(AgentNames(("chat",), are_shown=True), Limits(), {}, {}, {}, body)
    return await parsed(lambda call: input_of(call.body, call.limits, "chat"), call)


async def turns_during(work: Awaitable[Any]) -> int:
    """How often the event loop gets to something else before this is done."""
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        handle[0] = asyncio.get_running_loop().call_soon(turn)

    handle = [asyncio.get_running_loop().call_soon(turn)]
    try:
        await work
    finally:
        handle[0].cancel()
    return turns


LARGE: dict[str, dict[str, Any]] = {
    "messages": {"messages": [{"id": str(each), "role": "user", "content": "hi"} for each in range(2_000)]},
    "parts": {"messages": [{"id": "u", "role": "user", "content": [TEXT] * 2_000}]},
    "calls": {"messages": [{"id": "a", "role": "assistant", "toolCalls": [CALL] * 2_000}]},
    "tools": {"messages": [], "tools": [TOOL] * 2_000},
    "context": {"messages": [], "context": [{"description": "", "value": ""}] * 2_000},
    "state": {"messages": [], "state": {str(each): [each] for each in range(2_000)}},
    "of no field": {"messages": [], **{str(each): [each] for each in range(2_000)}},
}


@pytest.mark.parametrize("kind", LARGE)
async def test_the_event_loop_continues_while_a_large_input_is_validated_and_planned(kind: str) -> None:
    """However few its messages are."""
    body = {"threadId": "t", "runId": "r", "messages": [], **LARGE[kind]}
    assert await turns_during(checked_input(body)) > 0
    given = await checked_input(body)
    assert await turns_during(RunRequest.of(given, Options(), Intake(), "error")) > 0
    request = await RunRequest.of(given, Options(), Intake(), "error")

    async def history() -> Any:
        return
        yield

    assert await turns_during(make_plan(request, ThreadState(), history, NoEdits())) > 0


async def test_a_small_input_needs_no_thread() -> None:
    body = {"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "hi" * 100_000}]}
    assert await turns_during(checked_input(body)) == 0
    with pytest.raises(Refusal):
        await checked_input([])
