"""Connecting to a platform that refuses, or is gone for good: the stream says so by a code, after what is open is
closed, and nothing raises, hangs or gives anything away."""

import asyncio
import sys
from collections.abc import AsyncIterator

import pytest
from langgraph_agui.connect import Platform, RetryPolicy, connect, connect_sse, watch
from langgraph_agui.connect.errors import ConnectionLost
from langgraph_agui.translator import Options

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.platform.recorded_run import Recorded
from tests.support.clients.platform.scripted_connects import AT_ONCE, Desk, assert_refused, assert_whole, desk
from tests.support.clients.reader_clients import ReaderClient, played
from tests.support.servers.platforms.fault_server import Answer, End, answered, dropped, event, refused, sse
from tests.support.servers.platforms.scripted_platform import Broken, ScriptedPlatform
from tests.support.streams.translator_runs import left_open

SOON = RetryPolicy(initial_delay=0, max_attempts=3, read_timeout=0.1)
QUESTIONS = ["thread", "state", "runs", "run", "schemas", "stream"]
AT_ALL = ["thread", "state", "runs", "schemas", "stream"]
"""Those that are requested before the run is followed; the thread only where no run is known."""
CODES = {401: "unauthorized", 403: "forbidden", 409: "conflict", 422: "invalid", 418: "platform_error"}
GONE = {
    "500": refused(500, "Traceback (most recent call last): secret"),
    "502": refused(502),
    "429": refused(429),
    "no answer": dropped(),
    "silence": dropped(End.HELD),
}


@pytest.fixture
async def at() -> AsyncIterator[Desk]:
    async with desk() as opened:
        yield opened


@pytest.mark.parametrize(("status", "code"), CODES.items())
@pytest.mark.parametrize("question", AT_ALL)
async def test_refused_from_the_beginning(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, question: str, status: int, code: str
) -> None:
    for version in VERSIONS:
        platform = ScriptedPlatform(recorded_chat, present=5)
        platform.instead = {"runs": [answered([])]} if question == "thread" else {}
        platform.instead[question] = [refused(status, "Not for you.")]
        guest = await at.told(platform, version, options=None)
        assert_refused(agui_client, guest, code)
        assert guest.kinds.count("RUN_STARTED") <= 1


@pytest.mark.parametrize(("status", "code"), CODES.items())
@pytest.mark.parametrize("keeps", [True, False])
async def test_refused_in_the_middle_as_when_a_token_expires(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, keeps: bool, status: int, code: str
) -> None:
    for told in (2, 5, 14, 18):
        platform = ScriptedPlatform(recorded_chat, keeps=keeps)
        platform.streams = [Broken(at=sum(map(len, platform.log()[:told])))]
        platform.then_instead = {each: [refused(status, "The token expired.")] for each in QUESTIONS}
        guest = await at.told(platform, VERSIONS[keeps])
        assert_refused(agui_client, guest, code)


@pytest.mark.parametrize("question", QUESTIONS)
async def test_refused_at_one_question_after_the_run_has_ended(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, question: str
) -> None:
    platform = ScriptedPlatform(recorded_chat)
    platform.then_instead = {question: [refused(403, "No more.")]}
    guest = await at.told(platform)
    answer = played(agui_client, guest)
    assert guest.end == ("success" if question in ("stream", "schemas", "run", "thread") else "forbidden")
    assert guest.kinds.count("RUN_ERROR") + guest.kinds.count("RUN_FINISHED") == 1
    assert answer.warnings == []
    assert left_open(guest.events) == []


@pytest.mark.parametrize("how", GONE)
@pytest.mark.parametrize("question", AT_ALL)
async def test_gone_from_the_beginning(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, question: str, how: str
) -> None:
    platform = ScriptedPlatform(recorded_chat, present=5)
    platform.instead = {"runs": [answered([])]} if question == "thread" else {}
    platform.instead[question] = [GONE[how]]
    guest = await at.told(platform, retry=SOON, options=None)
    assert_refused(agui_client, guest, "lost")


@pytest.mark.parametrize("how", GONE)
@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("told", [2, 5, 14, 18])
async def test_gone_in_the_middle(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, told: int, keeps: bool, how: str
) -> None:
    platform = ScriptedPlatform(recorded_chat, keeps=keeps)
    platform.streams = [Broken(at=sum(map(len, platform.log()[:told])))]
    platform.then_instead = {each: [GONE[how]] for each in QUESTIONS}
    guest = await at.told(platform, VERSIONS[keeps], SOON)
    assert_refused(agui_client, guest, "lost")
    assert guest.kinds[0] == "RUN_STARTED"


async def test_a_stream_that_never_brings_anything_is_given_up(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk
) -> None:
    platform = ScriptedPlatform(recorded_chat)
    platform.instead = {"stream": [sse(b": heartbeat\r\n\r\n")]}
    guest = await at.told(platform, retry=SOON)
    assert_refused(agui_client, guest, "lost")


async def test_a_redirect_to_another_origin_gets_no_token(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk
) -> None:
    async with desk() as elsewhere:
        platform = ScriptedPlatform(recorded_chat)
        stream = f"/threads/{platform.thread_id}/runs/{platform.run_id}/stream"
        platform.instead = {"stream": [Answer(307, {"Location": elsewhere.server.url + stream})]}
        guest = await at.told(platform)
        assert guest.end == "platform_error"
        assert elsewhere.server.requests == []


async def test_an_unknown_run_is_refused(recorded_chat: Recorded, agui_client: AguiClient, at: Desk) -> None:
    guest = await at.told(ScriptedPlatform(recorded_chat), run_id="00000000-0000-4000-8000-000000000000")
    assert_refused(agui_client, guest, "not_found")


async def test_an_unknown_thread_is_empty(recorded_chat: Recorded, at: Desk) -> None:
    at.open(ScriptedPlatform(recorded_chat))
    assert [each async for each in connect(at.client, "00000000-0000-4000-8000-000000000000")] == []


@pytest.mark.parametrize("how", GONE)
async def test_a_watch_never_gives_up_a_platform_that_has_answered(recorded_chat: Recorded, at: Desk, how: str) -> None:
    """However few attempts the policy allows; and it says that the platform is away, and that it is back."""
    platform = ScriptedPlatform(recorded_chat, present=26)
    platform.is_over = True
    away, back = asyncio.Event(), asyncio.Event()
    lost = [sse([event("heartbeat", None), away], End.TORN), *[GONE[how]] * 20]
    platform.instead = {"follow": [*lost, sse([event("heartbeat", None), back])]}
    at.open(platform)
    guest, reports, changed = ReaderClient("1.0.0", None), list[str | None](), asyncio.Event()

    def report(reason: str | None) -> None:
        reports.append(reason)
        changed.set()

    source = Platform(at.client).retrying(SOON).reporting(report)
    listens = asyncio.create_task(guest.hear(watch(source, platform.thread_id)))
    await guest.told("RUN_FINISHED")
    away.set()
    # Meanwhile, a request of another kind may be answered: then the platform is back, and lost again.
    while len(platform.instead["follow"]) > 1 or reports[-1] is not None:
        changed.clear()
        await changed.wait()
    assert reports[0] is not None
    listens.cancel()
    await asyncio.gather(listens, return_exceptions=True)
    assert guest.kinds[-1] == "RUN_FINISHED"


@pytest.mark.parametrize("how", GONE)
@pytest.mark.parametrize("question", ["runs", "follow"])
async def test_a_platform_that_is_away_at_the_beginning_is_given_up_soon(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, question: str, how: str
) -> None:
    """However many attempts the policy allows."""
    platform = ScriptedPlatform(recorded_chat)
    platform.instead = {question: [GONE[how]]}
    at.open(platform)
    guest = ReaderClient("1.0.0", None)
    retry = RetryPolicy(initial_delay=0.01, max_delay=0.01, max_attempts=sys.maxsize, first_answer=0.2)
    verb = connect if question == "runs" else watch
    await guest.hear(verb(at.client, platform.thread_id, retry=retry, options=Options(protocol_version="1.0")))
    assert_refused(agui_client, guest, "lost")


async def test_a_server_that_answers_no_more_before_a_stream_has_begun_is_given_up_soon(
    recorded_chat: Recorded, at: Desk
) -> None:
    """It has listed the thread's runs, and then says nothing when it is asked for the state."""
    platform = ScriptedPlatform(recorded_chat)
    platform.instead = {"state": [dropped(End.HELD)]}
    at.open(platform)
    source = Platform(at.client).retrying(RetryPolicy(read_timeout=3600, first_answer=0.2))
    with pytest.raises(ConnectionLost):
        await source.thread(platform.thread_id)


async def test_sse_says_it_as_well(recorded_chat: Recorded, agui_client: AguiClient, at: Desk) -> None:
    platform = ScriptedPlatform(recorded_chat)
    platform.instead = {"state": [refused(401, "Who are you?")]}
    at.open(platform)
    frames = b"".join([frame async for frame in connect_sse(at.client, platform.thread_id, retry=AT_ONCE)])
    assert b'"RUN_ERROR"' in frames
    assert b'"unauthorized"' in frames
    assert b"secret" not in frames
    assert agui_client.play(frames=frames, mode="connect").warnings == []


async def test_a_watch_outlives_any_number_of_connections_that_stood(recorded_chat: Recorded, at: Desk) -> None:
    platform = ScriptedPlatform(recorded_chat, present=26)
    platform.is_over = True
    platform.instead = {"follow": [sse([b": heartbeat\r\n\r\n"])]}
    at.open(platform)
    guest = ReaderClient("1.0.0", None)
    listens = asyncio.create_task(
        guest.hear(
            watch(at.client, platform.thread_id, retry=RetryPolicy(initial_delay=0, max_delay=0, max_attempts=3))
        )
    )
    await at.server.came(60)
    listens.cancel()
    await asyncio.gather(listens, return_exceptions=True)
    assert guest.kinds[-1] == "RUN_FINISHED"


async def test_a_run_that_is_silent_for_long_outlives_them_too(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk
) -> None:
    platform = ScriptedPlatform(recorded_chat)
    platform.streams = [Broken(at=4000, end=End.CLEAN)] * 20
    guest = await at.told(platform, retry=RetryPolicy(initial_delay=0, max_delay=0, max_attempts=3))
    assert_whole(agui_client, guest, platform)
