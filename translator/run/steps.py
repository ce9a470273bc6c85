"""The runs of nodes as `STEP_STARTED` and `STEP_FINISHED`, which stay balanced when nodes run in parallel.

Rules:

1. A step is a run of a node and has the node's name; the name of a node of a subgraph is its path, `outer/inner`. The
   steps of a subagent carry its id. There are no steps of a hidden subagent or of a graph that a tool calls. A graph
   that a node calls in order to answer tool calls does have steps (`messages/visibility.py`, rule 2).
2. Without the `tasks` mode, a node is known to run when something from it arrives: a message, or a part of its
   subgraph. A node that streams nothing is known only when it ends, from `updates`.
3. Runs of one node that overlap (`Send`) are one step, because the client allows one open step per owner and name
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/verify/verify.ts).
4. `updates` of a node end one of its runs. With the `tasks` mode its result does so instead, unless the `updates` are
   cached: a node that ran earlier has no result. `values` of the graph close a superstep, so they end all its runs.
   Until then, a run that still streams after its end does not begin another step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..options import Options
from ..parts.part import Namespace, is_within
from ..wire import events
from ..wire.events import Event
from .subagents import Subagents

_Step = tuple[str, str | None]
"""A step's name and the subagent run that owns it: the key by which the client knows it."""
_Task = tuple[Namespace, str]


class Steps:
    """The open steps of one run. Each method that takes something from the stream yields the events that it causes."""

    def __init__(self, options: Options, subagents: Subagents) -> None:
        self._on = options.steps
        self._subagents = subagents
        self._running: dict[_Step, dict[_Task, None]] = {}
        """By step: the tasks that are known to run."""
        self._exact = False
        """Whether the `tasks` mode says where tasks begin and end."""
        self._ended: set[_Task] = set()
        """The tasks that have ended while their superstep has not: what they still stream does not begin a step."""
        self._last: tuple[Namespace, Any] = ((), None)
        """The graph and the task of the last message: more messages of that task change nothing."""

    def on_message(self, ns: Namespace, metadata: Mapping[str, Any]) -> Iterator[Event]:
        """A message came from a task of the graph at `ns`."""
        node, task = metadata.get("langgraph_node"), metadata.get("langgraph_checkpoint_ns")
        if (ns, task) == self._last or not isinstance(node, str):
            return
        self._last = (ns, task)
        if (ns, str(task)) in self._ended:
            return
        yield from self.on_graph(ns)
        yield from self._begin(ns, node, str(task))

    def on_graph(self, ns: Namespace) -> Iterator[Event]:
        """A part of the graph at `ns` came, so the nodes around this graph are running."""
        for depth, segment in enumerate(ns):
            node, separator, _ = segment.partition(":")
            if separator:  # the second graph that a node calls has a bare number as its segment
                yield from self._begin(ns[:depth], node, "|".join(ns[: depth + 1]))

    def on_update(self, ns: Namespace, node: str, *, is_cached: bool = False) -> Iterator[Event]:
        """A task of `node` ended. If it was not known to run, its step begins and ends here. `is_cached`: it ran before
        this run, so the `tasks` mode has its start but not its result."""
        if self._exact is is_cached:
            yield from self._end(ns, node)

    def on_task(self, ns: Namespace, task: Mapping[str, Any]) -> Iterator[Event]:
        """A part of the `tasks` mode: a task's start or its result."""
        self._exact = True
        node, task_id = task.get("name"), task.get("id")
        if not isinstance(node, str):
            return
        name = "|".join([*ns, f"{node}:{task_id}"])
        if "input" in task:
            yield from self._begin(ns, node, name)
        else:
            yield from self._end(ns, node, name)

    def end_superstep(self, ns: Namespace) -> Iterator[Event]:
        """A superstep of the graph at `ns` ended, and with it all runs of nodes in that graph and the graphs within."""
        self._last = ((), None)
        for step in list(self._running)[::-1]:
            for ended in [task for task in self._running[step] if is_within(task[0], ns)]:
                yield from self._remove(step, ended)
        self._ended = {task for task in self._ended if not is_within(task[0], ns)}

    def _begin(self, ns: Namespace, node: str, task: str) -> Iterator[Event]:
        if not self._on or not self._subagents.has_steps(ns):
            return
        step = self._step(ns, node)
        is_new = step not in self._running
        self._running.setdefault(step, {})[ns, task] = None
        if is_new:
            yield events.step_started(*step)

    def _end(self, ns: Namespace, node: str, task: str = "") -> Iterator[Event]:
        self._last = ((), None)
        step = self._step(ns, node)
        running, ended = self._running.get(step, {}), (ns, task)
        if ended not in running:
            ended = next((known for known in running if known[0] == ns), ended)
            yield from self._begin(ns, node, ended[1])
        if step in self._running:
            yield from self._remove(step, ended)

    def _remove(self, step: _Step, task: _Task) -> Iterator[Event]:
        tasks = self._running[step]
        tasks.pop(task, None)
        self._ended.add(task)
        if not tasks:
            del self._running[step]
            yield events.step_finished(*step)

    def _step(self, ns: Namespace, node: str) -> _Step:
        subagent, depth = self._subagents.owner(ns)
        path = [segment.split(":", 1)[0] for segment in ns[depth:] if ":" in segment]
        return "/".join([*path, node]), subagent
