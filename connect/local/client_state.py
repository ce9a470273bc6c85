"""Writes the state of an input into the checkpoint from which a run continues: `written_in_place`. For graphs of this
process.

LangGraph keeps what `Command(update=...)` writes next to the checkpoint that a run continues from, until a superstep
has ended, and adds what the next input writes. If two inputs continue from one checkpoint (a failed run that is tried
again, a stopped run that continues), a channel gets two values. Most channels refuse that, and the thread can never be
read again (https://docs.langchain.com/oss/python/langgraph/errors/INVALID_CONCURRENT_GRAPH_UPDATE). A new checkpoint,
as `update_state` makes one, would have other tasks: interrupts would get other ids, and finished tasks would run again.

So the values are written into the checkpoint itself, which keeps its id, its tasks and what they have written, and the
next input replaces them. Values of channels that are neither `LastValue` nor `BinaryOperatorAggregate` still go into
the `Command`, once for each checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.channels import BinaryOperatorAggregate, LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver, copy_checkpoint

from ..inputs.unsent import without_pending
from .checkpointers import Graph, answered, reading

_OF_INPUTS: Final = str(UUID(int=0))
"""The task under which LangGraph keeps what a `Command` writes."""


async def written_in_place(
    graph: Graph, config: RunnableConfig, values: Mapping[str, Any], label: str, *, continues: bool
) -> dict[str, Any]:
    """Writes values into the checkpoint that the run of this config continues from; returns those that are left for a
    `Command`. `values`: by channel. `continues`: whether that checkpoint is the thread's newest; an older one stays as
    it is. `label`: as `errors.log_context`. Raises `UnreadableError` for what the checkpointer raises, and what a
    reducer raises."""
    saver = graph.checkpointer
    if not values or not isinstance(saver, BaseCheckpointSaver):
        return dict(values)
    with reading(label):
        saved = await answered(saver.aget_tuple(config))
    if saved is None:
        return dict(values)
    pending = frozenset(channel for task, channel, _ in saved.pending_writes or () if task == _OF_INPUTS)
    checkpoint, versions = copy_checkpoint(saved.checkpoint), {}
    for name, value in values.items():
        channel = graph.channels.get(name)
        if not continues or name in pending or not isinstance(channel, LastValue | BinaryOperatorAggregate):
            continue
        kept = checkpoint["channel_values"]
        changed: Any = channel.from_checkpoint(kept[name]) if name in kept else channel.copy()
        changed.update([value])
        kept[name] = changed.checkpoint()
        versions[name] = saver.get_next_version(checkpoint["channel_versions"].get(name), None)
    if versions:
        checkpoint["channel_versions"] = {**checkpoint["channel_versions"], **versions}
        parent: Any = saved.parent_config or _without_checkpoint(saved.config)
        with reading(label):
            await saver.aput(parent, checkpoint, saved.metadata, versions)
    return without_pending({name: value for name, value in values.items() if name not in versions}, pending, label)


def _without_checkpoint(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config of a first checkpoint's parent."""
    keys = {name: value for name, value in config["configurable"].items() if name != "checkpoint_id"}
    return {"configurable": keys}
