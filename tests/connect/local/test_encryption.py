"""A checkpointer that encrypts: what a server keeps next to the checkpoints is encrypted as well."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from langgraph_agui.connect import Local, Runs, connect, threads
from langgraph_agui.connect.local.encryption import SealedError, seal, unseal
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, text

from fixtures.graphs.speech import speaker
from fixtures.scripts import end
from tests.support.servers.databases.run_databases import OF_PROCESSES, SharedRuns, on_each
from tests.support.streams.pausing_graphs import Graph, on

SECRETS = (b"artichoke", b"rhubarb", b"parsnip")
"""What the user, the model and the question say."""
HELLO = {"messages": [{"role": "user", "content": "artichoke please", "id": "user-1"}]}


class Place:
    """Two processes that share a run store and the database of a checkpointer."""

    def __init__(self, path: Path, shared: SharedRuns) -> None:
        self._path = path
        self._shared = shared

    async def runs(self, opened: AsyncExitStack) -> Runs:
        """The runs of one process."""
        store = self._shared.store()
        opened.push_async_callback(store.aclose)
        return await opened.enter_async_context(Runs(store))

    async def saver(self, opened: AsyncExitStack, key: bytes | None) -> AsyncSqliteSaver:
        connection = await opened.enter_async_context(aiosqlite.connect(self._path / "threads.db"))
        serde = None if key is None else EncryptedSerializer.from_pycryptodome_aes(key=key)
        return AsyncSqliteSaver(connection, serde=serde)

    async def stored(self) -> bytes:
        """All bytes that are kept outside of the processes."""
        files = [file.read_bytes() for file in self._path.iterdir() if file.is_file()]
        return b"".join([*files, await self._shared.stored()])


@pytest.fixture(params=on_each(OF_PROCESSES))
def place(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with OF_PROCESSES[request.param].running(tmp_path_factory.mktemp("runs")) as shared:
        yield Place(tmp_path, shared)


@pytest.fixture
async def opened() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


def talking(point: Pause, saver: AsyncSqliteSaver) -> Graph:
    """A graph whose node says something, waits, and asks: nothing of it is in a checkpoint."""
    speak = speaker(ScriptedChatModel(turns=[[*text("rhubarb pie")[:1], point, *text("rhubarb pie")[1:], *end()]]))

    async def node(state: MessagesState) -> Any:
        said = await speak(state)
        interrupt("parsnip?")
        return said

    return StateGraph(MessagesState).add_node("talk", node).add_edge(START, "talk").compile(saver)


async def test_events_ends_and_titles_are_encrypted_with_the_cipher_of_the_checkpointer(
    place: Place, opened: AsyncExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    key, point = b"0123456789abcdef", Pause()
    one, other, stranger = [await place.runs(opened) for _ in range(3)]
    graphs = [talking(point, await place.saver(opened, key)) for _ in range(2)]
    sources = [Local(graph, agent="chat", runs=runs) for graph, runs in zip(graphs, (one, other), strict=True)]
    run = await one.start(graphs[0], HELLO, on("t"), agent="chat")
    await point.reached.wait()
    reading = asyncio.ensure_future(_read(sources[1]))
    point.open.set()
    elsewhere = await reading
    assert "rhubarb" in elsewhere
    await run.wait()
    (listed,) = (await threads(sources[0]).search()).threads
    assert "artichoke" in str(listed.opening)
    stored = await place.stored()
    assert [secret for secret in SECRETS if secret in stored] == []
    assert b"aes" in stored
    assert "rhubarb" in await _read(sources[1])  # what waits is only in the store

    caplog.clear()
    graph = talking(point, await place.saver(opened, b"another-key-1234"))
    assert await stranger.store.last(stranger.store.key(graph, "chat", "t")) is None
    assert [record.levelno for record in caplog.records if "cannot be decrypted" in record.message] == [logging.WARNING]
    caplog.clear()
    await threads(Local(graph, agent="chat", runs=stranger)).search()
    lines = [record.getMessage() for record in caplog.records if "in the index" in record.getMessage()]
    assert [line for line in lines if "agent 'chat', thread 't'" not in line] == []
    assert lines


async def _read(source: Local) -> str:
    return "".join([repr(event) async for event in connect(source, "t")])


def test_data_that_cannot_be_decrypted_are_refused_and_data_in_the_clear_are_read() -> None:
    ciphers = [EncryptedSerializer.from_pycryptodome_aes(key=key).cipher for key in (b"0123456789abcdef", 16 * b"x")]
    sealed = seal(b"data: {}\n\n", ciphers[0])
    assert unseal(sealed, ciphers[0]) == unseal(b"data: {}\n\n", ciphers[0]) == b"data: {}\n\n"
    for cipher in (ciphers[1], None):
        with pytest.raises(SealedError):
            unseal(sealed, cipher)
