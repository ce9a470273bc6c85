"""Applications as people write them, on models of real providers: what the person at the screen must see at the end of
each run, on the way, coming in the middle, and coming later. The screens are written by hand: `fixtures/applications`.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from langgraph_agui.connect.testing.checks import Items
from langgraph_agui.translator import Finished

from fixtures.applications import APPLICATIONS
from fixtures.applications.application import Screen
from tests.support.clients.agui_client import VERSIONS, AguiClient, Answer
from tests.support.streams.joining import anew, contents, view_after
from tests.support.streams.on_the_way import Run, faults, in_view, stored_items
from tests.support.streams.screens import Line, Visit, Visited, is_beginning, lines_of, read_lines
from tests.support.streams.translator_runs import TranslatorRun, view_for
from tests.support.sweeps import CHOSEN, Choice, one_each

pytestmark = [
    pytest.mark.newest,
    # the OpenAI SDK puts an object of the schema into a field that it declares as None, and serialises that
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
]


@CHOSEN
@pytest.mark.parametrize(("name", "version"), one_each(APPLICATIONS, VERSIONS))
async def test_a_person_sees_what_the_application_shows(
    name: str, version: str, agui_client: AguiClient, chosen: Choice
) -> None:
    application, before, stored = APPLICATIONS[name], list[Line](), Items()
    async for visited in Visit(application, agui_client, version, chosen).visited():
        screen = visited.turn.screen
        wanted, passing = read_lines(screen.lines), read_lines(screen.passing)
        assert visited.watched == wanted
        judge_end(visited, screen)
        judge_coming(visited, screen, [*before, *wanted, *passing])
        judge_way(visited, stored, version, chosen)
        judge_platform(visited, stored, screen, [*before, *wanted, *passing, *read_lines(screen.elsewhere)])
        frames = visited.frames.decode()
        assert [secret for secret in application.never if secret in frames] == []
        before, stored = wanted, stored_items(visited.stored, visited.options)


def judge_end(visited: Visited, screen: Screen) -> None:
    """The state, the questions, and the custom events."""
    assert visited.state == dict(screen.state)
    assert len(visited.asks) == len(screen.asks)
    for asked, wanted in zip(visited.asks, screen.asks, strict=True):
        assert part_of(asked, wanted) == wanted
    ends = "interrupt" if screen.asks else "success"
    assert visited.events[-1].get("outcome", {"type": "success"})["type"] == ends
    custom = [(event["name"], event["value"]) for event in visited.events if event["type"] == "CUSTOM"]
    assert custom == list(screen.custom)


def judge_coming(visited: Visited, screen: Screen, allowed: Sequence[Line]) -> None:
    """Nothing else was seen at any time. Who came in the middle sees the same in the end, or what a page has that is
    loaded after the run: it may have ended meanwhile."""
    assert unexpected(visited.seen, allowed) == []
    later = read_lines(screen.lines if screen.reloaded is None else screen.reloaded)
    for joined in visited.joined:
        assert unexpected(joined.seen, [*allowed, *later]) == []
        lines, *rest = screen_of(joined.answer)
        assert (lines in (read_lines(screen.lines), later), *rest) == (True, visited.state, visited.asks)
    assert unexpected(visited.reloaded.seen, later) == []
    assert screen_of(visited.reloaded.answer) == (later, visited.state, visited.asks)


def judge_way(visited: Visited, stored: Items, version: str, chosen: Choice) -> None:
    """No rule is broken on the way, and who joins at a cut ends with what all have; translated from JSON."""
    run = TranslatorRun(visited.options, visited.begun.copy(), "run", "local")
    cuts = [(run.view.copy(), 0)]
    for part in visited.parts:
        run.feed(part)
        cuts.append((run.view.copy(), len(run.events)))
    run.finish()
    shown = in_view(visited.begun.copy(), run.feeds)
    assert faults(Run(visited.parts, run.feeds, shown, visited.options, stored)) == []
    end = contents(run.view)
    for view, done in chosen(cuts, f"{version} {visited.number}"):
        for reader in (view_for(version, [], {}), anew(cuts[0][0], version=version)):
            assert contents(view_after(reader, view.catch_up(reader), run.events[done:])) == end


def judge_platform(visited: Visited, stored: Items, screen: Screen, allowed: Sequence[Line]) -> None:
    """The same for the run as a platform streams it, without what only a run of this process tells."""
    run = TranslatorRun(visited.options, visited.begun.copy(), "run", "platform")
    parts = visited.parts_of_a_platform
    for part in parts:
        run.feed(part)
    run.finish(Finished(state=visited.stored))
    shown = in_view(visited.begun.copy(), run.feeds)
    assert faults(Run(parts, run.feeds, shown, visited.options, stored)) == []
    assert unexpected({line for each in shown for line in lines_of(each.messages)}, allowed) == []
    assert (lines_of(run.view.messages), run.view.state) == (read_lines(screen.lines), visited.state)


def unexpected(seen: set[Line], allowed: Sequence[Line]) -> list[Line]:
    """What was seen and is not the beginning of anything that is to be seen."""
    return sorted(line for line in seen if not is_beginning(line, allowed))


def screen_of(answer: Answer) -> tuple[list[Line], Any, list[Any]]:
    """What a client shows at the end."""
    return lines_of(answer.messages), answer.state, answer.pending_interrupts


def part_of(value: Any, wanted: Any) -> Any:
    """What a value has of what is wanted."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        return {name: part_of(value.get(name), each) for name, each in wanted.items()}
    return value
