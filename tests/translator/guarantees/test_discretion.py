"""Nothing leaves that was not asked for: system messages, configuration, private channels, raw parts.

That no stream has raw events or the run's input unless they are asked for is checked of every stream that is compared
with a checkpoint: see `Verdicts` in `tests/support/clients/readers.py`.
"""

from typing import Any

import orjson
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.translator import Options, encode

from fixtures import Fixture
from fixtures.fixture import Checkpointer, Graph, says
from fixtures.graphs.speech import said
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.streams.event_lines import run_fixture
from tests.support.streams.translator_runs import run_parts

_SECRET = "sk-secret-1234"


async def _answer(state: MessagesState) -> dict[str, Any]:
    system = SystemMessage(f"You are an assistant. The key is {_SECRET}.", id="system-1")
    answer = await said("Hello.").ainvoke([system, *state["messages"]])
    return {"messages": [system, answer], "_scratch": _SECRET}


class _State(MessagesState):
    _scratch: str


def _graph(checkpointer: Checkpointer) -> Graph:
    graph = StateGraph(_State).add_node("answer", _answer).add_edge(START, "answer")
    return graph.compile(checkpointer=checkpointer)


_FIXTURE = Fixture(
    "secretive", _graph, (says("hi"),), config={"metadata": {"tenant": _SECRET}, "configurable": {"api_key": _SECRET}}
)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("history", ["mirror", "keep"])
async def test_no_secret_of_a_run_leaves_it(history: Any, known: bool) -> None:
    (telling,) = await run_fixture(_FIXTURE, Options(history=history), known=known)
    assert _SECRET not in b"".join(encode(event) for event in telling.events).decode()


def test_a_system_message_in_the_conversation_is_not_told() -> None:
    messages = [SystemMessage("secret", id="s"), HumanMessage("hi", id="u"), AIMessage("ho", id="a")]
    assert run_parts([("values", {"messages": messages})]).view.order == ["u", "a"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_raw_events_hold_every_part_if_asked_for(version: str, agui_client: AguiClient) -> None:
    options = Options(raw_events=True, protocol_version=protocol(version))
    (telling,) = await run_fixture("agent_one_tool", options, known=False)
    modes = {event["event"]["mode"] for event in telling.kinds("RAW")}
    assert modes == {"messages", "updates", "values"}
    answer = agui_client.play(telling.events, version=version)
    assert (answer.error, answer.warnings) == (None, [])


async def test_raw_events_change_no_other_event() -> None:
    (plain,) = await run_fixture("agent_one_tool", None, version="v2")
    (raw,) = await run_fixture("agent_one_tool", Options(raw_events=True), version="v2")
    kinds = [[event["type"] for event in one.events if event["type"] != "RAW"] for one in (plain, raw)]
    assert kinds[0] == kinds[1]


def test_a_raw_event_comes_before_what_it_became() -> None:
    feed = run_parts([("values", {"n": 1})], options=Options(raw_events=True)).feeds[1]
    assert [event["type"] for event in feed] == ["RAW", "STATE_SNAPSHOT"]
    assert feed[0]["event"] == {"ns": [], "mode": "values", "data": {"n": 1}, "id": None, "interrupts": []}


def test_an_error_says_nothing_of_itself_if_told_not_to() -> None:
    error = ("error", {"error": "KeyError", "message": _SECRET})
    events = run_parts([error], options=Options(error_detail="none")).events
    assert _SECRET not in orjson.dumps(events).decode()
    assert "KeyError" not in orjson.dumps(events).decode()
