"""The first state event of a run is a snapshot: what stands between here and a page may know no earlier state.

CopilotKit's Node runtime folds a run's state events from an empty state when the run has ended, and never ends a run
for its page that it can't fold. `tests/browser` has the runtime itself.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import jsonpatch
import pytest
from ag_ui.core import RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Local, Runs, connect, run
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.translator import ClientView, Options, Prediction, Translator

from tests.support.clients.copilotkit import asked
from tests.support.servers.serving import events_of, served

Event = dict[str, Any]

HELD = {"plan": {"first": 1}, "count": 5}
"""What the client holds of the state before the run."""

_TASK = {"langgraph_node": "write", "langgraph_checkpoint_ns": "write:1", "ls_provider": "p"}
_PREDICTS = Options(predict_state=(Prediction("count", "write", "count"),))


def _chunk(**call: Any) -> Any:
    piece = {"name": None, "id": None, "index": 0, **call}
    chunk = {"type": "AIMessageChunk", "id": "lc_run--1", "content": "", "tool_call_chunks": [piece]}
    return ("messages", (chunk, _TASK))


_MANY = "many " * 40
_CALL = [_chunk(name="write", args="", id="call-1"), _chunk(args='{"count": "' + _MANY), _chunk(args=_MANY + '"}')]

STREAMS: dict[str, list[Any]] = {
    "changed at once": [("values", {**HELD, "count": 6}), ("values", {**HELD, "count": 7})],
    "changed later": [
        ("values", HELD),
        ("updates", {"node": {"plan": 1}}),
        ("values", {**HELD, "plan": {"first": 1, "second": 2}}),
        ("values", {"plan": {}}),
    ],
    "predicted first": [*_CALL, ("values", HELD)],
    "predicted after the first values": [("values", HELD), *_CALL, ("values", {**HELD, "count": _MANY + _MANY})],
    "resumed": [
        ("values", {**HELD, "count": 4}),
        ("updates", {"node": {"count": 5}, "__metadata__": {"cached": True}}),
        ("values", {**HELD, "count": 6}),
    ],
    "unchanged": [("values", HELD)],
}


def folded(events: Iterable[Event]) -> Any:
    """The state that a run's events make of an empty one; raises where a delta does not fit."""
    state: Any = {}
    for event in events:
        if event["type"] == "STATE_SNAPSHOT":
            state = event["snapshot"]
        elif event["type"] == "STATE_DELTA":
            state = jsonpatch.apply_patch(state, event["delta"])
    return state


def _state_events(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if event["type"].startswith("STATE_")]


@pytest.mark.parametrize("name", STREAMS)
def test_a_run_can_be_folded_from_nothing_by_a_reader_that_joins_anywhere(name: str) -> None:
    """With a client that is known to hold the state, one that holds another, and one of which nothing is known."""
    parts = STREAMS[name]
    for holds in (HELD, {"plan": {"first": 0}}, {}, None):
        run_of = Translator("t", "r", _PREDICTS, ClientView([], HELD))
        calls: list[Callable[[], list[Event]]] = [
            run_of.start,
            *(partial(run_of.feed, part) for part in parts),
            run_of.finish,
        ]
        readers: list[tuple[Reader, list[Event]]] = []
        for call in calls:
            events = call()
            for _, received in readers:
                received += events
            reader = Reader(_PREDICTS, ClientView([], holds))
            readers.append((reader, reader.catch_up(run_of.view)))
        for cut, (_, received) in enumerate(readers):
            told = _state_events(received)
            where = f"client with {holds}, joined after {cut} parts"
            assert [event["type"] for event in told[:1]] in ([], ["STATE_SNAPSHOT"]), where
            assert folded(told) == (run_of.view.state if told else {}), where
            assert told or holds == run_of.view.state, where


def test_a_prediction_streams_before_the_first_values_and_after() -> None:
    for name in ("predicted first", "predicted after the first values"):
        run_of = Translator("t", "r", _PREDICTS, ClientView([], HELD))
        run_of.start()
        told = [_state_events(run_of.feed(part)) for part in STREAMS[name]]
        first, *later = [event for events in told for event in events]
        assert first == {"type": "STATE_SNAPSHOT", "snapshot": {**HELD, "count": _MANY}}
        grown = [{"op": "replace", "path": "/count", "value": _MANY + _MANY}]
        assert later[0] == {"type": "STATE_DELTA", "delta": grown}


class _Counted(MessagesState):
    count: int
    plan: dict[str, int]


def _counting() -> Any:
    graph = StateGraph(_Counted).add_node("add", lambda state: {"count": state.get("count", 0) + 1})
    return graph.add_edge(START, "add").compile(checkpointer=InMemorySaver())


async def test_plain_routes_begin_with_a_snapshot_and_direct_clients_get_deltas() -> None:
    """Our own CopilotKit routes and `connect` are read by the client itself; `run` and `POST /{agent}` may be not."""
    async with Runs() as runs:
        graph = _counting()
        source = Local(graph, agent="graph", runs=runs)
        await graph.ainvoke({"count": 1, "plan": {"long": 1}}, {"configurable": {"thread_id": "t"}})
        app = agui_app(Agent(source=source))
        first = {}
        async with served(app) as server, server.client() as client:
            for place, path in enumerate(("/default", "/agent/default/run", "/default")):
                held = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values
                state = {name: held[name] for name in ("count", "plan")}
                given = asked("t", *["hi"] * (place + 1), run_id=f"run-{place}", state=state)
                told = _state_events(events_of((await client.post(path, json=given)).text))
                first[path] = [event["type"] for event in told]
            behind = {**given, "state": {**state, "count": 0}, "protocolVersion": "1.0"}
            told = _state_events(events_of((await client.post("/default/connect", json=behind)).text))
            first["connect"] = [event["type"] for event in told]
        assert first == {
            "/default": ["STATE_SNAPSHOT"],
            "/agent/default/run": ["STATE_DELTA"],
            "connect": ["STATE_DELTA"],
        }
        state["count"] = 4
        again = RunAgentInput.model_validate(asked("t", "hi", "hi", "hi", "hi", run_id="run-4", state=state))
        options = await source.options()
        events = [event.model_dump(by_alias=True) async for event in run(source, again, options=options)]
        assert _state_events(events)[0]["type"] == "STATE_SNAPSHOT"
        view = ClientView(again.messages, {**state, "count": 3})
        events = [event.model_dump(by_alias=True) async for event in connect(source, "t", view=view)]
        assert [event["type"] for event in _state_events(events)] == ["STATE_DELTA"]
