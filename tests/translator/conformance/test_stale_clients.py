"""A client that has missed something, or everything, before a turn: it still ends with what the checkpoint holds.

After the turns of a fixture its first turn comes once more, with another question.
"""

from dataclasses import replace

import pytest

from fixtures import FIXTURES, Turn
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.readers import STALE, Verdicts
from tests.support.sweeps import one_each
from tests.translator.conformance.test_conformance import FORMS, follow

ASKED_AGAIN = [
    name
    for name, fixture in FIXTURES.items()
    if fixture.checkpointed and fixture.messages_key and fixture.recorded and not fixture.composed
]


def once_more(turn: Turn) -> Turn:
    """The same turn with another question."""
    given = dict(turn.input)
    given["messages"] = [
        {**message, "id": "user-again"} if isinstance(message, dict) and "id" in message else message
        for message in given.get("messages", ())
    ]
    return replace(turn, input=given)


@pytest.mark.parametrize(("name", "known"), one_each(ASKED_AGAIN, [*STALE, "empty", "unknown"], of=4))
async def test_stale_clients_end_with_the_checkpoint_and_accept_all(
    name: str, known: str, agui_client: AguiClient
) -> None:
    turns = FIXTURES[name].turns
    assert await follow(name, FORMS["v1"], [known], agui_client, [*turns, once_more(turns[0])]) == Verdicts()
