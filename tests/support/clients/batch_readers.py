"""Readers of batches, as `connect` has them: what they were told, and what they hold then.

Here: `BatchReader`, and turns of the event loop. Never here: anything of ours that is tested.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from langgraph_agui.connect.events.encoded import EncodedEvent
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.translator import ClientView, Options
from langgraph_agui.translator.wire.older_clients import for_client_version

Event = dict[str, Any]
Batches = AsyncIterator[list[EncodedEvent]]


class BatchReader:
    """One reader with nothing in its hands: the events it was told, and its view of them."""

    def __init__(self, view: ClientView | None = None, version: str | None = "1.0") -> None:
        self.version = version
        self.reader = Reader(Options(protocol_version=version), view)
        self.view = self.reader.view.copy()
        self.batches: list[list[EncodedEvent]] = []

    @property
    def events(self) -> list[Event]:
        return [told.event for batch in self.batches for told in batch]

    @property
    def frames(self) -> bytes:
        """What goes over the wire."""
        return b"".join(told.frame(self.version) for batch in self.batches for told in batch)

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]

    async def hear(self, batches: Batches) -> "BatchReader":
        """Reads to the end."""
        async for batch in batches:
            self.take(batch)
        return self

    async def hear_text(self, batches: Batches, text: str) -> "BatchReader":
        """Reads until the last message's text is this, in however many batches it comes."""
        while not self.view.messages or self.view.messages[-1].get("content") != text:
            self.take(await anext(batches))
        return self

    def take(self, batch: list[EncodedEvent]) -> None:
        self.batches.append(batch)
        for told in batch:
            event = for_client_version(told.event, self.version)
            if event is not None:
                self.view.apply(event)


def held(view: ClientView) -> Any:
    """What of a view has to be equal wherever somebody joined."""
    return view.messages, view.state, view.terminal, view.run_id


async def until(holds: Callable[[], bool]) -> None:
    """Gives the event loop turns until something holds."""
    while not holds():  # noqa: ASYNC110 - anything may hold, there is nothing to wait for
        await asyncio.sleep(0)


async def turns(count: int = 5) -> None:
    """Gives everybody who is ready a few turns."""
    for _ in range(count):
        await asyncio.sleep(0)
