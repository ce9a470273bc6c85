"""Recorded runs that a reader joins anywhere, and what its view has then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph_agui.translator import ClientView

from tests.support.clients.agui_client import VERSIONS, Answer
from tests.support.streams.translated import BOUNDED, reads, translated
from tests.support.streams.translator_runs import Event, TranslatorRun, view_for
from tests.support.sweeps import Choice, every, one

TURNS = {name: turns for name, turns in BOUNDED.items() if turns[0].source in ("local", "platform", "platform-v3")}
READS = reads(TURNS, VERSIONS)
"""By fixture: its threads, and the versions of the client that read them."""


@dataclass
class Cut:
    """A stream cut in two: the events before, what the client of those has, and the events after."""

    before: list[Event]
    view: ClientView
    after: list[Event]


@dataclass
class Run:
    """One turn for a client that has what it should, with all its cuts."""

    name: str
    begun: ClientView
    events: list[Event]
    cuts: list[Cut]
    end: ClientView
    chosen: Sequence[tuple[int, Cut]]
    """The cuts that are looked at, with their places."""
    asked: Sequence[int]
    """The places of the cuts at which the real clients are asked."""


def runs(fixture: str, read: str, chosen: Choice, *, known: bool = True) -> Iterator[Run]:
    """The turns of a fixture, one after the other, for one client, whose view is known or not. `read` is one of its
    `READS`."""
    source, _, version = read.rpartition("-")
    for turn in translated(f"{source}/{fixture}", version, known=known):
        telling, name = turn.telling, turn.recording.name
        found = list(cuts(telling, turn.views[:-1]))
        looked_at = chosen(list(enumerate(found)), f"{name} {version}")
        quarters = sorted({len(found) * part // 4 for part in (1, 2, 3)})
        asked = quarters if chosen is every else one(quarters, name)
        yield Run(name, turn.begun, telling.events, found, telling.view, looked_at, asked)


def cuts(telling: TranslatorRun, views: list[ClientView]) -> Iterator[Cut]:
    """The cuts after each call that emitted something."""
    before: list[Event] = []
    events = telling.events
    for feed, view in zip(telling.feeds, views, strict=False):
        before = [*before, *feed]
        if feed:
            yield Cut(before, view, events[len(before) :])


def view_after(begun: ClientView, *streams: list[Event]) -> ClientView:
    """What a client that began with this has after these streams."""
    view = begun.copy()
    for events in streams:
        for event in events:
            view.apply(event)
    return view


def anew(view: ClientView, *, version: str) -> ClientView:
    """A client with these contents that opens a new stream."""
    return view_for(version, view.messages, view.state)


def contents(client: ClientView | Answer) -> dict[str, Any]:
    """What a client has, its order apart."""
    messages = {message["id"]: message for message in client.messages}
    return {"messages": messages, "several": len(client.messages) != len(messages), "state": client.state}


def earlier(cuts: list[Cut], at: int) -> list[Cut]:
    """Cuts before the one at `at`: the first, the one half way, the last."""
    return [cuts[number] for number in sorted({0, at // 2, at - 1}) if 0 <= number < at]
