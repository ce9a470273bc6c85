"""The servers that live tests run on, each by its name: `dev` is `langgraph dev`, `aegra` is Aegra.

Where an Aegra server cannot be started, `BACKENDS` leaves it out: no test of it is collected, and none is skipped.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from .aegra_server import has_aegra

BACKENDS = ("dev", "aegra") if has_aegra() else ("dev",)


@dataclass(frozen=True, slots=True)
class Backend:
    """A server that runs, with the gated graphs."""

    name: str
    url: str

    @asynccontextmanager
    async def client(self) -> AsyncIterator[LangGraphClient]:
        """A client of its SDK, closed at the end of the block."""
        async with get_client(url=self.url) as client:
            yield client
