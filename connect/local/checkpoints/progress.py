"""Reads how far a run has come, by what the checkpointer has of it: `read_progress`. Whoever continues the run needs
that to submit the input of the run again (`run.run_input`).

LangGraph decides by the newest checkpoint of a thread whether it takes the input of a turn: if that checkpoint was made
by a run of the same id, the run continues there, and its input is dropped
(`_first` in https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py). It does not
decide whether a `Command` has been carried out, in whole or in part:

- What `Command(update=...)` writes is stored next to the checkpoint, and would be written a second time.
- LangGraph finds the answer of an interrupt by the task that raised it, whichever of its questions the task has
  reached. If the task has taken its answer and then asked again, the answer would be taken for the second question too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Send

OF_INPUTS: Final = str(UUID(int=0))
"""The task under which LangGraph stores what a `Command` writes."""
_SENDS: Final = "__pregel_tasks"
_BRANCH: Final = "branch:to:"
_JOIN: Final = "join:"
"""The channels that say which nodes come next: those that were sent something, those that an edge leads to, and those
that wait for several others (`join:a+b:name`)."""
_INTERRUPT: Final = "__interrupt__"
_RESUME: Final = "__resume__"
"""The channels in which LangGraph stores the questions of a task, and the answers that the task has taken."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    - `has_begun`: whether the newest checkpoint of the thread was made by the run.
    - `written`: the channels for which a `Command` has stored values next to the checkpoint where the run starts.
    - `taken`: for each task of the run's superstep, and of those in its subgraphs, the number of answers that the task
      has taken.
    - `tasks`: for each interrupt that waits, the task that has raised it.
    - `next`: the nodes that come next at the checkpoint where the run starts, or continues.
    """

    has_begun: bool = False
    written: frozenset[str] = frozenset()
    taken: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    next: frozenset[str] = frozenset()


async def read_progress(
    saver: BaseCheckpointSaver[Any],
    thread_id: str,
    run_id: str,
    *,
    checkpoint_id: str | None = None,
    answers: bool = False,
) -> Progress:
    """Returns how far a run has come. `checkpoint_id`: the earlier checkpoint where it starts; None is the newest.
    `answers`: whether it answers interrupts, without which `taken` and `tasks` are not read. Raises what the
    checkpointer raises."""
    newest = await saver.aget_tuple(_at(thread_id))
    if newest is None:
        return Progress()
    has_begun = newest.metadata.get("run_id") == run_id
    start = newest
    if checkpoint_id is not None and not has_begun:
        start = await saver.aget_tuple(_at(thread_id, checkpoint_id)) or newest
    written = frozenset(channel for task, channel, _ in start.pending_writes or () if task == OF_INPUTS)
    taken, tasks, depths = dict[str, int](), dict[str, str](), dict[str, int]()
    if answers:
        async for checkpoint in _unfinished(saver, newest):
            depth = len(checkpoint.config["configurable"].get("checkpoint_ns") or "")
            for task, channel, value in checkpoint.pending_writes or ():
                if channel == _RESUME:
                    taken[task] = len(value)
                for interrupt in value if channel == _INTERRUPT else ():
                    if depth >= depths.get(interrupt.id, 0):  # the tasks around it have the interrupt too
                        depths[interrupt.id], tasks[interrupt.id] = depth, task
    return Progress(has_begun, written, taken, tasks, next_nodes(start))


def next_nodes(checkpoint: CheckpointTuple) -> frozenset[str]:
    """Returns the nodes that come next at a checkpoint, or after the tasks that have finished there. The graph that
    wrote it may have had other nodes than the present one, and LangGraph ignores nodes that it does not know."""
    names = set[str]()
    written = [(channel, value) for _, channel, value in checkpoint.pending_writes or ()]
    for channel, value in [*checkpoint.checkpoint["channel_values"].items(), *written]:
        if channel == _SENDS:
            sends = value if isinstance(value, list | tuple) else [value]
            names |= {send.node for send in sends if isinstance(send, Send)}
        elif channel.startswith(_BRANCH):
            names.add(channel.removeprefix(_BRANCH))
        elif channel.startswith(_JOIN) and isinstance(value, set):
            before, _, name = channel.removeprefix(_JOIN).rpartition(":")
            if value == set(before.split("+")):
                names.add(name)
    return frozenset(names)


async def _unfinished(saver: BaseCheckpointSaver[Any], newest: CheckpointTuple) -> AsyncIterator[CheckpointTuple]:
    """Yields the newest checkpoint of a thread, and those of the subgraphs that its tasks have begun: every later
    checkpoint belongs to one of these."""
    thread_id = newest.config["configurable"]["thread_id"]
    yield newest
    if isinstance(saver, InMemorySaver):  # it lists namespace by namespace
        for ns in [ns for ns in saver.storage[thread_id] if ns]:
            if (inner := await saver.aget_tuple(_at(thread_id, ns=ns))) is not None:
                yield inner
        return
    listed: Any = saver.alist({"configurable": {"thread_id": thread_id}})
    async with aclosing(listed) as checkpoints:  # it may hold a lock of the checkpointer
        async for checkpoint in checkpoints:
            if checkpoint.checkpoint["id"] <= newest.checkpoint["id"]:
                return
            yield checkpoint


def _at(thread_id: str, checkpoint_id: str | None = None, ns: str = "") -> Any:
    named = {} if checkpoint_id is None else {"checkpoint_id": checkpoint_id}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, **named}}
