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


RUN: Final = Owner()
