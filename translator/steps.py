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

from . import events
from .options import Options
from .outbox import Outbox
from .subagents import Subagents

Namespace = tuple[str, ...]
_Step = tuple[str, str | None]
"""A step's name and the subagent run it belongs to: what the client knows it by."""
_Task = tuple[Namespace, str]


class Steps:
    """The steps of one run that are open."""

    def __init__(self, outbox: Outbox, options: Options, subagents: Subagents) -> None:
        self._outbox = outbox
        self._on = options.steps
        self._subagents = subagents
        self._running: dict[_Step, list[_Task]] = {}
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
        """A superstep of the graph at `ns` ended, and with it all runs in it and in the graphs below."""
        self._last = ((), None)
        depth = len(ns)
        for step in list(self._running)[::-1]:
            self._keep(step, [task for task in self._running[step] if task[0][:depth] != ns])

    def _begin(self, ns: Namespace, node: str, task: str) -> None:
        if not self._on or not self._subagents.are_told(ns):
            return
        step = self._step(ns, node)
        tasks = self._running.get(step)
        if tasks is None:
            self._running[step] = [(ns, task)]
            self._outbox.tell(events.step_started(*step))
        elif (ns, task) not in tasks:
            tasks.append((ns, task))

    def _end(self, ns: Namespace, node: str, task: str | None) -> None:
        self._last = ((), None)
        step = self._step(ns, node)
        mine = [known for known in self._running.get(step, ()) if known[0] == ns]
        if not mine:
            self._begin(ns, node, "")
            mine = [(ns, "")]
        ended = (ns, task) if (ns, task) in mine else mine[0]
        if step in self._running:
            self._keep(step, [known for known in self._running[step] if known != ended])

    def _keep(self, step: _Step, tasks: list[_Task]) -> None:
        if tasks:
            self._running[step] = tasks
        else:
            del self._running[step]
            self._outbox.tell(events.step_finished(*step))

    def _step(self, ns: Namespace, node: str) -> _Step:
        subagent, depth = self._subagents.owner(ns)
        path = [segment.split(":", 1)[0] for segment in ns[depth:] if ":" in segment]
        return "/".join([*path, node]), subagent
