"""Bytes sent for 1 MB of state of which ten nodes change one integer each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from langgraph_agui.translator import translate_sse

from ..graphs import ASKED, bare, config, counting, load
from ..peer import Peer
from ..rows import Row

NODES = 10
_NAME = f"1 MB of state, {NODES} nodes change an integer"


def rows(*, peer: bool) -> Iterator[Row]:
    """The bytes of the whole stream."""
    yield Row("bytes", _NAME, asyncio.run(_ours()), "B", 1.2e6)
    if peer:
        yield Row("bytes", f"{_NAME}: ag-ui-langgraph, raw events off", asyncio.run(_theirs(raw=False)), "B")
        yield Row("bytes", f"{_NAME}: ag-ui-langgraph, its defaults", asyncio.run(_theirs(raw=True)), "B")


async def _ours() -> int:
    stream = bare(counting(NODES), {**ASKED, "load": load(1_000_000), "count": 0}, config())
    return sum([len(frame) async for frame in translate_sse(stream, thread_id="t", run_id="r")])


async def _theirs(*, raw: bool) -> int:
    return await Peer(counting(NODES), raw).run(config(), {"load": load(1_000_000), "count": 0})
