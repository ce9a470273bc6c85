"""The state: exact after every values part, told by the cheapest event, and never more of it than was asked for."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import EphemeralValue
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing.expected import expected
from langgraph_agui.translator import ClientView, Finished, Options, Translator
from langgraph_agui.translator.parts.channels import channels

from fixtures import FIXTURES, Fixture
from fixtures.fixture import Checkpointer, Graph, says
from fixtures.run import Conversation, Version
from tests.support.clients.agui_client import AguiClient
from tests.support.streams.event_lines import run_fixture
from tests.support.streams.translator_runs import Event, TranslatorRun, run_parts

STATEFUL = [
    "state_counters",
    "state_files",
    "state_edited_in_place",
    "state_odd_values",
    "state_huge_ints",
    "state_pydantic",
    "state_dataclass",
    "no_messages_channel",
    "private_channel",
    "tool_writes_state",
]


_DIRECT = Options(first_state="delta")


def _kinds(events: Sequence[Event]) -> list[str]:
    return [event["type"] for event in events if event["type"].startswith("STATE_")]


def _values(**channels_: Any) -> Any:
    return ("values", channels_)


def _wrote(**channels_: Any) -> Any:
    return ("updates", {"node": channels_})


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("name", STATEFUL)
async def test_the_state_is_exact_after_every_values_part(name: str, version: Version) -> None:
    fixture = FIXTURES[name]
    options = Options(messages_key=fixture.messages_key or "messages")
    conversation = Conversation(fixture)
    for turn in fixture.turns:
        run = TranslatorRun(options)
        async for part in conversation.stream(turn, version):
            run.feed(part)
            ns, mode, data = (part["ns"], part["type"], part["data"]) if isinstance(part, dict) else part
            if mode == "values" and not ns:
                assert run.view.state == expected(data, options).state


def test_a_state_that_is_not_known_is_told_whole() -> None:
    assert run_parts([_values(count=1)]).feeds[1] == [{"type": "STATE_SNAPSHOT", "snapshot": {"count": 1}}]


def test_a_state_that_is_known_and_close_is_told_by_a_delta() -> None:
    view = ClientView([], {"count": 1, "text": "a long text that need not be told again"})
    values = _values(count=2, text=view.state["text"])
    assert _kinds(run_parts([values], options=_DIRECT, view=view.copy()).events) == ["STATE_DELTA"]
    assert _kinds(run_parts([values], view=view.copy()).events) == ["STATE_SNAPSHOT"]


def test_a_state_that_is_known_and_far_is_told_whole() -> None:
    telling = run_parts([_values(b=1, c=2, d=3)], view=ClientView([], {"x": 1, "y": 2, "z": 3, "v": 4}))
    assert _kinds(telling.events) == ["STATE_SNAPSHOT"]


def test_a_state_that_the_client_holds_is_not_told() -> None:
    assert _kinds(run_parts([_values(count=1)], view=ClientView([], {"count": 1})).events) == []


def test_later_values_are_told_by_a_delta() -> None:
    parts = [_values(count=1, same=[1, 2]), _wrote(count=2), _values(count=2, same=[1, 2])]
    assert run_parts(parts).feeds[3] == [
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/count", "value": 2}]}
    ]


def test_values_that_changed_nothing_tell_nothing() -> None:
    assert run_parts([_values(count=1), _wrote(count=1), _values(count=1)]).feeds[3] == []


def test_what_is_new_to_the_client_is_told_at_once() -> None:
    telling = run_parts([_values(count=0), _wrote(count=1)], view=ClientView([], {}))
    assert _kinds(telling.feeds[1]) != []


def test_what_would_change_the_clients_state_waits_for_the_next_part() -> None:
    telling = run_parts([_values(count=0), _wrote(count=1)], view=ClientView([], {"count": 5}))
    assert [_kinds(feed) for feed in telling.feeds[1:3]] == [[], ["STATE_SNAPSHOT"]]


def test_a_resumed_run_takes_nothing_back() -> None:
    cached = ("updates", {"node": {"count": 5}, "__metadata__": {"cached": True}})
    telling = run_parts(
        [_values(count=0), cached, _values(count=6)], options=_DIRECT, view=ClientView([], {"count": 5})
    )
    deltas = [event["delta"] for event in telling.events if event["type"] == "STATE_DELTA"]
    assert deltas == [[{"op": "replace", "path": "/count", "value": 6}]]


async def test_a_reducers_result_is_told_not_what_a_node_wrote() -> None:
    first, second = await run_fixture("state_counters")
    assert first.view.state["count"] == 3
    assert second.view.state["count"] == 16


@pytest.mark.parametrize("key", ["a/b", "c~d", "~1", "", " ", "é", "0", "-"])
def test_any_key_may_be_written(key: str, agui_client: AguiClient) -> None:
    parts = [_values(files={key: 1, "x": 0}), _wrote(files=1), _values(files={key: {"n": 2}, "x": 0})]
    answer = agui_client.play(run_parts(parts).events)
    assert answer.accepted
    assert answer.state == {"files": {key: {"n": 2}, "x": 0}}


@pytest.mark.parametrize(("before", "after"), [(True, 1), (1, True), (0, False), (1.0, True), ([True], [1])])
def test_a_truth_is_no_number(before: Any, after: Any, agui_client: AguiClient) -> None:
    answer = agui_client.play(run_parts([_values(x=before), _wrote(x=after), _values(x=after)]).events)
    assert repr(answer.state["x"]) == repr(after)


@pytest.mark.parametrize("value", [{"__proto__": {"x": 1}}, {"a": {"__proto__": [1]}}])
def test_a_path_through_proto_is_no_patch(value: Any, agui_client: AguiClient) -> None:
    changed = {"a": {"__proto__": [2]}, "b": 1} if "a" in value else {"__proto__": {"x": 2}}
    answer = agui_client.play(run_parts([_values(tree=value), _wrote(tree=1), _values(tree=changed)]).events)
    assert (answer.error, answer.warnings) == (None, [])
    assert answer.state == {"tree": changed}


@pytest.mark.parametrize("root", [17, "a text", [1, 2], None, True, 1.5])
def test_a_state_that_is_no_mapping_is_shown_as_it_is(root: Any, agui_client: AguiClient) -> None:
    assert agui_client.play(run_parts([("values", root)]).events).state == root


def test_a_channel_that_is_gone_is_removed() -> None:
    telling = run_parts([_values(a=1, b=2), _values(a=1)])
    assert telling.feeds[2] == [{"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/b"}]}]


class _Flashing(TypedDict):
    flash: Annotated[bool, EphemeralValue]
    count: int


def _flashing(checkpointer: Checkpointer) -> Graph:
    """A channel that lives for one step, written in the first and the third with the same value."""
    graph = StateGraph(_Flashing)
    graph.add_node("one", lambda state: {"flash": True, "count": 1})
    graph.add_node("two", lambda state: {"count": 2})
    graph.add_node("three", lambda state: {"flash": True, "count": 3})
    graph.add_edge(START, "one").add_edge("one", "two").add_edge("two", "three")
    return graph.compile(checkpointer=checkpointer)


async def test_a_channel_that_comes_back_is_told_again() -> None:
    fixture = Fixture("flashing", _flashing, (says("hi", count=0),), messages_key=None)
    (telling,) = await run_fixture(fixture)
    assert telling.values["flash"] is True
    assert telling.view.state == telling.values


async def test_an_edit_in_place_that_a_node_returned_is_seen() -> None:
    (telling,) = await run_fixture("state_edited_in_place")
    assert telling.view.state["todos"][0] == {"status": "returned"}


async def test_an_edit_in_place_that_nobody_returned_is_told_when_the_channel_is_next_written() -> None:
    conversation = Conversation(FIXTURES["state_edited_without_update"])
    run = TranslatorRun(view=ClientView([], {}))
    seen = []
    async for part in conversation.stream(FIXTURES["state_edited_without_update"].turns[0]):
        run.feed(part)
        if part[1] == "values" and "todos" in (run.view.state or {}):
            seen.append(run.view.state["todos"][1]["status"])
    assert seen == ["pending", "pending", "silent"]


def test_what_was_told_is_what_was_true_when_the_part_was_fed() -> None:
    todos = [{"status": "pending"}]
    run = TranslatorRun()
    snapshot = run.feed(_values(todos=todos))
    todos[0]["status"] = "changed"
    assert snapshot[-1]["snapshot"] == {"todos": [{"status": "pending"}]}


def test_two_channels_that_share_an_object_are_both_told() -> None:
    shared = [1]
    run = TranslatorRun()
    run.feed(_values(a=shared, b=shared))
    shared.append(2)
    run.feed(_wrote(a=1, b=1))
    run.feed(_values(a=shared, b=shared))
    assert run.view.state == {"a": [1, 2], "b": [1, 2]}


MODES = {
    "deltas": ["STATE_SNAPSHOT", "STATE_DELTA", "STATE_DELTA"],
    "initial": ["STATE_SNAPSHOT"],
    "final": ["STATE_SNAPSHOT"],
    "all": ["STATE_SNAPSHOT", "STATE_SNAPSHOT", "STATE_SNAPSHOT"],
    "none": [],
}
_RUN = [_values(n=1), _wrote(n=2), _values(n=2), _wrote(n=3), _values(n=3)]


@pytest.mark.parametrize("mode", MODES)
def test_the_option_decides_which_events_tell_the_state(mode: Any) -> None:
    assert _kinds(run_parts(_RUN, options=Options(state=mode)).events) == MODES[mode]


@pytest.mark.parametrize(("mode", "state"), [("initial", {"n": 1}), ("final", {"n": 3}), ("all", {"n": 3})])
def test_the_option_decides_which_state_the_client_ends_with(mode: Any, state: Any) -> None:
    assert run_parts(_RUN, options=Options(state=mode)).view.state == state


def test_the_final_state_is_that_of_the_ending_if_it_knows() -> None:
    assert run_parts(_RUN, Finished(state={"n": 4}), Options(state="final")).view.state == {"n": 4}


def test_all_tells_no_snapshot_where_nothing_changed() -> None:
    telling = run_parts([_values(n=1), _values(n=1)], options=Options(state="all"))
    assert _kinds(telling.events) == ["STATE_SNAPSHOT"]


def test_only_included_channels_are_told() -> None:
    assert run_parts([_values(a=1, b=2)], options=Options(state_include=frozenset("a"))).view.state == {"a": 1}


def test_excluded_channels_are_not_told() -> None:
    assert run_parts([_values(a=1, b=2)], options=Options(state_exclude=frozenset("a"))).view.state == {"b": 2}


def test_excluded_wins_over_included() -> None:
    options = Options(state_include=frozenset("ab"), state_exclude=frozenset("a"))
    assert run_parts([_values(a=1, b=2)], options=options).view.state == {"b": 2}


@pytest.mark.parametrize("name", ["messages", "_scratch", "__interrupt__"])
def test_some_channels_are_never_told_even_if_included(name: str) -> None:
    telling = run_parts([_values(**{name: [], "a": 1})], options=Options(state_include=frozenset({name, "a"})))
    assert telling.view.state == {"a": 1}


def test_the_conversation_under_another_name_is_not_state() -> None:
    chat = [{"type": "human", "id": "u", "content": "hi"}]
    telling = run_parts([_values(chat=chat, a=1)], options=Options(messages_key="chat"))
    assert (telling.view.state, telling.view.order) == ({"a": 1}, ["u"])


async def test_a_private_channel_of_a_graph_is_not_told() -> None:
    (telling,) = await run_fixture("private_channel")
    assert telling.view.state == {"shown": 1}


@pytest.mark.parametrize("name", ["state_pydantic", "state_dataclass"])
async def test_a_state_class_is_told_by_its_fields(name: str) -> None:
    (telling,) = await run_fixture(name, version="v2")
    assert telling.view.state == expected(telling.values, Options()).state
    assert channels(telling.values) is not None


def test_values_of_a_subgraph_are_not_the_state() -> None:
    run = TranslatorRun()
    run.feed(_values(a=1))
    assert _kinds(run.feed((("child:1",), "values", {"a": 5}))) == []


class _Big(MessagesState):
    table: dict[str, Any]


async def _write_20_mb(state: _Big) -> dict[str, Any]:
    return {"table": {f"row {at}": {"text": "x" * 1000, "at": at} for at in range(20_000)}}


def _big(checkpointer: Checkpointer) -> Graph:
    return StateGraph(_Big).add_node("write", _write_20_mb).add_edge(START, "write").compile(checkpointer=checkpointer)


async def test_a_state_of_20_mb_reaches_the_client(agui_client: AguiClient) -> None:
    (telling,) = await run_fixture(Fixture("big", _big, (says("hi"),), recorded=False))
    answer = agui_client.play(telling.events)
    assert (answer.error, answer.warnings) == (None, [])
    assert answer.state == telling.view.state
    assert len(answer.state["table"]) == 20_000


def test_a_translator_without_values_tells_no_state() -> None:
    run = Translator("t", "r", Options(state="final"))
    assert _kinds([*run.start(), *run.finish()]) == []
