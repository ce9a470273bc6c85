"""Connecting to a thread of a local graph, and what a real client holds then. Never here: tests."""

from dataclasses import replace
from functools import partial
from typing import Any

from langgraph.types import StateSnapshot
from langgraph_agui.connect.events.encoded import Batches
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.run.run import Run
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.memory_store import MemoryRunStore
from langgraph_agui.connect.open_thread import OpenThread, with_errors
from langgraph_agui.translator import ClientView, Options

from tests.support.clients.agui_client import VERSIONS, AguiClient, Answer, protocol
from tests.support.clients.batch_readers import BatchReader
from tests.support.streams.pausing_graphs import Graph, on


class SharedStore(MemoryRunStore):
    """The run store of two apps in one event loop, which are to each other as two processes are."""

    is_shared = True


def connect_batches(source: Local, thread_id: str, *, options: Options, **how: Any) -> Batches:
    """A connection, whose errors are events."""
    opened = partial(OpenThread(source, thread_id).connect, options=options, **how)
    return with_errors(opened, options, lambda: thread_id)


async def connected(
    source: Local, thread_id: str = "t", *, view: ClientView | None = None, version: str = VERSIONS[0], **asked: Any
) -> BatchReader:
    """Connects, and reads to the end."""
    listener = BatchReader(view, protocol(version))
    options = replace(await source.options(), protocol_version=protocol(version))
    return await listener.hear(connect_batches(source, thread_id, options=options, view=view, **asked))


def played(client: AguiClient, listener: BatchReader, version: str = VERSIONS[0], **holding: Any) -> Answer:
    return client.play(frames=listener.frames, version=version, mode="connect", **holding)


def live_run(runs: Runs, agent: str, thread_id: str) -> Run | None:
    """The active run of an agent on a thread."""
    return next((run for run in runs.active if (run.agent, run.thread_id) == (agent, thread_id)), None)


async def state_of(graph: Graph, thread_id: str = "t") -> Any:
    return await graph.aget_state(on(thread_id))  # type: ignore[arg-type]


def inner_values(state: StateSnapshot) -> list[Any]:
    """The values of the subgraphs that have begun and not ended, at every depth; of a state with subgraphs."""
    inner = [task.state for task in state.tasks if isinstance(task.state, StateSnapshot)]
    return [values for each in inner for values in (each.values, *inner_values(each))]


def failed(code: str, message: str) -> dict[str, Any]:
    return {"type": "RUN_ERROR", "code": code, "message": message}
