"""Defines `Owner`, which identifies the owner of a message or a tool call."""

from __future__ import annotations

from typing import Final, NamedTuple


class Owner(NamedTuple):
    """Identifies the owner of a message or a tool call, which is a subagent or the run itself."""

    id: str | None = None
    """The subagent's run id; None if the owner is the run itself."""
    tag: str | None = None
    """The `subagentRunId` in the owner's events; None for the run itself, and if subagents are not attributed."""
    depth: int = 0
    """The number of segments in the subagent's namespace."""
    is_hidden: bool = False
    """Whether the option `subagents` hides the owner's messages and tool calls."""
    in_tool: bool = False
    """Whether the message is displayed as part of a tool call."""

    @property
    def writes_state(self) -> bool:
        """Whether the values that the owner writes or predicts belong to the run's state. A subagent, or an agent that
        a tool runs, has its own state, even if some of its channels have the same names as the run's channels
        (`todos`)."""
        return self.id is None and not self.in_tool


RUN: Final = Owner()
