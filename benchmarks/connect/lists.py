"""A page of a list of threads, behind few threads and behind many; and what an open page costs that asks for it again
and again, as the inspector does, while nothing happens."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_agui.connect.serve import agui_app

from ..graphs import keeping
from ..rows import Row
from ..timing import Timing, timed_by

FEW, MANY, LONG = 31, 500, 1_000
_ROUNDS = 41
_BOUND = 1.5  # reached is about 1
_WRITTEN_BOUND = 3.0  # reached is about 1.5: every thread is compared
_IDLE_BOUND = 1.0  # reached is about 0.1
_EVERY = 4.0
"""Seconds between two requests of an inspector's page."""
_TOKEN = "a-token-of-a-benchmark"
_PAGE: Any = {"limit": 20}
_INSPECTORS: Any = {"limit": 30}


def rows() -> Iterator[Row]:
    """CPU time by how much is stored, as ratios; that of an idle page as a part of its interval."""
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        yield from runner.run(_measured(Path(folder)))


async def _measured(folder: Path) -> list[Row]:
    async with AsyncExitStack() as open_:
        savers, clients = [], []
        for count, long in ((FEW, 1), (MANY, LONG)):
            kept = AsyncSqliteSaver.from_conn_string(str(folder / f"{count}.sqlite"))
            savers.append(await open_.enter_async_context(kept))
            await _fill(savers[-1], count, long)
            app = agui_app({"agent": keeping(savers[-1])}, token=_TOKEN)
            transport, headers = httpx.ASGITransport(app), {"Authorization": f"Bearer {_TOKEN}"}
            client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers)
            clients.append(await open_.enter_async_context(client))
            await _read_all(clients[-1])

        async def few() -> None:
            await _list(clients[0], _PAGE)

        async def many() -> None:
            await _list(clients[1], _PAGE)

        async def few_written() -> None:
            await _write(savers[0])
            await _list(clients[0], _PAGE)

        async def many_written() -> None:
            await _write(savers[1])
            await _list(clients[1], _PAGE)

        async def idle() -> None:
            await _list(clients[1], _INSPECTORS)

        one, other, one_written, other_written, page = await timed_by(
            [few, many, few_written, many_written, idle], _ROUNDS
        )
    behind = f"a page of 20 behind {MANY} threads and a chat of {LONG:,} checkpoints"
    share = 100 * page.middle / _EVERY
    return [
        _row(behind, other, one, _BOUND),
        _row(f"{behind}, after a write", other_written, one_written, _WRITTEN_BOUND),
        Row("lists", f"an open, idle inspector with {MANY} threads", share, "% of a core", _IDLE_BOUND),
    ]


def _row(title: str, timing: Timing, few: Timing, bound: float) -> Row:
    note = f"{timing.middle * 1e3:.1f} ms of {few.middle * 1e3:.1f}"
    return Row("lists", title, timing.middle / few.middle, f"x {FEW} threads", bound, note)


async def _fill(saver: AsyncSqliteSaver, count: int, long: int) -> None:
    """As many threads, and then one with as many checkpoints."""
    for number in range(count + 1):
        config: Any = {"configurable": {"thread_id": f"thread {number}", "checkpoint_ns": ""}}
        for step in range(-1, long if number == count else 0):
            metadata: Any = {"source": "loop", "step": step, "parents": {}, "agui_agent": "agent"}
            config = await saver.aput(config, {**empty_checkpoint(), "id": str(uuid6())}, metadata, {})


async def _write(saver: AsyncSqliteSaver) -> None:
    """Something that changes no list."""
    at: Any = {"configurable": {"thread_id": "thread 0", "checkpoint_ns": "inner", "checkpoint_id": str(uuid6())}}
    await saver.aput_writes(at, [("channel", 1)], "task")


async def _list(client: httpx.AsyncClient, query: dict[str, int | str]) -> str | None:
    answer = await client.get("/threads", params=query)
    answer.raise_for_status()
    cursor: str | None = answer.json()["nextCursor"]
    return cursor


async def _read_all(client: httpx.AsyncClient) -> None:
    """The index is made by the first lists."""
    cursor: str | None = ""
    while cursor is not None:
        cursor = await _list(client, {"limit": 100, **({"cursor": cursor} if cursor else {})})
