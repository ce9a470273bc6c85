"""What the tests of servers do over and over: start a gated run on a new thread, join it, end it.

Only the server's own SDK is used here, nothing of ours that is tested.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, NamedTuple, cast

from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import StreamPart

from tests.support.servers.gates import Gates, asked

FULL: dict[str, Any] = {
    "stream_mode": ["values", "messages-tuple", "updates", "custom"],
    "stream_resumable": True,
    "stream_subgraphs": True,
}
"""How a run is started that can be joined later without loss."""


class Started(NamedTuple):
    """A run on a server."""

    client: LangGraphClient
    thread_id: str
    run_id: str

    async def run(self) -> dict[str, Any]:
        """What the server says of the run now."""
        return dict(await self.client.runs.get(self.thread_id, self.run_id))

    async def thread(self) -> dict[str, Any]:
        """What it says of its thread."""
        return dict(await self.client.threads.get(self.thread_id))

    async def state(self) -> dict[str, Any]:
        """The thread's state, with its subgraphs'."""
        return dict(await self.client.threads.get_state(self.thread_id, subgraphs=True))

    async def end(self) -> None:
        """Waits for its end."""
        await self.client.runs.join(self.thread_id, self.run_id)

    async def joined(self, last_event_id: str | None = "0-0") -> list[StreamPart]:
        """Everything that a join gives, to its end; by default from the start of the run."""
        stream = self.client.runs.join_stream(self.thread_id, self.run_id, last_event_id=last_event_id)
        return [part async for part in stream]

    async def whole(self) -> list[StreamPart]:
        """Everything that a join gives when the run has ended, each event once: a run that is joined while it goes on
        may give some of them twice."""
        await self.end()
        return await self.joined()

    async def published(self, word: str) -> None:
        """Returns when the server has handed on the chunk with this text, of a run that can be joined from its start.

        A run that waits at a point has said all before it, but the server hands it on a moment later: whoever joins in
        that moment is given some events twice.
        """
        stream = self.client.runs.join_stream(self.thread_id, self.run_id, last_event_id="0-0")
        async with aclosing(cast("AsyncGenerator[StreamPart, None]", stream)) as parts:
            async for part in parts:
                if part.event == "messages" and part.data[0]["content"] == word:
                    return

    async def next(self, graph: str, gate: Gates, *, run: str = "", **how: Any) -> "Started":
        """Another run on its thread."""
        how = {"input": asked(), **how} if "command" not in how else how
        began = await self.client.runs.create(self.thread_id, graph, config=gate.config(run=run), **how)
        return Started(self.client, self.thread_id, began["run_id"])


async def started(client: LangGraphClient, graph: str, gate: Gates, *, run: str = "", **how: Any) -> Started:
    """A run of this graph on a new thread; `how` is what `runs.create` takes."""
    thread = await client.threads.create()
    return await Started(client, thread["thread_id"], "").next(graph, gate, run=run, **how)
