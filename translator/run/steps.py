"""Translates the runs of nodes into `STEP_STARTED` and `STEP_FINISHED`. Each start has exactly one end, even if nodes
run in parallel.

Rules:

1. A step is a run of a node, and has the node's name. For a node in a subgraph, the name is a path such as
   `outer/inner`. The steps of a subagent carry the subagent's id. Hidden subagents and graphs that a tool calls have no
   steps. However, if a node runs a graph in order to answer tool calls, that graph has steps (`tool_tasks.py`, rule 1).
2. Without the `tasks` mode, LangGraph only reports a node's output (`updates`). So a step starts when the first message
   of its node, or a part from the node's subgraph, arrives. If a node streams nothing, its start becomes known only
   when it ends (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py). With the
   `tasks` mode, LangGraph also reports the start of each node
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/debug.py).
3. If several runs of one node overlap (`Send`), they form one step, because the client allows only one open step for
   each owner and name
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/verify/verify.ts).
4. A node's `updates` end one of its runs. With the `tasks` mode, the task's result ends it instead. Cached `updates`
   are an exception, because LangGraph sends no task result for a node that ran earlier (`output_writes` in
   https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py). Without the `tasks`
   mode, cached `updates` change no steps, because such a node does not run. A graph's `values` end its superstep, and
   with it all runs of its nodes (https://github.com/langchain-ai/langgraph/pull/560), unless they contain interrupts:
   the superstep is not over then. Until then, a task that has ended but is still streaming does not begin another step.
   The steps inside a subagent also end with the subagent, and all steps end with the run. If a platform runs the run a
   second time (a `metadata` part with an `attempt`), the steps of the first attempt end (`procedures.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..options import Options
from ..parts.part import Namespace, is_within
from ..wire import events
from ..wire.events import Event
from .subagents import Subagents

_Step = tuple[str, str | None]
"""The name of a step and the id of the subagent that owns it. The client identifies an open step by both."""
_Task = tuple[Namespace, str]


class Steps:
    """The open steps of one run. Every method that handles a part of the stream returns the events for that part."""

    def __init__(self, options: Options, subagents: Subagents) -> None:
        self._is_on = options.steps
        self._subagents = subagents
        self._running: dict[_Step, dict[_Task, None]] = {}
        """For each step, the tasks that are known to be running."""
        self._has_tasks = False
        """Whether the stream contains the `tasks` mode, which shows when tasks begin and end."""
        self._ended: set[_Task] = set()
        """The tasks that have ended in the current superstep. If they are still streaming, they do not begin another
        step."""
        self._last: tuple[Namespace, Any] = ((), None)
        """The graph and the task that the last message came from. Further messages from that task change nothing."""

    def on_message(self, ns: Namespace, metadata: Mapping[str, Any]) -> list[Event]:
        """Handles a message from a task of the graph at `ns`."""
        node, task = metadata.get("langgraph_node"), metadata.get("langgraph_checkpoint_ns")
        if (ns, task) == self._last or not isinstance(node, str):
            return []
        self._last = (ns, task)
        if (ns, str(task)) in self._ended:
            return []
        begun = self.on_graph(ns) if ns else []
        return begun + self._begin(ns, node, str(task))

    def on_graph(self, ns: Namespace) -> list[Event]:
        """Handles any part from the graph at `ns`. Such a part shows that the nodes that enclose this graph are
        running."""
        begun: list[Event] = []
        for depth, segment in enumerate(ns):
            node, separator, _ = segment.partition(":")
            if separator:  # the second graph that a node calls has a bare number as its segment
                begun += self._begin(ns[:depth], node, "|".join(ns[: depth + 1]))
        return begun

    def on_update(self, ns: Namespace, node: str, *, is_cached: bool = False) -> list[Event]:
        """Handles the end of a task of `node`. If the task was not known to be running, its step starts and ends now.
        `is_cached`: whether the task ran before this run. If so, the `tasks` mode contains the start of the task but
        not its result."""
        has_result = self._has_tasks and not is_cached  # the task's result in the `tasks` mode ends the step
        is_without_start = is_cached and not self._has_tasks
        return [] if has_result or is_without_start else self._end(ns, node)

    def on_task(self, ns: Namespace, task: Mapping[str, Any]) -> list[Event]:
        """Handles a part of the `tasks` mode: the start or the result of a task."""
        self._has_tasks = True
        node, task_id = task.get("name"), task.get("id")
        if not isinstance(node, str):
            return []
        name = "|".join([*ns, f"{node}:{task_id}"])
        return self._begin(ns, node, name) if "input" in task else self._end(ns, node, name)

    def end_superstep(self, ns: Namespace) -> list[Event]:
        """Handles the end of a superstep of the graph at `ns`, which ends all runs of nodes in that graph and in the
        graphs inside it."""
        self._last = ((), None)
        finished: list[Event] = []
        for step in list(self._running)[::-1]:
            for ended in [task for task in self._running[step] if is_within(task[0], ns)]:
                finished += self._remove(step, ended)
        self._ended = {task for task in self._ended if not is_within(task[0], ns)}
        return finished

    def _begin(self, ns: Namespace, node: str, task: str) -> list[Event]:
        if not self._is_on or (ns and not self._subagents.has_steps(ns)):
            return []
        step = self._step(ns, node)
        if step in self._running:
            self._running[step][ns, task] = None
            return []
        self._running[step] = {(ns, task): None}
        return [events.step_started(*step)]

    def _end(self, ns: Namespace, node: str, task: str = "") -> list[Event]:
        self._last = ((), None)
        step, ended = self._step(ns, node), (ns, task)
        running = self._running.get(step, ())
        if ended not in running:
            for known in running:
                if known[0] == ns:
                    return self._remove(step, known)
            begun = self._begin(ns, node, task)
            return [*begun, *self._remove(step, ended)] if step in self._running else []
        return self._remove(step, ended)

    def _remove(self, step: _Step, task: _Task) -> list[Event]:
        tasks = self._running[step]
        tasks.pop(task, None)
        self._ended.add(task)
        if tasks:
            return []
        del self._running[step]
        return [events.step_finished(*step)]

    def _step(self, ns: Namespace, node: str) -> _Step:
        if not ns:
            return node, None
        subagent, depth = self._subagents.owner(ns)
        path = [segment.split(":", 1)[0] for segment in ns[depth:] if ":" in segment]
        return "/".join([*path, node]), subagent
