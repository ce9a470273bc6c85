"""Whether a server is ready: by what its agents depend on, and by how many processes there are."""

import asyncio
import logging
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Platform
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from langgraph_sdk import get_client

from fixtures.gated import GATED
from tests.support.clients.locally import SharedStore
from tests.support.servers.platforms.fault_server import End, answered, dropped, faulty, refused
from tests.support.servers.serving import served

NOT_READY = (503, "Not ready. The server's log names the agents, and the reason.")
"""Who may ask may not know the agents."""


class Database(InMemorySaver):
    """A checkpointer whose database is down, or does not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False
        self.answers = asyncio.Event()
        self.answers.set()
        self.asked = 0

    async def aget_tuple(self, config: Any) -> Any:
        self.asked += 1
        await self.answers.wait()
        if self.is_down:
            raise ConnectionError("password=secret: no connection")
        return await super().aget_tuple(config)


async def test_a_server_is_ready_while_its_checkpointers_and_platforms_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    database, chat = Database(), GATED["gated_chat"]
    limits = Limits(ready_timeout=1.0)
    at_ok = [
        answered({"ok": True}),
        refused(404, ""),
        refused(401, ""),
        refused(500, ""),
        dropped(End.HELD),
        refused(404, ""),
    ]
    async with faulty({"/ok": at_ok}) as server, get_client(url=server.url) as client:
        agents: dict[str, Any] = {
            "a": chat(database),
            "b": chat(database),
            "none": chat(None),
            "far": Platform(client, "agent"),
        }
        app = agui_app(agents, limits=limits, authenticate=lambda request: None)
        async with served(app) as own, own.client() as asks:

            async def ready() -> tuple[int, str]:
                answer = await asks.get("/ready")
                found = answer.json()
                return answer.status_code, found.get("message") or found["status"]

            for _ in range(3):
                assert await ready() == (200, "ready")
            for _ in range(2):
                assert await ready() == NOT_READY
            database.is_down = True
            assert await ready() == NOT_READY
            database.is_down, database.asked = False, 0
            database.answers.clear()
            assert {*await asyncio.gather(*(ready() for _ in range(5)))} == {NOT_READY}
            assert database.asked == 1
            database.answers.set()
            assert await ready() == (200, "ready")
            assert (await asks.get("/health")).json() == {"status": "ok"}
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    reasons = [line for line in lines if line.startswith("Not ready: ")]
    assert reasons == [
        "Not ready: the platform of agents far: ConnectionError: HTTP status 500",
        "Not ready: the platform of agents far: no answer within 1 seconds",
        "Not ready: the checkpointer of agents a, b: ConnectionError: password=secret: no connection",
        "Not ready: the checkpointer of agents a, b: no answer within 1 seconds",
    ]


async def test_several_processes_are_refused_for_graphs_of_this_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def local(**more: Any) -> Any:
        return agui_app(GATED["gated_chat"](InMemorySaver()), **more)

    async def starts(app: Any) -> bool:
        async with app.router.lifespan_context(app):
            return True

    async with get_client(url="http://127.0.0.1:1") as client:
        platform = agui_app(Agent(Platform(client, "agent")))
        monkeypatch.setenv("WEB_CONCURRENCY", "2")
        assert await starts(platform)
        with caplog.at_level(logging.WARNING):
            assert await starts(local(store=SharedStore()))
        assert "The threads of agent 'default' are in the memory of this process" in caplog.text
        with pytest.raises(RuntimeError, match=r"^WEB_CONCURRENCY=2 asks for several .* Set WEB_CONCURRENCY=1, give"):
            await starts(local())
    for one in ("1", "", "none"):
        monkeypatch.setenv("WEB_CONCURRENCY", one)
        assert await starts(local())
