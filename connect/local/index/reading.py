"""Reads a thread for its row of the index: `read_row`. If its state can't be read, the row says `unreadable`."""

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
"""Where in the graph's store the metadata of threads are, by thread id."""

_KEYS_OF_LANGGRAPH: Final = frozenset({"source", "step", "parents", "run_id", "thread_id", "writes"})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexedAgent:
    """An agent whose threads are in an index, and what they are read with.

    - `graph`, `name`: see `Local`.
    - `access`: which threads it may use, and those of which user.
    - `messages_key`: the channel of the conversation.
    - `store`, `owners`, `note`: those of its `Runs`; `note` is told how a thread's last run ended.
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
        """Whose list it is. An agent without a name has the graph's, after a space: no other agent can have that
        name."""
        owners = None if self.name is None else frozenset({self.name, *self.access.shares_threads_with})
        name = f" {self.graph.get_name()}" if self.name is None else self.name
        return Reader(name, owners, comparable(self.access.equal))

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The graph's checkpointer."""
        assert isinstance(self.graph.checkpointer, BaseCheckpointSaver)
        return self.graph.checkpointer

    def key(self, thread_id: str) -> ThreadKey:
        """A thread as its run store knows it."""
        return self.store.key(self.graph, self.name, thread_id)

    async def is_running(self, thread_id: str) -> bool:
        """Whether a run is active on a thread, in whatever process."""
        run = await self.store.active(self.key(thread_id))
        return run is not None and (run.is_readable or run.status == "stopping")

    def may_use(self, row: IndexRow) -> bool:
        """Whether the thread of a row may be used, by the agent and by the user."""
        key = self.key(row.thread_id)
        self.owners.note(key, row.access)
        return self.access.allows(self.owners.known(key))

    def label(self, thread_id: str | None) -> str:
        """The agent and a thread as log lines name them."""
        return log_context(self.name or self.graph, thread_id)


async def read_row(agent: IndexedAgent, thread_id: str, head: Head, old: IndexRow | None) -> IndexRow:
    """A thread as it is now. `head`: its newest checkpoint. `old`: the row that it has. Raises what the checkpointer
    raises if it is not known whose thread it is, and what the graph's store raises."""
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
    changes = await written(agent, thread_id)
    row, metadata = replace(row, written=changes), {**changes, **first.metadata}
    try:
        state, status = await _state(agent, thread_id)
    except Exception:  # whatever a checkpointer raises, or the graph, which applies what is written to the checkpoint
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
    """The thread's newest state, and its status. The run store is asked first and last: a run may begin or end."""
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
    """What the thread's first checkpoint says; it is read once."""
    if old is not None and head.first_id is not None and old.first.id == head.first_id:
        return old.first
    saver, config, saved = agent.saver, _config(thread_id), None
    if head.first_id is not None:
        saved = await saver.aget_tuple(_config(thread_id, head.first_id))
    if saved is None or saved.metadata.get("step") != -1:
        firsts = [checkpoint async for checkpoint in saver.alist(config, filter={"step": -1}, limit=1)]
        saved = firsts[0] if firsts else None
    if saved is None:  # `update_state` made the thread
        return First(id=head.first_id)
    return First(
        id=head.first_id,
        created_at=saved.checkpoint["ts"],
        opening=_opening(saved, agent.messages_key),
        metadata=_left_by_run(saved.metadata),
    )


async def _access(agent: IndexedAgent, thread_id: str, first: First) -> Mapping[str, Any]:
    """The metadata that decide who may use the thread, from its checkpoints. What this process remembers of a thread
    does not count: the thread may have been deleted since, and its id be used by others."""
    access, config = scalars(first.metadata), _config(thread_id)
    if not agent.access.keys <= access.keys() and (saved := await agent.saver.aget_tuple(config)) is not None:
        access = {**_left_by_run(await later_metadata(agent.saver, config, saved)), **access}
    return access


async def written(agent: IndexedAgent, thread_id: str) -> dict[str, Any]:
    """The metadata that `Threads.update` has written for a thread."""
    store = agent.graph.store
    item = None if store is None else await store.aget(NAMESPACE, thread_id)
    return {} if item is None else {name: value for name, value in item.value.items() if name != MARK}


def _config(thread_id: str, checkpoint_id: str | None = None) -> Any:
    at = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **at}}


def _opening(first: CheckpointTuple, messages_key: str) -> str | None:
    """The opening of the thread's first input; later checkpoints may not have it any more, since messages are
    summarised."""
    graph_input = first.checkpoint["channel_values"].get(START)
    return opening_of(graph_input.get(messages_key)) if isinstance(graph_input, Mapping) else None


def _left_by_run(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that a run's config gave to a checkpoint, without those of LangGraph itself."""
    return {
        name: value
        for name, value in metadata.items()
        if name not in _KEYS_OF_LANGGRAPH and not name.startswith(USER)  # LangGraph keeps `configurable` there too
    }
