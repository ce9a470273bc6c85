"""One run of the gated chat on a real server, recorded: its events, and what the server says of it on the way.

Here: recording it. Never here: what a server makes of it that fails (`scripted_platform`).
"""

import json
from typing import Any, NamedTuple

import httpx
from langgraph_sdk import get_client

from tests.support.clients.platform.runs import FULL, started
from tests.support.servers.gates import gates
from tests.support.servers.serving import WITHIN

Answered = dict[str, Any]

_KEPT = ("langgraph_step", "langgraph_node", "langgraph_checkpoint_ns", "run_id", "ls_model_type")
"""What is kept of the metadata of a message, so that each byte of the run can be cut at."""
_EMPTY = ("additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls", "tool_call_chunks", "name")
"""Fields of a message's chunk that are left out when they say nothing."""


class Recorded(NamedTuple):
    """A run from its start to its end, well and without a pause."""

    events: list[tuple[str, Any]]
    """Each with its name and data."""
    states: list[Answered]
    """The thread's state before the run and after each of its root values, as far as the run waited there."""
    threads: list[Answered]
    """The thread while the run goes on, and after it."""
    runs: list[Answered]
    """The run while it goes on, and after it."""
    schemas: Answered
    """What its assistant says of its graph."""


async def recorded(url: str, graph: str = "gated_chat", waits: tuple[str, ...] = ("first 0", "second 0")) -> Recorded:
    """A run of this graph on this server; `waits`: the points at which a state is read."""
    async with gates() as gate, get_client(url=url) as client:
        gate.hold(*waits)
        run = await started(client, graph, gate, after_seconds=1, **FULL)
        states = [await run.state()]
        for point in waits:
            await gate.reached(point)
            states.append(await run.state())
            threads, runs = [await run.thread()], [await run.run()]
            gate.open(point)
        await run.end()
        events = await _events(url, run.thread_id, run.run_id)
        schemas: Any = await client.assistants.get_schemas(runs[0]["assistant_id"])
        states.append(await run.state())
        return Recorded(events, states, [*threads, await run.thread()], [*runs, await run.run()], dict(schemas))


async def _events(url: str, thread_id: str, run_id: str) -> list[tuple[str, Any]]:
    async with httpx.AsyncClient(base_url=url, timeout=WITHIN) as http:
        path = f"/threads/{thread_id}/runs/{run_id}/stream"
        body = (await http.get(path, headers={"Last-Event-ID": "0-0"})).text
    events: list[tuple[str, Any]] = []
    for frame in body.split("\r\n\r\n"):
        if frame.startswith("event: "):
            lines = dict(line.split(": ", 1) for line in frame.split("\r\n"))
            events.append((lines["event"], _slim(json.loads(lines["data"]))))
    return events


def _slim(data: Any) -> Any:
    if not isinstance(data, list):
        return data
    message, metadata = data
    slim = {key: value for key, value in message.items() if value or key not in _EMPTY}
    return [slim, {key: metadata[key] for key in _KEPT if key in metadata}]
