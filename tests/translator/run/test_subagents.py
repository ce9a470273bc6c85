"""deepagents' `task` subagents: attributed, inline or hidden; what only looks like one is none."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.translator import ClientView, Options

from fixtures import FIXTURES, Fixture
from fixtures.fixture import answers, answers_each, says
from fixtures.graphs.subagents import ask_person, deep, task
from fixtures.graphs.toolbox import refuse
from fixtures.run import Conversation
from fixtures.scripts import end
from tests.support.clients.agui_client import AguiClient
from tests.support.streams.event_lines import Event, Translated, is_subsequence, run_fixture, run_turn
from tests.support.streams.translator_runs import TranslatorRun

HIDDEN, INLINE = Options(subagents="hidden"), Options(subagents="inline")


async def test_a_subagent_starts_before_its_messages_and_ends_with_its_result() -> None:
    assert (await run_turn("subagent")).lines[6:] == [
        "subagent researcher begins for call_task in lc_run--#1",
        *("lc_run--#2 begins as researcher", "lc_run--#2: Found a robin in the tree.", "lc_run--#2 ends"),
        *("#3 answers call_task: Found a robin in the tree.", "subagent success"),
        *("lc_run--#4 begins", "lc_run--#4: The team is done.", "lc_run--#4 ends"),
    ]


EVERY = [
    "subagent",
    "subagent_with_tool",
    "subagents_in_parallel",
    "subagents_nested",
    "subagent_tool_fails",
    "subagent_model_fails",
    "subagent_asks",
    "subagents_one_asks",
]


@pytest.mark.parametrize("fixture", EVERY)
async def test_no_event_belongs_to_a_subagent_that_is_not_running(fixture: str) -> None:
    for run in await run_fixture(fixture):
        running: set[str] = set()
        for event in run.events:
            if event["type"] == "SUBAGENT_STARTED":
                running.add(event["subagentRunId"])
            assert event.get("subagentRunId", None) in {None, *running}
            if event["type"] in ENDS:
                running.remove(event["subagentRunId"])
        assert running == set()


ENDS = ("SUBAGENT_FINISHED", "SUBAGENT_ERROR")


@pytest.mark.parametrize("fixture", ["subagent", "subagents_in_parallel", "subagents_nested"])
async def test_a_subagent_ends_in_the_batch_that_has_its_result(fixture: str) -> None:
    """And not with the superstep, in which another one may work on."""
    conversation, run = Conversation(FIXTURES[fixture]), TranslatorRun(view=ClientView([], {}))
    calls: dict[str, str] = {}
    async for part in conversation.stream(FIXTURES[fixture].turns[0]):
        events = run.feed(part)
        calls |= {event["parentToolCallId"]: event["subagentRunId"] for event in events if "parentToolCallId" in event}
        answers = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
        results = {calls[answered] for answered in answers if answered in calls}
        assert {event["subagentRunId"] for event in events if event["type"] in ENDS} == results
    assert calls


async def test_what_a_subagent_emits_is_tagged() -> None:
    run = await run_turn("subagent_with_tool")
    tagged = {event["type"] for event in run.events if "subagentRunId" in event}
    assert tagged >= {"TEXT_MESSAGE_CONTENT", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT", "STEP_STARTED"}


async def test_what_the_main_agent_emits_is_not_tagged() -> None:
    run = await run_turn("subagent")
    own = [event for event in run.kinds("TEXT_MESSAGE_CONTENT") if "subagentRunId" not in event]
    assert "".join(event["delta"] for event in own) == "I delegate. The team is done."


async def test_a_subagent_is_described_by_its_call() -> None:
    [started] = (await run_turn("subagent")).kinds("SUBAGENT_STARTED")
    assert (started["name"], started["description"], started["parentToolCallId"]) == (
        *("researcher", "find birds"),
        "call_task",
    )


async def test_parallel_subagents_of_a_kind_are_distinguished_by_their_task() -> None:
    started = (await run_turn("subagents_in_parallel")).kinds("SUBAGENT_STARTED")
    assert {event["parentToolCallId"]: event["description"] for event in started} == {
        "call_t1": "find birds",
        "call_t2": "find fish",
    }


async def test_parallel_subagents_never_share_a_message() -> None:
    run = await run_turn("subagents_in_parallel")
    owners: dict[str, set[str | None]] = {}
    for event in run.kinds("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"):
        owners.setdefault(event["messageId"], set()).add(event.get("subagentRunId"))
    assert all(len(found) == 1 for found in owners.values())
    assert sorted(run.texts.values())[:4] == ["Adding in the sub. "] * 2 + ["Found a robin in the tree."] * 2


async def test_a_nested_subagent_is_under_its_parent() -> None:
    outer, inner = (await run_turn("subagents_nested")).kinds("SUBAGENT_STARTED")
    assert (outer["name"], inner["name"]) == ("lead", "worker")
    assert inner["parentSubagentRunId"] == outer["subagentRunId"]
    assert "parentSubagentRunId" not in outer


async def test_a_nested_subagent_names_the_message_of_its_parent_that_called_it() -> None:
    run = await run_turn("subagents_nested")
    assert is_subsequence(
        [
            *("subagent lead begins for call_outer in lc_run--#1", "call_inner calls task in lc_run--#2"),
            *("subagent worker begins for call_inner in lc_run--#2", "lc_run--#3: The worker worked."),
            *("subagent success", "lc_run--#5: My worker did it.", "subagent success"),
        ],
        run.lines,
    )


@pytest.mark.parametrize(
    ("fixture", "message"), [("subagent_tool_fails", "refused: rain"), ("subagent_model_fails", "connection reset")]
)
async def test_a_subagent_of_a_run_that_fails_has_failed(fixture: str, message: str) -> None:
    run = await run_turn(fixture)
    assert [event["message"] for event in run.kinds("SUBAGENT_ERROR", "RUN_ERROR")] == [message, message]
    assert run.kinds("SUBAGENT_FINISHED") == []


class Handling(AgentMiddleware):
    """Answers a call whose tool fails with the error, so that the run continues."""

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The tool's result, or the error as one."""
        try:
            return await handler(request)
        except Exception as error:
            return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")


def _handled(*turns: Any, tools: Any = ()) -> Fixture:
    """A deep agent that delegates, and continues when the delegation fails."""
    helper = {**_helper(*turns), "tools": tools}
    asks, done = task("helper", "find birds", "call_1") + end("tool_calls"), text("Done without it.") + end()
    build = deep(asks, done, subagents=[helper], middleware=[Handling()])
    return Fixture("handled", build, (says("birds?"),), nested=True)


FAILING = {
    "its model fails": lambda: _handled([*text("I break in the "), ConnectionError("gone")]),
    "its tool fails": lambda: _handled(
        tool_call("refuse", {"reason": "rain"}, "call_2") + end("tool_calls"), tools=[refuse]
    ),
}
REASONS = {"its model fails": "gone", "its tool fails": "refused: rain"}


@pytest.mark.newest
@pytest.mark.parametrize("detail", ["code", "message"])
@pytest.mark.parametrize("how", FAILING)
async def test_a_subagent_whose_failure_is_handled_has_failed(how: str, detail: Any, agui_client: AguiClient) -> None:
    run = await run_turn(FAILING[how](), Options(error_detail=detail), known=False)
    [ended] = run.kinds(*ENDS)
    assert ended["type"] == "SUBAGENT_ERROR"
    assert ended["message"] == (REASONS[how] if detail == "message" else "The subagent failed.")
    assert run.events[-1]["outcome"] == {"type": "success"}
    assert agui_client.play(run.events).accepted


@pytest.mark.newest
@pytest.mark.parametrize("how", FAILING)
async def test_a_subagent_has_failed_also_in_a_stream_without_messages(how: str, agui_client: AguiClient) -> None:
    fixture, run = FAILING[how](), TranslatorRun()
    async for part in Conversation(fixture).stream(fixture.turns[0], modes=["updates", "values"]):
        run.feed(part)
    run.finish()
    ended = [(event["type"], event.get("message")) for event in run.events if event["type"] in ENDS]
    assert ended == [("SUBAGENT_ERROR", REASONS[how])]
    assert agui_client.play(run.events).accepted


def _numbering_anew(checkpointer: Any) -> Any:
    """A deep agent whose model calls each of its delegations `call_0`."""
    found = (text("Found.") + end(), text("Found more.") + end())
    turns = [task("helper", what, "call_0") + end("tool_calls") for what in ("find birds", "find fish")]
    return deep(*turns, text("Done.") + end(), subagents=[_helper(*found)])(checkpointer)


def _side_by_side(checkpointer: Any) -> Any:
    """Two deep agents at once, as nodes; each calls its delegation `call_0`."""
    graph = StateGraph(MessagesState)
    for what in ("birds", "fish"):
        delegates = task("helper", f"find {what}", "call_0") + end("tool_calls")
        helper = _helper(text(f"Found {what}.") + end())
        graph.add_node(what, deep(delegates, text("Done.") + end(), subagents=[helper])(None)).add_edge(START, what)
    return graph.compile(checkpointer)


def _helper(*turns: Any) -> dict[str, Any]:
    model = ScriptedChatModel(turns=list(turns))
    return {"name": "helper", "description": "A helper.", "system_prompt": "Help.", "model": model, "tools": []}


@pytest.mark.parametrize("build", [_numbering_anew, _side_by_side])
@pytest.mark.parametrize("options", [Options(), Options(hidden_tools=frozenset({"task"}))], ids=["visible", "hidden"])
async def test_calls_of_one_id_each_have_their_subagent(build: Any, options: Options, agui_client: AguiClient) -> None:
    (run,) = await run_fixture(Fixture("calls_of_one_id", build, (says("go"),), nested=True), options, known=False)
    started = run.kinds("SUBAGENT_STARTED")
    assert {event["description"] for event in started} == {"find birds", "find fish"}
    for event in started:  # the client knows a call by its message and id, where it knows it by then
        if "parentToolCallId" in event:
            parent = next(each for each in run.view.messages if each["id"] == event["parentMessageId"])
            asked = [orjson.loads(call["function"]["arguments"])["description"] for call in parent["toolCalls"]]
            assert asked == [event["description"]]
    assert len([event for event in started if "parentToolCallId" in event]) == (
        0 if options.hidden_tools else 1 if build is _side_by_side else 2
    )
    owners = {
        event["messageId"]: event["subagentRunId"] for event in run.kinds("TEXT_MESSAGE_START") if "name" in event
    }
    assert sorted(owners.values()) == sorted(event["subagentRunId"] for event in run.kinds("SUBAGENT_FINISHED"))
    assert len(owners) == 2
    assert agui_client.play(run.events).accepted


@pytest.mark.parametrize("build", [_numbering_anew, _side_by_side])
async def test_a_subagent_ends_with_its_result_also_where_that_is_left_to_a_snapshot(build: Any) -> None:
    fixture = Fixture("calls_of_one_id", build, (says("go"),), nested=True)
    run, results = TranslatorRun(), 0
    async for part in Conversation(fixture).stream(fixture.turns[0]):
        events = run.feed(part)
        _, mode, data = part
        if mode == "messages" and isinstance(data[0], ToolMessage) and data[0].tool_call_id == "call_0":
            results += 1
            ended = [event["subagentRunId"] for event in events if event["type"] in ENDS]
            assert ended == [data[1]["langgraph_checkpoint_ns"]]
    assert results == 2


@pytest.mark.newest
async def test_a_call_id_of_an_earlier_turn_has_a_subagent_again() -> None:
    first, second = await run_fixture("subagents_numbered_anew")
    ids = [
        (event["subagentRunId"], event["parentToolCallId"], event["parentMessageId"])
        for run in (first, second)
        for event in run.kinds("SUBAGENT_STARTED")
    ]
    assert [call for _, call, _ in ids] == ["call_0", "call_0"]
    assert len({subagent for subagent, _, _ in ids}) == len({message for _, _, message in ids}) == 2


async def test_a_subagent_of_a_stream_that_was_joined_later_has_a_call_of_the_checkpoint() -> None:
    def calling(message_id: str) -> AIMessage:
        args = {"subagent_type": "helper", "description": "find birds"}
        return AIMessage("", id=message_id, tool_calls=[{"id": "call_0", "name": "task", "args": args}])

    run = TranslatorRun(view=ClientView([], {}))
    answered = [calling("a"), ToolMessage("done", id="r", tool_call_id="call_0")]
    run.translator.apply_checkpoint({"messages": [*answered, calling("b")]})
    events = run.feed((("tools:1",), "values", {"messages": [HumanMessage("find birds", id="h")]}))
    started = [event for event in events if event["type"] == "SUBAGENT_STARTED"]
    assert [(event["description"], event["parentMessageId"]) for event in started] == [("find birds", "b")]


async def test_a_subagent_of_a_subagent_that_asks_continues_with_its_callers() -> None:
    asking = tool_call("ask_person", {"question": "Which?"}, "call_ask") + end("tool_calls")
    worker = {**_helper(asking, text("Done.") + end()), "tools": [ask_person]}
    lead_turns = task("helper", "do it", "call_inner") + end("tool_calls"), text("Done.") + end()
    lead = {"name": "lead", "description": "A lead.", "runnable": deep(*lead_turns, subagents=[worker])(None)}
    build = deep(
        task("lead", "have it done", "call_outer") + end("tool_calls"), text("Done.") + end(), subagents=[lead]
    )
    turns = (says("go", "interrupt"), answers("that"))
    first, second = await run_fixture(Fixture("asking_deep", build, turns, nested=True))
    keys = ("subagentRunId", "name", "parentSubagentRunId", "parentToolCallId")
    started = [[[event.get(key) for key in keys] for event in run.kinds("SUBAGENT_STARTED")] for run in (first, second)]
    assert [each[1] for each in started[0]] == ["lead", "helper"]
    assert started[0] == started[1]
    assert [event["outcome"]["type"] for event in second.kinds("SUBAGENT_FINISHED")] == ["success", "success"]


async def test_a_subagent_that_asks_is_suspended_by_its_interrupt() -> None:
    run = await run_turn("subagent_asks")
    [finished] = run.kinds("SUBAGENT_FINISHED")
    [interrupt] = run.events[-1]["outcome"]["interrupts"]
    assert finished["outcome"] == {"type": "suspended", "interruptIds": [interrupt["id"]]}
    assert interrupt["subagentRunId"] == finished["subagentRunId"]


async def test_of_two_subagents_only_the_one_that_asks_is_suspended() -> None:
    run = await run_turn("subagents_one_asks")
    names = {event["subagentRunId"]: event["name"] for event in run.kinds("SUBAGENT_STARTED")}
    outcomes = {names[event["subagentRunId"]]: event["outcome"]["type"] for event in run.kinds("SUBAGENT_FINISHED")}
    assert outcomes == {"researcher": "success", "asker": "suspended"}


async def test_a_subagent_continues_under_its_id_when_it_is_answered() -> None:
    first, second = await run_fixture("subagent_asks")
    assert [event["subagentRunId"] for event in second.kinds("SUBAGENT_STARTED")] == [
        event["subagentRunId"] for event in first.kinds("SUBAGENT_STARTED")
    ]


@pytest.mark.parametrize("described", ["find birds", "birds"])
async def test_a_subagent_that_resumes_is_not_that_of_a_finished_sibling(described: str) -> None:
    """The stream does not say which task runs which call, and the sibling was asked for the same, or nearly."""
    asking = tool_call("ask_person", {"question": "Which?"}, "call_ask") + end("tool_calls")
    asker = {**_helper(asking, text("Done.") + end()), "name": "asker", "tools": [ask_person]}
    both = task("helper", described, "call_helper") + task("asker", "find birds", "call_asker", 1) + end("tool_calls")
    build = deep(both, text("Done.") + end(), subagents=[_helper(text("Found.") + end()), asker])
    conversation = Conversation(Fixture("same", build, (says("go", "interrupt"), answers("that")), nested=True))
    view = ClientView([], {})
    for turn in conversation.fixture.turns:
        run = TranslatorRun(view=view)
        async for part in conversation.stream(turn):
            if part[1] != "tasks":
                run.feed(part)
        run.finish()
        view = run.view
    [started] = [event for event in run.events if event["type"] == "SUBAGENT_STARTED"]
    assert (started["name"], started["parentToolCallId"]) == ("asker", "call_asker")


async def test_messages_of_a_suspended_subagent_are_still_there_when_it_resumes() -> None:
    _, second = await run_fixture("subagent_asks")
    assert second.kinds("MESSAGES_SNAPSHOT") == []
    tagged = [message for message in second.view.messages if "subagentRunId" in message]
    assert [message.get("content") for message in tagged] == ["I ask. ", "the robin", "Found a robin in the tree."]


@pytest.mark.parametrize("fixture", EVERY)
async def test_a_hidden_subagent_leaves_no_trace(fixture: str) -> None:
    for run in await run_fixture(fixture, HIDDEN):
        assert _of_subagents(run) == []
        assert not {"Found a robin in the tree.", "The worker worked.", "I ask. "} & set(run.texts.values())


async def test_the_result_of_a_hidden_subagent_is_emitted() -> None:
    run = await run_turn("subagent", HIDDEN)
    assert [event["content"] for event in run.kinds("TOOL_CALL_RESULT")] == ["Found a robin in the tree."]


async def test_an_inline_subagent_emits_as_the_main_agent() -> None:
    run = await run_turn("subagent", INLINE)
    assert _of_subagents(run) == []
    assert list(run.texts.values()) == ["I delegate. ", "Found a robin in the tree.", "The team is done."]


async def test_what_an_inline_subagent_emitted_stays_for_the_run() -> None:
    run = await run_turn("subagent", INLINE)
    assert "Found a robin in the tree." in [message.get("content") for message in _assistants(run)]


TWO_ASK = Fixture(
    "two_ask",
    deep(
        task("asker", "find birds", "call_t1") + task("asker", "find fish", "call_t2", 1) + end("tool_calls"),
        text("Done.") + end(),
        subagents=[
            {
                "name": "asker",
                "description": "An asker.",
                "system_prompt": "Ask.",
                "model": ScriptedChatModel(
                    turns=[
                        tool_call("ask_person", {"question": "Which?"}, "call_ask") + end("tool_calls"),
                        text("Found.") + end(),
                    ]
                ),
                "tools": [ask_person],
            }
        ],
    ),
    (says("birds and fish?", "interrupt"), answers_each(lambda asked: "this one")),
    nested=True,
)


async def test_suspended_subagents_of_a_kind_are_distinguished_when_they_resume() -> None:
    first, second = await run_fixture(TWO_ASK)
    started = [
        {
            event["subagentRunId"]: (event["description"], event["parentToolCallId"])
            for event in run.kinds("SUBAGENT_STARTED")
        }
        for run in (first, second)
    ]
    assert sorted(started[0].values()) == [("find birds", "call_t1"), ("find fish", "call_t2")]
    assert started[0] == started[1]


async def test_a_call_id_that_two_suspended_subagents_use_is_answered_in_both() -> None:
    first, second = await run_fixture(TWO_ASK)
    asked = {event["toolCallId"]: event["subagentRunId"] for event in first.kinds("TOOL_CALL_START")[2:]}
    results = {event["toolCallId"]: event.get("subagentRunId") for event in second.kinds("TOOL_CALL_RESULT")}
    assert len(asked) == 2
    assert results == {**asked, "call_t1": None, "call_t2": None}


async def test_an_inline_subagent_that_resumes_answers_no_call_that_went_with_the_run_before() -> None:
    _, second = await run_fixture("subagent_asks", INLINE)
    assert [event["toolCallId"] for event in second.kinds("TOOL_CALL_RESULT")] == ["call_task"]


@pytest.mark.parametrize(
    "fixture",
    ["subgraph_shared_state", "subgraph_two_levels", "named_agents", "tool_runs_subgraph", "tool_calls_model"],
)
async def test_an_ordinary_subgraph_or_a_tool_with_a_model_is_no_subagent(fixture: str) -> None:
    run = await run_turn(fixture)
    assert _of_subagents(run) == []


async def test_without_the_parts_of_subgraphs_a_subagent_is_a_tool_like_any_other() -> None:
    run = await run_turn("subagent", subgraphs=False)
    assert run.kinds("SUBAGENT_STARTED") == []
    assert [event["content"] for event in run.kinds("TOOL_CALL_RESULT")] == ["Found a robin in the tree."]


async def test_a_call_id_that_two_subagents_use_is_emitted_for_both() -> None:
    run = await run_turn("subagents_in_parallel")
    inner = [event for event in run.kinds("TOOL_CALL_START") if event["toolCallName"] == "add"]
    assert [event["toolCallId"] for event in inner] == [
        "call_sub_add",
        f"{inner[1]['parentMessageId']}-call_sub_add",
    ]


async def test_a_call_id_that_two_subagents_use_is_answered_in_both() -> None:
    run = await run_turn("subagents_in_parallel")
    inner = [event for event in run.kinds("TOOL_CALL_START") if event["toolCallName"] == "add"]
    owners = {event["toolCallId"]: event["subagentRunId"] for event in inner}
    results = [event for event in run.kinds("TOOL_CALL_RESULT") if event["toolCallId"] in owners]
    assert {event["toolCallId"]: event["subagentRunId"] for event in results} == owners
    assert len(results) == len(owners) == 2


async def test_a_subagents_messages_are_no_part_of_what_the_checkpoint_is_compared_with() -> None:
    assert (await run_turn("subagents_in_parallel")).kinds("MESSAGES_SNAPSHOT") == []


def test_of_two_subagents_asked_for_the_same_a_result_ends_the_one_whose_task_gave_it() -> None:
    asked = {"subagent_type": "helper", "description": "Help."}
    calls = [{"name": "task", "args": asked, "id": name, "type": "tool_call"} for name in ("call-1", "call-2")]
    run = TranslatorRun()
    run.feed(("values", {"messages": [HumanMessage("go", id="u"), AIMessage("", id="m", tool_calls=calls)]}))
    for number in (2, 1):  # the second call's subagent comes first in the stream
        run.feed(((f"tools:{number}",), "values", {"messages": [HumanMessage("Help.", id=f"h{number}")]}))
    for number in (1, 2):
        metadata = {"langgraph_node": "tools", "langgraph_checkpoint_ns": f"tools:{number}"}
        result = ToolMessage("done", tool_call_id=f"call-{number}", name="task", id=f"r{number}")
        events = run.feed(((), "messages", (result, metadata)))
        ended = [event["subagentRunId"] for event in events if event["type"] == "SUBAGENT_FINISHED"]
        assert ended == [f"tools:{number}"]


def _assistants(run: Translated) -> list[Event]:
    return [message for message in run.view.messages if message["role"] == "assistant"]


def _of_subagents(run: Translated) -> list[Event]:
    return [event for event in run.events if "subagentRunId" in event or event["type"].startswith("SUBAGENT")]
