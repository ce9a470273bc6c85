"""What a tool says of its progress is an activity of its call: whose, how far, and how it ends."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from langgraph_agui.connect.testing import ScriptedChatModel, check_stream, tool_call
from langgraph_agui.translator import STREAM_MODES, Cancelled, ClientView, Failed, Finished, Lost, Options
from langgraph_agui.translator.endings import Ending

from tests.support.clients.agui_client import AguiClient
from tests.support.streams.event_lines import run_fixture
from tests.support.streams.translator_runs import Event, TranslatorRun

_USER = {"type": "human", "id": "user-1", "content": "hi"}
_METADATA = {"langgraph_node": "model", "langgraph_checkpoint_ns": "model:1", "ls_provider": "scripted"}


def _calls(*call_ids: str, ns: str = "") -> list[Any]:
    """A model calls the tool `dig` under these ids, in the graph at `ns`."""
    chunks = [tool_call_chunk(name="dig", args="{}", id=each, index=at) for at, each in enumerate(call_ids)]
    message = AIMessageChunk(content="", id=f"lc_run--{ns or 1}", tool_call_chunks=chunks, chunk_position="last")
    task = f"{ns}|model:1" if ns else "model:1"
    return [((ns,) if ns else (), "messages", (message, {**_METADATA, "langgraph_checkpoint_ns": task}))]


def _written(call_id: str, progress: Any, ns: tuple[str, ...] = ()) -> Any:
    return (ns, "custom", {"name": "agui_tool_progress", "value": {"tool_call_id": call_id, "progress": progress}})


def _emitted(call_id: str, delta: Any) -> Any:
    return ((), "tools", {"event": "tool-output-delta", "tool_call_id": call_id, "delta": delta})


def _result(call_id: str, status: str = "success") -> Any:
    metadata = {"langgraph_node": "tools", "langgraph_checkpoint_ns": "tools:1"}
    return ((), "messages", (ToolMessage("ok", id=f"of-{call_id}", tool_call_id=call_id, status=status), metadata))


def _run(*parts: Any, ending: Ending | None = None, view: ClientView | None = None, **options: Any) -> TranslatorRun:
    run = TranslatorRun(Options(**options), ClientView([], {}) if view is None else view)
    for part in [("values", {"messages": [_USER]}), *_calls("c1", "c2"), *parts]:
        run.feed(part)
    run.finish(ending or Finished())
    check_stream(run.events, may_remove=True)
    return run


def _contents(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """By call: the content of its activity."""
    activities = [message for message in messages if message.get("activityType") == "tool_progress"]
    assert [each["id"] for each in activities] == [f"{each['content']['toolCallId']}-progress" for each in activities]
    return {each["content"]["toolCallId"]: each["content"] for each in activities}


def _content(run: TranslatorRun, call_id: str = "c1") -> dict[str, Any]:
    content: dict[str, Any] = _contents(run.view.messages)[call_id]
    return content


def _activities(events: list[Event]) -> list[Event]:
    return [event for event in events if event["type"].startswith("ACTIVITY")]


async def test_parallel_calls_of_one_tool_have_an_activity_each(agui_client: AguiClient) -> None:
    (run,) = await run_fixture("tools_report_progress")
    check_stream(run.events, before=ClientView([{"id": "user-1", "role": "user", "content": "read both"}], {}))
    answer = agui_client.play(run.events, messages=[{"id": "user-1", "role": "user", "content": "read both"}])
    assert answer.accepted
    assert _contents(answer.messages) == {
        call: {
            "toolCallId": call,
            "toolName": "read_book",
            "status": "done",
            "progress": {"page": pages, "of": pages},
        }
        for call, pages in (("call_a", 2), ("call_b", 3))
    }


def test_progress_is_a_snapshot_and_then_deltas_of_what_changed() -> None:
    said = [_written("c1", 1), _written("c1", 1), _written("c1", None), _emitted("c1", "a"), _emitted("c1", {"b": 2})]
    run = _run(*said)
    first, *later = _activities(run.events)
    assert first["content"] == {"toolCallId": "c1", "toolName": "dig", "status": "running", "progress": 1}
    assert [event["patch"] for event in later] == [
        [{"op": "add", "path": "/progress", "value": None}],
        [{"op": "add", "path": "/output", "value": ["a"]}],
        [{"op": "add", "path": "/output/-", "value": {"b": 2}}],
        [{"op": "add", "path": "/status", "value": "done"}],
    ]


ENDS: dict[str, tuple[Any, Ending | None, str]] = {
    "a result": (_result("c1"), Failed("late"), "done"),
    "a result that is an error": (_result("c1", "error"), None, "failed"),
    "the end of its superstep": (("values", {"messages": [_USER]}), Failed("late"), "done"),
    "the end of the run": (("custom", "x"), None, "done"),
    "an interrupt": (("updates", {"__interrupt__": ({"value": "?", "id": "i"},)}), None, "waiting"),
    "an interrupt and values": (
        ("values", {"messages": [_USER], "__interrupt__": ({"value": "?", "id": "i"},)}),
        None,
        "waiting",
    ),
    "a failure": (("custom", "x"), Failed(ValueError("x")), "stopped"),
    "a cancel": (("custom", "x"), Cancelled(), "stopped"),
    "a lost source": (("custom", "x"), Lost("x"), "stopped"),
}


@pytest.mark.parametrize("what", ENDS)
def test_the_status_says_how_the_call_ended(what: str) -> None:
    part, ending, status = ENDS[what]
    assert _content(_run(_written("c1", 1), part, ending=ending))["status"] == status


def test_a_call_with_a_result_says_nothing_more() -> None:
    run = _run(_written("c1", 1), _result("c1"), _written("c1", 2), _emitted("c1", "x"))
    assert _content(run)["progress"] == 1
    assert "output" not in _content(run)


def test_the_result_of_another_graphs_call_ends_no_call() -> None:
    namespace, mode, payload = _result("c1")
    run = _run(_written("c1", 1), (("tools:1",), mode, payload), ending=Failed("late"))
    assert namespace == ()
    assert _content(run)["status"] == "stopped"


def test_what_a_tool_of_a_tool_says_is_not_said_of_the_call_with_its_id() -> None:
    """Models number their calls anew: the agent inside the tool has a call `c1` too."""
    inside = [*_calls("c1", ns="tools:1"), _written("c1", "inner", ("tools:1",))]
    assert not _activities(_run(*inside).events)
    assert _content(_run(*inside, _written("c2", "outer", ("tools:1",))), "c2")["progress"] == "outer"


def test_a_call_that_the_client_does_not_have_has_no_progress() -> None:
    assert not _activities(_run(_written("unknown", 1), _emitted("unknown", 1)).events)
    assert not _activities(_run(_written("c1", 1), hidden_tools=frozenset({"dig"})).events)


def test_by_option_there_is_no_progress() -> None:
    assert not _activities(_run(_written("c1", 1), _emitted("c1", 1), tool_progress=False).events)


UNREADABLE: dict[str, Any] = {
    "no id": {"progress": 1},
    "an id that is no text": {"tool_call_id": 1, "progress": 1},
    "no progress": {"tool_call_id": "c1"},
    "more": {"tool_call_id": "c1", "progress": 1, "more": 1},
    "a text": "c1",
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_is_no_progress_is_a_custom_event_as_before(what: str) -> None:
    value = UNREADABLE[what]
    run = _run(("custom", {"name": "agui_tool_progress", "value": value}))
    assert {"type": "CUSTOM", "name": "agui_tool_progress", "value": value} in run.events


@pytest.mark.parametrize("part", [None, 5, {}, {"event": "tool-output-delta"}, {"event": 7, "tool_call_id": "c1"}])
def test_a_part_of_the_tools_mode_that_says_nothing_is_ignored(part: Any) -> None:
    assert not _activities(_run(("tools", part)).events)


def test_output_ends_at_the_limit_of_results() -> None:
    run = _run(*[_emitted("c1", "12345") for _ in range(4)], result_limit=10)
    assert _content(run)["output"] == ["12345", "12345"]
    assert _content(run)["truncated"] is True
    assert len(_activities(run.events)) == 4  # two parts, the mark, the status


def test_a_tool_that_is_called_again_begins_its_output_anew() -> None:
    began = ("tools", {"event": "tool-started", "tool_call_id": "c1", "tool_name": "dig"})
    run = _run(began, _emitted("c1", "a"), _written("c1", 1), began, _emitted("c1", "b"))
    assert _content(run)["output"] == ["b"]
    assert _content(run)["progress"] == 1


def test_values_that_are_no_json_are_made_json() -> None:
    run = _run(_emitted("c1", {1, 2}), _written("c1", object))
    assert _content(run)["output"] == [[1, 2]]


def test_progress_stays_when_a_snapshot_of_the_messages_comes() -> None:
    message = {"type": "ai", "id": "lc_run--1", "content": "rewritten", "tool_calls": []}
    run = _run(_written("c1", 1), ("values", {"messages": [_USER, message]}))
    assert "MESSAGES_SNAPSHOT" in [event["type"] for event in run.feeds[-2]]
    assert _content(run)["progress"] == 1


@tool
async def search(query: str, runtime: ToolRuntime) -> str:
    """Searches, and emits what it finds."""
    for number in range(2):
        runtime.emit_output_delta(f"{query} {number}")
        await asyncio.sleep(0)
    return query


@tool
def search_in_thread(query: str, runtime: ToolRuntime) -> str:
    """Searches in a thread."""
    runtime.emit_output_delta(query)
    return query


@tool
async def ask(question: str, runtime: ToolRuntime) -> str:
    """Asks, and says that it does."""
    runtime.emit_output_delta("asking")
    return str(interrupt(question))


async def _agent_runs(tools: list[BaseTool], *inputs: Any, calls: Mapping[str, Any]) -> list[list[Event]]:
    """The events of the runs of an agent, one for each input, for one client; with the mode `tools`."""
    turn = [tool_call(name, given, f"call_{at}", index=at) for at, (name, given) in enumerate(calls.items())]
    graph = create_agent(ScriptedChatModel(turns=[turn, "Done."]), tools, checkpointer=InMemorySaver())
    view, found = ClientView([], {}), list[list[Event]]()
    for number, given in enumerate(inputs):
        run = TranslatorRun(view=view, run_id=f"run-{number}")
        modes: Any = [*STREAM_MODES, "tools"]
        stream = graph.astream(given, {"configurable": {"thread_id": "1"}}, stream_mode=modes, subgraphs=True)
        async for part in stream:
            run.feed(part)
        run.finish()
        found.append(run.events)
        view = run.view
    return found


@pytest.mark.newest
async def test_output_that_tools_emit_is_of_their_call(agui_client: AguiClient) -> None:
    calls = {"search": {"query": "a"}, "search_in_thread": {"query": "b"}}
    (events,) = await _agent_runs([search, search_in_thread], {"messages": [("user", "find")]}, calls=calls)
    answer = agui_client.play(events)
    assert answer.accepted
    outputs = {call: content["output"] for call, content in _contents(answer.messages).items()}
    assert outputs == {"call_0": ["a 0", "a 1"], "call_1": ["b"]}


@pytest.mark.newest
async def test_a_tool_that_asked_and_goes_on_has_one_activity(agui_client: AguiClient) -> None:
    answered: Command[Any] = Command(resume="yes")
    first, second = await _agent_runs(
        [ask], {"messages": [("user", "ask")]}, answered, calls={"ask": {"question": "?"}}
    )
    assert _contents(agui_client.play(first).messages)["call_0"]["status"] == "waiting"
    answer = agui_client.play(first + second)
    assert answer.accepted
    assert _contents(answer.messages)["call_0"]["status"] == "done"
    assert _contents(answer.messages)["call_0"]["output"] == ["asking"]


@pytest.mark.parametrize("report", [_written("c1", 1), _emitted("c1", "a")])
def test_the_progress_of_a_tool_does_not_say_that_an_older_result_is_gone(report: Any) -> None:
    """A resumed run begins with values that lack the results of tools that had finished."""
    calls = [{"id": call, "type": "function", "function": {"name": "dig", "arguments": "{}"}} for call in ("c1", "c2")]
    known: list[Event] = [
        {"id": "user-1", "role": "user", "content": "hi"},
        {"id": "ai-1", "role": "assistant", "toolCalls": calls},
        {"id": "of-c2", "role": "tool", "toolCallId": "c2", "content": "ok"},
    ]
    made: list[Event] = [{"name": "dig", "args": {}, "id": call} for call in ("c1", "c2")]
    stored = {"type": "ai", "id": "ai-1", "content": "", "tool_calls": made}
    run = TranslatorRun(view=ClientView(known, {}))
    assert run.feed(("values", {"messages": [_USER, stored]})) == []
    assert [event["type"] for event in run.feed(((), *report[1:]))] == ["ACTIVITY_SNAPSHOT"]
    replayed = {"tools": {"messages": [ToolMessage("ok", id="of-c2", tool_call_id="c2")]}}
    run.feed(("updates", {**replayed, "__metadata__": {"cached": True}}))
    run.feed(_result("c1"))
    assert "MESSAGES_SNAPSHOT" not in {event["type"] for event in run.events}
