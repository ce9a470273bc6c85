"""`RunReport`: the report of one run of this process. It keeps the run's span, counts its events and seconds, logs its
start and its end, and tells `metrics` about them. It decides nothing about the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterable, Mapping
from contextvars import Context
from typing import Any, Final

from ... import metrics
from ...errors import log_context
from ...tracing import Span
from .run_input import MOST_LOSSES
from .summary import Outcome, RunSummary

_SHOWS: Final = ("TEXT_MESSAGE_", "REASONING_", "TOOL_CALL_", "ACTIVITY_")
"""How the types of events begin that show something. Snapshots and steps come before the graph has done anything."""

_log = logging.getLogger(__name__)


class RunReport:
    """The report of a run of `agent` that starts now. `identify` sets `label`. Needs a running event loop."""

    label: str
    """The run's agent, thread and id, for a log line."""

    def __init__(self, agent: Hashable, attempt: int = 1, losses: int = 0) -> None:
        self.events = 0
        """The number of events that the run has emitted."""
        self._agent, self._attempt, self._losses = agent, attempt, losses
        self._name = str(getattr(agent, "name", agent))
        self.waits_to_show = False
        """Whether the first event that shows something is to be reported (`look_at`)."""
        self._span = Span("run", agent)
        self._now = asyncio.get_running_loop().time
        self._started = self._now()
        self._seconds: float | None = None

    @property
    def trace_id(self) -> str | None:
        """The id of the run's trace; None if there is none."""
        return self._span.trace_id

    def identify(self, thread_id: str, run_id: str) -> None:
        """Sets the ids of the run."""
        self._thread_id, self._run_id = thread_id, run_id
        self._span.identify(thread_id, run_id)
        self.label = log_context(self._agent, thread_id, run_id)

    def within(self, context: Context) -> Context:
        """Makes the run's span active in a context, and returns the context."""
        return self._span.within(context)

    def begin(self) -> None:
        """Logs that the run has started, or is continued. A run that is not tried again is in the log when it ends."""
        is_given_up = self._losses >= MOST_LOSSES
        metrics.run_started(self._name, is_continued=self._attempt > 1 and not is_given_up)
        self.waits_to_show = metrics.is_on()
        if is_given_up:
            metrics.run_lost()
            return
        if self._attempt > 1:
            _log.warning("The run is continued by this process, attempt %d (%s).", self._attempt, self.label)
        else:
            _log.info("Run started (%s).", self.label)

    def look_at(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Looks for the first event that shows something, and reports how long it took."""
        if any(event["type"].startswith(_SHOWS) for event in events):
            self.waits_to_show = False
            metrics.run_shows(self._name, self._now() - self._started)

    def stop(self) -> None:
        """Stops the clock: the run's graph has stopped, and its functions have returned."""
        self._seconds = self._now() - self._started

    def summary(self, outcome: Outcome, terminal: Mapping[str, Any]) -> RunSummary:
        """Returns the run in numbers. `terminal`: its terminal event."""
        return RunSummary(
            agent=self._name,
            thread_id=self._thread_id,
            run_id=self._run_id,
            outcome=outcome,
            seconds=self._now() - self._started if self._seconds is None else self._seconds,
            events=self.events,
            usage=tuple(terminal.get("usage") or ()),
            code=terminal.get("code"),
            attempt=self._attempt,
        )

    def hand_over(self) -> None:
        """Logs that another process is to continue the run, and ends its span."""
        self._span.end("handed over", events=self.events)
        metrics.run_handed_over(self._name)
        _log.warning("The run is handed over to another process (%s).", self.label)

    def end(self, summary: RunSummary) -> None:
        """Logs the end of the run, and ends its span."""
        metrics.run_ended(self._name, summary.outcome, summary.seconds, summary.code, summary.usage)
        tokens = {"input_tokens": summary.tokens("inputTokens"), "output_tokens": summary.tokens("outputTokens")}
        attempt = self._attempt if self._attempt > 1 else None
        self._span.end(summary.outcome, events=summary.events, code=summary.code, tokens=tokens, attempt=attempt)
        _log.info(
            "Run %s after %.3f s: %d events, %d input tokens, %d output tokens (%s).",
            summary.outcome,
            summary.seconds,
            summary.events,
            *tokens.values(),
            self.label,
        )
