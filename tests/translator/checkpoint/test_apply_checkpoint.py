"""What the thread is known to hold, shown in the middle of its stream: older values, newer ones, of any age, anywhere.

The end is what the stream alone leads to, and no text on the way is cut or doubled.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langgraph_agui.connect.testing.expected import comparable
from langgraph_agui.translator import ClientView, Failed, Lost, Translator, TranslatorMisuseError
from langgraph_agui.translator.convert.to_agui import to_agui
from langgraph_agui.translator.parts.channels import channels
from langgraph_sdk.schema import StreamPart

from fixtures import FIXTURES
from fixtures.recordings import Recording, as_json
from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.random.examples import examples
from tests.support.random.random_streams import Scenario, scenarios
from tests.support.streams.joining import READS, TURNS
from tests.support.streams.translated import ending
from tests.support.streams.translator_runs import Event, TranslatorRun, options_for, view_for
from tests.support.sweeps import CHOSEN, Choice, in_turn

SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))


# --- named cases ------------------------------------------------------------------------------------------------------

METADATA = {
    "langgraph_node": "answer",
    "langgraph_checkpoint_ns": "answer:1",
    "ls_provider": "p",
    "ls_model_type": "chat",
}
ASKED = HumanMessage("?", id="asked")
WHOLE = AIMessage("Hello you.", id="lc_run--1")


def chunk(text: str, **more: Any) -> Any:
    return ((), "messages", (AIMessageChunk(content=text, id="lc_run--1", **more), METADATA))


def values(*messages: Any, **channels: Any) -> Any:
    return ((), "values", {"messages": list(messages), **channels})


def shown(*messages: Any, **channels: Any) -> Any:
    return {"messages": list(messages), **channels}


def live(*parts: Any, view: ClientView | None = None) -> Translator:
    run = Translator("thread", "run", view=view)
    run.start()
    for part in parts:
        run.feed(part)
    return run


def said(run: Translator) -> list[tuple[str, Any]]:
    return [(message["id"], message.get("content")) for message in run.view.messages]


def test_the_first_values_are_told_whole() -> None:
    run = live()
    events = run.apply_checkpoint(shown(ASKED, WHOLE, count=1))
    assert [event["type"] for event in events] == ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]
    assert (said(run), run.view.state) == ([("asked", "?"), ("lc_run--1", "Hello you.")], {"count": 1})


def test_what_the_client_holds_is_not_told() -> None:
    run = live(values(ASKED, count=1))
    assert run.apply_checkpoint(shown(ASKED, count=1)) == []


def test_values_that_the_stream_has_passed_tell_nothing() -> None:
    run = live(values(ASKED, count=1), values(ASKED, WHOLE, count=2))
    assert run.apply_checkpoint(shown(ASKED, count=1)) == []


def test_values_that_go_on_behind_the_stream_are_told() -> None:
    run = live(values(ASKED, count=1))
    run.apply_checkpoint(shown(ASKED, WHOLE, count=2))
    assert (said(run)[-1], run.view.state) == (("lc_run--1", "Hello you."), {"count": 2})


def test_a_message_that_was_removed_is_not_shown_again() -> None:
    run = live(values(ASKED, WHOLE), values(ASKED))
    assert run.apply_checkpoint(shown(ASKED, WHOLE)) == []


def test_what_streams_goes_on() -> None:
    run = live(values(ASKED), chunk("Hello "))
    assert run.apply_checkpoint(shown(ASKED)) == []
    assert [event["type"] for event in run.feed(chunk("you."))] == ["TEXT_MESSAGE_CONTENT"]


def test_what_streams_stands_behind_what_is_shown() -> None:
    run = live(chunk("Hello "))
    run.apply_checkpoint(shown(ASKED))
    assert said(run) == [("asked", "?"), ("lc_run--1", "Hello ")]
    assert "lc_run--1" in run.view.open.texts


def test_what_streams_and_is_shown_whole_is_whole_and_closed() -> None:
    run = live(values(ASKED), chunk("Hello "))
    run.apply_checkpoint(shown(ASKED, WHOLE))
    assert said(run)[-1] == ("lc_run--1", "Hello you.")
    assert not run.view.open.texts


def test_chunks_of_what_was_shown_whole_are_not_appended() -> None:
    run = live(values(ASKED), chunk("Hello "))
    run.apply_checkpoint(shown(ASKED, WHOLE))
    assert run.feed(chunk("you.")) + run.feed(chunk("", chunk_position="last")) == []


def test_a_call_that_begins_after_its_message_was_shown_is_not_told() -> None:
    run = live()
    run.apply_checkpoint(shown(ASKED, WHOLE))
    told = [event["type"] for text in ("Hello ", "you.") for event in run.feed(chunk(text))]
    assert told == ["STEP_STARTED"]


def test_a_message_that_is_stored_under_another_id_is_not_doubled() -> None:
    run = live(values(ASKED), chunk("Hello "))
    run.apply_checkpoint(shown(ASKED, AIMessage("Hello you.", id="provider")))
    assert said(run) == [("asked", "?"), ("provider", "Hello you.")]


def test_arguments_that_streamed_in_part_are_whole() -> None:
    piece = tool_call_chunk(name="look", args='{"at"', id="call", index=0)
    whole = AIMessage("", id="lc_run--1", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "call"}])
    run = live(values(ASKED), chunk("", tool_call_chunks=[piece]))
    run.apply_checkpoint(shown(ASKED, whole, ToolMessage("There.", tool_call_id="call", id="result")))
    run.feed(chunk("", tool_call_chunks=[tool_call_chunk(name=None, args=": 1}", id=None, index=0)]))
    call = run.view.call("call")
    assert call is not None
    assert call["function"]["arguments"].replace(" ", "") == '{"at":1}'
    assert [message["id"] for message in run.view.messages] == ["asked", "lc_run--1", "result"]


@pytest.mark.parametrize(
    "stored",
    [
        AIMessage("Edited.", id="lc_run--1", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "call"}]),
        AIMessage("Hello", id="renamed", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "call"}]),
        AIMessage(
            "",
            id="provider",
            tool_calls=[{"name": "see", "args": {}, "id": "other"}, {"name": "look", "args": {"at": 1}, "id": "call"}],
        ),
    ],
    ids=["edited", "renamed", "with another call before"],
)
@pytest.mark.parametrize("streamed", ["", '{"at"'])
def test_no_arguments_are_appended_to_a_call_that_a_checkpoint_has(stored: AIMessage, streamed: str) -> None:
    first = tool_call_chunk(name="look", args=streamed, id="call", index=0)
    rest = tool_call_chunk(name=None, args='{"at": 1}'[len(streamed) :], id=None, index=0)
    run = live(values(ASKED), chunk("Hello"), chunk("", tool_call_chunks=[first]))
    run.apply_checkpoint(shown(ASKED, stored))
    shown_arguments = []
    for part in (chunk("", tool_call_chunks=[rest]), chunk("", chunk_position="last"), values(ASKED, stored)):
        run.feed(part)
        call = run.view.call("call")
        assert call is not None
        shown_arguments.append(call["function"]["arguments"].replace(" ", ""))
    assert set(shown_arguments) == {'{"at":1}'}
    assert (run.view.messages[-1]["id"], run.view.messages[-1].get("content", "")) == (stored.id, stored.content)


def test_an_answer_with_the_id_of_the_last_is_not_made_the_last() -> None:
    run = live(chunk("New "))
    run.apply_checkpoint(shown(ASKED, AIMessage("Old.", id="lc_run--1")))
    assert said(run)[-1] == ("lc_run--1", "New ")


@pytest.mark.parametrize("form", ["objects", "JSON"])
def test_a_call_stays_under_an_id_whose_first_message_is_stored_under_another(
    agui_client: AguiClient, form: str
) -> None:
    call = tool_call_chunk(name="look", args="{}", id="call", index=0)
    parts = [chunk(","), chunk("", chunk_position="last"), chunk("", tool_call_chunks=[call])]
    if form == "JSON":
        parts = [StreamPart("messages", as_json(data)) for _, _, data in parts]
    run = TranslatorRun(view=ClientView([], {}))
    for part in parts:
        run.feed(part)
    run.feeds.append(run.translator.apply_checkpoint(shown(AIMessage(",", id="provider"))))
    assert said(run.translator) == [("provider", ","), ("lc_run--1", None)]
    assert run.view.call("call") is not None
    run.finish(Failed(ValueError("broken off")))
    answer = agui_client.play(run.events)
    assert (answer.warnings, answer.messages) == ([], list(run.view.messages))


def test_older_values_of_the_stream_take_nothing_back() -> None:
    run = live()
    run.apply_checkpoint(shown(ASKED, WHOLE, count=2))
    run.feed(values(ASKED, count=1))
    assert (said(run)[-1], run.view.state) == (("lc_run--1", "Hello you."), {"count": 2})


def test_the_stream_decides_in_the_end() -> None:
    run = live()
    run.apply_checkpoint(shown(ASKED, WHOLE, count=2))
    run.feed(values(ASKED, count=3))
    run.finish()
    assert (said(run), run.view.state) == ([("asked", "?")], {"count": 3})


def test_what_was_shown_and_is_not_in_newer_values_goes() -> None:
    run = live()
    run.apply_checkpoint(shown(HumanMessage("?", id="read once")))
    run.feed(chunk("Hello "))
    run.apply_checkpoint(shown(HumanMessage("?", id="read twice")))
    run.finish(Lost("broken off"))
    assert said(run) == [("read twice", "?"), ("lc_run--1", "Hello ")]


def test_a_client_that_holds_more_keeps_it() -> None:
    view = ClientView([{"id": "asked", "role": "user", "content": "?"}, {"id": "new", "role": "user", "content": "!"}],
                      {"count": 2})  # fmt: skip
    run = live(view=view)
    assert run.apply_checkpoint(shown(ASKED, count=1)) == []


def test_what_a_failed_run_has_left_is_shown() -> None:
    run = live(((), "error", {"error": "ValueError", "message": "broken off"}))
    run.apply_checkpoint(shown(ASKED, WHOLE))
    assert said(run) == [("asked", "?"), ("lc_run--1", "Hello you.")]


@pytest.mark.parametrize("value", [None, {}, [], 1, "", object(), {"messages": 1}, {"messages": [object()]}])
def test_any_value_may_be_shown(value: Any) -> None:
    run = live()
    run.apply_checkpoint(value)
    run.finish()
    assert not run.view.live


def test_values_are_shown_between_start_and_end_only() -> None:
    run = Translator("thread", "run")
    with pytest.raises(TranslatorMisuseError):
        run.apply_checkpoint({})
    run.start()
    run.finish()
    with pytest.raises(TranslatorMisuseError):
        run.apply_checkpoint({})


# --- at every cut -----------------------------------------------------------------------------------------------------


def root_values(parts: list[Any]) -> list[tuple[int, Any]]:
    """The root values of a stream, with the position of the part that brings them."""
    found = []
    for position, part in enumerate(parts):
        run = Translator("thread", "run")
        run.start()
        run.feed(part)
        if run.values is not None:
            found.append((position, run.values))
    return found


def known_at(cut: int, every: list[tuple[int, Any]]) -> Iterator[Any]:
    """What a checkpoint may hold when the stream is cut: the values before, an older one, and those to come."""
    before = [data for position, data in every if position < cut]
    after = [data for position, data in every if position >= cut]
    yield from before[-1:] + before[-2:-1] + after[:1]


def uncut(parts: list[Any], version: str, key: str | None, last: Any) -> TranslatorRun:
    telling = TranslatorRun(options_for(version, key))
    for part in parts:
        telling.feed(part)
    telling.finish(last)
    return telling


def with_shown(parts: list[Any], cut: int, data: Any, version: str, key: str | None, last: Any) -> TranslatorRun:
    telling = TranslatorRun(options_for(version, key))
    for position, part in enumerate(parts):
        if position == cut:
            telling.feeds.append(telling.translator.apply_checkpoint(data))
        telling.feed(part)
    if cut == len(parts):
        telling.feeds.append(telling.translator.apply_checkpoint(data))
    telling.finish(last)
    return telling


def texts(view: ClientView) -> dict[str, str]:
    found = {m["id"]: m["content"] for m in view.messages if isinstance(m.get("content"), str)}
    calls = [(m["id"], call) for m in view.messages for call in m.get("toolCalls", ())]
    return {**found, **{f"call {call['id']} of {item}": call["function"]["arguments"] for item, call in calls}}


def told_on_the_way(events: list[Event], version: str) -> Iterator[dict[str, str]]:
    """The texts a client holds after each event."""
    view = view_for(version, [], {})
    for event in events:
        view.apply(event)
        yield texts(view)


def assert_beginnings(telling: TranslatorRun, whole: dict[str, set[str]], version: str) -> None:
    """All that is ever held under an id is the beginning of a text that the uncut stream, or what was shown, has."""
    for held in told_on_the_way(telling.events, version):
        for name, text in held.items():
            assert any(each.startswith(text) for each in whole.get(name, {""})), (name, text)


def ever(events: list[Event], version: str, into: dict[str, set[str]]) -> None:
    for held in told_on_the_way(events, version):
        for name, text in held.items():
            into.setdefault(name, set()).add(text)


def compared(telling: TranslatorRun, key: str | None) -> tuple[list[Any], Any]:
    stored = (channels(telling.translator.values) or {}).get(key or "messages")
    ids = {wire["id"] for m in stored or () for wire in to_agui(m, 0, telling.options)}
    return comparable(telling.own(telling.view.messages, ids)), telling.view.state


def check(
    parts: list[Any], cuts: Sequence[int], version: str, key: str | None, last: Any, *, is_ambiguous: bool = False
) -> list[TranslatorRun]:
    """`is_ambiguous`: which chunk is whose may not be known before the messages are stored."""
    every = root_values(parts)
    plain = uncut(parts, version, key, last)
    whole: dict[str, set[str]] = {}
    ever(plain.events, version, whole)
    for _, data in every:
        only = TranslatorRun(options_for(version, key))
        ever([*only.events, *only.translator.apply_checkpoint(data)], version, whole)
    found = []
    for cut in cuts:
        for data in known_at(cut, every):
            telling = with_shown(parts, cut, data, version, key, last)
            mine, its = compared(telling, key), compared(plain, key)
            assert mine[0] == its[0], cut
            assert mine[1] == its[1] or its[1] is None, cut  # what the stream never told may be shown
            if not is_ambiguous:
                assert_beginnings(telling, whole, version)
            found.append(telling)
    return found


def of_recorded_turn(recording: Recording, version: str, chosen: Choice) -> list[TranslatorRun]:
    parts = list(recording.parts)
    cuts = chosen(range(len(parts) + 1), f"{recording.name} {version}")
    return check(parts, cuts, version, recording.about["messages_key"], ending(recording))


@CHOSEN
@pytest.mark.parametrize(
    ("fixture", "read"),
    in_turn({name: each for name, each in READS.items() if not FIXTURES[name].composed}, begin=1, of=3),
)
def test_recorded_runs_lead_to_the_same_end(fixture: str, read: str, chosen: Choice, agui_client: AguiClient) -> None:
    source, _, version = read.rpartition("-")
    for recording in TURNS[f"{source}/{fixture}"]:
        tellings = of_recorded_turn(recording, version, chosen)
        for telling in tellings[:: max(1, len(tellings) // 3)]:
            answer = agui_client.play(telling.events, version=version)
            assert (answer.error, answer.warnings) == (None, [])


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(scenario=scenarios(), part=st.floats(0, 1))
def test_random_runs_lead_to_the_same_end(
    agui_client: AguiClient, version: str, scenario: Scenario, part: float
) -> None:
    cut = int(part * len(scenario.parts))
    is_ambiguous = scenario.repeats_ids or scenario.mixes_calls
    for telling in check(scenario.parts, [cut], version, "messages", None, is_ambiguous=is_ambiguous):
        answer = agui_client.play(telling.events, version=version)
        assert (answer.error, answer.warnings) == (None, [])
