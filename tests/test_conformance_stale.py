"""A client that has missed something, or everything, before a turn: it still ends with what the checkpoint holds (G2).

After the turns of a fixture its first turn comes once more, with another question.
"""

from dataclasses import replace

import pytest

from fixtures import FIXTURES, Turn

from .agui_client import AguiClient
from .readers import STALE, Verdicts
from .test_conformance import FORMS, follow

ASKED_AGAIN = [
    name
    for name, fixture in FIXTURES.items()
    if fixture.checkpointed and fixture.messages_key and fixture.recorded and not fixture.composed
]
_found: dict[str, Verdicts] = {}


def once_more(turn: Turn) -> Turn:
    """The same turn with another question."""
    given = dict(turn.input)
    given["messages"] = [
        {**message, "id": "user-again"} if isinstance(message, dict) and "id" in message else message
        for message in given.get("messages", ())
    ]
    return replace(turn, input=given)


@pytest.fixture(params=ASKED_AGAIN)
async def found(request: pytest.FixtureRequest, agui_client: AguiClient) -> Verdicts:
    name = str(request.param)
    if name not in _found:
        turns = FIXTURES[name].turns
        known = [*STALE, "empty", "unknown"]
        _found[name] = await follow(name, FORMS["v1"], known, agui_client, [*turns, once_more(turns[0])])
    return _found[name]


async def test_the_client_accepts_every_stream_without_a_warning(found: Verdicts) -> None:
    assert found.refused == []


async def test_everything_is_closed_before_the_terminal_event(found: Verdicts) -> None:
    assert found.left_open == []


async def test_the_messages_are_the_checkpoints(found: Verdicts) -> None:
    assert found.messages == []


async def test_the_state_is_the_checkpoints(found: Verdicts) -> None:
    assert found.state == []


async def test_the_view_is_the_clients(found: Verdicts) -> None:
    assert found.view == []


async def test_no_snapshot_or_delta_tells_nothing_new(found: Verdicts) -> None:
    assert found.needless == []
