"""What is in a log of Redis: events that come back as they were, and snapshots that stand for all before them.

A fourth of the fixtures have one of their recordings looked at, in turn; a sweep has all. That a view which joins at
any cut ends as the others is a rule of the translator, which is tested on every fixture in `translator/client/`.
"""

import pytest
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.connect.local.store.records import MORE, SNAPSHOT, Entry
from langgraph_agui.connect.local.store.redis.keys import entry_of, news_of
from langgraph_agui.translator import ClientView, Options, encode

from tests.support.clients.batch_readers import held
from tests.support.streams.translated import SOURCES, translated
from tests.support.streams.translator_runs import Event
from tests.support.sweeps import CHOSEN, Choice, in_turn

OPTIONS = Options(protocol_version="1.0", first_state="delta")


def applied(view: ClientView, kind: str, events: list[Event]) -> ClientView:
    """A view after the events of an entry, which were in Redis."""
    frames = b"".join(map(encode, events))
    entry = entry_of(b"7-1", {b"kind": kind.encode(), b"at": b"%d" % len(events), b"frames": frames})
    assert entry == Entry(7, 1, kind, len(events), frames)
    for event, frame in entry.events(None):
        assert encode(event) == frame
        view.apply(event)
    return view


@pytest.mark.parametrize("message", [b"more 7-1 3\ndata: {}\n\n", b"unknown 7-1 0\n"])
def test_messages_that_only_other_versions_send_are_ignored(message: bytes) -> None:
    assert news_of(message) is None


@CHOSEN
@pytest.mark.parametrize(("fixture", "source"), in_turn(SOURCES, of=4))
def test_a_view_is_the_same_after_a_snapshot_and_what_follows_it(fixture: str, source: str, chosen: Choice) -> None:
    for turn in translated(f"{source}/{fixture}", "1.0.0"):
        feeds = [*turn.telling.feeds]
        cuts = [at for at, feed in enumerate(feeds[: len(turn.views) - 1]) if feed]
        for at in chosen(cuts, turn.recording.name):
            snapshot = Reader(OPTIONS).catch_up(turn.views[at])
            view = applied(ClientView(version="1.0"), SNAPSHOT, snapshot)
            assert Reader(OPTIONS).catch_up(view) == snapshot
            for feed in feeds[at + 1 :]:
                applied(view, MORE, feed)
            assert held(view) == held(turn.telling.view)
