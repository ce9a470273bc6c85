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

Root `values` end all suspicion but of tasks that were suppressed: these may stream on when their superstep is over. A
`metadata` part that names an attempt ends all of it: with it the run begins.

What cannot be known: a task whose superstep was over at the join, that streams all the same, and is first seen after
the next root `values`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
        """Whether any chunk did not pass."""

    def gap(self) -> None:
        """Parts may have been missed: every task that may be running is suspect, again."""
        self._seen = _Seen()

    def passes(self, part: Part) -> bool:
        """Whether the part may be passed on."""
        if self._seen.is_clear:
            return True
        if part.mode == "messages":
            if part.from_start:
                return True
            message, metadata = part.data
            is_suppressed = self._is_suspect(metadata or {}) and _is_chunk(message)
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

    def _is_suspect(self, metadata: Mapping[str, Any]) -> bool:
        """Whether the task a message comes from may have been running at the join."""
        path = tuple(str(metadata.get("langgraph_checkpoint_ns") or "").split("|"))
        for depth in range(1, len(path)):
            # A bare number is no task, but separates the graphs that one task calls.
            if not path[depth - 1].isdigit() and not self._is_suspect_task(path[:depth], None):
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


def _is_chunk(message: Any) -> bool:
    kind = message.get("type") if isinstance(message, Mapping) else getattr(message, "type", None)
    return kind == "AIMessageChunk"


def _has_interrupts(part: Part) -> bool:
    return bool(part.interrupts) or (isinstance(part.data, Mapping) and bool(part.data.get("__interrupt__")))
