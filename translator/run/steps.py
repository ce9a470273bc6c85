"""Node runs as `STEP_STARTED` and `STEP_FINISHED`, balanced under fan-out.

Rules:

1. A step is a node; a node of a subgraph is named by its path, `outer/inner`. A subagent's steps are its own, and a
   hidden subagent, or a graph that a tool calls, has none.
2. Without the `tasks` mode a node is known to run when something is heard of it: a message, or a part of its subgraph.
   A node that says nothing is known at its end only, from `updates`.
3. Runs of one node that overlap (`Send`) are one step: the client holds a step open once per name.
4. `updates` of a node ends one of its runs; `values` of its graph ends them all, for it closes a superstep. With the
   `tasks` mode, their results end them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..options import Options
from ..outbox import Outbox
from ..parts.namespaces import Namespace, is_within
from ..wire import events
from .subagents import Subagents

_Step = tuple[str, str | None]
"""A step's name and the subagent run it belongs to: what the client knows it by."""
_Task = tuple[Namespace, str]


class Steps:
    """The steps of one run that are open."""

    def __init__(self, outbox: Outbox, options: Options, subagents: Subagents) -> None:
        self._outbox = outbox
        self._on = options.steps
        self._subagents = subagents
        self._running: dict[_Step, dict[_Task, None]] = {}
        """By step: the tasks heard of and not ended."""
        self._exact = False
        self._last: tuple[Namespace, Any] = ((), None)

    def heard(self, ns: Namespace, metadata: Mapping[str, Any]) -> None:
        """A message came from a task of the graph at `ns`."""
        node, task = metadata.get("langgraph_node"), metadata.get("langgraph_checkpoint_ns")
        if (ns, task) == self._last or not isinstance(node, str):
            return
        self._last = (ns, task)
        self.heard_of(ns)
        self._begin(ns, node, str(task))

    def heard_of(self, ns: Namespace) -> None:
        """Something came from the graph at `ns`: the nodes that run it, run."""
        for depth, segment in enumerate(ns):
            node, parted, _ = segment.partition(":")
            if parted:  # the second graph a node calls has a bare number of its own
                self._begin(ns[:depth], node, "|".join(ns[: depth + 1]))

    def updated(self, ns: Namespace, node: str) -> None:
        """A task of `node` ended; one never heard of is a step of no length."""
        if not self._exact:
            self._end(ns, node, None)

    def task(self, ns: Namespace, task: Mapping[str, Any]) -> None:
        """A part of the `tasks` mode: a task's start or its result."""
        self._exact = True
        node, task_id = task.get("name"), task.get("id")
        if not isinstance(node, str):
            return
        name = "|".join([*ns, f"{node}:{task_id}"])
        if "input" in task:
            self._begin(ns, node, name)
        else:
            self._end(ns, node, name)

    def settled(self, ns: Namespace) -> None:
        """A superstep of the graph at `ns` ended, and with it all runs in it and in the graphs within."""
        self._last = ((), None)
        for step in list(self._running)[::-1]:
            for ended in [task for task in self._running[step] if is_within(task[0], ns)]:
                self._forget(step, ended)

    def _begin(self, ns: Namespace, node: str, task: str) -> None:
        if not self._on or not self._subagents.are_told(ns):
            return
        step = self._step(ns, node)
        tasks = self._running.get(step)
        if tasks is None:
            self._running[step] = {(ns, task): None}
            self._outbox.tell(events.step_started(*step))
        else:
            tasks[ns, task] = None

    def _end(self, ns: Namespace, node: str, task: str | None) -> None:
        self._last = ((), None)
        step = self._step(ns, node)
        running = self._running.get(step, {})
        exact = (ns, task) if task is not None and (ns, task) in running else None
        ended = exact or next((known for known in running if known[0] == ns), None)
        if ended is None:
            ended = (ns, "")
            self._begin(ns, node, "")
        if step in self._running:
            self._forget(step, ended)

    def _forget(self, step: _Step, task: _Task) -> None:
        tasks = self._running[step]
        tasks.pop(task, None)
        if not tasks:
            del self._running[step]
            self._outbox.tell(events.step_finished(*step))

    def _step(self, ns: Namespace, node: str) -> _Step:
        subagent, depth = self._subagents.owner(ns)
        path = [segment.split(":", 1)[0] for segment in ns[depth:] if ":" in segment]
        return "/".join([*path, node]), subagent
