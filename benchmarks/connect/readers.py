"""What it costs that many read one live run: the CPU time of 100 readers and of 1, by event and further reader.

The run is a captured stream, told to readers that take everything at once. *Live*: one event at a time, so that every
reader is woken for each. *In bursts*: as fast as it goes, so that readers get many at once. Against what an event costs
that is translated and encoded for nobody. And the memory of an event that is kept for readers which come back.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from langgraph_agui.connect.events.encoded import Batches
from langgraph_agui.connect.events.event_log import EventLog
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.connect.events.streams import Sse, frames, models
from langgraph_agui.connect.local.run.run import Run
from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.local.store.memory_store import MemoryRunStore
from langgraph_agui.translator import ClientView, Options, Translator, translate_sse

from ..graphs import again, answering, captured
from ..rows import Row
from ..timing import timed_async

TOKENS = 500
MANY = 100
_ROUNDS = 7
_LIVE, _BURST, _MEMORY = 3.5, 0.3, 800.0
_TURNS = 8
"""Turns of the event loop between two events of a live run: every reader has had the one before the next comes."""

Form = Callable[[Batches], AsyncIterator[Any]]


def rows() -> Iterator[Row]:
    """The marginal cost of an event and reader, as a ratio to that of an event alone."""
    parts = asyncio.run(captured(answering(TOKENS)))
    forms: dict[str, Form] = {
        "frames": lambda batches: frames(batches, Sse("1.0"), 15.0, str),
        "frames, no heartbeat": lambda batches: frames(batches, Sse("1.0"), None, str),
        "models": lambda batches: models(batches, "1.0", str),
    }
    for pace, paced, bound in (("live", _paced, _LIVE), ("in bursts", again, _BURST)):
        for form, formed in forms.items():
            yield _row(f"{pace}: {form}", parts, paced, formed, bound)
    kept, size = asyncio.run(_memory(parts))
    yield Row("readers", "memory by event that is kept for readers", size, "B", _MEMORY, f"of {kept:,} events")


def _row(
    name: str, parts: list[Any], paced: Callable[[list[Any]], AsyncIterator[Any]], form: Form, bound: float
) -> Row:
    def reading(readers: int) -> Callable[[], Awaitable[Any]]:
        return lambda: _read(paced(parts), readers, form)

    async def alone() -> None:
        async for _ in translate_sse(again(parts), thread_id="t", run_id="r", view=ClientView([], None)):
            pass

    one, many, least = timed_async([reading(1), reading(MANY), alone], _ROUNDS)
    further = (many.middle - one.middle) / (MANY - 1) / len(parts)
    note = f"{further * 1e6:.2f} us by event and reader"
    return Row("readers", f"1 -> {MANY}, {name}", further / (least.middle / len(parts)), "x an event", bound, note)


async def _memory(parts: list[Any]) -> tuple[int, float]:
    """How many events a log keeps that one reader has read, and the bytes that each of them takes."""
    translator = Translator("t", "r", view=ClientView([], None))
    translator.start()
    log = EventLog(translator.view)
    reading = asyncio.create_task(_drained(frames(log.read(Reader(Options())), Sse("1.0"), None, str)))
    await asyncio.sleep(0)
    gc.collect()
    tracemalloc.start()
    kept = 0
    for part in parts:
        events = translator.feed(part)
        log.publish(events)
        kept += len(events)
        await asyncio.sleep(0)
    del events
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    log.close()
    await reading
    return kept, size / kept


async def _read(parts: AsyncIterator[Any], readers: int, form: Form) -> None:
    """A run to its end, with so many readers from its start on."""
    translator = Translator("t", "r", view=ClientView([], None))
    thread = ThreadKey("agent", "t")
    run = Run(thread, translator, "agent", has_checkpointer=False)
    run.begin(lambda _: parts, await MemoryRunStore().claim(thread, run))
    await asyncio.gather(*(_drained(form(run.attach(Reader(Options())))) for _ in range(readers)))
    await run.wait()


async def _drained(told: AsyncIterator[Any]) -> None:
    async for _ in told:
        pass


async def _paced(parts: list[Any]) -> AsyncIterator[Any]:
    for part in parts:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        yield part
