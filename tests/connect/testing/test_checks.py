"""`check_stream` and `assert_ends_as`: what they refuse, on streams made by hand, and what of recorded runs."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph_agui.connect.testing import assert_ends_as, check_stream
from langgraph_agui.translator import ClientView, Options, to_model

from tests.support.streams.translated import BOUNDED, Translated, translated
from tests.support.sweeps import SWEEP

Event = dict[str, Any]

RUN = {"threadId": "t", "runId": "r"}
START: Event = {"type": "RUN_STARTED", **RUN}
END: Event = {"type": "RUN_FINISHED", **RUN}
ASKS: Event = {**END, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}]}}
FAILED: Event = {"type": "RUN_ERROR", "message": "No."}
USER: Event = {"id": "u", "role": "user", "content": "hi"}
CALL: list[Event] = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"a": 1}'},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
]
RESULT: Event = {"type": "TOOL_CALL_RESULT", "messageId": "of-c", "toolCallId": "c", "content": "done", "role": "tool"}
STATE: Event = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}


def text(content: str, name: str = "m") -> list[Event]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": name, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": content},
        {"type": "TEXT_MESSAGE_END", "messageId": name},
    ]


def snapshot(**texts: str) -> Event:
    messages = [{"id": name, "role": "assistant", "content": text} for name, text in texts.items()]
    return {"type": "MESSAGES_SNAPSHOT", "messages": [USER, *messages]}


def delta(path: str, op: str = "add") -> Event:
    return {"type": "STATE_DELTA", "delta": [{"op": op, "path": path, "value": {}}]}


REFUSED: dict[str, tuple[Sequence[Event], int, str]] = {
    "no run": ([STATE], 0, "no run has started"),
    "no event": ([START, {"type": "HELLO"}], 1, "not an event of the protocol"),
    "no end": ([START, *text("Hi.")], 3, "the run has not ended"),
    "another run's end": ([START, {**END, "runId": "other"}], 1, "the run that started is r"),
    "an open message": ([START, *text("Hi.")[:2], END], 3, "still open: ['m']"),
    "an open message of a failed run": ([START, *text("Hi.")[:2], FAILED], 3, "still open: ['m']"),
    "two interrupts of one id": (
        [START, {**END, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}] * 2}}],
        1,
        "two interrupts have the same id",
    ),
    "a delta that does not apply": ([START, STATE, delta("/b/c"), END], 2, "cannot be applied"),
    "a delta that a client refuses": ([START, STATE, delta("/__proto__"), END], 2, "jsonpatch gives"),
    "a second START": ([START, *text("Hi."), *text(" More."), END], 4, "a second START of m"),
    "a result before its call": ([START, RESULT, *CALL, END], 2, "a result of c came before its call"),
    "a message that vanishes": ([START, *text("Hi."), snapshot(), END], 4, "the message m vanishes"),
    "a call that vanishes": ([START, *text("Hi."), *CALL, snapshot(m="Hi."), END], 7, "the call c vanishes"),
    "another text": ([START, *text("Hi."), snapshot(m="Ho."), END], 4, "displayed 'Hi.', and now 'Ho.'"),
}
TAKEN: dict[str, Sequence[Event]] = {
    "nothing": [],
    "two runs": [START, *text("Hi."), END, {**START, "runId": "s"}, *text("Ho.", "n"), {**END, "runId": "s"}],
    "a failed run": [START, FAILED],
    "an interrupt": [START, *text("Really?"), ASKS],
    "a message that is stored under another id": [START, *text("Hi."), snapshot(n="Hi."), END],
    "a message that is stored with more": [START, *text("Hi."), snapshot(m="Hi. More."), END],
    "messages in another order": [START, *text("Hi."), snapshot(), snapshot(m="Hi."), END],
    "a START behind a snapshot": [START, *text("Hi."), snapshot(m="Hi."), *text(" More."), END],
    "a result of an earlier call": [START, RESULT, END],
    "state": [START, STATE, delta("/b"), END],
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_stream_is_refused(name: str) -> None:
    events, index, sentence = REFUSED[name]
    with pytest.raises(AssertionError) as refused:
        check_stream(events)
    assert str(refused.value).startswith(f"event {index}, {events[index]['type']}")
    assert sentence in str(refused.value)


@pytest.mark.parametrize("name", TAKEN)
def test_a_stream_is_taken_and_its_contents_are_returned(name: str) -> None:
    events, view = TAKEN[name], ClientView([], {})
    for event in events:
        view.apply(event)
    for form in (events, [to_model(event) for event in events]):
        after = check_stream(form)
        assert (after.messages, after.state, after.terminal) == (view.messages, view.state, view.terminal)


def test_what_a_graph_removes_may_vanish() -> None:
    for name in ("a message that vanishes", "a call that vanishes", "another text"):
        check_stream(REFUSED[name][0], may_remove=True)


def test_what_the_client_had_is_not_changed() -> None:
    before = ClientView([USER], {"a": 1})
    after = check_stream([START, *text("Hi."), delta("/b"), END], before=before)
    assert (len(after.messages), after.state) == (2, {"a": 1, "b": {}})
    assert (before.messages, before.state) == ([USER], {"a": 1})


STREAM = [START, snapshot(), STATE, *text("Hi."), *CALL, RESULT, END]
STORED: list[Any] = [
    HumanMessage("hi", id="u"),
    AIMessage("Hi.", id="m", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c"}]),
    ToolMessage("done", id="of-c", tool_call_id="c"),
]


def test_a_stream_ends_as_its_thread() -> None:
    assert_ends_as(STREAM, {"messages": STORED, "a": 1})
    assert_ends_as([*STREAM[:-1], *text("And?", "n"), ASKS], {"messages": STORED, "a": 1})
    assert_ends_as([START, END], {"messages": STORED[:1]}, before=ClientView([USER], {}))
    assert_ends_as(STREAM, {"messages": STORED[:1], "a": 1}, Options(history="keep"))
    assert_ends_as(STREAM, {"a": 1})  # a graph without messages


@pytest.mark.parametrize(
    ("events", "values", "sentence"),
    [
        (STREAM, {"messages": [*STORED, AIMessage("Bye.", id="n")], "a": 1}, "the client has no message n"),
        (STREAM, {"messages": STORED[:1], "a": 1}, "a message that the thread does not have"),
        (
            STREAM,
            {"messages": [STORED[0], AIMessage("Ho.", id="m"), STORED[2]], "a": 1},
            "the message m of the client is",
        ),
        (STREAM, {"messages": [STORED[1], STORED[2], STORED[0]], "a": 1}, "the order of the client is ['u', 'm'"),
        (STREAM, {"messages": STORED, "a": 2}, "the client has the state {'a': 1}, and the thread {'a': 2}"),
        ([START, FAILED], {"messages": []}, "the run did not end well: {'type': 'RUN_ERROR', 'message': 'No.'}"),
        ([START], {"messages": []}, "it has not ended"),
    ],
)
def test_a_stream_does_not_end_as_another_thread(events: list[Event], values: Any, sentence: str) -> None:
    with pytest.raises(AssertionError) as refused:
        assert_ends_as(events, values)
    assert sentence in str(refused.value)


# --- recorded runs ----------------------------------------------------------------------------------------------------

REMOVE = {
    "agent_repeated_call_ids", "agents_wrapped_in_nodes", "answer_removed", "args_truncated", "edited_before_return",
    "failure_caught_by_node", "fallback_model", "functional_interrupt", "functional_tasks", "guardrail_in_place",
    "guardrail_middleware", "guardrail_same_id", "ids_changing", "ids_one_for_two_calls", "ids_provider_on_first",
    "ids_repeated_in_next_turn", "interrupt_after_speech", "model_fallback_middleware", "model_retry_middleware",
    "no_messages_channel", "overwritten", "removed_beside_a_speaker", "removed_while_another_streams",
    "research_in_rounds", "retried", "router_not_saved", "self_reporting_model", "speech_after_its_node",
    "subgraph_private_state", "summarization_middleware", "summary_in_front", "supervisor_node",
    "two_messages_channels",
}  # fmt: skip
"""The recorded graphs that remove, rewrite or do not save what they have emitted: no other may lose anything."""
RESUMED_IN_V3 = {
    "interrupt_in_one_of_two_tools", "interrupts_answered_one_by_one", "interrupts_in_parallel", "review_per_call",
    "subagents_one_asks",
}  # fmt: skip
"""Graphs of which a task finished in the step that an interrupt stopped. No part of protocol v3 says that the next run
continues that step, so what the task has emitted is removed first, and comes back with the step: no other form of
stream may lose it."""
OTHER_STATE = {
    "interrupts_in_subgraphs_one_by_one": "the values of the subgraphs that wait are not recorded",
    "output_schema": "the platform streams the channels of the output schema alone",
    "review_approved": "the same",
    "review_edited": "the same",
    "review_rejected": "the same",
}
"""Recorded graphs whose recorded values are not what their client has, and why."""


def turns(share: int) -> list[Translated]:
    """Recorded turns, for a client that declares a version: all of protocol v3, and a share of the others."""
    threads = [thread for place, thread in enumerate(BOUNDED) if "platform-v3/" in thread or place % share == 0]
    return [turn for thread in threads for turn in translated(thread, "1.0.0")]


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=SWEEP)])
def test_recorded_runs_are_taken_and_end_as_their_threads(share: int) -> None:
    removing, removing_in_v3, others = set[str](), set[str](), set[str]()
    for turn in turns(share):
        events, fixture = turn.telling.events, turn.recording.fixture
        check_stream(events, before=turn.begun, may_remove=True)
        try:
            check_stream(events, before=turn.begun)
        except AssertionError:
            (removing_in_v3 if turn.recording.source == "platform-v3" else removing).add(fixture)
        if turn.telling.end in ("success", "interrupt"):
            try:
                assert_ends_as(events, turn.recording.state["values"], turn.telling.options, before=turn.begun)
            except AssertionError:
                others.add(fixture)
    assert removing <= REMOVE
    assert removing_in_v3 - REMOVE == RESUMED_IN_V3
    assert others <= OTHER_STATE.keys()
    if share == 1:
        assert removing == REMOVE
        assert others == OTHER_STATE.keys()
