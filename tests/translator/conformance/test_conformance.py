"""Every fixture, live, through the real clients: accepted without a word, and in the end the checkpoint's.

One run of the graph feeds a translator per reader: a client version and what its view is known to be.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from langgraph_agui.translator import Failed

from fixtures import FIXTURES, Turn
from fixtures.fixture import Ends
from fixtures.run import MODES, Conversation, Version, ended
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.readers import KNOWN, Reader, Verdicts, judge, readers_of
from tests.support.sweeps import CHOSEN, Choice, every, one_each

pytestmark = pytest.mark.early


class Form(NamedTuple):
    """How the stream is asked for."""

    version: Version
    subgraphs: bool
    modes: Sequence[str]


FORMS = {
    "v1": Form("v1", True, MODES),
    "v1-flat": Form("v1", False, MODES),
    "v2": Form("v2", True, MODES),
    "v2-flat": Form("v2", False, MODES),
    "more-modes": Form("v1", True, [*MODES, "tasks", "checkpoints", "tools"]),
}
UNTOLD_STATE = {
    "functional_interrupt": "an interrupt before the entrypoint returned: no values were streamed, no state was told",
}
"""Fixtures whose state a stream does not tell, with the reason."""


async def follow(
    name: str, form: Form, known: Sequence[str], client: AguiClient, turns: Sequence[Turn], chosen: Choice = every
) -> Verdicts:
    """Runs the turns of a fixture, told to the chosen readers, and judges after each.

    A fixture states how its own turns end. A turn beyond them may end otherwise than the turn that it repeats, because
    the thread holds more by then: its stream must end as the graph did.
    """
    fixture = FIXTURES[name]
    conversation = Conversation(fixture)
    readers = readers_of(name, known, fixture.messages_key, chosen)
    found = Verdicts()
    for number, turn in enumerate(turns):
        error, did_end = await run(conversation, turn, form, readers, number)
        ends = turn.ends if number < len(fixture.turns) else did_end
        state = await conversation.state()
        for reader in readers:
            values = reader.telling.translator.values if state is None else state.values
            where = f"turn {number}, client {reader.version}, {reader.known}: "
            judge(reader, client, None if error else values, ends, found, where)
    if name in UNTOLD_STATE:
        found.state = [wrong for wrong in found.state if not wrong.startswith("turn 0")]
    return found


async def run(
    conversation: Conversation, turn: Turn, form: Form, readers: Sequence[Reader], number: int
) -> tuple[Exception | None, Ends]:
    """One turn, each part fed to every reader when it comes. Returns what the graph raised, and how it ended."""
    for reader in readers:
        reader.begin(turn.input, f"run-{number}")
    raised: Exception | None = None
    seen: list[Any] = []
    stream = conversation.stream(turn, form.version, subgraphs=form.subgraphs, modes=form.modes)
    parts = aiter(stream)
    while True:
        try:
            part = await anext(parts)
        except StopAsyncIteration:
            break
        except Exception as error:
            raised = error
            break
        seen.append(part)
        for reader in readers:
            reader.telling.feed(part)
    for reader in readers:
        reader.telling.finish(Failed(raised) if raised else None)
    return raised, ended(seen, raised)


RUNS = [
    *one_each([name for name, fixture in FIXTURES.items() if not fixture.composed], [*FORMS]),
    # other fixtures run each of their parts in all forms
    *one_each([name for name, fixture in FIXTURES.items() if fixture.composed], ["v1", "more-modes"]),
]


@CHOSEN
@pytest.mark.parametrize(("name", "form"), RUNS)
async def test_clients_end_with_the_checkpoint_and_accept_all(
    name: str, form: str, chosen: Choice, agui_client: AguiClient
) -> None:
    # the other forms make do with two readers: they differ in nothing the rest differ in
    known = KNOWN if form == "v1" else KNOWN[:2]
    assert await follow(name, FORMS[form], known, agui_client, FIXTURES[name].turns, chosen) == Verdicts()
