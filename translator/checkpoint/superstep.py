"""Tracks which tasks have emitted messages in the current superstep of the root graph, and whether those messages can
still be stored. This module emits no events.

LangGraph yields `values` only if a channel was written to (`map_output_values` in
https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_io.py). So a superstep that writes
nothing ends without `values` (https://github.com/langchain-ai/langgraph/issues/8672). For example, the node of a router
calls a model and returns only `Command(goto=...)`. If an interrupt follows, the run stops without any further values.

Rules

1. The messages that were emitted since the last values stay unsaved if every task that emitted one has returned and no
   task has written to a channel. No later values will contain these messages. A message from a graph that runs inside a
   root task counts as a message of that task.
2. If the stream has the `tasks` mode, only that mode shows when a task has returned. An `updates` part is ambiguous,
   because it names a node and not a task (`map_output_updates` in
   https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_io.py), and `Send` may run a
   node several times. The edges of the graph create only one task for each node (`prepare_next_tasks` in
   https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_algo.py). Without the `tasks`
   mode, an `updates` part counts as the return of that task. The metadata of a message shows whether the edges created
   its task (`__pregel_pull`), unless the message comes from a graph inside the task. The messages of all other tasks
   stay until the next values.
3. A task that fails or raises an interrupt does not count as returned. LangGraph does not apply its writes, and runs it
   again when the run continues (https://docs.langchain.com/oss/python/langgraph/interrupts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..parts.channels import as_sequence, writes_channels
from ..parts.part import Namespace, task_path

_PULL: Final = "__pregel_pull"
"""The first item of the path of a task that was created by the edges of the graph, and not by a `Send`
(https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/_internal/_constants.py). The path is in
the metadata of the task's messages."""


class Superstep:
    """The state of the current superstep, according to the parts that followed the last values of the root graph."""

    def __init__(self) -> None:
        self._unfinished: set[str] = set()
        """The tasks that have emitted a message and have not returned."""
        self._of_node: dict[str, str] = {}
        """For each node, the task that the edges of the graph created for it, if that task has emitted a message (rule
        2)."""
        self._has_messages = False
        self._has_written = False
        self._has_tasks = False
        """Whether the stream has the mode `tasks` (rule 2)."""

    @property
    def has_unsaved_messages(self) -> bool:
        """Whether messages were emitted that no later values will contain (rule 1)."""
        return self._has_messages and not self._unfinished and not self._has_written

    def read_message(self, ns: Namespace, metadata: Mapping[str, Any]) -> None:
        """Records a message from a task of the graph at `ns`."""
        task, *within = task_path(ns, metadata)
        path = metadata.get("langgraph_path")
        runs_once = not within and isinstance(path, (list, tuple)) and len(path) > 0 and path[0] == _PULL
        self._has_messages = True
        self._unfinished.add(task)
        if runs_once:
            self._of_node[task.partition(":")[0]] = task

    def read_output(self, node: str, *, has_written: bool) -> None:
        """Records that a node of the root graph has returned. `has_written`: whether its output writes anything."""
        self._has_written = self._has_written or has_written
        if not self._has_tasks:
            self._unfinished.discard(self._of_node.get(node, ""))

    def read_task(self, task: Mapping[Any, Any]) -> None:
        """Reads a `tasks` part of the root graph, which is the start or the result of a task."""
        self._has_tasks = True
        if "input" not in task and task.get("error") is None and not as_sequence(task.get("interrupts")):
            self._has_written = self._has_written or writes_channels(task.get("result"))
            self._unfinished.discard(f"{task.get('name')}:{task.get('id')}")

    def reset(self) -> None:
        """Forgets the superstep, because values have arrived or the unsaved messages are being removed."""
        self._unfinished.clear()
        self._of_node.clear()
        self._has_messages = self._has_written = False
