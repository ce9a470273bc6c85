"""How often Redis is asked about a thread on which nothing else happens: for an input, and for a connection. A script
is one command, whatever it does; each command of a pipeline counts."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from ag_ui.core import RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Local, connect, run
from redis.asyncio import Redis

from tests.support.redis_processes import SLOW, process
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.serving import posted
from tests.support.streams.pausing_graphs import quick

pytestmark = pytest.mark.services

OF_A_THREAD, OF_A_LOG = ":{default:t}:", ":{default:t}:log:"


async def test_an_input_asks_redis_three_times_and_an_idle_connection_twice(server: RedisServer, redis: Any) -> None:
    async with process(server.url, SLOW) as one:
        source = Local(quick(InMemorySaver()), agent="chat", runs=one.runs)

        async def posts(run_id: str) -> None:
            given = RunAgentInput.model_validate(posted("t", run_id, run_id=run_id))
            kinds = [event.type.value async for event in run(source, given)]
            assert kinds[-1] == "RUN_FINISHED"

        async def connects() -> None:
            assert [event.type.value async for event in connect(source, "t")][-1] == "RUN_FINISHED"

        await posts("first")
        await connects()  # from now on, Redis has the scripts
        assert await _sent(redis, lambda: posts("second")) == 3
        assert await _sent(redis, connects) == 2


async def _sent(redis: Redis, work: Callable[[], Awaitable[None]]) -> int:
    """How many commands for the thread are sent meanwhile, but for those that append to a log: a run that takes longer
    has more of these. A script is one command."""
    mark, sent = uuid4().hex, list[str]()
    async with redis.monitor() as monitor:
        await work()
        await redis.echo(mark)
        async for command in monitor.listen():
            if mark in command["command"]:
                break
            if command["client_type"] != "lua":
                sent.append(command["command"])
    return sum(OF_A_THREAD in command and OF_A_LOG not in command for command in sent)
