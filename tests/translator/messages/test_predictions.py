"""Tool arguments that are state being written: the PredictState event, the value as it grows, the true one at last."""

import json
import operator
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, TodoListMiddleware, before_model
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.translator import (
    STREAM_MODES,
    Cancelled,
    ClientView,
    Failed,
    Finished,
    Lost,
    Options,
    Prediction,
    encode,
)
from langgraph_agui.translator.endings import Ending
from langgraph_agui.translator.jsonable.partial_json import read_partial

from fixtures.graphs.speech import said
from fixtures.graphs.subagents import deep, specialist, task
from fixtures.scripts import end as ends
from tests.support.clients.agui_client import AguiClient
from tests.support.streams.event_lines import run_fixture
from tests.support.streams.translator_runs import Event, TranslatorRun

_TASK = {"langgraph_node": "write", "langgraph_checkpoint_ns": "write:1", "ls_provider": "p"}
_DOCUMENT = Prediction("document", "write_document", "document")


def _call(args: str, *, pieces: int = 20, name: str = "write_document", metadata: Any = None) -> list[Any]:
    task = {**_TASK, **(metadata or {})}
    size = max(1, -(-len(args) // pieces))
    fragments = [args[at : at + size] for at in range(0, len(args), size)]
    first = {"name": name, "args": "", "id": "call-1", "index": 0}
    rest = [{"name": None, "args": part, "id": None, "index": 0} for part in fragments]
    return [_chunk(task, tool_call_chunks=[part]) for part in [first, *rest]]


def _chunk(task: dict[str, Any], **fields: Any) -> Any:
    """A chunk in JSON: LangChain's own class reads the arguments so far whenever one is made."""
    return ("messages", ({"type": "AIMessageChunk", "id": "lc_run--1", "content": "", **fields}, task))


def _run(parts: list[Any], *predictions: Prediction, **options: Any) -> TranslatorRun:
    run = TranslatorRun(Options(predict_state=predictions, **options), ClientView([], {}))
    run.feed(("values", {"messages": [], "other": 1}))
    for part in parts:
        run.feed(part)
    return run


def _kinds(events: list[Event]) -> list[str]:
    return [event["type"] for event in events]


_ARGS = json.dumps({"document": "Once upon a time there was a tree. " * 40})


def test_the_predictions_are_named_before_the_call_starts() -> None:
    events = _run(_call(_ARGS), _DOCUMENT).events
    at = _kinds(events).index("TOOL_CALL_START")
    assert events[at - 1] == {
        "type": "CUSTOM",
        "name": "PredictState",
        "value": [{"state_key": "document", "tool": "write_document", "tool_argument": "document"}],
    }


def test_the_predictions_are_named_once_per_call() -> None:
    assert _kinds(_run(_call(_ARGS), _DOCUMENT).events).count("CUSTOM") == 1


def test_the_value_is_told_as_it_grows() -> None:
    run = _run([], _DOCUMENT)
    values = []
    for part in _call(_ARGS):
        run.feed(part)
        values.append(len(run.view.state.get("document", "")))
    assert values == sorted(values)
    assert len(set(values)) > 5


def test_the_value_is_whole_when_the_call_is() -> None:
    run = _run(_call(_ARGS), _DOCUMENT)
    run.feed(_chunk(_TASK, chunk_position="last"))
    assert run.view.state["document"] == json.loads(_ARGS)["document"]


@pytest.mark.parametrize("length", [10_000, 100_000, 1_000_000])
def test_the_bytes_of_all_values_are_linear_in_the_last(length: int) -> None:
    args = json.dumps({"document": "x" * length})
    events = _run(_call(args, pieces=500), _DOCUMENT).events
    size = sum(len(encode(event)) for event in events if event["type"] == "STATE_DELTA")
    assert size < 4 * length


def test_all_arguments_may_be_the_value() -> None:
    run = _run(_call('{"title": "Trees", "pages": 3} '), Prediction("document", "write_document"))
    run.feed(_chunk(_TASK, chunk_position="last"))
    assert run.view.state["document"] == {"title": "Trees", "pages": 3}


def test_another_tool_predicts_nothing() -> None:
    run = _run(_call(_ARGS, name="look"), _DOCUMENT)
    assert "CUSTOM" not in _kinds(run.events)
    assert "document" not in run.view.state


@pytest.mark.parametrize("key", ["predict_state", "copilotkit:emit-intermediate-state"])
def test_a_calls_metadata_may_ask_for_predictions(key: str) -> None:
    asked = [{"state_key": "document", "tool": "write_document", "tool_argument": "document"}]
    run = _run(_call(_ARGS, metadata={key: asked}))
    assert "document" in run.view.state


@pytest.mark.parametrize(
    "asked", ["text", [5], [{"tool": "x"}], [{"state_key": ["a"], "tool": "write_document"}], {"a": 1}]
)
def test_metadata_that_is_no_prediction_is_passed_over(asked: Any) -> None:
    run = _run(_call(_ARGS, metadata={"predict_state": asked}))
    assert "CUSTOM" not in _kinds(run.events)


@pytest.mark.parametrize("key", ["messages", "_private", "hidden"])
def test_a_channel_that_is_not_shown_is_not_predicted(key: str) -> None:
    run = _run(_call(_ARGS), Prediction(key, "write_document", "document"), state_exclude=frozenset({"hidden"}))
    assert run.view.state == {"other": 1}


@pytest.mark.parametrize("mode", ["initial", "final", "all", "none"])
def test_only_a_state_told_by_deltas_is_predicted(mode: Any) -> None:
    run = _run(_call(_ARGS), _DOCUMENT, state=mode)
    assert "STATE_DELTA" not in _kinds(run.events)


def test_the_true_value_wins() -> None:
    run = _run(_call(_ARGS), _DOCUMENT)
    run.feed(("updates", {"keep": {"document": "The true one."}}))
    run.feed(("values", {"messages": [], "other": 1, "document": "The true one."}))
    assert run.view.state == {"other": 1, "document": "The true one."}


_RESULT = {"type": "tool", "id": "result-1", "tool_call_id": "call-1", "content": "done"}
_VALUES = ("values", {"messages": [], "other": 1})
_ANSWERED = ("messages", (_RESULT, {**_TASK, "langgraph_node": "tools", "langgraph_checkpoint_ns": "tools:2"}))
_WHOLE = json.loads(_ARGS)["document"]


def _document(run: TranslatorRun) -> Any:
    return run.view.state.get("document")


def test_a_prediction_holds_while_its_tool_runs() -> None:
    run = _run(_call(_ARGS), _DOCUMENT)
    parts: list[Any] = [
        _chunk(_TASK, chunk_position="last"),
        ("updates", {"write": {"messages": []}}),
        _VALUES,
        _VALUES,
    ]
    for part in parts:
        run.feed(part)
        assert _document(run) == _WHOLE


def test_without_a_last_chunk_the_value_is_whole_when_its_step_ends() -> None:
    assert _document(_run([*_call(_ARGS), _VALUES], _DOCUMENT)) == _WHOLE


@pytest.mark.parametrize("show", [False, True])
def test_values_of_later_steps_do_not_take_a_prediction_back(show: bool) -> None:
    run = _run(_call(_ARGS), _DOCUMENT)
    run.feed(_chunk(_TASK, chunk_position="last"))
    for number in (2, 3):
        values: dict[str, Any] = {"messages": [], "other": number}
        run.feeds.append(run.translator.apply_checkpoint(values)) if show else run.feed(("values", values))
        assert run.view.state == {"document": _WHOLE, "other": 1 if show else number}


def test_a_prediction_that_was_not_written_is_taken_back_once_its_call_is_answered() -> None:
    run = _run([*_call(_ARGS), _ANSWERED], _DOCUMENT)
    assert run.view.state.keys() == {"document", "other"}
    run.feed(_VALUES)
    assert run.view.state == {"other": 1}


async def test_a_prediction_ends_when_a_node_answers_its_call_with_a_dictionary() -> None:
    """In the graph itself, and in a subgraph: the next values of the graph have the true value."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def act(state: MessagesState) -> dict[str, Any]:
        return {"messages": [{"role": "tool", "content": "done", "tool_call_id": "call-1"}]}

    for depth in (0, 1):
        model = ScriptedChatModel(turns=[tool_call("write_document", {"document": _WHOLE}, "call-1") + ends()])
        builder = StateGraph(MessagesState).add_node("ask", ask).add_node("act", act)
        builder.add_edge(START, "ask").add_edge("ask", "act")
        if depth:
            builder = StateGraph(MessagesState).add_node("agent", builder.compile()).add_edge(START, "agent")
        graph: Any = builder.compile()
        run = TranslatorRun(Options(predict_state=(_DOCUMENT,)), ClientView([], {}))
        documents: list[Any] = []
        given = {"messages": [{"role": "user", "content": "write", "id": "user-1"}]}
        async for part in graph.astream(given, stream_mode=STREAM_MODES, subgraphs=True):
            run.feed(part)
            documents.append(_document(run))
        assert _WHOLE in documents
        assert documents[-1] is None


def test_the_answer_to_another_call_takes_nothing_back() -> None:
    other = {**_RESULT, "id": "result-2", "tool_call_id": "call-2"}
    run = _run([*_call(_ARGS), _chunk(_TASK, chunk_position="last"), ("messages", (other, _TASK)), _VALUES], _DOCUMENT)
    assert _document(run) == _WHOLE


def test_the_last_call_that_predicted_a_value_decides_how_long_it_holds() -> None:
    again = _call(_ARGS)
    for part in again:
        for fragment in part[1][0]["tool_call_chunks"]:
            fragment.update(id=fragment["id"] and "call-2", index=1)
    run = _run([*_call(_ARGS), *again, _chunk(_TASK, chunk_position="last"), _ANSWERED, _VALUES], _DOCUMENT)
    assert _document(run) == _WHOLE


@pytest.mark.parametrize("written", [False, True])
def test_a_prediction_over_a_value_that_stays_is_taken_back(written: bool) -> None:
    document = ["the same object"]
    run = TranslatorRun(Options(predict_state=(_DOCUMENT,)), ClientView([], {}))
    after = ("updates", {"write": {"document": document}}) if written else _ANSWERED
    for part in [("values", {"document": document}), *_call(_ARGS), after, ("values", {"document": document})]:
        run.feed(part)
    assert run.view.state == {"document": ["the same object"]}


@pytest.mark.parametrize("since", [[], [_VALUES], [_ANSWERED], [_VALUES, _ANSWERED]])
@pytest.mark.parametrize("ending", [None, Finished(state=_VALUES[1]), Failed("no"), Cancelled(), Lost("gone")])
def test_however_the_run_ends_its_state_is_the_last_that_is_known(ending: Ending | None, since: list[Any]) -> None:
    run = _run([*_call(_ARGS), *since], _DOCUMENT)
    run.finish(ending)
    assert run.view.state == {"other": 1}


def test_two_predictions_of_one_channel_from_one_call_are_one_value() -> None:
    run = _run([], _DOCUMENT, Prediction("document", "write_document", "title"))
    args = json.dumps({"document": "a text", "title": "a title of its own, " * 20})
    for part in _call(args):
        assert _kinds(run.feed(part)).count("STATE_DELTA") <= 1
    assert run.view.state["document"].startswith("a title")


async def test_a_document_only_grows_until_its_tool_has_written_it() -> None:
    """A real agent: its tool runs in a later superstep than the model, and middlewares have steps between."""

    @tool
    async def write_document(document: str, runtime: ToolRuntime) -> Command[Any]:
        """Writes a document."""
        result = ToolMessage("written", tool_call_id=runtime.tool_call_id or "")
        return Command(update={"document": document, "messages": [result]})

    class State(AgentState[Any]):
        document: str
        passes: Annotated[int, operator.add]

    class Passing(AgentMiddleware[Any, Any]):
        state_schema = State

        async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"passes": 1}

    text = "Once upon a time there was a tree. " * 8
    writes = tool_call("write_document", {"document": text}, "call_1", fragments=12) + ends("tool_calls")
    model = ScriptedChatModel(turns=[writes, said("There it is.").turns[0]])
    graph: Any = create_agent(model, [write_document], middleware=[Passing()], state_schema=State)
    run = TranslatorRun(Options(predict_state=(_DOCUMENT,)), ClientView([], {}))
    lengths = []
    given = {"messages": [{"role": "user", "content": "write", "id": "user-1"}], "document": ""}
    async for part in graph.astream(given, stream_mode=STREAM_MODES, subgraphs=True):
        run.feed(part)
        lengths.append(len(run.view.state.get("document", "")))
    run.finish()
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 5
    assert run.view.state == {"document": text, "passes": 2}


async def test_a_graph_that_predicts_ends_with_its_own_state(agui_client: AguiClient) -> None:
    (telling,) = await run_fixture("predict_state", known=False)
    answer = agui_client.play(telling.events)
    assert answer.accepted
    assert answer.state == {"document": telling.values["document"]}
    assert len(telling.kinds("STATE_DELTA")) > 3


@pytest.mark.parametrize(
    "args", ['{"document": "' + "\\q" * 50_000, '{"document":' + "[" * 100_000, "no json", '{"document": 12']
)
def test_arguments_that_are_no_json_end_nothing(args: str) -> None:
    run = _run(_call(args), _DOCUMENT)
    assert run.finish(Failed("cut off"))[-1]["type"] == "RUN_ERROR"


_VALUE = {"text": 'a"b\\c\n\u00e9\U0001f600/', "list": [1, -2.5, {"t": True}], "empty": {}}


@pytest.mark.parametrize("escaped", [True, False])
def test_unfinished_json_is_a_beginning_of_the_finished(escaped: bool) -> None:
    whole = json.dumps(_VALUE, ensure_ascii=escaped)
    for end in range(1, len(whole)):
        read = read_partial(whole[:end])
        assert isinstance(read, dict)
        assert _VALUE["text"].startswith(read.get("text", ""))  # type: ignore[attr-defined]
    assert read_partial(whole) == _VALUE


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("{", {}),
        ('{"a', {}),
        ('{"a"', {}),
        ('{"a":', {}),
        ('{"a":tr', {}),
        ('{"a":12', {"a": 12}),
        ('{"a":1,', {"a": 1}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\u00', {"a": "x"}),
        ('{"a":"x\\ud83d', {"a": "x"}),
        ('{"a":[1,{"b":"c', {"a": [1, {"b": "c"}]}),
        ("}", None),
    ],
)
def test_unfinished_json_is_read_as_far_as_it_goes(text: str, value: Any) -> None:
    assert read_partial(text) == value


def _plan(text_: str, call_id: str) -> Any:
    return tool_call("write_todos", {"todos": [{"content": text_, "status": "in_progress"}]}, call_id) + ends(
        "tool_calls"
    )


@pytest.mark.parametrize("subagents", ["attributed", "inline"])
async def test_a_subagents_plan_is_not_the_runs(subagents: Any) -> None:
    """Both have a list of tasks under the same name; the subagent's is its own, streamed or written by a tool."""

    @tool
    async def look(where: str) -> str:
        """Looks around."""
        get_stream_writer()({"name": "agui_state", "value": {"todos": ["written by its tool"]}})
        return "birds"

    def writing_node(state: AgentState[Any], runtime: Any) -> None:
        get_stream_writer()({"name": "agui_state", "value": {"todos": ["written by its node"]}})

    private = [TodoListMiddleware(), before_model(writing_node)]
    looks = tool_call("look", {"where": "tree"}, "call_look") + ends("tool_calls")
    found = text("Found it.") + ends()
    turns = [_plan("a private list, which is long enough to be predicted", "call_p"), looks, found]
    researcher = {**specialist(*turns, tools=[look]), "middleware": private}
    mine, delegates = _plan("the user's list", "call_m"), task("researcher", "find birds", "call_task") + ends()
    graph = deep(mine, delegates, text("Done.") + ends(), subagents=[researcher], middleware=[TodoListMiddleware()])(
        None
    )
    options = Options(predict_state=(Prediction("todos", "write_todos", "todos"),), subagents=subagents)
    run = TranslatorRun(options, ClientView([], {}))
    seen: list[Any] = []
    async for part in graph.astream(
        {"messages": [{"role": "user", "content": "hi"}]}, stream_mode=STREAM_MODES, subgraphs=True
    ):
        run.feed(part)
        seen.append(run.view.state.get("todos"))
    run.finish()
    contents = [json.dumps(todos) for todos in seen if todos]
    assert contents
    assert not [todos for todos in contents if "private" in todos or "written" in todos]
    customs = [event for event in run.events if event["type"] == "CUSTOM"]
    assert [event["name"] for event in customs] == ["PredictState", *["agui_state"] * (len(customs) - 1)]
    tags = {event.get("subagentRunId") is not None for event in customs[1:]}
    assert tags == {subagents == "attributed"}


async def test_the_state_of_an_agent_that_a_tool_runs_is_not_the_runs() -> None:
    """Not even if its model calls are visible."""

    def writing_node(state: AgentState[Any], runtime: Any) -> None:
        get_stream_writer()({"name": "agui_state", "value": {"todos": ["written by its node"]}})

    private = _plan("a private list, which is long enough to be predicted", "call_p")
    middleware: list[Any] = [TodoListMiddleware(), before_model(writing_node)]
    inner = create_agent(ScriptedChatModel(turns=[private, text("Found.") + ends()]), middleware=middleware)

    @tool
    async def research(query: str) -> str:
        """Researches."""
        await inner.ainvoke({"messages": [{"role": "user", "content": query}]})
        return "done"

    asks = tool_call("research", {"query": "birds"}, "call_r") + ends("tool_calls")
    graph = create_agent(ScriptedChatModel(turns=[asks, text("Done.") + ends()]), [research])
    todos = Prediction("todos", "write_todos", "todos")
    run = TranslatorRun(Options(predict_state=(todos,), visibility={"*": "stream"}), ClientView([], {}))
    given: Any = {"messages": [{"role": "user", "content": "hi"}]}
    async for part in graph.astream(given, stream_mode=[*STREAM_MODES, "tasks"], subgraphs=True):
        run.feed(part)
        assert "todos" not in (run.view.state or {})
    run.finish()
    assert "TOOL_CALL_START write_todos" in {f"{event['type']} {event.get('toolCallName')}" for event in run.events}


def test_predicted_channels_keep_their_order_in_a_snapshot() -> None:
    """The order of a set would differ from process to process."""
    names = [f"channel-{number}" for number in range(12)]
    predictions = tuple(Prediction(name, "write_document", "document") for name in names)
    earlier = ClientView([], {f"earlier-{number}": number for number in range(60)})
    run = TranslatorRun(Options(predict_state=predictions), earlier)
    for part in _call('{"document": "short"}', pieces=1):
        run.feed(part)
    run.feed(("values", {"messages": [], "other": 1}))
    run.feed(("updates", {"other": {"other": 1}}))  # the first values wait for the next part
    assert [name for name in run.view.state if name.startswith("channel")] == names
