"""Connecting to a resumable run whose connections break: the client ends as if none had, wherever and however."""

from collections.abc import AsyncIterator
from itertools import cycle

import pytest
from langgraph_agui.connect import RetryPolicy

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.platform.recorded_run import Recorded
from tests.support.clients.platform.scripted_connects import AT_ONCE, Desk, assert_whole, desk
from tests.support.servers.platforms.fault_server import Answer, End, dropped, redirected, refused, sse
from tests.support.servers.platforms.scripted_platform import Broken, ScriptedPlatform
from tests.support.sweeps import CHOSEN, SWEEP, Choice, one_each

COUNT = 26
"""How many events the recorded run has."""
QUICK = RetryPolicy(initial_delay=0, read_timeout=0.2)


@pytest.fixture
async def at() -> AsyncIterator[Desk]:
    async with desk() as opened:
        yield opened


def lines(platform: ScriptedPlatform) -> dict[str, tuple[int, int]]:
    """Where the first line of each kind begins and ends in the whole run: `data` of `values`, a comment, ..."""
    found: dict[str, tuple[int, int]] = {}
    place, name = 0, ""
    for frame in platform.log():
        for line in frame.splitlines(keepends=True):
            kind = line.partition(b":")[0].strip().decode() or "comment"
            name = line.decode().strip() if kind == "event" else name
            found.setdefault(f"{kind if line.strip() else 'blank'} of {name}", (place, place + len(line)))
            place += len(line)
    return found


@pytest.mark.parametrize("is_all", [False, pytest.param(True, marks=SWEEP)])
async def test_cut_inside_each_kind_of_line(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, is_all: bool
) -> None:
    """At its beginning, in its middle or at its end, in turn."""
    ends = cycle([End.TORN, End.RESET, End.CLEAN])
    for number, (begin, over) in enumerate(lines(ScriptedPlatform(recorded_chat)).values()):
        cuts = [begin + 1, (begin + over) // 2, over - 1]
        for cut in cuts if is_all else [cuts[number // 2 % 3]]:
            platform = ScriptedPlatform(recorded_chat)
            platform.streams = [Broken(at=cut, end=next(ends))]
            guest = await at.told(platform, VERSIONS[number % 2])
            assert_whole(agui_client, guest, platform)
        next(ends)  # the next kind of line begins with another end


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=SWEEP)])
@pytest.mark.parametrize(
    ("present", "version", "kinds"),
    [(1, VERSIONS[0], ("metadata", "values", "messages")), (7, VERSIONS[1], ("messages", "updates"))],
)
async def test_cut_again_and_again_at_every_byte_of_an_event_of_each_kind(
    recorded_chat: Recorded,
    agui_client: AguiClient,
    at: Desk,
    present: int,
    version: str,
    kinds: tuple[str, ...],
    step: int,
) -> None:
    platform = ScriptedPlatform(recorded_chat, present=present)
    ends = [0]
    for frame in platform.log():
        ends.append(ends[-1] + len(frame))
    for kind in kinds:
        first = [name for name, _ in platform.events].index(kind)
        platform.streams += [Broken(at=byte) for byte in range(ends[first], ends[first + 1], step)]
    guest = await at.told(platform, version, RetryPolicy(initial_delay=0, max_attempts=10_000))
    assert len(platform.sent) > 500 // step
    assert_whole(agui_client, guest, platform)


@CHOSEN
@pytest.mark.parametrize("per_id", [1, 4, COUNT])
@pytest.mark.parametrize(("missed", "overlap"), [(0, 0), (4, 0), (4, 2)])
async def test_cut_after_each_event_whatever_shares_an_id(
    recorded_chat: Recorded,
    agui_client: AguiClient,
    at: Desk,
    per_id: int,
    missed: int,
    overlap: int,
    chosen: Choice,
) -> None:
    for told in chosen(range(COUNT), f"{per_id} {missed} {overlap}"):
        platform = ScriptedPlatform(recorded_chat, per_id=per_id, overlap=overlap)
        platform.streams = [Broken(at=sum(map(len, platform.log()[:told])), missed=missed)]
        guest = await at.told(platform, VERSIONS[told % 2])
        assert_whole(agui_client, guest, platform)


@CHOSEN
@pytest.mark.parametrize("ahead", [0, 1, 5])
async def test_joined_after_each_event_and_cut_in_the_replay_and_after_it(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, ahead: int, chosen: Choice
) -> None:
    for present in chosen(range(1, COUNT), f"{ahead} ahead"):
        platform = ScriptedPlatform(recorded_chat, present=present, ahead=ahead, overlap=1)
        log = platform.log()
        cuts = [sum(map(len, log[:place])) + 40 for place in (present // 2, present, (present + COUNT) // 2)]
        platform.streams = [Broken(at=cut) for cut in cuts]
        guest = await at.told(platform, VERSIONS[present % 2])
        assert_whole(agui_client, guest, platform)


ANSWERS: dict[str, list[Broken | Answer]] = {
    "502": [refused(502)],
    "503": [refused(503, "come again")],
    "429": [refused(429, "slowly"), refused(429, "slowly")],
    "408": [refused(408)],
    "no answer": [dropped(End.RESET), dropped(End.CLEAN)],
    "a page": [Answer(200, {"Content-Type": "text/html"}, [b"<html>proxy</html>"])],
    "nothing": [sse(b"")],
    "no json": [sse(b'event: values\r\ndata: {"messages": [\r\n\r\n')],
    "other bytes": [sse(b"\xff\xfe\x00\r\n\r\n" * 5)],
    "silence": [dropped(End.HELD)],
}


@pytest.mark.parametrize(("how", "version"), one_each(ANSWERS, VERSIONS))
async def test_a_join_that_goes_wrong(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, how: str, version: str
) -> None:
    for before in ([], [Broken(upto=4000)]):
        platform = ScriptedPlatform(recorded_chat)
        platform.streams = [*before, *ANSWERS[how]]
        guest = await at.told(platform, version, QUICK)
        assert platform.streams == []
        assert_whole(agui_client, guest, platform)


@pytest.mark.parametrize("told", [0, 1, 2, 6, 20, 25])
async def test_a_connection_that_falls_silent(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, told: int
) -> None:
    platform = ScriptedPlatform(recorded_chat)
    platform.streams = [Broken(at=sum(map(len, platform.log()[:told])) + 50, end=End.HELD)]
    guest = await at.told(platform, VERSIONS[told % 2], QUICK)
    assert_whole(agui_client, guest, platform)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_redirect_to_the_same_origin_is_followed(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, version: str
) -> None:
    platform = ScriptedPlatform(recorded_chat)
    stream = f"/threads/{platform.thread_id}/runs/{platform.run_id}/stream"
    platform.streams = [Broken(upto=3000), redirected(stream), redirected(f"{at.server.url}{stream}", 302)]
    guest = await at.told(platform, version)
    assert_whole(agui_client, guest, platform)


async def test_a_run_that_ends_while_nobody_is_connected(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk
) -> None:
    for told in range(0, COUNT, 3):
        platform = ScriptedPlatform(recorded_chat)
        platform.streams = [Broken(at=sum(map(len, platform.log()[:told])) + 60, missed=COUNT)]
        guest = await at.told(platform, VERSIONS[told % 2], AT_ONCE)
        assert_whole(agui_client, guest, platform)


QUESTIONS = ["thread", "state", "runs", "run", "schemas"]
FAILURES = {
    "502": refused(502),
    "503": refused(503, "come again"),
    "429": refused(429),
    "reset": dropped(),
    "silence": dropped(End.HELD),
}


@pytest.mark.parametrize(("question", "how"), one_each(QUESTIONS, [*FAILURES]))
async def test_a_question_that_is_not_answered_is_asked_again(
    recorded_chat: Recorded, agui_client: AguiClient, at: Desk, question: str, how: str
) -> None:
    for before in range(3):
        platform = ScriptedPlatform(recorded_chat, present=5)
        platform.streams = [Broken(upto=4000)]
        platform.instead = {question: [*[None] * before, *[FAILURES[how]] * 2, None]}
        guest = await at.told(platform, VERSIONS[before % 2], QUICK, options=None)
        assert_whole(agui_client, guest, platform)
