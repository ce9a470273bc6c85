"""A graph run and translated, against the same run with its stream thrown away; and the peer on the same graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from langgraph_agui.translator import translate_sse

from ..graphs import ASKED, agent, answering, bare, config
from ..peer import Peer
from ..rows import Row
from ..timing import Timing, timed_async

TOKENS = 2000
_ROUNDS = 11
_SHORT_ROUNDS = 41


def rows(*, peer: bool) -> Iterator[Row]:
    """CPU time of a run as a ratio to the bare one; the fixed cost of a run in milliseconds."""
    for name, graph in (("one node", answering(TOKENS)), ("agent, 2 turns, a tool", agent(TOKENS))):
        without, ours, *theirs = _timed(graph, _ROUNDS, peer)
        told = f"{name}, {TOKENS:,} tokens"
        for title, timing, bound in zip(_TITLES, (ours, *theirs), (1.2, None, None), strict=False):
            added = (timing.least - without.least) / TOKENS * 1e6
            note = f"median {timing.middle / without.middle:.2f} x; {added:.1f} us a token added"
            yield Row("end to end", told + title, timing.least / without.least, "x", bound, note)
    without, ours, *theirs = _timed(answering(1), _SHORT_ROUNDS, peer)
    for title, timing, bound in zip(_TITLES, (ours, *theirs), (1.0, None, None), strict=False):
        yield Row("fixed cost", f"one run of one token{title}", (timing.middle - without.middle) * 1e3, "ms", bound)


_TITLES = ("", ": ag-ui-langgraph, raw events off", ": ag-ui-langgraph, its defaults")


def _timed(graph: Any, rounds: int, peer: bool) -> list[Timing]:
    async def drained() -> None:
        async for _ in bare(graph, ASKED, config()):
            pass

    async def translated() -> None:
        async for _ in translate_sse(bare(graph, ASKED, config()), thread_id="t", run_id="r"):
            pass

    async def quiet() -> None:
        await Peer(graph, raw=False).run(config())

    async def usual() -> None:
        await Peer(graph, raw=True).run(config())

    variants: list[Callable[[], Awaitable[Any]]] = [drained, translated]
    return timed_async([*variants, quiet, usual] if peer else variants, rounds)
