"""Reads a thread for its row of the index: `read_row`. If the state can't be read, the row says `unreadable`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.constants import START
from langgraph.types import StateSnapshot

from ...access import MARK, USER, Access
from ...errors import log_context
from ...run_outcome import RunOutcome
from ...thread_info import ThreadStatus, opening_of
from ..checkpointers import Graph
from ..checkpoints.history import values_of
from ..checkpoints.owners import Owners, later_metadata, scalars
from ..checkpoints.thread_state import newest, outcome_at
from ..store.active_run import ThreadKey
from ..store.run_store import RunStore
from .row import First, Head, IndexRow, Reader, comparable, time_of

NAMESPACE: Final = ("agui_threads",)
"""The namespace of the graph's store that has the metadata of threads, by thread id."""

_KEYS_OF_LANGGRAPH: Final = frozenset({"source", "step", "parents", "run_id", "thread_id", "writes"})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexedAgent:
    """An agent whose threads are in an index, with all that is needed to read them.

    - `graph`, `name`: see `Local`.
    - `access`: decides which threads the agent and the user may use.
    - `messages_key`: the channel of the conversation.
    - `store`, `owners`, `note`: those of its `Runs`. `note` receives how a thread's last run ended.
    """

    graph: Graph
    name: str | None
    access: Access
    messages_key: str
    store: RunStore
    owners: Owners
    note: Callable[[ThreadKey, RunOutcome | None, object], None]

    @property
    def reader(self) -> Reader:
        """The agent and the user that a list is for. An agent without a name gets the name of its graph, after a space:
        no other agent can have such a name."""
        owners = None if self.name is None else frozenset({self.name, *self.access.shares_threads_with})
        name = f" {self.graph.get_name()}" if self.name is None else self.name
        return Reader(name, owners, comparable(self.access.equal))

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The graph's checkpointer."""
        assert isinstance(self.graph.checkpointer, BaseCheckpointSaver)
        return self.graph.checkpointer

    def key(self, thread_id: str) -> ThreadKey:
        """Returns the key of a thread in the run store."""
        return self.store.key(self.graph, self.name, thread_id)

    async def is_running(self, thread_id: str) -> bool:
        """Returns whether a run is active on a thread, in any process."""
        run = await self.store.active(self.key(thread_id))
        return run is not None and (run.is_readable or run.status == "stopping")

    def may_use(self, row: IndexRow) -> bool:
        """Returns whether the agent and the user may use the thread of a row."""
        key = self.key(row.thread_id)
        self.owners.note(key, row.access)
        return self.access.allows(self.owners.known(key))

    def label(self, thread_id: str | None) -> str:
        """Returns the names of the agent and of a thread for log lines."""
        return log_context(self.name or self.graph, thread_id)


async def read_row(agent: IndexedAgent, thread_id: str, head: Head, old: IndexRow | None) -> IndexRow:
    """Reads a thread, and returns its new row. `head`: its newest checkpoint. `old`: its present row. Raises what the
    graph's store raises, and what the checkpointer raises if it is not known to whom the thread belongs."""
    try:
        first = await _first(agent, thread_id, head, old)
        access = await _access(agent, thread_id, first)
    except Exception:  # whatever a checkpointer raises
        if old is None:
            raise
        first, access = old.first, old.access
    row = IndexRow(thread_id=thread_id, head=head, first=first, access=access)
    if not Access(agent.access.agent, agent.access.shares_threads_with).allows(access):
        return row
    changes = await updated_metadata(agent, thread_id)
    row, metadata = replace(row, written=changes), {**changes, **first.metadata}
    try:
        state, status = await _state(agent, thread_id)
    except Exception:  # whatever a checkpointer raises, or the graph, which applies the checkpoint's writes
        _log.exception("The state of a thread can't be read (%s).", agent.label(thread_id))
        made = time_of(head.checkpoint_id).isoformat()
        return replace(row, status="unreadable", updated_at=made, opening=first.opening, metadata=metadata)
    return replace(
        row,
        status=status,
        updated_at=state.created_at,
        opening=first.opening or opening_of(values_of(state).get(agent.messages_key)),
        metadata={**metadata, **_left_by_run(state.metadata or {})},
    )


async def _state(agent: IndexedAgent, thread_id: str) -> tuple[StateSnapshot, ThreadStatus]:
    """Returns the thread's newest state, and its status. Asks the run store before and after the checkpointer, since a
    run may begin or end meanwhile."""
    key, config = agent.key(thread_id), _config(thread_id)
    while True:
        is_running, last = await agent.is_running(thread_id), await agent.store.last(key)
        state = await newest(agent.graph, config)
        outcome = await outcome_at(agent.graph, state, last)
        if await agent.is_running(thread_id) == is_running and await agent.store.last(key) == last:
            break
    if is_running:
        return state, "running"
    agent.note(key, outcome, agent.name or agent.graph)
    return state, outcome.status


async def _first(agent: IndexedAgent, thread_id: str, head: Head, old: IndexRow | None) -> First:
    """Returns what the thread's first checkpoint says. It is read only once."""
    if old is not None and head.first_id is not None and old.first.id == head.first_id:
        return old.first
    saver, config, saved = agent.saver, _config(thread_id), None
    if head.first_id is not None:
        saved = await saver.aget_tuple(_config(thread_id, head.first_id))
    if saved is None or saved.metadata.get("step") != -1:
        firsts = [checkpoint async for checkpoint in saver.alist(config, filter={"step": -1}, limit=1)]
        saved = firsts[0] if firsts else None
    if saved is None:  # `update_state` created the thread
        return First(id=head.first_id)
    return First(
        id=head.first_id,
        created_at=saved.checkpoint["ts"],
        opening=_opening(saved, agent.messages_key),
        metadata=_left_by_run(saved.metadata),
    )


async def _access(agent: IndexedAgent, thread_id: str, first: First) -> Mapping[str, Any]:
    """Returns the metadata in the thread's checkpoints that decide who may use it. What this process remembers of a
    thread does not count, since the thread may have been deleted, and others may use its id now."""
    access, config = scalars(first.metadata), _config(thread_id)
    if not agent.access.keys <= access.keys() and (saved := await agent.saver.aget_tuple(config)) is not None:
        access = {**_left_by_run(await later_metadata(agent.saver, config, saved)), **access}
    return access


async def updated_metadata(agent: IndexedAgent, thread_id: str) -> dict[str, Any]:
    """Returns the metadata that `Threads.update` has written for a thread."""
    store = agent.graph.store
    item = None if store is None else await store.aget(NAMESPACE, thread_id)
    return {} if item is None else {name: value for name, value in item.value.items() if name != MARK}


def _config(thread_id: str, checkpoint_id: str | None = None) -> Any:
    at = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **at}}


def _opening(first: CheckpointTuple, messages_key: str) -> str | None:
    """Returns the opening of the thread's first input. Later checkpoints may not have it, since messages are
    summarised."""
    graph_input = first.checkpoint["channel_values"].get(START)
    return opening_of(graph_input.get(messages_key)) if isinstance(graph_input, Mapping) else None


def _left_by_run(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the metadata of a checkpoint that come from a run's config, without LangGraph's own."""
    return {
        name: value
        for name, value in metadata.items()
        if name not in _KEYS_OF_LANGGRAPH
        and not name.startswith(USER)  # LangGraph copies `configurable` into the metadata, with the user
    }
