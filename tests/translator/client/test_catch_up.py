"""What brings a reader up to date whose messages and state are known, named cases. Random streams are in
`test_catch_up_at_every_cut`."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from langgraph_agui.translator import ClientView, encode

from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.counting import count_lines
from tests.translator.client.test_catch_up_of_a_fresh_client import (
    ARGS,
    CALL,
    CHILD,
    FINISHED,
    MORE,
    PARENT,
    RUN,
    TEXT,
    TEXT_END,
    only,
    seen,
    types,
)

Event = dict[str, Any]

HISTORY: list[Event] = [
    {"id": f"h{at}", "role": "assistant" if at % 2 else "user", "content": f"Text {at}."} for at in range(1000)
]


def size(events: list[Event]) -> int:
    return sum(len(encode(event)) for event in events)


def on_a_new_stream(view: ClientView) -> ClientView:
    return ClientView(view.messages, view.state, version=view.version)


# --- only what the reader misses --------------------------------------------------------------------------------------


def test_a_reader_that_misses_nothing_gets_nothing() -> None:
    view = seen(RUN, PARENT, TEXT, MORE, CALL, ARGS)
    assert view.catch_up(view.copy()) == []


def test_a_reader_that_misses_nothing_on_a_new_stream_gets_what_is_open() -> None:
    view = seen(RUN, TEXT, MORE, CALL, ARGS, messages=HISTORY, state={"n": 1})
    assert types(view.catch_up(on_a_new_stream(view))) == ["RUN_STARTED", "TEXT_MESSAGE_START", "TOOL_CALL_START"]


def test_text_that_has_grown_is_continued() -> None:
    reader, view = seen(RUN, TEXT, MORE), seen(RUN, TEXT, MORE, {**MORE, "delta": "cd"}, {**MORE, "delta": "ef"})
    assert view.catch_up(reader) == [{**MORE, "delta": "cdef"}]


def test_text_that_has_grown_and_ended_is_closed_as_it_ended() -> None:
    end = {**TEXT_END, "metadata": {"finishReason": "length"}}
    reader, view = seen(RUN, TEXT, MORE), seen(RUN, TEXT, MORE, MORE, end)
    assert view.catch_up(reader) == [MORE, end]


def test_arguments_that_have_grown_are_continued() -> None:
    reader, view = seen(RUN, TEXT, CALL, ARGS), seen(RUN, TEXT, CALL, ARGS, {**ARGS, "delta": "}"})
    assert view.catch_up(reader) == [{**ARGS, "delta": "}"}]


def test_a_message_that_has_begun_since_stays_open() -> None:
    events = seen(RUN, TEXT, MORE, messages=HISTORY).catch_up(seen(RUN, messages=HISTORY))
    assert events == [TEXT, MORE]


def test_a_state_that_has_changed_a_little_is_a_delta() -> None:
    delta = {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 2}]}
    state = {"n": 1, "load": "x" * 1000}
    assert seen(RUN, delta, state=state).catch_up(seen(RUN, state=state)) == [delta]


def test_a_state_that_is_another_is_a_snapshot() -> None:
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
    assert seen(RUN, snapshot).catch_up(seen(RUN, state={"b": [1, 2, 3], "c": "much more than the other"})) == [
        snapshot
    ]


def test_a_reader_of_whom_nothing_is_known_gets_all() -> None:
    view = seen(RUN, TEXT, MORE, CALL, ARGS)
    assert view.catch_up(ClientView()) == view.catch_up()


def test_a_reader_of_unknown_contents_gets_what_its_open_items_do() -> None:
    reader = ClientView()
    reader.apply(RUN)
    reader.apply(PARENT)
    view = seen(RUN, PARENT, CHILD, TEXT)
    assert view.catch_up(reader) == view.catch_up(reader.open)


def test_catching_up_leaves_the_reader_s_view_as_it_is() -> None:
    reader = seen(RUN, TEXT)
    seen(RUN, TEXT, MORE, TEXT_END, FINISHED).catch_up(reader)
    assert (reader.messages[0]["content"], reader.live) == ("", True)


# --- where a snapshot is needed ---------------------------------------------------------------------------------------


def test_a_message_that_was_rewritten_comes_in_a_snapshot() -> None:
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "assistant", "content": "other"}]}
    assert types(seen(RUN, TEXT, MORE, snapshot).catch_up(seen(RUN, TEXT, MORE))) == ["MESSAGES_SNAPSHOT"]


def called(arguments: str) -> list[Event]:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}}
    return [{"id": "a", "role": "assistant", "toolCalls": [call]}]


@pytest.mark.parametrize(
    ("copy", "stored", "kinds"),
    [
        ('{"city": "Paris", "day": 1}', '{"day":1,"city":"Paris"}', []),
        ("", "{}", []),
        ('{"city": "Paris"}', '{"city":"Rome"}', ["MESSAGES_SNAPSHOT"]),
        ('{"day": 1}', '{"day":true}', ["MESSAGES_SNAPSHOT"]),
        ('{"city": "Pa', '{"city":"Pa', ["MESSAGES_SNAPSHOT"]),
    ],
)
def test_arguments_compare_as_json_and_what_is_none_as_text(copy: str, stored: str, kinds: list[str]) -> None:
    view, reader = ClientView(called(stored), {}), ClientView(called(copy), {})
    for each in (view, reader):
        each.apply(RUN)
    found = types(view.catch_up(reader))
    assert [kind for kind in found if kind == "MESSAGES_SNAPSHOT"] == kinds
    assert kinds or not copy or found == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reader_whose_order_is_another_ends_with_the_view_s(agui_client: AguiClient, version: str) -> None:
    view = seen(RUN, messages=HISTORY[:4], version=protocol(version))
    reader = ClientView(HISTORY[3:1:-1], {}, version=protocol(version))
    events = [*view.catch_up(reader), FINISHED]
    answer = agui_client.play(events, version=version, mode="connect", messages=reader.messages)
    assert (answer.accepted, answer.messages) == (True, view.messages)


def test_what_no_snapshot_makes_a_client_drop_is_not_emitted_again() -> None:
    thought = {"id": "r", "role": "reasoning", "content": "Hm."}
    reader = seen(RUN, messages=[*HISTORY[:2], thought])
    assert seen(RUN, messages=HISTORY[:2]).catch_up(reader) == []


def test_many_messages_come_in_one_snapshot() -> None:
    events = seen(RUN, messages=HISTORY).catch_up(ClientView([], {}))
    assert types(events) == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reader_inside_another_run_gets_only_what_it_misses(agui_client: AguiClient, version: str) -> None:
    before = [{**RUN, "runId": "before"}, {**TEXT, "messageId": "l"}]
    after = [*before, {**TEXT_END, "messageId": "l"}, {**FINISHED, "runId": "before"}, RUN, TEXT, MORE]
    view = seen(*after, version=protocol(version))
    events = view.catch_up(seen(*before, version=protocol(version)))
    assert types(events) == ["TEXT_MESSAGE_END", "RUN_ERROR", "RUN_STARTED", "TEXT_MESSAGE_START",
                             "TEXT_MESSAGE_CONTENT"]  # fmt: skip
    assert only(events, "RUN_ERROR")["code"] == "lost"
    answer = agui_client.play([*before, *events, TEXT_END, FINISHED], version=version)
    assert (answer.accepted, answer.messages) == (True, view.messages)


ODD: list[tuple[Any, Any]] = [
    ([{"id": "m", "role": "assistant", "content": 2**70}], {"n": 2**70}),
    ([{"id": "m", "role": "assistant", "toolCalls": [{"id": "c"}]}], {"\ud800": object()}),
    ([{"id": "m", "role": "assistant", "toolCalls": [{"id": "c", "function": None}]}], object()),
    ([{"id": "m", "role": "wizard", "content": object(), "metadata": 1}], 0),
]


@pytest.mark.parametrize(("messages", "state"), ODD)
def test_no_value_in_a_clients_messages_or_state_raises(messages: Any, state: Any) -> None:
    view = seen(RUN, TEXT, MORE, CALL, ARGS)
    assert view.catch_up(ClientView(messages, state))[0]["type"] == "RUN_STARTED"


# --- cost -------------------------------------------------------------------------------------------------------------


def test_a_message_of_a_thousand_costs_a_few_hundred_bytes() -> None:
    view, reader = seen(RUN, messages=HISTORY), ClientView(HISTORY[:-1], {})
    assert size(view.catch_up(reader)) < 400


def test_a_change_in_a_large_state_costs_a_few_hundred_bytes() -> None:
    state = {f"key {at}": {"text": "x" * 100} for at in range(1000)}
    view, reader = seen(RUN, state={**state, "key 7": {"text": "y"}}), ClientView([], state)
    assert size(view.catch_up(reader)) < 400


@pytest.mark.parametrize(("length", "missing", "kind"), [(600, 200, "MESSAGES_SNAPSHOT"), (20_000, 20, "events")])
def test_a_snapshot_comes_in_place_of_events_that_cost_the_client_more(length: int, missing: int, kind: str) -> None:
    """Each event makes it copy its messages: many short messages are better in one snapshot, few long ones are not."""
    messages = [{**message, "content": "x" * length} for message in HISTORY[:400]]
    events = seen(RUN, messages=messages).catch_up(seen(RUN, messages=messages[:-missing]))
    assert size(events) < size(seen(RUN, messages=messages).catch_up())
    assert (types(events) == [kind]) == (kind != "events")


THOUGHT: Event = {"id": "r", "role": "reasoning", "content": "Hm."}
CHANGED: Event = {"id": "h50", "role": "user", "content": "Changed."}
READERS: dict[str, tuple[Callable[[list[Event]], list[Event]], float]] = {
    "nothing": (lambda history: [], 10),
    "the first half": (lambda history: history[: len(history) // 2], 10),
    "all but what is open": (lambda history: history, 10),
    "copies of all": (deepcopy, 10),
    "one message otherwise": (lambda history: [*history[:50], CHANGED, *history[51:]], 10),
    "reasoning that the view has not": (lambda history: [*history[:50], THOUGHT, *history[50:]], 20),
    "another order": (lambda history: [history[1], history[0], *history[2:]], 20),
}
"""What a reader has of a history, and how many lines a message may cost."""


@pytest.mark.parametrize("name", READERS)
def test_a_catch_up_is_one_pass_over_the_messages(name: str) -> None:
    of_reader, most = READERS[name]

    def cost(count: int) -> int:
        view = seen(RUN, TEXT, MORE, messages=HISTORY[:count])
        reader = seen(RUN, messages=of_reader(HISTORY[:count]))
        assert not any(each.has("") for each in (view, reader))  # makes the indexes
        return count_lines(lambda: view.catch_up(reader))

    assert cost(1000) - cost(100) <= 900 * most
