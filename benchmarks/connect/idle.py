"""Connecting to a thread of 1,000 messages on which nothing runs, against reading its state and doing nothing with it.

*Fresh* is a client that has nothing, and gets the whole thread; *returning* one that has it all.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_agui.connect import connect, connect_sse
from langgraph_agui.translator import ClientView

from ..graphs import history, keeping
from ..rows import Row
from ..timing import Timing, timed_by

MESSAGES = 1000
_ROUNDS = 21
_BOUND = 2.0  # reached is about 1.5
_WHERE: Any = {"configurable": {"thread_id": "thread"}}


def rows() -> Iterator[Row]:
    """CPU time by checkpointer and client as ratios; the bytes that each client gets."""
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        yield from runner.run(_measured("in memory", nullcontext(InMemorySaver())))
        kept = AsyncSqliteSaver.from_conn_string(str(Path(folder) / "threads.sqlite"))
        yield from runner.run(_measured("SQLite", kept))


async def _measured(name: str, checkpointer: AbstractAsyncContextManager[Any]) -> list[Row]:
    async with checkpointer as kept:
        graph = keeping(kept)
        await graph.aupdate_state(_WHERE, {"messages": history(MESSAGES)})
        view = ClientView()
        async for event in connect(graph, "thread"):
            view.apply(event)
        known = ClientView(view.messages, view.state)

        async def read() -> None:
            await graph.aget_state(_WHERE)

        async def fresh() -> int:
            return sum([len(frame) async for frame in connect_sse(graph, "thread")])

        async def returning() -> int:
            return sum([len(frame) async for frame in connect_sse(graph, "thread", view=known)])

        alone, *both = await timed_by([read, fresh, returning], _ROUNDS)
        titles = (f"{name}, {MESSAGES:,} messages: fresh", f"{name}, {MESSAGES:,} messages: returning")
        ratios = [_row(title, timing, alone) for title, timing in zip(titles, both, strict=True)]
        sizes = [await fresh(), await returning()]
        return ratios + [Row("connect", f"{title}: sent", size, "B") for title, size in zip(titles, sizes, strict=True)]


def _row(title: str, timing: Timing, alone: Timing) -> Row:
    note = f"{timing.middle * 1e3:.1f} ms of {alone.middle * 1e3:.1f}"
    return Row("connect", title, timing.middle / alone.middle, "x aget_state", _BOUND, note)
