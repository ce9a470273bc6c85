"""What processes of an earlier version have in Redis, byte for byte, and what they publish: this version reads it."""

from typing import Any

import pytest
from langgraph_agui.connect.local.store.redis.keys import Keys
from langgraph_agui.translator import Cancelled, Ending, Failed, Finished

from tests.support.redis_processes import THREAD, Process

pytestmark = pytest.mark.services

FENCE = 1795538371923
CLAIM = (
    b'{"run":"run-1","agent":"slow","owner":"bb6a13a4a6714b4a988bd3135e7d8c65","metadata":{"agui_agent":"slow"},'
    b'"needs_readers":false,"format":1}'
)
ENTRIES = (
    (
        "snapshot",
        0,
        b'data: {"type":"RUN_STARTED","threadId":"t","runId":"run-1"}\n\n'
        b'data: {"type":"STATE_SNAPSHOT","snapshot":{}}\n\n'
        b'data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"user-1","role":"user","content":"hi"}]}\n\n',
    ),
    ("more", 1, b'data: {"type":"STEP_STARTED","stepName":"talk"}\n\n'),
    (
        "more",
        3,
        b'data: {"type":"TEXT_MESSAGE_START","messageId":"lc_run--1","role":"assistant"}\n\n'
        b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"lc_run--1","delta":"one "}\n\n',
    ),
    (
        "more",
        5,
        b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"lc_run--1","delta":"two"}\n\n'
        b'data: {"type":"TEXT_MESSAGE_END","messageId":"lc_run--1"}\n\n',
    ),
    ("more", 6, b'data: {"type":"STEP_FINISHED","stepName":"talk"}\n\n'),
    (
        "finished",
        7,
        b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"run-1","outcome":{"type":"success"}}\n\n',
    ),
)
END = (
    b'{"format":1,"run":"run-1","started_at":"2026-11-24T16:39:31.923287+00:00","ending":%b,"interrupted":%b,'
    b'"breakpoint":false,"fence":1795538371923,"claim":%b}'
)


class FormerOwner:
    """Does in Redis what the process of a run did."""

    def __init__(self, redis: Any) -> None:
        self._redis = redis
        self._keys = Keys(THREAD)

    async def claims(self) -> None:
        fields = {"token": "146dca0c492f4abc8812f71f27c1f12c", "fence": FENCE, "claim": CLAIM, "status": "running"}
        await self._redis.hset(self._keys.thread, mapping={**fields, "until": 10**15})
        await self._redis.publish(self._keys.channel, b"started %d-0 0\n%b" % (FENCE, CLAIM))

    async def appends(self, first: int, last: int) -> None:
        for number, (kind, at, frames) in enumerate(ENTRIES[first - 1 : last], first):
            entry = {"kind": kind, "at": at, "frames": frames}
            await self._redis.xadd(self._keys.log(FENCE), entry, id=f"{FENCE}-{number}")
            message = b"%b %d-%d %d\n%b" % (kind.encode(), FENCE, number, at, frames)
            await self._redis.publish(self._keys.channel, message)

    async def ends(self, last: bytes) -> None:
        await self._redis.hset(self._keys.thread, mapping={"ended": "146dca", "fence": FENCE + 1, "last": last})
        await self._redis.hdel(self._keys.thread, "claim", "token", "until", "status", "cancel")


@pytest.fixture
def former(redis: Any) -> FormerOwner:
    return FormerOwner(redis)


async def test_a_run_of_an_earlier_version_is_read_while_it_runs_and_is_stopped(
    one: Process, redis: Any, former: FormerOwner
) -> None:
    await former.claims()
    await former.appends(1, 3)
    run = await one.active()
    assert (run.run_id, run.number, dict(run.metadata)) == ("run-1", FENCE, {"agui_agent": "slow"})
    reading = await one.reads(run)
    await reading.has_text("one ")
    assert await run.cancel(wait=0) == "stopping"
    assert await redis.hget(Keys(THREAD).thread, "cancel") == b"1"
    await former.appends(4, 4)
    await reading.has_text("one two")
    await former.appends(5, 6)
    assert (await reading.end()).kinds[-1] == "RUN_FINISHED"
    assert await run.wait() == "finished"


ENDINGS: list[tuple[bytes, Ending]] = [
    (b'{"type":"Finished"}', Finished()),
    (b'{"type":"Cancelled"}', Cancelled()),
    (b'{"type":"Failed","error":"ValueError"}', Failed("ValueError")),
]


@pytest.mark.parametrize(("ending", "is_read_as"), ENDINGS)
@pytest.mark.parametrize("interrupted", [b"false", b"true"])
async def test_how_a_run_of_an_earlier_version_ended_is_read(
    one: Process, former: FormerOwner, ending: bytes, is_read_as: Ending, interrupted: bytes
) -> None:
    await former.ends(END % (ending, interrupted, b"null"))
    last = await one.store.last(THREAD)
    assert last is not None
    assert (last.run_id, last.number, last.run) == ("run-1", FENCE, None)
    assert (last.ending, last.is_interrupted, last.is_at_breakpoint) == (is_read_as, interrupted == b"true", False)
    assert (last.waiting_messages, last.asking_calls) == ((), {})


async def test_a_run_of_an_earlier_version_that_has_ended_is_read_from_its_log(
    one: Process, former: FormerOwner
) -> None:
    await former.appends(1, 6)
    claim = b'"' + CLAIM.replace(b'"', b'\\"') + b'"'
    await former.ends(END % (b'{"type":"Finished"}', b"false", claim))
    last = await one.store.last(THREAD)
    assert last is not None
    assert last.run is not None
    reading = await one.reads(last.run)
    await reading.end()
    assert reading.text == "one two"
