"""Every recording, local and from a server, through the real clients: accepted, and in the end the checkpoint's.

`make test` takes one recording of every other fixture: `test_conformance` runs all of them, live.
"""

from typing import Any

import pytest

from fixtures.recordings import Recording
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.readers import KNOWN, Reader, Verdicts, judge, readers_of
from tests.support.streams.translated import BOUNDED, SOURCES, ending
from tests.support.sweeps import CHOSEN, Choice, in_turn

KEPT_BACK = {"question", "secret", "hitl_edited_tool_calls"}
"""Channels that are not in their graph's output schema: a server does not stream them, though its state has them.
Protocol v3 streams every channel."""


def tell(recording: Recording, reader: Reader) -> None:
    """One recorded turn, told to a reader."""
    given = recording.about["given"]
    asked = given.get("input") if recording.source.startswith("platform") else given
    reader.begin(asked, f"run-{recording.turn}", recording.origin)
    for part in recording.parts:
        reader.telling.feed(part)
    reader.telling.finish(ending(recording))


def values(recording: Recording, reader: Reader) -> Any:
    """What the client must hold; None where nothing is promised."""
    if recording.ended == "error":
        return None
    if not isinstance(recording.state["values"], dict) or not recording.state["values"]:
        return reader.telling.translator.values
    kept_back = KEPT_BACK if recording.origin == "platform" and recording.source != "platform-v3" else set[str]()
    return {name: value for name, value in recording.state["values"].items() if name not in kept_back}


def follow(turns: list[Recording], chosen: Choice, client: AguiClient) -> Verdicts:
    """All turns of a recorded thread, told to the readers that are chosen."""
    key = turns[0].about["messages_key"]
    # the other sources make do with two readers: they differ in nothing the rest differ in
    known = KNOWN if turns[0].source in ("local", "platform") else KNOWN[:2]
    readers = readers_of(turns[0].name, known, key, chosen)
    found = Verdicts()
    for recording in turns:
        for reader in readers:
            tell(recording, reader)
            where = f"{recording.name}, client {reader.version}, {reader.known}: "
            judge(reader, client, values(recording, reader), recording.ended, found, where)
    return found


@CHOSEN
@pytest.mark.parametrize(("fixture", "source"), in_turn(SOURCES, of=2))
def test_clients_end_with_the_checkpoint_and_accept_all(
    fixture: str, source: str, chosen: Choice, agui_client: AguiClient
) -> None:
    assert follow(BOUNDED[f"{source}/{fixture}"], chosen, agui_client) == Verdicts()
