"""A reader that stopped anywhere is caught up anywhere later: it then has what the view has, and the rest of the
stream leaves it with what the whole stream leaves. `ClientView` is asked at every pair of events, real clients at some.

Streams are tame (see `event_streams`), since no snapshot can say what ids that stand for two messages came to hold.
"""

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph_agui.connect.testing.expected import comparable
from langgraph_agui.translator import ClientView

from tests.support.clients.agui_client import VERSIONS, AguiClient, Answer, protocol
from tests.support.random.event_streams import streams
from tests.support.random.event_values import messages
from tests.support.random.examples import examples
from tests.support.streams.joining import READS, Run, anew, earlier, runs, view_after
from tests.support.sweeps import CHOSEN, Choice, in_turn
from tests.translator.client.test_catch_up_of_a_fresh_client_at_every_cut import assert_same, by_id, viewed
from tests.translator.client.test_view_equals_client import canonical

pytestmark = pytest.mark.early

Event = dict[str, Any]
SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
STATES = st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 2))


def opened(view: ClientView) -> Any:
    """What is open, by kind: ids and who opened them."""
    now = view.open
    kinds = (now.texts, now.calls, now.spans, now.reasonings, now.steps, now.subagents)
    return now.run_id, [{key: event.get("subagentRunId") for key, event in kind.items()} for kind in kinds]


def dropped(view: ClientView, reader: ClientView) -> ClientView:
    """The reader, without what no client of its version can be made to drop: reasoning where the view has none, and
    activities of which the view may not know all."""
    roles = {message["role"] for message in view.messages}
    kept = {"reasoning", "activity"} - roles if not view.knows_activities else {"reasoning"} - roles
    if not view.knows_activities and view.version is not None:
        kept |= {"activity"}
    mine = [m for m in reader.messages if m["role"] not in kept or view.has(m["id"])]
    return ClientView(mine, reader.base, version=reader.version)


def ordered(messages: list[Event]) -> list[Any]:
    """The order that counts, as `expected` has it. A client leaves reasoning where it is, and so the later one of two
    results of one message may come to stand before the other."""
    order: list[Any] = []
    results: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            results.append(message["id"])
        elif message["role"] not in ("reasoning", "activity"):
            order += [sorted(results), message["id"]]
            results = []
    return [*order, sorted(results)]


def assert_caught_up(view: ClientView, reader: ClientView) -> None:
    remaining = dropped(view, reader).messages
    assert ordered(remaining) == ordered(view.messages)
    assert by_id(remaining) == by_id(view.messages)
    assert canonical(reader.state) == canonical(view.state)
    assert opened(reader) == opened(view)
    assert reader.outcome == view.outcome


def views(events: list[Event], version: str) -> list[ClientView]:
    """The view after each event, and before the first."""
    found = [viewed([], version)]
    for event in events:
        found.append(found[-1].copy())
        found[-1].apply(event)
    return found


def assert_leads_to(uncut: Answer, answer: Answer, events: list[Event]) -> None:
    """The same end, but for interrupts of a run before the last: only a run that finishes says there are none."""
    if events[-1]["type"] == "RUN_ERROR":
        answer = replace(answer, pending_interrupts=uncut.pending_interrupts)
    assert_same(answer, uncut, ordered=False)
    assert ordered(answer.messages) == ordered(uncut.messages)


# --- readers of the same thread ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=2), part=st.floats(0, 1))
def test_a_reader_has_what_the_view_has(version: str, events: list[Event], part: float) -> None:
    read = int(part * len(events))
    inside = viewed(events[:read], version)
    outside = anew(inside, version=version)
    view = inside.copy()
    for event in events[read:]:
        view.apply(event)
        for present in (inside, outside):
            assert_caught_up(view, view_after(present, view.catch_up(present)))


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=2), part=st.floats(0, 1), later=st.floats(0, 1))
def test_the_client_continues_in_the_stream(
    agui_client: AguiClient, version: str, events: list[Event], part: float, later: float
) -> None:
    uncut = agui_client.play(events, version=version)
    read = 1 + int(part * (len(events) - 1))
    cut = read + int(later * (len(events) - read))
    caught = viewed(events[:cut], version).catch_up(viewed(events[:read], version))
    answer = agui_client.play([*events[:read], *caught, *events[cut:]], version=version)
    assert_leads_to(uncut, answer, events)


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=2), part=st.floats(0, 1), later=st.floats(0, 1))
def test_the_client_continues_in_a_new_stream(
    agui_client: AguiClient, version: str, events: list[Event], part: float, later: float
) -> None:
    uncut = agui_client.play(events, version=version)
    read = int(part * len(events))
    cut = max(1, read + int(later * (len(events) - read)))
    present = anew(viewed(events[:read], version), version=version)
    stream = [*viewed(events[:cut], version).catch_up(present), *events[cut:]]
    late = agui_client.play(stream, version=version, mode="connect", messages=present.messages, state=present.state)
    assert_leads_to(uncut, late, events)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_result_stands_before_another_where_reasoning_began_between_the_call_and_the_catch_up(
    agui_client: AguiClient, version: str
) -> None:
    """The reader has the call and the reasoning behind it, so a snapshot puts the first result behind both; the
    second one goes right behind the call."""
    call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "a"}
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "content": "Found."}
    rewritten = {"id": "u", "role": "user", "content": "Changed."}
    before: list[Event] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": "Hi."}]},
        *(call, {"type": "TOOL_CALL_END", "toolCallId": "c"}),
        {"type": "REASONING_MESSAGE_START", "messageId": "thought", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_END", "messageId": "thought"},
    ]
    first: list[Event] = [*before, {**result, "messageId": "one"}]
    present = viewed(first, version).messages
    first.append({"type": "MESSAGES_SNAPSHOT", "messages": [rewritten, *present[1:]]})
    rest: list[Event] = [{**result, "messageId": "two"}, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]
    uncut = agui_client.play([*first, *rest], version=version)
    caught = viewed(first, version).catch_up(viewed(before, version))
    answer = agui_client.play([*before, *caught, *rest], version=version)
    results = [message["id"] for message in answer.messages if message["role"] == "tool"]
    assert results == ["two", "one"]
    assert_leads_to(uncut, answer, rest)


# --- readers that hold something else ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=1), present=messages(), state=STATES, part=st.floats(0, 1))
def test_a_client_that_has_something_else(
    agui_client: AguiClient, version: str, events: list[Event], present: list[Event], state: Any, part: float
) -> None:
    cut = 1 + int(part * (len(events) - 1))
    view = viewed(events[:cut], version)
    reader = ClientView(present, state, version=protocol(version))
    stream = [*view.catch_up(reader), *events[cut:]]
    answer = agui_client.play(stream, version=version, mode="connect", messages=present, state=state)
    assert answer.error is None  # warnings there may be: an id may be one kind of message here, another there
    after = view_after(reader, stream)
    assert canonical(after.messages) == canonical(answer.messages)
    assert canonical(after.state) == canonical(answer.state)


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(), others=streams(), present=messages(repeat=True), part=st.floats(0, 1), other=st.floats(0, 1))
def test_nothing_raises(
    version: str, events: list[Event], others: list[Event], present: list[Event], part: float, other: float
) -> None:
    view = view_after(ClientView(present, {}, version=protocol(version)), events[: int(part * len(events))])
    reader = view_after(ClientView([], None, version=protocol(version)), others[: int(other * len(others))])
    reader.apply({"type": "MESSAGES_SNAPSHOT", "messages": present[1:]})
    view_after(reader, view.catch_up(reader))


# --- readers that miss nothing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=2, length=15))
def test_an_up_to_date_reader_of_a_live_run_gets_nothing(version: str, events: list[Event]) -> None:
    for view in views(events, version):
        if view.live:
            assert view.catch_up(view.copy()) == []


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(tame=True, runs=2, length=15))
def test_an_up_to_date_reader_on_a_new_stream_gets_what_is_open(version: str, events: list[Event]) -> None:
    for view in views(events, version):
        if view.run_id is not None:
            kinds = {event["type"] for event in view.catch_up(anew(view, version=version))}
            starts = {kind for kind in kinds if kind.endswith("_START") or kind.startswith(("RUN_", "SUBAGENT_"))}
            unsaid = (
                {"STATE_SNAPSHOT"} if view.base in (None, 0, "") else set()
            )  # as if it were not known, when carried over
            assert kinds - starts <= {"STEP_STARTED", *unsaid}


# --- recorded runs ----------------------------------------------------------------------------------------------------


def recorded_runs_lead_to_the_same_end(run: Run, version: str) -> None:
    for number, cut in run.chosen:
        for read in [*earlier(run.cuts, number), cut]:
            for present in (read.view, anew(read.view, version=version)):
                caught = view_after(present, cut.view.catch_up(present))
                assert (run.name, number, comparable(caught.messages)) == (
                    run.name,
                    number,
                    comparable(cut.view.messages),
                )
                assert (run.name, number, caught.state) == (run.name, number, cut.view.state)
                assert (run.name, number, opened(caught)) == (run.name, number, opened(cut.view))


def the_real_client_is_caught_up_with_recorded_runs(run: Run, version: str, agui_client: AguiClient) -> None:
    for at in run.asked:
        cut, read = run.cuts[at], run.cuts[at // 2]
        present = anew(read.view, version=version)
        inside = ([*read.before, *cut.view.catch_up(read.view), *cut.after], run.begun)
        outside = ([*cut.view.catch_up(present), *cut.after], present)
        modes: tuple[Literal["run", "connect"], ...] = ("run", "connect")
        for mode, (events, begun) in zip(modes, (inside, outside), strict=True):
            answer = agui_client.play(events, version=version, messages=begun.messages, state=begun.state, mode=mode)
            assert (run.name, at, answer.error, answer.warnings) == (run.name, at, None, [])
            assert (run.name, at, comparable(answer.messages)) == (run.name, at, comparable(run.end.messages))
            assert (run.name, at, answer.state) == (run.name, at, run.end.state)


@CHOSEN
@pytest.mark.parametrize(("fixture", "read"), in_turn(READS, begin=2, of=3))
def test_readers_of_recorded_runs_are_caught_up(
    fixture: str, read: str, chosen: Choice, agui_client: AguiClient
) -> None:
    version = read.rpartition("-")[2]
    for run in runs(fixture, read, chosen):
        recorded_runs_lead_to_the_same_end(run, version)
        the_real_client_is_caught_up_with_recorded_runs(run, version, agui_client)
