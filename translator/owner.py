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

    @property
    def writes_state(self) -> bool:
        """Whether what it writes, or predicts, is the run's state. A subagent has a state of its own, in channels that
        may have the names of the run's (`todos`), and so has an agent that a tool runs."""
        return self.id is None and not self.in_tool


RUN: Final = Owner()
