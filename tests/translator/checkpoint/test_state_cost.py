"""What a change of the state costs on the wire: bytes in proportion to the change, not to the state."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.graph import START, StateGraph
from langgraph_agui.translator import ClientView, encode
from orjson import dumps
from typing_extensions import TypedDict

from fixtures import Fixture
from fixtures.fixture import Checkpointer, Graph, says
from tests.support.streams.event_lines import run_fixture
from tests.support.streams.translator_runs import Event, TranslatorRun

_ENVELOPE = 80
"""Bytes of a delta's frame without its operations, generously."""


def _told(before: Any, after: Any) -> tuple[list[Event], int]:
    """The events of a write that leads from one value of a channel to another, and their bytes."""
    run = TranslatorRun()
    run.feed(("values", {"channel": before, "other": ["x" * 100] * 1000}))
    run.feed(("updates", {"node": {"channel": after}}))
    events = run.feed(("values", {"channel": after, "other": ["x" * 100] * 1000}))
    assert run.view.state["channel"] == after
    return events, sum(len(encode(event)) for event in events)


@pytest.mark.parametrize("length", [10, 1_000, 100_000])
def test_appending_to_a_list_costs_what_is_appended(length: int) -> None:
    lines = [f"line {at}" for at in range(length)]
    _, size = _told(lines, [*lines, "one more"])
    assert size <= _ENVELOPE + 60


@pytest.mark.parametrize("depth", [3, 30])
def test_a_key_deep_inside_costs_its_path_and_its_value(depth: int) -> None:
    def tree(leaf: int) -> Any:
        inner: Any = {"leaf": leaf}
        for at in range(depth):
            inner = {f"k{at}": inner, "beside": ["x" * 50] * 20}
        return inner

    _, size = _told(tree(1), tree(2))
    assert size <= _ENVELOPE + 60 + 5 * depth


def test_a_file_among_two_hundred_costs_the_file() -> None:
    files = {f"/docs/file {at}.md": {"content": ["line"] * 50} for at in range(200)}
    added = {"content": ["new"] * 10}
    _, size = _told(files, {**files, "/new.md": added})
    assert size <= _ENVELOPE + 60 + len(dumps(added))


def test_a_todo_that_is_ticked_off_costs_its_status() -> None:
    todos = [{"content": f"step {at}", "status": "pending"} for at in range(50)]
    ticked = [{**todo, "status": "completed"} if at == 30 else todo for at, todo in enumerate(todos)]
    events, size = _told(todos, ticked)
    assert events[0]["delta"] == [{"op": "replace", "path": "/channel/30/status", "value": "completed"}]
    assert size <= _ENVELOPE + 80


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([{"id": at} for at in range(100)], [{"id": at} for at in range(100, 0, -1)]),
        ([{"id": at} for at in range(100)], [{"id": at} for at in range(0, 100, 2)]),
        ({str(at): at for at in range(100)}, {str(at): -at for at in range(100)}),
        ({str(at): at for at in range(100)}, [1]),
        ("a" * 1000, "b" * 10),
    ],
)
def test_a_delta_is_never_larger_than_what_it_replaces(before: Any, after: Any) -> None:
    events, _ = _told(before, after)
    whole = [{"op": "replace", "path": "/channel", "value": after}]
    assert len(dumps(events[0]["delta"])) <= len(dumps(whole))


def test_a_channel_that_was_not_written_is_not_read_again() -> None:
    class Counted(dict[str, Any]):
        reads = 0

        def items(self) -> Any:
            Counted.reads += 1
            return super().items()

    table = Counted(a=1)
    run = TranslatorRun()
    run.feed(("values", {"table": table, "n": 0}))
    read = Counted.reads
    assert read
    for n in range(10):
        run.feed(("updates", {"node": {"n": n}}))
        run.feed(("values", {"table": table, "n": n}))
    assert Counted.reads == read


class _Large(TypedDict, total=False):
    table: dict[str, Any]


def _counter(number: int) -> Any:
    async def node(state: _Large) -> dict[str, Any]:
        table = {name: dict(row) for name, row in state["table"].items()}
        table[f"row {number * 90}"]["count"] = number + 1
        return {"table": table}

    return node


def _ten_nodes(checkpointer: Checkpointer) -> Graph:
    graph = StateGraph(_Large)
    for number in range(10):
        graph.add_node(f"node{number}", _counter(number))
        graph.add_edge(START if number == 0 else f"node{number - 1}", f"node{number}")
    return graph.compile(checkpointer=checkpointer)


async def test_ten_nodes_that_change_one_integer_each_in_one_megabyte_cost_the_megabyte_once() -> None:
    table = {f"row {at}": {"text": "x" * 1000, "count": 0} for at in range(1000)}
    fixture = Fixture("ten_nodes", _ten_nodes, (says("hi", table=table),), messages_key=None)
    (telling,) = await run_fixture(fixture, known=False)
    assert telling.view.state == telling.values
    assert 1_000_000 < sum(len(encode(event)) for event in telling.events) < 1_200_000


@pytest.mark.parametrize("state", [0, 1_000_000])
def test_a_token_costs_the_same_whatever_the_state(state: int) -> None:

    run = TranslatorRun()
    run.feed(("values", {"messages": [], "table": "x" * state}))
    metadata = {"langgraph_node": "talk", "langgraph_checkpoint_ns": "talk:1", "ls_provider": "scripted"}
    run.feed(("messages", (AIMessageChunk(content="Hello", id="lc_run--1"), metadata)))
    events = run.feed(("messages", (AIMessageChunk(content=" you", id="lc_run--1"), metadata)))
    assert events == [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "lc_run--1", "delta": " you"}]


def test_what_the_client_holds_already_costs_nothing() -> None:
    run = TranslatorRun(view=ClientView([], {"table": "x" * 10_000}))
    run.feed(("values", {"table": "x" * 10_000}))
    assert [event["type"] for event in run.finish()] == ["RUN_FINISHED"]


def test_a_small_change_of_a_channel_that_is_truncated_costs_little() -> None:
    before = [f"line {at:08}" for at in range(600_000)]
    run = TranslatorRun()
    run.feed(("values", {"channel": before}))
    assert len(dumps(run.view.state["channel"])) < len(dumps(before))
    after = [*before[:5], "another one 1", *before[6:]]
    run.feed(("updates", {"node": {"channel": after}}))
    [event] = run.feed(("values", {"channel": after}))
    assert (event["type"], len(encode(event)) < _ENVELOPE + 60) == ("STATE_DELTA", True)
    assert run.view.state["channel"][5] == "another one 1"
