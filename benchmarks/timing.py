"""How a time is taken: CPU time of this process, the variants in turn, many rounds, the least and the middle one."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from time import process_time
from typing import Any, NamedTuple


class Timing(NamedTuple):
    """CPU seconds of one variant over all rounds."""

    least: float
    middle: float


def timed(variants: Sequence[Callable[[], Any]], rounds: int, *, collect: bool = True) -> list[Timing]:
    """Times functions in turn. `collect=False`: with the garbage collector off, for growth (a larger heap costs more
    at each collection, whoever made it)."""
    spent: list[list[float]] = [[] for _ in variants]
    for _ in range(rounds):
        for at, variant in enumerate(variants):
            gc.collect()
            if not collect:
                gc.disable()
            try:
                begin = process_time()
                variant()
                spent[at].append(process_time() - begin)
            finally:
                gc.enable()
    return [Timing(min(times), median(times)) for times in spent]


async def timed_by(variants: Sequence[Callable[[], Awaitable[Any]]], rounds: int) -> list[Timing]:
    """The same of coroutines that belong to the loop that is running, threads of theirs included."""
    spent: list[list[float]] = [[] for _ in variants]
    for _ in range(rounds):
        for at, variant in enumerate(variants):
            gc.collect()
            begin = process_time()
            await variant()
            spent[at].append(process_time() - begin)
    return [Timing(min(times), median(times)) for times in spent]


def timed_async(variants: Sequence[Callable[[], Awaitable[Any]]], rounds: int, *, collect: bool = True) -> list[Timing]:
    """The same of coroutines, on one event loop."""
    with asyncio.Runner() as runner:

        def on_loop(variant: Callable[[], Awaitable[Any]]) -> Callable[[], Any]:
            async def once() -> Any:
                return await variant()

            return lambda: runner.run(once())

        return timed([on_loop(variant) for variant in variants], rounds, collect=collect)
