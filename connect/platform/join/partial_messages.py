"""What may be emitted of a stream that was joined in the middle: `PartialMessageFilter`. No I/O; what a part becomes is
the translator's.

A model call that was streaming at the join arrives from its middle. A message without its beginning may never be
visible, so the chunks of such calls are suppressed; the next `values`, or the run's end, have their messages whole.
Whole messages pass, and so does what is known to be from the message's beginning on (`Part.from_start`). Values of a
graph without a messages channel (or whose channel has another name than the options say) have no messages: then a
message that was joined in the middle is not emitted at all, because its beginning is unknown; that is logged.

A task (a node's run) is *suspect* while it may have been running at the join:

    it runs in the root, or within a task that is suspect
    and it was first seen before a superstep of its namespace was seen to end: by `values` of the namespace (not those
    with an interrupt, which come in the middle), or by a message of a higher step than the first one seen there
    and it was not seen to start (a `tasks` part)

Of a graph that a suspect task of a subgraph has called nothing is emitted that is said in it, whole messages included.
Such a task may answer tool calls, and then others are not shown what is said in that graph
(`translator/tool_tasks.py`, rule 1). The calls came before the join, in values of the subgraph, which the
state of the thread does not have. What of it is saved comes with the next root `values`.

Root `values` end all suspicion but of tasks that were suppressed: these may stream on when their superstep is over. A
`metadata` part that names an attempt ends all of it: with it the run begins.

What cannot be known: a task whose superstep was over at the join, that streams all the same, and is first seen after
the next root `values`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ....translator import Part

_Namespace = tuple[str, ...]


@dataclass(slots=True)
class _Seen:
    """What came since the join, or since the last gap."""

    is_clear: bool = False
    """Whether nothing can be suspect any more."""
    passed: set[_Namespace] = field(default_factory=set)
    """Namespaces in which a superstep was seen to end."""
    first_step: dict[_Namespace, int] = field(default_factory=dict)
    """The step that came first in a namespace."""
    suspects: dict[_Namespace, bool] = field(default_factory=dict)
    """Tasks, by their namespace, and whether they are suspect. Once decided, that stays."""


class PartialMessageFilter:
    """Decides part by part. Begins as if it had joined in the middle; a run's first part says that it has not."""

    def __init__(self) -> None:
        self._seen = _Seen()
        self.has_suppressed = False
        """Whether any message, or part of one, did not pass."""

    def gap(self) -> None:
        """Parts may have been missed: every task that may be running is suspect, again."""
        self._seen = _Seen()

    def passes(self, part: Part) -> bool:
        """Whether the part may be passed on."""
        if self._seen.is_clear:
            return True
        if part.mode == "messages":
            message, metadata = part.data
            path = tuple(str((metadata or {}).get("langgraph_checkpoint_ns") or "").split("|"))
            is_suppressed = self._may_answer_calls(path)
            if not is_suppressed and not part.from_start:
                is_suppressed = self._is_suspect(path, metadata or {}) and _is_chunk(message)
            self.has_suppressed |= is_suppressed
            return not is_suppressed
        if part.mode == "metadata":
            self._seen.is_clear = isinstance(part.data, Mapping) and "attempt" in part.data
        elif part.mode == "values" and not _has_interrupts(part):
            self._passed(part.ns)
        elif part.mode == "tasks":
            self._started(part)
        return True

    def _passed(self, namespace: _Namespace) -> None:
        """A superstep ended."""
        seen = self._seen
        seen.passed.add(namespace)
        if not namespace:
            # A segment without an id names a subgraph, every time it runs.
            suppressed = [task for task, is_suspect in seen.suspects.items() if is_suspect and ":" in task[-1]]
            seen.suspects = dict.fromkeys(suppressed, True)
            seen.is_clear = not suppressed

    def _started(self, part: Part) -> None:
        if isinstance(part.data, Mapping) and "input" in part.data:
            task = (*part.ns, f"{part.data.get('name')}:{part.data.get('id')}")
            self._seen.suspects.setdefault(task, False)

    def _may_answer_calls(self, path: _Namespace) -> bool:
        """Whether a task of a subgraph is suspect in which the task with this path runs."""
        callers = list(islice(_callers(path), 2))
        return len(callers) == 2 and all(self._is_suspect_task(task, None) for task in callers)

    def _is_suspect(self, path: _Namespace, metadata: Mapping[str, Any]) -> bool:
        """Whether the task a message comes from may have been running at the join."""
        if not all(self._is_suspect_task(task, None) for task in _callers(path)):
            return False
        step = metadata.get("langgraph_step")
        return self._is_suspect_task(path, step if isinstance(step, int) else None)

    def _is_suspect_task(self, task: _Namespace, step: int | None) -> bool:
        """Whether a task is suspect; that of the one it runs in is known to be."""
        namespace = task[:-1]
        if step is not None:
            first = self._seen.first_step.setdefault(namespace, step)
            if step > first:
                self._seen.passed.add(namespace)
        return self._seen.suspects.setdefault(task, namespace not in self._seen.passed)


def _callers(path: _Namespace) -> Iterator[_Namespace]:
    """The tasks within which the task with this path runs, the outermost first. A bare number in a path is not a task,
    but separates the graphs that one task calls."""
    return (path[:depth] for depth in range(1, len(path)) if not path[depth - 1].isdigit())


def _is_chunk(message: Any) -> bool:
    kind = message.get("type") if isinstance(message, Mapping) else getattr(message, "type", None)
    return kind == "AIMessageChunk"


def _has_interrupts(part: Part) -> bool:
    return bool(part.interrupts) or (isinstance(part.data, Mapping) and bool(part.data.get("__interrupt__")))
