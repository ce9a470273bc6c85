"""One ended run in numbers: `RunSummary`, for logs and for the hook `after_run` of `Runs`. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["finished", "interrupted", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run of this process that has ended.

    - `agent`: the name of its agent; of a graph without one, the graph's.
    - `thread_id`, `run_id`: its ids.
    - `outcome`: `finished`, `interrupted` (it waits for an answer, or at a breakpoint), `failed` or `cancelled`.
    - `seconds`: from its start until its graph had stopped.
    - `events`: how many AG-UI events it emitted, from `RUN_STARTED` to its terminal event.
    - `usage`: its token usage as in the terminal event, one item per provider and model: `inputTokens`,
      `outputTokens` and so on.
    - `code`: the error's code, of a run that failed.
    """

    agent: str
    thread_id: str
    run_id: str
    outcome: Outcome
    seconds: float
    events: int
    usage: tuple[Mapping[str, Any], ...] = field(default=())
    code: str | None = None

    def tokens(self, kind: Literal["inputTokens", "outputTokens"]) -> int:
        """The sum over all providers and models."""
        return sum(int(item.get(kind) or 0) for item in self.usage)
