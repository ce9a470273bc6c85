"""Recordings, translated: the one place where tests feed a recorded thread to a translator.

Turns come one after the other, for one client, whose view is known or not. To translate all recordings takes a second,
so that nothing is kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from langgraph_agui.translator import ClientView, Failed, Finished

from fixtures import FIXTURES
from fixtures.recordings import Recording, recordings
from tests.support.streams.translator_runs import Event, TranslatorRun, options_for, view_for

THREADS = {
    "/".join(name): list(turns)
    for name, turns in groupby(recordings(), key=lambda recording: (recording.source, recording.fixture))
}
"""The recorded turns of each thread, by source and fixture."""
BOUNDED = {
    name: turns
    for name, turns in THREADS.items()
    if turns[0].source == "platform" or not FIXTURES[turns[0].fixture].composed
}
"""The same for tests that cost much: of composed fixtures only what a platform streams. What is local is run live by
`translator/conformance/test_conformance.py`."""
SOURCES: dict[str, list[str]] = {}
"""The sources of each fixture's recordings, of those that are `BOUNDED`."""
for _source, _fixture in (name.split("/") for name in BOUNDED):
    SOURCES.setdefault(_fixture, []).append(_source)


def reads(threads: Iterable[str], variants: Sequence[str]) -> dict[str, list[str]]:
    """By fixture: how its recorded threads can be read, as `source-variant`."""
    found: dict[str, list[str]] = {}
    for source, fixture in (thread.split("/") for thread in threads):
        found.setdefault(fixture, []).extend(f"{source}-{variant}" for variant in variants)
    return found


@dataclass(frozen=True, slots=True)
class Translated:
    """One turn."""

    recording: Recording
    begun: ClientView
    """What the client held when the turn began."""
    telling: TranslatorRun
    """The translator, and the events of each call."""
    views: list[ClientView]
    """The translator's view after each call."""


def translated(thread: str, version: str, *, known: bool = True, **options: Any) -> Iterator[Translated]:
    """The turns of a thread for a client of this version, which holds what the turn before left it. `known`: the
    translator is given that client's view."""
    messages: list[Event] = []
    state: Any = {}
    for recording in THREADS[thread]:
        view = view_for(version, messages, state) if known else None
        chosen = options_for(version, recording.about["messages_key"], **options)
        telling = TranslatorRun(chosen, view, recording.name, recording.origin)
        views = [telling.view.copy()]
        for part in recording.parts:
            views.append(telling.view.copy() if telling.feed(part) else views[-1])
        telling.finish(ending(recording))
        yield Translated(recording, view_for(version, messages, state), telling, [*views, telling.view])
        messages, state = telling.view.messages, telling.view.state


def ending(recording: Recording) -> Failed | Finished:
    """What a caller knows of the end beside the stream: the exception of a local run; the breakpoint of a run of
    protocol v3, whose stream has none."""
    raised = recording.about["error"] if recording.source.startswith("local") else None
    if raised:
        return Failed(raised)
    return Finished(at_breakpoint=recording.source == "platform-v3" and recording.ended == "breakpoint")
