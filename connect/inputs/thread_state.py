"""The state of a thread when an input comes: `ThreadState`. Pure: `local` and `platform` make it of a checkpoint, or of
a server's answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...translator import ClientView
from ..thread_info import ThreadStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadState:
    """A thread at one moment: what `thread` gives, and what the plan of an input depends on.

    - `status`: `running`, `waiting`, `failed` or `idle`; see `ThreadInfo`.
    - `view`: what a client has that connects now: `view.messages` and `view.state`. Only `thread` gives it.
    - `interrupts`: what waits for an answer: LangGraph's interrupts, or their JSON from a platform.
    - `is_stopped`: whether it waits at a static breakpoint.
    - `run_id`: the id of its last or active run, as clients know it.
    - `checkpoint_id`: its newest checkpoint; None while it is running.
    - `messages`, `values`: its conversation and its channels as the graph keeps them.

    The other fields are for plans.
    """

    messages: Sequence[Any] = ()
    """Its conversation: LangChain messages, or their JSON."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Its channels."""
    interrupts: Sequence[Any] = ()
    """What waits for an answer: LangGraph's interrupts, or their JSON."""
    is_stopped: bool = False
    """Whether it waits at a static breakpoint."""
    is_unfinished: bool = False
    """Whether its last run left work undone: it failed, was cancelled, or killed."""
    status: ThreadStatus = "idle"
    """Whether a run is active, and if not how the last one ended."""
    run_id: str | None = None
    """The id of its last run, as clients know it."""
    checkpoint_id: str | None = None
    """Its newest checkpoint."""
    has_pending_writes: bool = False
    """Whether nodes of a superstep that did not end have written: a new turn would forget what they wrote."""
    brought: Sequence[Any] = ()
    """Messages that go in before the new ones: they came in one superstep with the message that a fork replaces."""
    is_replaced: bool = False
    """Whether what goes in replaces its conversation: no checkpoint is old enough to fork at."""

    view: ClientView = field(default_factory=ClientView)
    """What a client has that connects now: `view.messages` and `view.state`. Only a thread that was read for clients
    (`Backend.thread`) has it."""

    own_tools: Collection[str] = frozenset()
    """The names of the tools that its graph runs itself, as far as that is known."""
    knows_tools: bool = False
    """Whether that is known, except of nodes that run tools without a `ToolNode`. A platform does not say it."""

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever written to it."""
        return self.checkpoint_id is None and not self.messages and self.status != "running"

    @property
    def has_failed(self) -> bool:
        """Whether its last run failed."""
        return self.status == "failed"

    @property
    def waits(self) -> bool:
        """Whether it waits for an answer."""
        return bool(self.interrupts) or self.is_stopped
