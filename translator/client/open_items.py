"""What an event stream has opened and not closed.

Here: `Open`, the immutable answer, and `Opened`, which keeps count of it event by event.
Never here: messages and state, and closing or opening anything (`openings` does).

Rules (those of the client's verifier):
- Text messages, tool calls, reasoning spans and reasoning messages are open by id, each kind by itself; a step by who
  owns it (a subagent, or `None`) and its name; a subagent by its run id, once in a run.
- A run's start begins anew; its end closes all. Subagents that ended are remembered until the next run: they may be
  parents, and no snapshot tells them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["Open", "Opened"]

Event = dict[str, Any]


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Open:
    """What is open at one moment of a stream: ids (in the order they were opened) to the events that opened them."""

    run_id: str | None = None
    """The run that is going on, `None` between runs."""
    texts: Mapping[str, Event] = field(default_factory=_nothing)
    """Text messages by message id."""
    calls: Mapping[str, Event] = field(default_factory=_nothing)
    """Tool calls by tool call id."""
    spans: Mapping[str, Event] = field(default_factory=_nothing)
    """Reasoning spans by message id."""
    reasonings: Mapping[str, Event] = field(default_factory=_nothing)
    """Reasoning messages by message id."""
    steps: Mapping[tuple[str | None, str], Event] = field(default_factory=_nothing)
    """Steps by owner (a subagent's run id, `None` for the run itself) and name."""
    started: Mapping[str, Event] = field(default_factory=_nothing)
    """All subagents of the run so far, by their run id."""
    ended: Mapping[str, Event] = field(default_factory=_nothing)
    """Those of them that ended, with the events that ended them."""

    @property
    def subagents(self) -> Mapping[str, Event]:
        """The subagents that are open, by their run id."""
        return {name: event for name, event in self.started.items() if name not in self.ended}


class Opened:
    """Keeps what is open while events go by."""

    __slots__ = ("calls", "ended", "reasonings", "run_id", "spans", "started", "steps", "texts")

    def __init__(self) -> None:
        self.run_id: str | None = None
        self.started: dict[str, Event] = {}
        self.ended: dict[str, Event] = {}
        self._nothing_open()

    @classmethod
    def of(cls, opened: Open) -> "Opened":
        """Goes on from what was open at a moment."""
        found = cls()
        found.run_id = opened.run_id
        found.texts, found.calls = dict(opened.texts), dict(opened.calls)
        found.spans, found.reasonings = dict(opened.spans), dict(opened.reasonings)
        found.steps, found.started, found.ended = dict(opened.steps), dict(opened.started), dict(opened.ended)
        return found

    def note(self, event: Event) -> None:
        """Takes one well-formed event into account; events that open and close nothing are none of its business."""
        note = _NOTES.get(event["type"])
        if note is not None:
            note(self, event)

    def read(self) -> Open:
        """What is open now."""
        return Open(
            run_id=self.run_id,
            texts=MappingProxyType(dict(self.texts)),
            calls=MappingProxyType(dict(self.calls)),
            spans=MappingProxyType(dict(self.spans)),
            reasonings=MappingProxyType(dict(self.reasonings)),
            steps=MappingProxyType(dict(self.steps)),
            started=MappingProxyType(dict(self.started)),
            ended=MappingProxyType(dict(self.ended)),
        )

    def copy(self) -> "Opened":
        """The same, going its own way from here."""
        twin = Opened()
        twin.run_id = self.run_id
        twin.texts, twin.calls = dict(self.texts), dict(self.calls)
        twin.spans, twin.reasonings = dict(self.spans), dict(self.reasonings)
        twin.steps, twin.started, twin.ended = dict(self.steps), dict(self.started), dict(self.ended)
        return twin

    def _nothing_open(self) -> None:
        self.texts: dict[str, Event] = {}
        self.calls: dict[str, Event] = {}
        self.spans: dict[str, Event] = {}
        self.reasonings: dict[str, Event] = {}
        self.steps: dict[tuple[str | None, str], Event] = {}

    def _run_started(self, event: Event) -> None:
        self._nothing_open()
        self.started, self.ended = {}, {}
        self.run_id = event["runId"]

    def _run_ended(self, event: Event) -> None:
        self._nothing_open()
        self.started = {name: self.started[name] for name in self.ended}
        self.run_id = None

    def _text_start(self, event: Event) -> None:
        self.texts[event["messageId"]] = event

    def _text_end(self, event: Event) -> None:
        self.texts.pop(event["messageId"], None)

    def _call_start(self, event: Event) -> None:
        self.calls[event["toolCallId"]] = event

    def _call_end(self, event: Event) -> None:
        self.calls.pop(event["toolCallId"], None)

    def _span_start(self, event: Event) -> None:
        self.spans[event["messageId"]] = event

    def _span_end(self, event: Event) -> None:
        self.spans.pop(event["messageId"], None)

    def _reasoning_start(self, event: Event) -> None:
        self.reasonings[event["messageId"]] = event

    def _reasoning_end(self, event: Event) -> None:
        self.reasonings.pop(event["messageId"], None)

    def _step_start(self, event: Event) -> None:
        self.steps[event.get("subagentRunId"), event["stepName"]] = event

    def _step_end(self, event: Event) -> None:
        self.steps.pop((event.get("subagentRunId"), event["stepName"]), None)

    def _subagent_start(self, event: Event) -> None:
        self.started[event["subagentRunId"]] = event

    def _subagent_end(self, event: Event) -> None:
        if event["subagentRunId"] in self.started:
            self.ended[event["subagentRunId"]] = event


_NOTES: dict[str, Callable[[Opened, Event], None]] = {
    "RUN_STARTED": Opened._run_started,
    "RUN_FINISHED": Opened._run_ended,
    "RUN_ERROR": Opened._run_ended,
    "TEXT_MESSAGE_START": Opened._text_start,
    "TEXT_MESSAGE_END": Opened._text_end,
    "TOOL_CALL_START": Opened._call_start,
    "TOOL_CALL_END": Opened._call_end,
    "REASONING_START": Opened._span_start,
    "REASONING_END": Opened._span_end,
    "REASONING_MESSAGE_START": Opened._reasoning_start,
    "REASONING_MESSAGE_END": Opened._reasoning_end,
    "STEP_STARTED": Opened._step_start,
    "STEP_FINISHED": Opened._step_end,
    "SUBAGENT_STARTED": Opened._subagent_start,
    "SUBAGENT_FINISHED": Opened._subagent_end,
    "SUBAGENT_ERROR": Opened._subagent_end,
}
