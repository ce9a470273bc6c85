"""The conversation ends as the checkpoint's, in its order, by the cheapest events; what was right is not touched."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import ClientView, Options

from fixtures import Fixture
from fixtures.fixture import says
from fixtures.graphs.history import chain
from fixtures.graphs.speech import said, speaker
from tests.support.streams.event_lines import Event, run_fixture, run_made, run_turn

REWRITTEN = [
    "summary_in_front",
    "summarization_middleware",
    "inserted_in_middle",
    "turned_around",
    "overwritten",
    "answer_removed",
    "seeded_history",
    "three_turns",
    "interrupts_in_parallel",
    "interrupts_answered_one_by_one",
]


@pytest.mark.parametrize("fixture", REWRITTEN)
async def test_every_turn_ends_in_the_order_of_the_graph(fixture: str) -> None:
    for told in await run_fixture(fixture):
        assert comparable(told.view.messages) == comparable(expected(told.values, Options()).messages)


async def test_turns_that_only_add_need_no_snapshot() -> None:
    assert [told.kinds("MESSAGES_SNAPSHOT") for told in await run_fixture("three_turns")] == [[], [], []]


async def test_a_summary_in_front_is_told_as_what_stands_right_and_then_the_whole() -> None:
    told = await run_turn("summary_in_front")
    assert told.lines[-2:] == ["snapshot ", "snapshot summary-2 user-1 lc_run--#1"]


async def test_a_message_put_in_the_middle_leaves_what_stands_before_it() -> None:
    told = await run_turn("inserted_in_middle")
    assert told.lines[-2:] == ["snapshot user-1", "snapshot user-1 between-1 lc_run--#1"]


async def test_what_only_removes_needs_no_second_snapshot() -> None:
    told = await run_turn("overwritten")
    assert told.lines[-1:] == ["snapshot lc_run--#1 left-1"]
    assert len(told.kinds("MESSAGES_SNAPSHOT")) == 1


async def test_history_is_told_before_anything_streams() -> None:
    told = await run_turn("seeded_history", view=ClientView([], {}), known=False)
    assert told.lines[:2] == [
        "snapshot old-user-1 old-ai-1 old-ai-2 old-tool-1 old-ai-3 user-1",
        "lc_run--#1 begins",
    ]


async def test_what_the_client_holds_already_is_not_told_at_the_start() -> None:
    _, second = await run_fixture("seeded_history")
    assert second.lines[0] == "lc_run--#1 begins"


async def test_a_client_that_may_hold_anything_gets_one_snapshot() -> None:
    assert len((await run_turn("seeded_history", known=False)).kinds("MESSAGES_SNAPSHOT")) == 1


async def test_a_question_with_a_picture_is_told_by_a_snapshot() -> None:
    told = await run_turn("user_with_picture")
    assert told.lines[:2] == ["snapshot user-1", "lc_run--#1 begins"]


async def test_a_user_message_made_by_a_node_is_told_as_an_event_of_a_user() -> None:
    assert (await run_turn("messages_from_node")).lines[0] == "asked-1 begins by user"


async def test_system_messages_are_never_told() -> None:
    told = await run_turn("messages_from_node")
    assert "Be brief." not in str(told.events)


STALE: dict[str, list[Event]] = {
    "in another order": [
        {"id": "a1", "role": "assistant", "content": "One."},
        {"id": "u1", "role": "user", "content": "one?"},
    ],
    "with another text": [
        {"id": "u1", "role": "user", "content": "one?"},
        {"id": "a1", "role": "assistant", "content": "An old answer."},
    ],
    "with a message the graph has not": [
        {"id": "u1", "role": "user", "content": "one?"},
        {"id": "x1", "role": "assistant", "content": "Lost."},
        {"id": "a1", "role": "assistant", "content": "One."},
    ],
    "without the answer": [{"id": "u1", "role": "user", "content": "one?"}],
    "without anything": [],
    "with the end only": [{"id": "u2", "role": "user", "content": "two?"}],
}
HISTORY = [HumanMessage("one?", id="u1"), AIMessage("One.", id="a1"), HumanMessage("two?", id="u2")]


@pytest.mark.parametrize("held", STALE.values(), ids=STALE)
def test_a_stale_client_ends_right(held: list[Event]) -> None:
    told = run_made([("values", {"messages": HISTORY})], view=ClientView(held, {}))
    assert comparable(told.view.messages) == comparable(expected({"messages": HISTORY}, Options()).messages)


def test_a_client_that_is_right_is_told_nothing() -> None:
    held = [
        {"id": one.id, "role": {"human": "user", "ai": "assistant"}[one.type], "content": one.content}
        for one in HISTORY
    ]
    assert run_made([("values", {"messages": HISTORY})] * 3, view=ClientView(held, {})).lines == []


def test_reasoning_beside_its_message_is_no_reason_to_reorder() -> None:
    """Clients put it where they heard it."""
    answer = AIMessage([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "One."}], id="a1")
    held: list[Event] = [
        {"id": "u1", "role": "user", "content": "one?"},
        {"id": "a1", "role": "assistant", "content": "One."},
        {"id": "a1-reasoning-0", "role": "reasoning", "content": "Hm."},
    ]
    parts = [("values", {"messages": [HISTORY[0], answer]})]
    assert run_made(parts, view=ClientView(held, {})).lines == []


def test_the_results_of_one_message_may_stand_in_any_order() -> None:
    calls: list[Any] = [{"name": "f", "args": {}, "id": name} for name in ("c1", "c2")]
    results = [{"type": "tool", "id": f"t{n}", "tool_call_id": f"c{n}", "content": str(n)} for n in (1, 2)]
    messages = [HISTORY[0], AIMessage("", id="a1", tool_calls=calls), *results]
    first = run_made([("values", {"messages": messages})])
    swapped = [*first.view.messages[:2], first.view.messages[3], first.view.messages[2]]
    assert run_made([("values", {"messages": messages})], view=ClientView(swapped, {})).lines == []


async def test_keep_leaves_in_the_chat_what_a_summary_removed() -> None:
    runs = await run_fixture("summary_in_front", Options(history="keep"))
    said = [message["content"] for message in runs[-1].view.messages if message["role"] == "user"]
    assert [text for text in said if text.startswith("message")] == ["message 1", "message 2", "message 3"]


async def test_mirror_takes_from_the_chat_what_a_summary_removed() -> None:
    runs = await run_fixture("summary_in_front")
    assert [message["id"] for message in runs[-1].view.messages][:2] == ["summary-5", "user-3"]


async def test_keep_still_drops_what_was_never_saved() -> None:
    told = await run_turn("router_not_saved", Options(history="keep"))
    assert [message["content"] for message in told.view.messages] == ["will it rain?", "It will rain."]


async def test_an_activity_of_a_node_outlives_a_snapshot() -> None:
    async def act(state: Any) -> Any:
        from langgraph.config import get_stream_writer

        get_stream_writer()({"type": "ACTIVITY_SNAPSHOT", "messageId": "plan", "activityType": "PLAN", "content": {}})
        return {"messages": [AIMessage((await said("Copied.").ainvoke("go")).text, id="kept-1")]}

    told = await run_turn(Fixture("acting", chain(act=act), (says("go"),)))
    assert told.lines[-1] == "snapshot user-1 plan kept-1"


def test_a_snapshot_in_mid_message_holds_the_message() -> None:
    """A sibling asks while another node still speaks, and the graph has rewritten the history."""
    node = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
    user, note = HumanMessage("hi", id="u"), AIMessage("Note.", id="note")
    told = run_made(
        [
            ("values", {"messages": [user]}),
            ("messages", ({"type": "AIMessageChunk", "id": "lc_run--1", "content": "Half "}, node)),
            ("values", {"messages": [note, user], "__interrupt__": [{"id": "i", "value": "?"}]}),
            ("messages", ({"type": "AIMessageChunk", "id": "lc_run--1", "content": "said."}, node)),
            ("values", {"messages": [note, user, AIMessage("Half said.", id="lc_run--1")]}),
        ],
        view=ClientView([{"id": "u", "role": "user", "content": "hi"}], {}),
    )
    assert told.lines == [
        *("lc_run--1 begins", "lc_run--1: Half ", "snapshot ", "snapshot note u lc_run--1"),
        *("lc_run--1: said.", "lc_run--1 ends"),
    ]


async def test_a_node_that_returns_the_whole_history_anew_tells_only_what_is_new() -> None:
    async def again(state: Any) -> Any:
        copies: list[BaseMessage] = [message.model_copy(deep=True) for message in state["messages"]]
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *copies, AIMessage("More.")]}

    graph = chain(answer=speaker(said("One.")), again=again, once_more=again)
    told = await run_turn(Fixture("again", graph, (says("go"),)))
    assert [line for line in told.lines if not line.startswith("#")] == [
        *("lc_run--#1 begins", "lc_run--#1: One.", "lc_run--#1 ends"),
    ]


def test_a_message_that_a_list_holds_twice_is_told_once() -> None:
    twice = [*HISTORY, HISTORY[0]]
    told = run_made([("values", {"messages": twice})])
    assert [message["id"] for message in told.view.messages] == ["u1", "a1", "u2"]


def test_a_message_whose_id_changes_with_every_step_is_there_once() -> None:
    parts = [("values", {"messages": [HISTORY[0], AIMessage("One.", id=f"a{step}")]}) for step in range(5)]
    assert [message["id"] for message in run_made(parts).view.messages] == ["u1", "a4"]


@pytest.mark.parametrize("value", ["text", 1, {"a": 1}, None])
def test_a_messages_channel_that_is_no_list_is_passed_over(value: Any) -> None:
    told = run_made([("values", {"messages": value, "other": 1})], view=ClientView([], {}))
    assert (told.lines, told.view.state) == ([], {"other": 1})


def test_messages_without_ids_are_known_by_their_place() -> None:
    told = run_made([("values", {"messages": [HumanMessage("hi"), SystemMessage("s"), AIMessage("a")]})])
    assert [message["id"] for message in told.view.messages] == ["message-0", "message-2"]


async def test_other_channels_can_hold_the_conversation() -> None:
    told = await run_turn("other_messages_key", Options(messages_key="chat"))
    assert told.lines[-3:] == ["lc_run--#1 begins", "lc_run--#1: In another channel.", "lc_run--#1 ends"]


def test_a_late_result_whose_call_is_not_the_last_message_ends_where_the_graph_has_it() -> None:
    """By an event the client would put it behind the call."""
    call: Any = {"name": "f", "args": {}, "id": "c", "type": "tool_call"}
    messages: list[BaseMessage] = [HISTORY[0], AIMessage("", id="a1", tool_calls=[call]), HISTORY[2]]
    whole = [*messages, ToolMessage("late", id="t1", tool_call_id="c")]
    told = run_made([("values", {"messages": messages}), ("values", {"messages": whole})])
    assert [message["id"] for message in told.view.messages] == ["u1", "a1", "u2", "t1"]


def test_two_messages_that_come_at_once_with_the_same_call_id_keep_their_own_arguments() -> None:
    calls: list[Any] = [{"name": "f", "args": {"n": n}, "id": "c", "type": "tool_call"} for n in (1, 2)]
    added = [AIMessage("", id=f"a{n}", tool_calls=[call]) for n, call in enumerate(calls, 1)]
    told = run_made([("values", {"messages": HISTORY[:1]}), ("values", {"messages": [HISTORY[0], *added]})])
    assert [message["toolCalls"][0]["function"]["arguments"] for message in told.view.messages[1:]] == [
        *('{"n":1}', '{"n":2}'),
    ]


def test_a_message_that_takes_an_activity_s_id_stands_where_the_graph_has_it() -> None:
    """The activity was the client's own when the messages before and behind it were compared."""
    first, last = HumanMessage("hi", id="h"), HumanMessage("go on", id="b")
    drawn = {"type": "ACTIVITY_SNAPSHOT", "messageId": "x", "activityType": "chart", "content": {"n": 1}}
    histories = [first], [first], [first, last], [first, last, AIMessage("Here.", id="x")]
    states = [("values", {"messages": messages}) for messages in histories]
    told = run_made([states[0], ("custom", drawn), *states[1:]], view=ClientView([], {}))
    assert [message["id"] for message in told.view.messages] == ["h", "b", "x"]
    assert told.view.message("x") == {"id": "x", "role": "assistant", "content": "Here."}
