"""Decides what may be emitted of a stream that was joined in the middle: `PartialMessageFilter`. No I/O. How a part
becomes an event is decided in the translator.

If a model call was streaming at the join, its chunks arrive from the middle of the message. A message without its
beginning must never be visible, so the chunks of such calls are suppressed. The next `values`, or the end of the run,
contain the complete messages. Complete messages pass, and so do chunks that are known to start at the beginning of
their message (`Part.from_start`). A graph may have no messages channel, or one with another name than in the options.
Its values contain no messages, so a message that was joined in the middle is never emitted, because its beginning is
unknown. This is logged.

A task (the run of a node) is *suspect*, which means that it may have been running at the join, if

- it runs in the root or within a suspect task,
- and it first appeared before the end of a superstep of its namespace was observed: by `values` of the namespace (but
  not those with an interrupt, which arrive in the middle of a superstep), or by a message of a higher step than the
  first one there,
- and its start was not observed (a `tasks` part).

If a suspect task of a subgraph has called another graph, nothing that is said in that graph is emitted, not even
complete messages. Such a task may answer tool calls, and what is said in a graph that answers calls is not displayed
(`translator/tool_tasks.py`, rule 1). The calls were made before the join, in values of the subgraph, which the state of
the thread does not contain. What is saved of it arrives with the next root `values`.

After root `values`, only the tasks whose chunks were suppressed remain suspect, since they may continue to stream after
their superstep. After a `metadata` part that names an attempt, no task is suspect, because the run begins there.

One case can't be detected: a task whose superstep had ended at the join, which streams all the same, and first appears
after the next root `values`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ....translator import Part

_Namespace = tuple[str, ...]


@dataclass(slots=True)
class _Observations:
    """What was observed since the join, or since the last gap."""

    is_clear: bool = False
    """Whether no task can be suspect any longer."""
    passed: set[_Namespace] = field(default_factory=set)
    """Namespaces in which the end of a superstep was observed."""
    first_step: dict[_Namespace, int] = field(default_factory=dict)
    """The first step that was observed in each namespace."""
    suspects: dict[_Namespace, bool] = field(default_factory=dict)
    """Whether a task is suspect, by the task's namespace. This does not change once it is decided."""


class PartialMessageFilter:
    """Decides for each part whether it passes. Initially it assumes that the stream was joined in the middle; the first
    part of a run shows that it was not."""

    def __init__(self) -> None:
        self._observed = _Observations()
        self.has_suppressed = False
        """Whether any message, or part of one, was suppressed."""

    def gap(self) -> None:
        """Notes that parts may be missing, so that every task that may be running is suspect again."""
        self._observed = _Observations()

    def passes(self, part: Part) -> bool:
        """Whether the part may be passed on."""
        if self._observed.is_clear:
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
            self._observed.is_clear = isinstance(part.data, Mapping) and "attempt" in part.data
        elif part.mode == "values" and not _has_interrupts(part):
            self._note_superstep_end(part.ns)
        elif part.mode == "tasks":
            self._note_start(part)
        return True

    def _note_superstep_end(self, namespace: _Namespace) -> None:
        observed = self._observed
        observed.passed.add(namespace)
        if not namespace:
            # A segment without an id names a subgraph, in every run of it.
            suppressed = [task for task, is_suspect in observed.suspects.items() if is_suspect and ":" in task[-1]]
            observed.suspects = dict.fromkeys(suppressed, True)
            observed.is_clear = not suppressed

    def _note_start(self, part: Part) -> None:
        if isinstance(part.data, Mapping) and "input" in part.data:
            task = (*part.ns, f"{part.data.get('name')}:{part.data.get('id')}")
            self._observed.suspects.setdefault(task, False)

    def _may_answer_calls(self, path: _Namespace) -> bool:
        """Whether the task with this path runs in a graph that a suspect task of a subgraph has called."""
        callers = list(islice(_callers(path), 2))
        return len(callers) == 2 and all(self._is_suspect_task(task, None) for task in callers)

    def _is_suspect(self, path: _Namespace, metadata: Mapping[str, Any]) -> bool:
        """Whether the task that a message comes from may have been running at the join."""
        if not all(self._is_suspect_task(task, None) for task in _callers(path)):
            return False
        step = metadata.get("langgraph_step")
        return self._is_suspect_task(path, step if isinstance(step, int) else None)

    def _is_suspect_task(self, task: _Namespace, step: int | None) -> bool:
        """Whether a task is suspect, if the task that it runs in is."""
        namespace = task[:-1]
        if step is not None:
            first = self._observed.first_step.setdefault(namespace, step)
            if step > first:
                self._observed.passed.add(namespace)
        return self._observed.suspects.setdefault(task, namespace not in self._observed.passed)


def _callers(path: _Namespace) -> Iterator[_Namespace]:
    """Returns the tasks within which the task with this path runs, the outermost first. A bare number in a path is not
    a task; it separates the graphs that one task calls."""
    return (path[:depth] for depth in range(1, len(path)) if not path[depth - 1].isdigit())


def _is_chunk(message: Any) -> bool:
    kind = message.get("type") if isinstance(message, Mapping) else getattr(message, "type", None)
    return kind == "AIMessageChunk"


def _has_interrupts(part: Part) -> bool:
    return bool(part.interrupts) or (isinstance(part.data, Mapping) and bool(part.data.get("__interrupt__")))
