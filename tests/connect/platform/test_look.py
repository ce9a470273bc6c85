"""A look at a platform's thread takes several questions, and the thread does not stand still between them."""

from collections.abc import AsyncIterator

import pytest

from tests.support.clients.platform.recorded_run import Recorded
from tests.support.clients.platform.scripted_connects import Desk, desk
from tests.support.servers.platforms.fault_server import Answer, answered, refused
from tests.support.servers.platforms.scripted_platform import ScriptedPlatform


@pytest.fixture
async def at() -> AsyncIterator[Desk]:
    async with desk() as opened:
        yield opened


async def test_a_run_that_came_and_went_after_the_runs_were_asked_for_is_told_as_that_run(
    recorded_chat: Recorded, at: Desk
) -> None:
    platform = ScriptedPlatform(recorded_chat, present=len(recorded_chat.events))
    platform.is_over, platform.instead = True, {"runs": [answered([]), None]}
    guest = await at.told(platform)
    assert (guest.run_ids, guest.end) == ([platform.run_id], "success")


async def test_a_copied_thread_whose_state_is_of_a_run_elsewhere_is_told_by_its_checkpoint(
    recorded_chat: Recorded, at: Desk
) -> None:
    platform = ScriptedPlatform(recorded_chat, present=len(recorded_chat.events))
    platform.is_over, platform.instead = True, {"runs": [answered([])], "run": [refused(404, "Run not found")]}
    guest = await at.told(platform)
    assert guest.run_ids == [f"checkpoint-{recorded_chat.states[-1]['checkpoint']['checkpoint_id']}"]


async def test_a_copied_thread_shows_what_the_schema_of_its_graph_has(recorded_chat: Recorded, at: Desk) -> None:
    graph = recorded_chat.runs[0]["assistant_id"]
    threads = [{**each, "metadata": {**each["metadata"], "graph_id": graph}} for each in recorded_chat.threads]
    states = [{**each, "values": {**each["values"], "draft": "not for all"}} for each in recorded_chat.states]
    recorded = recorded_chat._replace(threads=threads, states=states)
    platform = ScriptedPlatform(recorded, present=len(recorded.events))
    platform.is_over, platform.instead = True, {"runs": [answered([])], "run": [refused(404, "Run not found")]}
    guest = await at.told(platform, options=None)
    assert (guest.view.state, guest.end) == ({}, "success")


@pytest.mark.parametrize(
    ("assistants", "shown"),
    [
        pytest.param(refused(404), {"draft": "not for all"}, id="a server without schemas"),
        pytest.param(answered([{"assistant_id": "another"}]), {}, id="an assistant that was deleted"),
    ],
)
async def test_what_an_unknown_assistant_would_show_is_not_guessed(
    recorded_chat: Recorded, at: Desk, assistants: Answer, shown: dict[str, str]
) -> None:
    states = [{**each, "values": {**each["values"], "draft": "not for all"}} for each in recorded_chat.states]
    platform = ScriptedPlatform(recorded_chat._replace(states=states), present=len(recorded_chat.events))
    platform.is_over, platform.instead = True, {"schemas": [refused(404)], "assistants": [assistants]}
    guest = await at.told(platform, options=None)
    assert (guest.view.state, guest.end) == (shown, "success")
