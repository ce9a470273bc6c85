"""Clients that send inputs to a graph of this process: what one sends (`asked`), and one whose run is read in a task of
its own (`Asker`)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from ag_ui.core import RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Runs, run
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import Options

from tests.support.streams.pausing_graphs import speaking

WORDS = "one two three four"


def asked(text: str, run_id: str, *held: dict[str, Any], thread: str = "t", **more: Any) -> RunAgentInput:
    """What a client sends that says this."""
    said = {"id": f"user-{run_id}", "role": "user", "content": text}
    return RunAgentInput.model_validate({"threadId": thread, "runId": run_id, "messages": [*held, said], **more})


class Asker:
    """A client whose run is read in a task of its own."""

    def __init__(
        self, source: Local, given: RunAgentInput, intake: Intake | None = None, options: Options | None = None
    ) -> None:
        self.kinds: list[str] = []
        self.events: list[dict[str, Any]] = []
        self._stream = run(source, given, intake=intake, options=options)
        self.task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        async with aclosing(self._stream) as stream:
            async for event in stream:
                self.kinds.append(event.type.value)
                self.events.append(event.model_dump(by_alias=True, exclude_none=True))

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def held_up() -> AsyncIterator[tuple[Local, Pause, Asker]]:
    """A run that waits in the middle of what it says, and who asked for it."""
    point = Pause()
    async with Runs() as runs:
        source = Local(speaking(point, InMemorySaver(), WORDS), runs=runs)
        first = Asker(source, asked("hello", "first"))
        await point.reached.wait()
        yield source, point, first
        point.open.set()
        await first.leave()
