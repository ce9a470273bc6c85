"""Interrupts: all of a run's, each once, with LangGraph's ids, their whole value, and what can be read off it."""

from collections import deque
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.errors import NodeInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Interrupt, interrupt
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import ClientView, Finished, Options

from fixtures import FIXTURES, Fixture
from fixtures.fixture import says
from fixtures.run import Conversation
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.streams.event_lines import Translated, run_fixture
from tests.support.streams.translator_runs import Event, TranslatorRun, run_parts

ASKED = [name for name, fixture in FIXTURES.items() if fixture.turns[0].ends == "interrupt" and fixture.recorded]


def _interrupts(run: Translated) -> list[Event]:
    items: list[Event] = run.events[-1]["outcome"]["interrupts"]
    return items


async def _first(name: str, options: Options | None = None) -> Translated:
    return (await run_fixture(name, options))[0]


@pytest.mark.parametrize("name", ASKED)
async def test_every_pending_interrupt_is_emitted_once_under_its_id(name: str) -> None:
    fixture = FIXTURES[name]
    conversation = Conversation(fixture)
    run = TranslatorRun(Options(messages_key=fixture.messages_key or "messages"))
    async for part in conversation.stream(fixture.turns[0]):
        run.feed(part)
    events = run.finish()
    ids = sorted(item["id"] for item in events[-1]["outcome"]["interrupts"])
    if fixture.checkpointed:
        assert ids == sorted(asked.id for asked in await conversation.pending())
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ASKED)
async def test_the_client_is_left_with_the_pending_interrupts(name: str, agui_client: AguiClient) -> None:
    run = (await run_fixture(name, known=False))[0]
    answer = agui_client.play(run.events)
    assert (answer.error, answer.warnings) == (None, [])
    assert answer.pending_interrupts == _interrupts(run)


@pytest.mark.parametrize("name", ASKED)
async def test_the_conversation_and_state_of_an_interrupted_run_are_the_checkpoints(name: str) -> None:
    fixture = FIXTURES[name]
    if not fixture.checkpointed or fixture.messages_key is None or name.startswith(("functional", "subagent")):
        return
    conversation, options = Conversation(fixture), Options(messages_key=fixture.messages_key)
    run = TranslatorRun(options)
    async for part in conversation.stream(fixture.turns[0]):
        run.feed(part)
    run.finish()
    stands = [await conversation.committed(), await conversation.state()]
    waiting = [item for item in run.view.messages if item["id"] in run.waiting(run.view.messages)]
    wanted = [
        comparable(expected(state.values, options, waiting=waiting).messages) for state in stands if state is not None
    ]
    assert comparable(run.view.messages) in wanted


async def test_what_finished_siblings_emitted_is_kept() -> None:
    run = await _first("interrupts_in_parallel")
    assert "I need no answer at all." in [message.get("content") for message in run.view.messages]


async def test_an_interrupt_that_a_node_caught_does_not_wait() -> None:
    """`GraphInterrupt` is an `Exception`: a node that calls a graph and catches what it raises goes on."""

    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": interrupt("Sure?")}

    inner: Any = StateGraph(MessagesState)
    inner = inner.add_node("ask", ask).add_edge(START, "ask").compile()

    async def catch(state: MessagesState) -> dict[str, Any]:
        try:
            await inner.ainvoke(state)
        except Exception:
            return {"messages": [AIMessage("Never mind.", id="answer")]}
        raise AssertionError("the graph inside does not wait")

    def build(saver: Any) -> Any:
        return StateGraph(MessagesState).add_node("catch", catch).add_edge(START, "catch").compile(saver)

    fixture = Fixture("caught", build, (says("go"),))
    conversation = Conversation(fixture)
    run = TranslatorRun()
    async for part in conversation.stream(fixture.turns[0]):
        run.feed(part)
    last = run.finish()[-1]
    assert (await conversation.graph.aget_state(conversation.config)).interrupts == ()
    assert (last["outcome"], run.translator.interrupted) == ({"type": "success"}, None)


async def test_the_value_is_kept_whole() -> None:
    (item,) = _interrupts(await _first("interrupt_in_node"))
    assert item["metadata"] == {"value": {"question": "Which way?", "options": ["left", "right"]}}


async def test_a_value_that_is_no_json_is_emitted_as_json() -> None:
    (item,) = _interrupts(await _first("interrupt_with_odd_value"))
    assert item["metadata"]["value"]["fields"]["limit"] is None


async def test_interrupts_of_several_nodes_are_all_emitted() -> None:
    assert [item["metadata"]["value"] for item in _interrupts(await _first("interrupts_in_parallel"))] == [
        "left?",
        "right?",
    ]


async def test_an_interrupt_of_a_nested_subgraph_is_emitted_once() -> None:
    assert len(_interrupts(await _first("interrupt_in_subgraph"))) == 1


async def test_reviews_of_several_calls_are_one_interrupt_for_no_call() -> None:
    (item,) = _interrupts(await _first("review_approved"))
    assert item["reason"] == "confirmation"
    assert "toolCallId" not in item
    assert [request["name"] for request in item["metadata"]["value"]["action_requests"]] == ["add", "slow"]


async def test_a_review_says_what_its_answer_is() -> None:
    (item,) = _interrupts(await _first("review_approved"))
    decisions = item["responseSchema"]["properties"]["decisions"]
    kinds = [each["properties"]["type"]["const"] for each in decisions["items"]["oneOf"]]
    assert ((decisions["minItems"], decisions["maxItems"]), kinds[:3]) == ((2, 2), ["approve", "edit", "reject"])


_EDIT = {
    "type": "object",
    "properties": {
        "type": {"const": "edit"},
        "edited_action": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "args": {"type": "object"}},
            "required": ["name", "args"],
        },
    },
    "required": ["type", "edited_action"],
}
_ANY = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}


def _reviews(**allowed: Any) -> Any:
    """The value of a review: one request for each of these, and one that has no config."""
    configs = [{"action_name": name, "allowed_decisions": kinds} for name, kinds in allowed.items()]
    requests = [{"name": name, "args": {}} for name in (*allowed, "other")]
    return {"action_requests": requests, "review_configs": [*configs, None, {"action_name": []}]}


def test_each_request_of_a_review_has_its_own_decisions() -> None:
    (item,) = _items(_asked(Interrupt(_reviews(one=["edit"], two=[], three=["later", 7]), id="i1")))
    later = {"type": "object", "properties": {"type": {"const": "later"}}, "required": ["type"]}
    assert item["responseSchema"]["properties"]["decisions"]["prefixItems"] == [_EDIT, _ANY, later, _ANY]


@pytest.mark.parametrize(
    "value",
    [
        {"action_requests": []},
        {"action_requests": 1, "review_configs": []},
        {"action_requests": [], "review_configs": 1},
        {"type": "approval"},
        ["action_requests", "review_configs"],
        None,
    ],
)
def test_what_only_looks_like_a_review_has_no_schema(value: Any) -> None:
    (item,) = _items(_asked(Interrupt(value, id="i1")))
    assert "responseSchema" not in item


def test_an_approval_of_one_call_without_a_schema_has_that_of_a_decision() -> None:
    (item,) = _items(_asked({"id": "i1", "value": {"type": "tool_approval", "tool_call_id": "c"}}))
    kinds = [each["properties"]["type"]["const"] for each in item["responseSchema"]["oneOf"]]
    assert kinds == ["approve", "edit", "reject", "respond"]


@pytest.mark.newest
async def test_reviews_per_call_name_their_call() -> None:
    items = _interrupts(await _first("review_per_call"))
    assert sorted(item["toolCallId"] for item in items) == ["call_add", "call_slow"]
    assert {item["reason"] for item in items} == {"confirmation"}


@pytest.mark.newest
async def test_the_schema_of_the_answer_is_emitted() -> None:
    items = _interrupts(await _first("review_per_call"))
    assert all(isinstance(item["responseSchema"], dict) for item in items)


@pytest.mark.parametrize("name", ["breakpoint_before", "breakpoint_after"])
async def test_a_breakpoint_is_an_interrupt_with_a_derived_id(name: str) -> None:
    first, second = await run_fixture(name)
    assert _interrupts(first) == [{"id": "run-1-breakpoint", "reason": "langgraph:breakpoint"}]
    assert second.events[-1]["outcome"] == {"type": "success"}


def _asked(*interrupts: Any, ns: tuple[str, ...] = ()) -> Any:
    return (ns, "updates", {"__interrupt__": interrupts})


def _items(*parts: Any, ending: Any = None, view: ClientView | None = None) -> list[Event]:
    items: list[Event] = run_parts(parts, ending, view=view).events[-1]["outcome"]["interrupts"]
    return items


def test_the_same_interrupt_at_every_level_is_one() -> None:
    one = Interrupt("Sure?", id="i1")
    parts = [_asked(one, ns=("child:1",)), _asked(one), ("values", {"__interrupt__": (one,)})]
    assert [item["id"] for item in _items(*parts)] == ["i1"]


def test_interrupts_are_collected_over_the_whole_run() -> None:
    first, second = Interrupt("one?", id="i1"), Interrupt("two?", id="i2")
    parts = [_asked(first), ("values", {"n": 1, "__interrupt__": (first,)}), _asked(second), ("values", {"n": 2})]
    assert [item["id"] for item in _items(*parts)] == ["i1", "i2"]


def test_interrupts_of_the_tasks_mode_are_emitted() -> None:
    part = ("tasks", {"id": "1", "name": "ask", "result": {}, "interrupts": [{"id": "i1", "value": "Sure?"}]})
    assert [item["id"] for item in _items(part)] == ["i1"]


def test_interrupts_beside_the_values_of_v2_are_emitted() -> None:
    part = {"type": "values", "ns": (), "data": {}, "interrupts": (Interrupt("Sure?", id="i1"),)}
    assert [item["id"] for item in _items(part)] == ["i1"]


def test_interrupts_of_a_platform_are_emitted() -> None:
    schema = {"type": "object"}
    part = ["updates", {"__interrupt__": [{"id": "i1", "value": "Sure?", "response_schema": schema}]}]
    assert _items(part) == [
        {
            "id": "i1",
            "reason": "input_required",
            "message": "Sure?",
            "responseSchema": schema,
            "metadata": {"value": "Sure?"},
        }
    ]


def test_interrupts_of_the_ending_alone_are_emitted() -> None:
    assert [item["id"] for item in _items(ending=Finished(interrupts=[Interrupt("Sure?", id="i1")]))] == ["i1"]


@pytest.mark.parametrize("key", ["message", "question", "description"])
def test_a_question_in_the_value_is_the_message(key: str) -> None:
    assert _items(_asked(Interrupt({key: "Which way?"}, id="i1")))[0]["message"] == "Which way?"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"action_request": {"action": "send", "args": {}}, "config": {}, "description": "Send it?"}, "Send it?"),
        ({"action_request": {"action": "send", "args": {}}, "config": {}}, "send"),
        ([{"action_request": {"action": "send", "args": {}}, "description": "Send it?"}], "Send it?"),
        ([{"action_request": {"action": "send"}}, {"action_request": {"action": "file"}}], "send\n\nfile"),
        ([{"action_request": {"action": "send"}, "description": ""}], "send"),
    ],
)
def test_a_request_of_the_agent_inbox_is_its_description_or_its_action(value: Any, message: str) -> None:
    assert _items(_asked(Interrupt(value, id="i1")))[0]["message"] == message


@pytest.mark.parametrize("value", [{"action_request": "send"}, {"action_request": {"action": 1}}, [], [1], ["a", {}]])
def test_what_only_looks_like_a_request_has_no_message(value: Any) -> None:
    assert "message" not in _items(_asked(Interrupt(value, id="i1")))[0]


def test_a_value_without_a_question_has_no_message() -> None:
    assert "message" not in _items(_asked(Interrupt({"options": [1, 2]}, id="i1")))[0]


def test_a_request_for_one_action_names_the_one_open_call_it_is_for() -> None:
    calls = [{"name": "add", "args": {"a": 1}, "id": "call-1"}, {"name": "add", "args": {"a": 2}, "id": "call-2"}]
    message = {"type": "ai", "id": "a1", "content": "", "tool_calls": calls}
    request = {"action_requests": [{"name": "add", "args": {"a": 2}}], "review_configs": []}
    (item,) = _items(("values", {"messages": [message]}), _asked(Interrupt(request, id="i1")))
    assert item["toolCallId"] == "call-2"


def test_a_request_names_its_call_also_if_an_answered_call_has_the_same_id() -> None:
    calls = [{"name": "add", "args": {"a": number}, "id": "call_0"} for number in (1, 2)]
    messages = [
        {"type": "ai", "id": "a1", "content": "", "tool_calls": calls[:1]},
        {"type": "tool", "id": "t1", "content": "1", "tool_call_id": "call_0"},
        {"type": "ai", "id": "a2", "content": "", "tool_calls": calls[1:]},
    ]
    request = {"action_requests": [{"name": "add", "args": {"a": 2}}], "review_configs": []}
    (item,) = _items(("values", {"messages": messages}), _asked(Interrupt(request, id="i1")))
    assert item["toolCallId"] == "call_0"


def test_a_request_that_two_open_calls_may_be_names_none() -> None:
    calls = [{"name": "add", "args": {}, "id": "call-1"}, {"name": "add", "args": {}, "id": "call-2"}]
    message = {"type": "ai", "id": "a1", "content": "", "tool_calls": calls}
    request = {"action_requests": [{"name": "add", "args": {}}]}
    (item,) = _items(("values", {"messages": [message]}), _asked(Interrupt(request, id="i1")))
    assert "toolCallId" not in item


_CALLS = [{"name": "ask", "args": {"number": number}, "id": f"call-{number}"} for number in (1, 2)]
_CALLED = ("values", {"messages": [{"type": "ai", "id": "a1", "content": "", "tool_calls": _CALLS}]})


def _tool_task(task_input: Any, value: Any = "?", ns: tuple[str, ...] = ()) -> list[Any]:
    """The start of a task with this input, and its result: it asks."""
    about = {"id": "1", "name": "tools"}
    asked = [{"id": "i1", "value": value}]
    return [(ns, "tasks", {**about, "input": task_input}), (ns, "tasks", {**about, "interrupts": asked})]


@pytest.mark.parametrize(
    "task_input",
    [
        [{**_CALLS[1], "type": "tool_call"}],
        {"__type": "tool_call_with_context", "tool_call": {**_CALLS[1], "type": "tool_call"}, "state": {}},
    ],
)
def test_an_interrupt_of_a_task_that_runs_a_call_names_the_call(task_input: Any) -> None:
    (item,) = _items(_CALLED, *_tool_task(task_input))
    assert item["toolCallId"] == "call-2"


def test_an_interrupt_does_not_name_a_call_that_the_client_does_not_have() -> None:
    (item,) = _items(_CALLED, *_tool_task([{"type": "tool_call", "name": "ask", "args": {}, "id": "other"}]))
    assert "toolCallId" not in item


def test_an_interrupt_of_a_task_that_runs_no_call_names_none() -> None:
    (item,) = _items(_CALLED, *_tool_task({"messages": _CALLED[1]["messages"]}))
    assert "toolCallId" not in item


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"tool_call_id": "own"}, "own"),
        ({"action_requests": [{"name": "ask", "args": {"number": 1}}]}, "call-1"),
        ({"action_requests": [{"name": "other", "args": {}}]}, "call-2"),
    ],
)
def test_a_value_that_says_which_call_it_is_about_takes_precedence(value: Any, wanted: str) -> None:
    (item,) = _items(_CALLED, *_tool_task([{**_CALLS[1], "type": "tool_call"}], value))
    assert item["toolCallId"] == wanted


def test_an_ending_may_say_which_call_an_interrupt_was_raised_in() -> None:
    asked = {"id": "i1", "value": "?", "tool_call_id": "call-1"}
    (item,) = _items(_CALLED, _asked(Interrupt("?", id="i1")), ending=Finished([asked]))
    assert item["toolCallId"] == "call-1"


def test_a_reason_never_makes_a_client_answer_the_call_itself() -> None:
    request = {"type": "tool_approval", "tool_call_id": "call-1"}
    assert _items(_asked(Interrupt(request, id="i1")))[0]["reason"] == "confirmation"


def _by_option(choice: Any, value: Any, version: str | None = "1.0") -> tuple[list[Any], Event]:
    options = Options(interrupts=choice, protocol_version=version)
    events = run_parts([_asked(Interrupt(value, id="i1"))], options=options).events
    return [event["value"] for event in events if event["type"] == "CUSTOM"], events[-1]


def test_the_default_emits_them_in_the_outcome_only() -> None:
    customs, end = _by_option("outcome", "Sure?")
    assert (customs, end["outcome"]["type"]) == ([], "interrupt")


def test_legacy_emits_them_in_a_custom_event_only() -> None:
    customs, end = _by_option("legacy", "Sure?")
    assert customs == ["Sure?"]
    assert "outcome" not in end


def test_both_emits_them_in_both() -> None:
    customs, end = _by_option("both", "Sure?")
    assert (customs, end["outcome"]["type"]) == (["Sure?"], "interrupt")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("Sure?", "Sure?"), ({"a": [1]}, '{"a":[1]}'), (None, "null"), ([1], "[1]")],
)
def test_the_legacy_event_carries_a_text_or_json_in_a_text(value: Any, wanted: str) -> None:
    assert _by_option("legacy", value)[0] == [wanted]


def test_the_legacy_event_of_a_breakpoint_has_no_value() -> None:
    events = run_parts([_asked()], options=Options(interrupts="legacy")).events
    assert [event["value"] for event in events if event["type"] == "CUSTOM"] == ["null"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("choice", ["outcome", "legacy", "both"])
@pytest.mark.parametrize("name", ["interrupt_in_node", "breakpoint_before", "interrupts_in_two_tools"])
async def test_the_clients_accept_each_way(name: str, choice: Any, version: str, agui_client: AguiClient) -> None:
    options = Options(interrupts=choice, protocol_version=protocol(version))
    run = (await run_fixture(name, options, known=False))[0]
    answer = agui_client.play(run.events, version=version)
    assert (answer.error, answer.warnings) == (None, [])


async def test_an_interrupt_inside_a_subagent_says_whose_it_is_and_suspends_it() -> None:
    run = await _first("subagent_asks")
    (item,) = _interrupts(run)
    (ended,) = run.kinds("SUBAGENT_FINISHED")
    assert item["subagentRunId"] == ended["subagentRunId"]
    assert ended["outcome"] == {"type": "suspended", "interruptIds": [item["id"]]}


def test_the_interrupts_of_an_ending_may_be_any_collection() -> None:
    run = run_parts([], Finished(interrupts=deque([Interrupt("Sure?", id="i")])))
    assert [item["id"] for item in run.events[-1]["outcome"]["interrupts"]] == ["i"]


def test_odd_messages_of_a_client_cost_an_interrupt_nothing(agui_client: AguiClient) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "send", "arguments": '{"to": "x"}'}}
    seeded: list[dict[str, Any]] = [
        {"id": "1", "role": "user", "content": "hi", "toolCalls": False},
        {"id": "2", "role": "tool", "content": "hi"},
        {"id": "3", "role": "assistant", "content": "hi", "toolCalls": None},
        {"id": "4", "role": "assistant", "toolCalls": [call]},
    ]
    asked = Interrupt({"action_requests": [{"name": "send", "args": {"to": "x"}}]}, id="i")
    run = run_parts([], Finished(interrupts=[asked]), view=ClientView(seeded, {}))
    assert run.events[-1]["outcome"]["interrupts"][0]["toolCallId"] == "c"
    assert "metadata" not in run.events[-1]


def _asking(**values: Any) -> Fixture:
    """A graph whose nodes, by name, run at once, and each stops at an interrupt with its value."""

    def build(checkpointer: Any) -> Any:
        graph = StateGraph(MessagesState)
        for name, value in values.items():
            graph.add_node(name, lambda _, value=value: {"messages": [interrupt(value)]})
            graph.add_edge(START, name)
        return graph.compile(checkpointer)

    return Fixture("asking", build, (says("go", "interrupt"),))


OWN_FIELDS = {
    "reason": "acme:review",
    "toolCallId": "call-1",
    "responseSchema": {"type": "object"},
    "expiresAt": "2030-01-01T00:00:00Z",
}
SNAKE = {"toolCallId": "tool_call_id", "responseSchema": "response_schema", "expiresAt": "expires_at"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_snake", [False, True], ids=["camel", "snake"])
async def test_ag_uis_own_fields_of_a_value_are_the_interrupts(
    is_snake: bool, version: str, agui_client: AguiClient
) -> None:
    value = {SNAKE.get(name, name) if is_snake else name: given for name, given in OWN_FIELDS.items()}
    (run,) = await run_fixture(_asking(ask=value), Options(protocol_version=protocol(version)), known=False)
    answer = agui_client.play(run.events, version=version)
    assert (answer.error, answer.warnings) == (None, [])
    assert [{**item, "id": "i"} for item in answer.pending_interrupts] == [
        {"id": "i", **OWN_FIELDS, "metadata": {"value": value}}
    ]


INVALID: list[tuple[str, Any]] = [
    *(("reason", value) for value in ("", 7, ["x"])),
    *(("toolCallId", value) for value in ("", 7)),
    ("responseSchema", True),
    ("responseSchema", "object"),
    ("responseSchema", []),
    ("expiresAt", 1893456000),
    ("expiresAt", "soon"),
    ("expiresAt", "2030-01-01"),
    ("expiresAt", "2030-01-01T00:00:00"),  # of which clock?
    ("expiresAt", "2030-02-30T00:00:00Z"),
    ("expiresAt", "20300101T000000Z"),  # not read by browsers
]


@pytest.mark.parametrize(("field", "value"), INVALID)
def test_a_field_that_ag_ui_does_not_allow_is_left_out_and_logged_once(
    field: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    asked = _asked(Interrupt({field: value}, id="i1"))
    assert _items(asked, asked) == [{"id": "i1", "reason": "input_required", "metadata": {"value": {field: value}}}]
    line = f"The field {field!r} of the interrupt 'i1' is not valid in AG-UI and is left out"
    assert [record.getMessage() for record in caplog.records] == [f"{line} (thread 'thread-1', run 'run-1')."]


def test_a_field_that_is_null_is_absent(caplog: pytest.LogCaptureFixture) -> None:
    (item,) = _items(
        _asked(Interrupt({**dict.fromkeys(OWN_FIELDS), "expires_at": "2030-01-01T00:00:00+01:00"}, id="i"))
    )
    assert (item["reason"], item["expiresAt"]) == ("input_required", "2030-01-01T00:00:00+01:00")
    assert caplog.records == []


def test_langgraphs_schema_of_the_answer_comes_before_the_values_own() -> None:
    asked = {"id": "i1", "value": {"responseSchema": {"type": "string"}}, "response_schema": {"type": "integer"}}
    assert _items(_asked(asked))[0]["responseSchema"] == {"type": "integer"}


def test_a_schema_in_the_value_of_an_approval_comes_before_the_usual_one() -> None:
    value = {"type": "tool_approval", "responseSchema": {"type": "string"}}
    assert _items(_asked(Interrupt(value, id="i1")))[0]["responseSchema"] == {"type": "string"}


@pytest.mark.filterwarnings("ignore:NodeInterrupt is deprecated")
async def test_interrupts_that_langgraph_gives_no_id_each_have_one(agui_client: AguiClient) -> None:
    def build(checkpointer: Any) -> Any:
        def left(state: MessagesState) -> None:
            raise NodeInterrupt("left?")

        def right(state: MessagesState) -> None:
            raise NodeInterrupt("right?")

        graph = StateGraph(MessagesState).add_node(left).add_node(right)
        return graph.add_edge(START, "left").add_edge(START, "right").compile(checkpointer)

    (run,) = await run_fixture(Fixture("asking", build, (says("go", "interrupt"),)), known=False)
    answer = agui_client.play(run.events)
    items = {item["message"]: item["id"] for item in answer.pending_interrupts}
    assert (answer.accepted, items) == (True, {"left?": "placeholder-id", "right?": "placeholder-id-1"})


@pytest.mark.parametrize("names", [{}, {"id": ""}, {"id": None}, {"id": 7}])
def test_interrupts_without_an_id_are_distinguished_by_value_and_position(names: dict[str, Any]) -> None:
    one, two = ({"value": value, **names} for value in ("one?", "two?"))
    parts = [
        _asked(two, ns=("b:1",)),
        _asked(one, ns=("a:1", "c:2")),
        _asked(one, ns=("a:1",)),
        _asked(one, two),
        ("values", {"__interrupt__": (one, two, two)}),
        ("values", {"__interrupt__": (one, two, two)}),
    ]
    items = [(item["id"], item["message"]) for item in _items(*parts)]
    assert items == [("interrupt-1", "one?"), ("interrupt-0", "two?"), ("interrupt-2", "two?")]


def test_an_interrupt_without_an_id_never_takes_that_of_another() -> None:
    items = _items(_asked({"id": "interrupt-0", "value": "one?"}, {"value": "one?"}))
    assert [item["id"] for item in items] == ["interrupt-0", "interrupt-1"]
