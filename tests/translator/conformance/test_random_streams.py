"""Random plausible streams: accepted however they end, the checkpoint's if well, joinable anywhere, and
right after every batch."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage
from langgraph_agui.connect.testing.checks import displayed
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import Cancelled, ClientView, Failed, Lost, Options
from langgraph_agui.translator.convert.to_agui import to_agui
from langgraph_agui.translator.endings import Ending

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.random.examples import examples
from tests.support.random.random_streams import Scenario, scenarios
from tests.support.streams.joining import anew, contents, view_after
from tests.support.streams.on_the_way import Run, faults, in_client, in_view
from tests.support.streams.translator_runs import (
    Event,
    TranslatorRun,
    left_open,
    needless,
    options_for,
    run_parts,
    view_for,
)

pytestmark = pytest.mark.early

SETTINGS = settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
ENDINGS: list[Ending | None] = [None, Failed(ValueError("no")), Cancelled(), Lost("gone")]
EACH = pytest.mark.parametrize("version", VERSIONS)


def held_before(scenario: Scenario) -> list[Event]:
    """What a client holds that has followed the thread."""
    return wires(scenario.before)


def wires(messages: Sequence[BaseMessage]) -> list[Event]:
    """What stored messages are for a client."""
    return [wire for number, message in enumerate(messages) for wire in to_agui(message, number, Options())]


@EACH
@SETTINGS
@given(scenario=scenarios(), known=st.sampled_from(["exact", "empty", "unknown"]))
def test_a_run_that_ends_well_leaves_the_checkpoint(
    agui_client: AguiClient, version: str, scenario: Scenario, known: str
) -> None:
    # Two answers at once under the same ids, in JSON: nothing says which chunk is whose.
    assume(not (scenario.repeats_ids and scenario.mixes_calls))
    held = held_before(scenario) if known == "exact" else []
    view = None if known == "unknown" else view_for(version, held, {})
    begun = ClientView(version=options_for(version).protocol_version) if view is None else view.copy()
    telling = run_parts(scenario.parts, None, options_for(version), view)
    said = agui_client.play(telling.events, version=version, messages=held)
    assert (said.error, said.warnings) == (None, [])
    stored = [wire["id"] for wire in wires(scenario.values["messages"])]
    assert comparable(telling.own(said.messages, stored)) == comparable(expected(scenario.values, Options()).messages)
    assert said.state == expected(scenario.values, Options()).state
    assert (telling.view.messages, telling.view.state) == (said.messages, said.state)
    assert telling.end == ("interrupt" if scenario.interrupted else "success")
    assert left_open(telling.events) == []
    assert needless(telling.events, begun) == []


@EACH
@SETTINGS
@given(scenario=scenarios(), ending=st.sampled_from(ENDINGS), part=st.floats(0, 1))
def test_a_stream_that_is_cut_anywhere_and_ends_in_any_way_is_accepted(
    agui_client: AguiClient, version: str, scenario: Scenario, ending: Ending | None, part: float
) -> None:
    cut = int(part * len(scenario.parts))
    telling = run_parts(
        scenario.parts[:cut], ending, options_for(version), view_for(version, held_before(scenario), {})
    )
    said = agui_client.play(telling.events, version=version, messages=held_before(scenario))
    assert (said.error, said.warnings) == (None, [])
    assert left_open(telling.events) == []
    assert (telling.view.messages, telling.view.state) == (said.messages, said.state)


@EACH
@SETTINGS
@given(scenario=scenarios(), part=st.floats(0, 1), earlier=st.floats(0, 1))
def test_whoever_joins_at_a_cut_ends_as_the_uncut_stream(
    version: str, scenario: Scenario, part: float, earlier: float
) -> None:
    held = held_before(scenario)
    telling = TranslatorRun(options_for(version), view_for(version, held, {}))
    cut = int(part * len(scenario.parts))
    known = int(earlier * cut)
    views: dict[int, Any] = {}
    for number, each in enumerate(scenario.parts):
        if number in (cut, known):
            views[number] = (telling.view.copy(), len(telling.events))
        telling.feed(each)
    telling.finish()
    view, done = views.get(cut, (telling.view.copy(), len(telling.events)))
    stale, _ = views.get(known, (view, done))
    after = telling.events[done:]
    end = contents(telling.view)
    assert contents(view_after(view_for(version, [], {}), view.catch_up(), after)) == end
    assert contents(view_after(anew(stale, version=version), view.catch_up(), after)) == end
    assert contents(view_after(stale, view.catch_up(stale.open), after)) == end


@EACH
@settings(SETTINGS, max_examples=examples(100))
@given(scenario=scenarios(), known=st.sampled_from(["exact", "empty"]))
def test_nothing_is_wrong_on_the_way(agui_client: AguiClient, version: str, scenario: Scenario, known: str) -> None:
    assume(not scenario.repeats_ids and not scenario.mixes_calls)
    begun = view_for(version, held_before(scenario) if known == "exact" else [], {})
    telling = run_parts(scenario.parts, None, options_for(version), begun.copy())
    _, shown = in_client(agui_client, version, begun, telling.feeds)
    assert shown == in_view(begun.copy(), telling.feeds)
    stored = displayed(held_before(scenario))
    assert faults(Run(scenario.parts, telling.feeds, shown, telling.options, stored)) == []
