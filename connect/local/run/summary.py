"""`RunSummary`: a run that has ended, in numbers, for logs and for the hook `after_run` of `Runs`. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["finished", "interrupted", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run of this process that has ended.

    - `agent`: the name of its agent, or of its graph if the agent has no name.
    - `thread_id`, `run_id`: its ids.
    - `outcome`: `finished`, `interrupted` (it waits for an answer, or at a breakpoint), `failed` or `cancelled`.
    - `seconds`: from its start until its graph had stopped.
    - `events`: the number of AG-UI events that it emitted, from `RUN_STARTED` to its terminal event.
    - `usage`: its token usage as in the terminal event, one item per provider and model: `inputTokens`,
      `outputTokens` and so on.
    - `code`: the code of the error, if it failed.
    - `attempt`: how often the run has been tried, with this time; see `Intake.on_lost`. The attempts of processes that
      were lost have no summaries.
    """

    agent: str
    thread_id: str
    run_id: str
    outcome: Outcome
    seconds: float
    events: int
    usage: tuple[Mapping[str, Any], ...] = field(default=())
    code: str | None = None
    attempt: int = 1

    def tokens(self, kind: Literal["inputTokens", "outputTokens"]) -> int:
        """Returns the sum over all providers and models."""
        return sum(int(item.get(kind) or 0) for item in self.usage)
