"""Connecting to a run that keeps nothing, over connections that break: what was missed is mended at the next values or
at the end, and no text is ever shown cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from langgraph_agui.connect import RetryPolicy, connect
from langgraph_agui.connect.platform.join import attach

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.platform.recorded_run import Recorded
from tests.support.clients.platform.scripted_connects import Desk, assert_whole, desk
from tests.support.servers.platforms.fault_server import WITHIN, End, refused
from tests.support.servers.platforms.scripted_platform import Broken, ScriptedPlatform
from tests.support.sweeps import CHOSEN, Choice

COUNT = 26
"""How many events the recorded run has."""


@pytest.fixture
async def at() -> AsyncIterator[Desk]:
    async with desk() as opened:
        yield opened


def byte(platform: ScriptedPlatform, place: int) -> int:
    """Where the event at this place begins."""
    return sum(map(len, platform.log()[:place]))


@CHOSEN
@pytest.mark.parametrize("missed", [0, 1, 3, 9])
async def test_a_gap_after_each_event(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, missed: int, chosen: Choice
) -> None:
    for told in chosen(range(1, COUNT), f"{missed} missed"):
        platform = ScriptedPlatform(recorded_chat, keeps=False)
        platform.streams = [Broken(at=byte(platform, told) + 30, missed=missed)]
        guest = await at.told(platform, VERSIONS[told % 2])
        assert_whole(agui_client, guest, platform)


@CHOSEN
@pytest.mark.parametrize("ahead", [0, 2, 14])
async def test_joined_after_each_event_and_cut_twice(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, ahead: int, chosen: Choice
) -> None:
    for present in chosen(range(1, COUNT), f"{ahead} ahead"):
        platform = ScriptedPlatform(recorded_chat, present=present, keeps=False, ahead=ahead)
        platform.streams = [
            Broken(at=byte(platform, (present + COUNT) // 2) + 30, missed=1),
            refused(502),
            Broken(at=byte(platform, (present + 3 * COUNT) // 4), end=End.CLEAN),
        ]
        guest = await at.told(platform, VERSIONS[present % 2])
        assert_whole(agui_client, guest, platform)


async def test_all_the_rest_is_missed(recorded_chat: Recorded, agui_client: AguiClient, at: Desk) -> None:
    for told in range(1, COUNT):
        platform = ScriptedPlatform(recorded_chat, keeps=False)
        platform.streams = [Broken(at=byte(platform, told) + 30, missed=COUNT)]
        guest = await at.told(platform, VERSIONS[told % 2])
        assert_whole(agui_client, guest, platform)


async def test_what_was_being_said_at_a_gap_is_not_said_on(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk
) -> None:
    platform = ScriptedPlatform(recorded_chat, keeps=False)
    platform.streams = [Broken(at=byte(platform, 5), missed=2)]
    guest = await at.told(platform)
    said = "".join(event["delta"] for event in guest.events if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert said.startswith("One two three ")
    assert "six " not in said.partition("Alpha")[0]
    assert_whole(agui_client, guest, platform)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_connection_that_falls_silent(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, version: str
) -> None:
    platform = ScriptedPlatform(recorded_chat, keeps=False)
    platform.streams = [Broken(at=byte(platform, 7), end=End.HELD, missed=3)]
    guest = await at.told(platform, version, RetryPolicy(initial_delay=0, read_timeout=0.2))
    assert_whole(agui_client, guest, platform)


async def test_a_replay_that_pauses_is_shown_in_the_pause(
    recorded_chat: Recorded, at: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a replay without a pause is waited for."""
    monkeypatch.setattr(attach, "FOLD_MOST", 3_600.0)
    platform = ScriptedPlatform(recorded_chat, present=7)
    platform.streams = [Broken(at=byte(platform, 7), end=End.HELD)]
    at.open(platform)
    said = ""
    async with asyncio.timeout(WITHIN), aclosing(connect(at.client, platform.thread_id)) as told:
        async for event in told:
            said += getattr(event, "delta", "")
            if said:
                break
    assert said == "One two three four five "
