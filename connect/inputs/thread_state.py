"""How a thread stands when an input comes: `ThreadState`. Read off a checkpoint or a platform's answer by whoever reads
those; never reads one itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadState:
    """A thread at one moment."""

    messages: Sequence[Any] = ()
    """What it holds of the conversation: LangChain messages, or their JSON."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Its channels."""
    interrupts: Sequence[Any] = ()
    """What waits for an answer: LangGraph's interrupts, or their JSON."""
    is_stopped: bool = False
    """Whether it stands at a static breakpoint."""
    is_unfinished: bool = False
    """Whether its last run left work undone: it failed, was cancelled, or killed."""
    has_failed: bool = False
    """Whether its last run failed."""
    run_id: str | None = None
    """The id of its last run, as clients know it."""
    is_unsettled: bool = False
    """Whether it shows what was done in a step that did not end: a new turn would forget that."""
    lacks: Sequence[Any] = ()
    """Messages that go in before the new ones: they came along with the one that a fork is made before."""
    is_replaced: bool = False
    """Whether its conversation gives way to what goes in: no checkpoint is old enough to fork at."""

    own_tools: Collection[str] = frozenset()
    """The tools that its graph runs itself, as far as that is known, if a call waits for its result."""

    @property
    def waits(self) -> bool:
        """Whether it waits for somebody."""
        return bool(self.interrupts) or self.is_stopped
