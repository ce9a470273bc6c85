"""Who emits a message or a tool call: `Owner`."""

from __future__ import annotations

from typing import Final, NamedTuple


class Owner(NamedTuple):
    """Who emits a message: a subagent, or the run itself."""

    id: str | None = None
    """The subagent's run id; None: the run itself."""
    tag: str | None = None
    """The `subagentRunId` that its events carry; None if subagents are not attributed."""
    depth: int = 0
    """How many segments of a namespace lead to the subagent."""
    is_hidden: bool = False
    """Whether the option `subagents` hides what it emits."""
    in_tool: bool = False
    """Whether the message is shown as a part of a tool call."""

    @property
    def writes_state(self) -> bool:
        """Whether what it writes or predicts belongs to the run's state. A subagent has its own state, and its channels
        may have the same names as the run's (`todos`). The same is true of an agent that a tool runs."""
        return self.id is None and not self.in_tool


RUN: Final = Owner()
