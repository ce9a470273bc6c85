"""A PostgreSQL that is stopped, and one that is paused: requests are answered, and all is served when it is back."""

from typing import Any

import httpx
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph_agui.connect import Local
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from examples.databases import OwnPostgres
from tests.support.servers.processes.server_process import free_port
from tests.support.servers.serving import events_of, posted, served
from tests.support.streams.pausing_graphs import quick

pytestmark = pytest.mark.services

TIMEOUT = 0.5


async def test_requests_are_answered_while_postgres_is_stopped_or_paused(caplog: pytest.LogCaptureFixture) -> None:
    asked: Any = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    with OwnPostgres(free_port()) as server:
        made: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
            server.url, kwargs=asked, min_size=1, max_size=2, open=False, check=AsyncConnectionPool.check_connection
        )
        async with made as pool:
            saver = AsyncPostgresSaver(pool)
            await saver.setup()
            source = Local(quick(saver), agent="chat", read_timeout=TIMEOUT)
            app = agui_app({"chat": Agent(source)}, limits=Limits(readers=5))
            async with served(app) as own, own.client() as client:

                async def post(path: str, *said: str, run_id: str) -> httpx.Response:
                    return await client.post(path, json=posted("t", *said, run_id=run_id))

                assert ended(await post("/chat", "one", run_id="1"))
                for number, (away, back) in enumerate(
                    ((server.pause, server.resume), (server.stop, server.start)), start=2
                ):
                    away()
                    for path in ("/chat", "/chat/connect") * 4:  # more than there are readers
                        refused = await post(path, "one", "more", run_id=str(number))
                        assert (refused.status_code, refused.json()["error"]) == (503, "unreadable_thread")
                    back()
                    said = ["one", *(f"message {each}" for each in range(2, number + 1))]
                    for _ in range(100):  # its connections are made again
                        answer = await post("/chat", *said, run_id=f"{number}-again")
                        if answer.status_code == 200:
                            break
                    assert ended(answer), answer.text
    assert "agent 'chat', thread 't', run '2'" in caplog.text


def ended(answer: httpx.Response) -> bool:
    """Whether a run ended well."""
    return answer.status_code == 200 and events_of(answer.content)[-1]["type"] == "RUN_FINISHED"
