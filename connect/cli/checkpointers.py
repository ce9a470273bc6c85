"""Where the threads of graphs of this process are kept: in memory, or in a SQLite file. Never which graphs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from .errors import Failure, brief


@dataclass(frozen=True, slots=True)
class Threads:
    """What a graph is given that has none of its own."""

    checkpointer: BaseCheckpointSaver[Any]
    store: BaseStore


@asynccontextmanager
async def kept_threads(file: Path | None) -> AsyncIterator[Threads]:
    """Threads, and the store beside them, kept in a file; None: in memory. The file is closed at the end of the block.

    Raises `Failure` for a file that is no database, and where the package that reads one is not installed.
    """
    if file is None:
        yield Threads(InMemorySaver(), InMemoryStore())
        return
    try:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
        from langgraph.store.sqlite.aio import AsyncSqliteStore
    except ModuleNotFoundError as missing:
        raise Failure(
            f"--sqlite needs a package that is not installed ({missing.name}): pip install langgraph-checkpoint-sqlite"
        ) from missing
    async with AsyncExitStack() as lifetime:
        try:
            saver = await lifetime.enter_async_context(AsyncSqliteSaver.from_conn_string(str(file)))
            store = await lifetime.enter_async_context(AsyncSqliteStore.from_conn_string(str(file)))
            await saver.setup()  # a file that is no database is opened as if it were one
            await store.setup()
        except Exception as error:
            raise Failure(f"{file} can't be used: {brief(error)}") from error
        yield Threads(saver, store)
