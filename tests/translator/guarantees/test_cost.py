"""Cost in counts: what is called, how many lines run and how many bytes are told. Nothing is timed."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langgraph_agui.translator import Translator, encode
from langgraph_agui.translator.client.contents import ClientContents
from langgraph_agui.translator.convert.ordinary import ordinary
from langgraph_agui.translator.jsonable.to_json import freeze
from langgraph_agui.translator.wire.events import text_start

from tests.support.counting import count_calls, count_lines
from tests.support.streams.conversations import METADATA, Parts, began, conversation, replay, token, values


def written(**channels: Any) -> Any:
    return ((), "updates", {"node": channels})


def told(run: Translator, *parts: Any) -> int:
    """The bytes that the parts put on the wire."""
    return sum(len(encode(event)) for part in parts for event in run.feed(part))


def speaking(**channels: Any) -> Translator:
    return began(values(**channels), token(), token())


# --- a token ----------------------------------------------------------------------------------------------------------


def test_a_token_costs_six_calls() -> None:
    run, part = speaking(messages=conversation(2)), token()
    assert count_calls(lambda: run.feed(part)).total() <= 6


def test_a_fragment_of_arguments_costs_eight_calls() -> None:
    first, *more, _ = arguments(3)
    run = began(first, *more[:2])
    assert count_calls(lambda: run.feed(more[2])).total() <= 8


def test_tokens_of_models_that_stream_at_once_cost_what_a_token_costs() -> None:
    tasks = [{**METADATA, "langgraph_checkpoint_ns": f"answer:{at}"} for at in range(5)]
    said = [((), "messages", (AIMessageChunk(content="x", id=f"lc_run--{at}"), each)) for at, each in enumerate(tasks)]
    run = began(*said, *said)
    assert count_calls(lambda: [run.feed(part) for part in said]).total() <= 6 * len(said) + 1  # the list is one


def test_a_token_costs_the_same_after_a_long_history() -> None:
    short, long, part = speaking(messages=conversation(2)), speaking(messages=conversation(2000)), token()
    assert count_lines(lambda: long.feed(part)) == count_lines(lambda: short.feed(part))


def test_a_token_costs_the_same_beside_a_large_state() -> None:
    state = {f"key {at}": {"text": "x" * 1000} for at in range(1000)}
    small, large, part = speaking(messages=[], load={}), speaking(messages=[], load=state), token()
    assert count_lines(lambda: large.feed(part)) == count_lines(lambda: small.feed(part))


def test_a_token_costs_the_same_late_in_a_message() -> None:
    early, late, part = speaking(messages=[]), speaking(messages=[]), token()
    for _ in range(2000):
        late.feed(part)
    assert count_lines(lambda: late.feed(part)) == count_lines(lambda: early.feed(part))


# --- a message --------------------------------------------------------------------------------------------------------


def with_one_more(count: int) -> Callable[[], None]:
    messages = conversation(count + 1)
    run = began(values(messages=messages[:count]))

    def fed() -> None:
        run.feed(values(messages=messages))

    return fed


def test_a_new_message_alone_is_read_and_told() -> None:
    """Of the messages before it the fields are compared: two calls each."""
    few, many = count_calls(with_one_more(10)), count_calls(with_one_more(1000))
    assert many.total() - few.total() == 2 * 990
    for function in (ordinary, text_start, ClientContents.apply_emitted):
        assert 0 < many.of(function) == few.of(function)


def test_each_message_is_read_once_in_a_run_of_many_steps() -> None:
    messages = conversation(200)
    steps = [values(messages=messages[: at + 1]) for at in range(len(messages))]
    assert count_calls(replay(steps)).of(ordinary) == len(messages)


def test_a_new_message_is_told_in_as_many_bytes_after_a_long_history() -> None:
    def bytes_after(count: int) -> int:
        run = began(values(messages=conversation(count)))
        return told(run, values(messages=[*conversation(count), AIMessage("new", id="new")]))

    assert bytes_after(1000) == bytes_after(10)


def test_a_conversation_that_is_not_written_is_not_looked_at() -> None:
    def lines_after(count: int) -> int:
        history = conversation(count)
        run = began(values(messages=history, count=0))

        def step() -> None:
            run.feed(written(count=1))
            run.feed(values(messages=history, count=1))

        return count_lines(step)

    assert lines_after(1000) == lines_after(10)


def test_an_edit_in_place_is_told_when_a_node_wrote_the_conversation() -> None:
    history = conversation(3)
    run = began(values(messages=history))
    history[1].content = "edited"
    unwritten = run.feed(values(messages=history))
    run.feed(written(messages=history))
    told = run.feed(values(messages=history))
    assert (unwritten, [event["type"] for event in told]) == ([], ["MESSAGES_SNAPSHOT"])


# --- a state ----------------------------------------------------------------------------------------------------------


def test_a_channel_that_is_not_written_is_not_looked_at() -> None:
    load = {"key": ["value"] * 100}
    run = began(values(load=load, count=0))

    def step() -> None:
        run.feed(written(count=1))
        run.feed(values(load=load, count=1))

    assert count_calls(step).of(freeze) == 1


def test_ten_changes_of_a_number_beside_a_megabyte_send_the_megabyte_once() -> None:
    load = {f"key {at}": "x" * 1000 for at in range(1000)}
    run = began()
    sent = told(run, values(load=load, count=0))
    sent += sum(told(run, written(count=at), values(load=load, count=at)) for at in range(1, 11))
    assert sent < 1_030_000


@pytest.mark.parametrize("rebuilt", [False, True], ids=["the same list", "all objects new"])
def test_an_item_put_into_a_long_list_is_told_alone(rebuilt: bool) -> None:
    items = [{"name": f"item {at}", "text": "x" * 100} for at in range(1000)]
    run = began(values(items=items))
    after = [dict(item) for item in items] if rebuilt else items
    assert told(run, written(items=None), values(items=[{"name": "new"}, *after])) < 200


# --- growth -----------------------------------------------------------------------------------------------------------


def one_message(tokens: int) -> Parts:
    return [*[token()] * tokens, values(messages=[AIMessage("token " * tokens, id="lc_run--1")])]


def arguments(fragments: int) -> Parts:
    def fragment(args: str, **named: Any) -> Any:
        piece = tool_call_chunk(**{"name": None, "id": None, "index": 0, "args": args, **named})
        return ((), "messages", (AIMessageChunk(content="", id="lc_run--1", tool_call_chunks=[piece]), METADATA))

    return [fragment('{"a": "', name="write", id="call"), *[fragment("text ")] * fragments, fragment('"}')]


def parallel_results(count: int) -> Parts:
    calls = [{"name": "look_up", "args": {}, "id": f"call-{at}"} for at in range(count)]
    asks = AIMessage("", id="asks", tool_calls=calls)
    answers = [ToolMessage("found", tool_call_id=f"call-{at}", id=f"tool-{at}") for at in range(count)]
    heard = [((), "messages", (answer, {**METADATA, "langgraph_node": "tools"})) for answer in answers]
    return [values(messages=[asks]), *heard, values(messages=[asks, *answers])]


def tasks_at_a_time(count: int) -> Parts:
    def of(at: int) -> dict[str, Any]:
        return {"langgraph_node": "worker", "langgraph_checkpoint_ns": f"worker:{at}", "ls_provider": "p"}

    said = [((), "messages", (AIMessageChunk(content="said", id=f"lc_run--{at}"), of(at))) for at in range(count)]
    saved = [AIMessage("said", id=f"lc_run--{at}") for at in range(count)]
    return [*said, *(((), "updates", {"worker": {"messages": [one]}}) for one in saved), values(messages=saved)]


def replaced_history(count: int) -> Parts:
    return [values(messages=conversation(count)), values(messages=conversation(count)[::-1])]


def custom_values(count: int) -> Parts:
    return [((), "custom", {"at": at}) for at in range(count)]


@pytest.mark.parametrize(
    "parts", [one_message, arguments, parallel_results, tasks_at_a_time, replaced_history, custom_values]
)
def test_twice_as_much_costs_twice_as_much(parts: Callable[[int], Parts]) -> None:
    assert count_lines(replay(parts(400))) < 2.2 * count_lines(replay(parts(200)))
