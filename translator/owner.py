"""Who emits a message or a tool call: `Owner`."""

from __future__ import annotations

from typing import Final, NamedTuple


class Owner(NamedTuple):
    """Who emits a message: a subagent, or the run itself."""

    id: str | None = None
    """The subagent's run id; None: the run itself."""
    tag: str | None = None
    """The `subagentRunId` that its events carry; None where subagents are not attributed."""
    depth: int = 0
    """How many segments of a namespace lead to the subagent."""
    is_hidden: bool = False
    """Whether the option `subagents` hides what it emits."""
    in_tool: bool = False
    """Whether the message is visible as a part of a tool call."""


RUN: Final = Owner()
