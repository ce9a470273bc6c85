"""Chats with graphs of a server: real clients that run them by `run`, on threads of their own.

Here: `Rooms`, and a client that is heard while its run goes on. Never here: tests.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any
from uuid import uuid4

from ag_ui.core import RunAgentInput
from langgraph_agui.connect import Intake, Platform, run
from langgraph_agui.translator import ClientView
from langgraph_sdk.client import LangGraphClient

from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.chatting import Chat
from tests.support.clients.reader_clients import ReaderClient
from tests.support.servers.gates import Gates, gates
from tests.support.servers.platforms.backend import Backend


class Room:
    """A server with its gates, and who chats there."""

    def __init__(self, gate: Gates, client: LangGraphClient, agui: AguiClient | None = None) -> None:
        self.gate = gate
        self.client = client
        self._agui = agui
        self._tasks: list[asyncio.Task[None]] = []

    def intake(self, *, run: str = "", **choices: Any) -> Intake:
        """An owner's choices, with the gates in the config of each run."""
        return Intake(**{"config": self.gate.config(run=run), **choices})

    def chat(self, graph: str, *, version: str = VERSIONS[0], options: Any = None, **choices: Any) -> Chat:
        """A client on a new thread."""
        if self._agui is None:
            raise ValueError("this room has no real client")
        how: dict[str, Any] = {"intake": self.intake(**choices), "options": options}
        return Chat(self._agui, Platform(self.client, graph), str(uuid4()), version=version, **how)

    def asks(self, graph: str, given: RunAgentInput, *, intake: Intake | None = None, **how: Any) -> "Asker":
        """A client whose run is heard in a task of its own."""
        source = Platform(self.client, graph)
        asker = Asker(run(source, given, intake=intake or self.intake(), **how), given)
        self._tasks.append(asker.task)
        return asker

    async def said(self, thread_id: str) -> list[str]:
        """What a thread holds of the conversation."""
        return [str(message["content"]) for message in (await self.values(thread_id))["messages"]]

    async def ids(self, thread_id: str) -> list[str]:
        """The ids of its messages."""
        return [str(message["id"]) for message in (await self.values(thread_id))["messages"]]

    async def values(self, thread_id: str) -> dict[str, Any]:
        """What a thread holds."""
        state = await self.client.threads.get_state(thread_id)
        return dict(state["values"])  # type: ignore[arg-type]

    async def statuses(self, thread_id: str) -> list[str]:
        """What became of a thread's runs, the oldest first."""
        return [str(run["status"]) for run in reversed(await self.client.runs.list(thread_id))]

    async def __aenter__(self) -> "Room":
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class Asker(ReaderClient):
    """A client that asked for a run, and is told it."""

    def __init__(self, told: Any, given: RunAgentInput) -> None:
        super().__init__(VERSIONS[0], ClientView(given.messages, {}, given.protocol_version))
        self.given = given
        self._told = told
        self.task = asyncio.get_running_loop().create_task(self._hears())

    @property
    def thread_id(self) -> str:
        return self.given.thread_id

    async def leave(self) -> None:
        """Goes away."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _hears(self) -> None:
        try:
            await self.hear(self._told)
        finally:
            await self._told.aclose()


def asking(text: str, run_id: str, *held: dict[str, Any], thread_id: str | None = None) -> RunAgentInput:
    """What a client sends that holds these messages and says this."""
    said = {"id": f"user-{run_id}", "role": "user", "content": text}
    wire = {"threadId": thread_id or str(uuid4()), "runId": run_id, "messages": [*held, said]}
    return RunAgentInput.model_validate({**wire, "protocolVersion": protocol(VERSIONS[0])})


@asynccontextmanager
async def room(backend: Backend, agui: AguiClient | None = None) -> AsyncIterator[Room]:
    """A room of this server, for as long as the block lasts."""
    async with gates() as gate, backend.client() as client, Room(gate, client, agui) as opened:
        yield opened
