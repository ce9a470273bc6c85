"""Describes the state of a thread when an input arrives: `ThreadState`. Pure; `local` makes it from a checkpoint, and
`platform` from a server's responses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...translator import ClientView
from ..thread_info import ThreadStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadState:
    """The state of a thread at one moment. `thread` returns it, and the plan of an input depends on it.

    - `status`: `running`, `waiting`, `failed` or `idle`; see `ThreadInfo`.
    - `view`: what a client that connects now receives, as `view.messages` and `view.state`. Only `thread` sets it.
    - `interrupts`: the interrupts that wait for an answer: LangGraph's objects, or their JSON from a platform.
    - `page_calls`: the ids of the tool calls that wait for a result of the page (`PageTools`), with those of their
      interrupts, which are not in `interrupts`.
    - `is_stopped`: whether the thread waits at a static breakpoint.
    - `run_id`: the id of its last or active run, as clients know it.
    - `checkpoint_id`: the id of its newest checkpoint; None while it is running.
    - `messages`, `values`: its conversation and its channels, as the graph keeps them.

    The other fields are for plans.
    """

    messages: Sequence[Any] = ()
    """The conversation: LangChain messages, or their JSON."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The channels."""
    interrupts: Sequence[Any] = ()
    """The interrupts that wait for an answer: LangGraph's objects, or their JSON."""
    page_calls: Mapping[str, str] = field(default_factory=dict)
    """The ids of the tool calls that wait for a result of the page, with those of their interrupts."""
    is_stopped: bool = False
    """Whether the thread waits at a static breakpoint."""
    is_unfinished: bool = False
    """Whether the last run left work undone, because it failed or was cancelled or killed."""
    status: ThreadStatus = "idle"
    """Whether a run is active, and if not, how the last one ended."""
    run_id: str | None = None
    """The id of the last run, as clients know it."""
    checkpoint_id: str | None = None
    """The id of the newest checkpoint."""
    has_pending_writes: bool = False
    """Whether nodes of an unfinished superstep have written. A new turn would lose what they wrote."""
    brought: Sequence[Any] = ()
    """Messages to add before the new ones. They were added in the same superstep as the message that a fork
    replaces."""
    is_replaced: bool = False
    """Whether the input replaces the conversation, because no checkpoint is old enough to fork at."""

    view: ClientView = field(default_factory=ClientView)
    """What a client that connects now receives, as `view.messages` and `view.state`. Only a thread that was read for
    clients (`Backend.thread`) has it."""

    own_tools: Collection[str] = frozenset()
    """The names of the tools that the graph runs itself, as far as they are known."""
    knows_tools: bool = False
    """Whether all of them are known, except tools of nodes that run tools without a `ToolNode`. A platform does not
    list them."""

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever written to the thread."""
        return self.checkpoint_id is None and not self.messages and self.status != "running"

    @property
    def has_failed(self) -> bool:
        """Whether the last run failed."""
        return self.status == "failed"

    @property
    def waits(self) -> bool:
        """Whether the thread waits for a person's answer. A tool call that waits for the page does not count, because
        the thread continues without its result if the user writes something else."""
        return bool(self.interrupts) or self.is_stopped
