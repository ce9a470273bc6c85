"""An update of an editor, beside the AG-UI event that it is made of: what each costs for the same tokens."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
from langgraph_agui.connect.acp.mapping.calls import absolute_in
from langgraph_agui.connect.acp.mapping.updates import Updates
from langgraph_agui.translator import Translator, encode

from .growth import one_message
from .rows import Row
from .timing import timed

TOKENS = 20_000
_ROUNDS = 7


def rows() -> Iterator[Row]:
    """CPU time of a token's update and its line, in microseconds, and as a ratio to that of its event and frame."""
    parts = one_message(TOKENS)[:-1]
    translator = Translator("t", "r")
    translator.start()
    events = [event for part in parts for event in translator.feed(part)]

    def translated() -> None:
        one = Translator("t", "r")
        one.start()
        for part in parts:
            for event in one.feed(part):
                encode(event)

    def updated() -> None:
        session = Updates(absolute_in("/work"))
        for event in events:
            for update in session.of(event):
                params = {"sessionId": "s", "update": update}
                orjson.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})

    event, update = timed([translated, updated], _ROUNDS)
    note = f"{update.least / TOKENS * 1e6:.1f} us beside {event.least / TOKENS * 1e6:.1f} us"
    yield Row(
        "editors", "a token's update and line, to its event and frame", update.least / event.least, "x", 1.5, note
    )
