"""Writes the state of an input into the checkpoint from which a run continues: `write_in_place`. For graphs of this
process. If that is an earlier checkpoint of the thread, `LocalPort` has copied it, and the state is written into the
copy.

LangGraph stores the writes of `Command(update=...)` next to the checkpoint from which a run continues. They stay there
until a superstep has ended, and the next input adds its own. If two inputs continue from one checkpoint (a failed run
that is tried again, a stopped run that continues), a channel gets two values. Most channels refuse that, and the thread
can never be read again (https://docs.langchain.com/oss/python/langgraph/errors/INVALID_CONCURRENT_GRAPH_UPDATE). A new
checkpoint, as `update_state` makes one, would have other tasks: interrupts would get other ids, and finished tasks
would run again.

So the values are written into the checkpoint itself, and the next input replaces them. The checkpoint keeps its id, its
tasks and what they have written. Values of channels that are neither `LastValue` nor `BinaryOperatorAggregate` still go
into the `Command`, once for each checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.channels import BinaryOperatorAggregate, LastValue
from langgraph.checkpoint.base import BaseCheckpointSaver, copy_checkpoint

from ..inputs.unsent import without_pending
from .checkpointers import Graph, reading, wait_for_answer
from .checkpoints.progress import OF_INPUTS


async def write_in_place(
    graph: Graph, config: RunnableConfig, values: Mapping[str, Any], label: str, *, messages_key: str
) -> dict[str, Any]:
    """Writes values into the checkpoint from which the run of this config continues, and returns those that are left
    for a `Command`.

    - `values`: by channel.
    - `messages_key`: the channel of the messages, which is never written here: if the run does not start, the results
      of a page's tools must not be in the thread.
    - `label`: the agent, the thread and the run, for the log.

    Raises what a reducer raises, and `UnreadableError` if the checkpointer raises.
    """
    saver, state = graph.checkpointer, {name: value for name, value in values.items() if name != messages_key}
    if not state or not isinstance(saver, BaseCheckpointSaver):
        return dict(values)
    with reading(label):
        saved = await wait_for_answer(saver.aget_tuple(config))
    if saved is None:
        return dict(values)
    pending = frozenset(channel for task, channel, _ in saved.pending_writes or () if task == OF_INPUTS)
    checkpoint, versions = copy_checkpoint(saved.checkpoint), {}
    for name, value in state.items():
        channel = graph.channels.get(name)
        if name in pending or not isinstance(channel, LastValue | BinaryOperatorAggregate):
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
    left = without_pending({name: value for name, value in state.items() if name not in versions}, pending, label)
    return {name: value for name, value in values.items() if name == messages_key or name in left}


def _without_checkpoint(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the config of the parent of a thread's first checkpoint."""
    keys = {name: value for name, value in config["configurable"].items() if name != "checkpoint_id"}
    return {"configurable": keys}
