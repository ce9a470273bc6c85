"""Prints AG-UI events for a person as they arrive: `Screen`, on a rich `Console`.

On a terminal, streamed text grows on its line, and the progress of a tool is updated on one line. In a pipe, a line is
printed once it is complete. Of a snapshot, only the changes are printed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    MessagesSnapshotEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from ....translator import ClientView
from .wording import activity_line, as_json, changes, message_line, patch_lines, question, text

_STYLES: Final = {
    "text": "green",
    "reasoning": "dim",
    "tool call": "yellow",
    "tool result": "yellow",
    "state": "magenta",
    "message": "blue",
    "run error": "bold red",
    "progress": "cyan",
    "plan": "cyan",
    "interrupt": "bold",
    "connection": "bold",
}
"""Styles of lines by label. Lines with other labels are printed in the style for minor information."""
_MINOR: Final = "dim"
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "steps": ("step started", "step finished"),
    "state": ("state",),
    "reasoning": ("reasoning",),
    "tools": ("tool call", "tool result", "progress"),
    "custom": ("custom",),
}
"""The labels of the lines that each value of `hidden` leaves out."""
_ACTIVITIES: Final = {"tool_progress": "progress", "plan": "plan"}
"""Labels of activities by type."""
_NO_DETAILS: Final = frozenset({"cancelled", "lost", "unfinished"})
"""Error codes for which a log has no further details."""
_FAILURE: Final = "run_error"
"""The type of the activity that a failed run leaves in the thread."""
_LABEL_WIDTH: Final = 19
_INDENT: Final = "\n" + " " * (_LABEL_WIDTH + 2)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters that a terminal would execute. The text may come from anyone."""


def console(*, stderr: bool = False) -> Console:
    """Returns the console of this process. It uses colours only on a terminal, and only if NO_COLOR is not set."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a character that the terminal lacks must not end watch
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


class Screen:
    """Prints the events of one reader on a console.

    `now` is the clock for the times of runs. `hidden` lists the kinds of lines to leave out (`steps`, `state`,
    `reasoning`, `tools`, `custom`). `details` says where to find the details of a failed run.
    """

    def __init__(
        self,
        out: Console,
        now: Callable[[], datetime] = datetime.now,
        *,
        hidden: Iterable[str] = (),
        details: str | None = None,
    ) -> None:
        self._out = out
        self._now = now
        self._hidden = {label for kind in hidden for label in _KINDS[kind]}
        self._details = details
        self._view = ClientView()
        self._tools: dict[str, str] = {}
        """Names of tools by tool call id."""
        self._growing: dict[tuple[str, str], str] = {}
        """Unfinished text by label and id: on a terminal the text of the last line, in a pipe all text that is not
        printed yet."""
        self._replaceable: str | None = None
        """On a terminal, the id of the activity whose progress is on the last line."""

    def show(self, event: BaseEvent) -> None:
        """Prints one event. For text that grows on its line, the start and end events print nothing."""
        if isinstance(event, StateSnapshotEvent | MessagesSnapshotEvent):
            self._show_snapshot(event)
            return
        self._view.apply(event)
        match event:
            case TextMessageContentEvent():
                self._grow("text", event.message_id, event.delta)
            case ReasoningMessageContentEvent():
                self._grow("reasoning", event.message_id, event.delta)
            case ToolCallStartEvent():
                self._tools[event.tool_call_id] = event.tool_call_name
                self._grow("tool call", event.tool_call_id, f"{event.tool_call_name} ")
            case ToolCallArgsEvent():
                self._grow("tool call", event.tool_call_id, event.delta)
            case TextMessageEndEvent():
                self._end_text("text", event.message_id)
            case ReasoningMessageEndEvent():
                self._end_text("reasoning", event.message_id)
            case ToolCallEndEvent():
                self._end_text("tool call", event.tool_call_id)
            case ToolCallResultEvent():
                self._line("tool result", f"{self._tool(event.tool_call_id)} {text(event.content)}")
            case StateDeltaEvent():
                for line in patch_lines(event.delta, self._view.state):
                    self._line("state", line)
            case ActivitySnapshotEvent() | ActivityDeltaEvent():
                self._activity(event.message_id)
            case StepStartedEvent():
                self._line("step started", event.step_name)
            case StepFinishedEvent():
                self._line("step finished", event.step_name)
            case RunStartedEvent():
                self._line("run started", f"{event.run_id} in thread {event.thread_id}  {self._time()}")
            case RunFinishedEvent():
                self._show_end(event)
            case RunErrorEvent():
                self._line("run error", f"{event.message}{f' ({event.code})' if event.code else ''}  {self._time()}")
                if self._details is not None and event.code not in _NO_DETAILS:
                    self._line("details", self._details)
            case CustomEvent():
                self._line("custom", f"{event.name} {as_json(event.value)}")
            case _ if not event.type.value.endswith(("_START", "_END")):
                content = event.model_dump(exclude={"type"}, exclude_none=True, mode="json")
                self._line(event.type.value.lower().replace("_", " "), as_json(content))

    def say(self, remark: str) -> None:
        """Ends open lines, and prints a remark that does not belong to an event."""
        self.rest()
        self._print(Text(f"\n{remark}\n"))

    def wait(self, awaited: str) -> None:
        """On a terminal, prints what the command waits for, since it may wait for a long time."""
        if self._out.is_terminal:
            self._line("waiting", awaited)

    def report_connection(self, reason: str | None) -> None:
        """Prints that the connection to the server is lost, or, without a reason, that it is back."""
        lost = f"lost, and tried again ({reason})"
        self._line("connection", f"{'back' if reason is None else lost}  {self._time()}")

    def rest(self) -> None:
        """Ends open lines, because no more of their text will arrive."""
        if self._out.is_terminal:
            self._end_line()
        for label, of in list(self._growing):
            self._end_text(label, of)

    def _show_snapshot(self, event: StateSnapshotEvent | MessagesSnapshotEvent) -> None:
        """Prints what a snapshot changes."""
        state, before = self._view.state, {message["id"]: message for message in self._view.messages}
        self._view.apply(event)
        for change in changes(state, self._view.state):
            self._line("state", change)
        for message in self._view.messages:
            is_failure = message.get("activityType") == _FAILURE  # its RUN_ERROR is printed instead
            if before.get(message["id"]) != message and not is_failure:
                self._line("message", message_line(message))

    def _show_end(self, event: RunFinishedEvent) -> None:
        outcome = event.outcome
        if isinstance(outcome, RunFinishedInterruptOutcome):
            for interrupt in outcome.interrupts:
                self._line("interrupt", question(interrupt.model_dump(exclude_none=True, mode="json", by_alias=True)))
        if event.result is not None:
            self._line("result", as_json(event.result))
        self._line("run finished", f"{outcome.type if outcome else ''}  {self._time()}".strip())

    def _activity(self, activity_id: str) -> None:
        """Prints the present content of an activity. The progress of a tool replaces the line above if that shows the
        same activity."""
        activity = self._view.message(activity_id)
        if activity is None or activity.get("activityType") == _FAILURE:
            return
        label = _ACTIVITIES.get(str(activity.get("activityType")), "activity")
        line = activity_line(activity) if label != "activity" else message_line(activity)
        if label != "progress" or not self._out.is_terminal or label in self._hidden:
            self._line(label, line)
            return
        if self._replaceable == activity_id:
            self._out.control(Control((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)))
        row = Text(" ".join(line.split()))
        row.truncate(max(self._out.width - _LABEL_WIDTH - 3, 1), overflow="ellipsis")
        self._line(label, row.plain)
        self._replaceable = activity_id

    def _time(self) -> str:
        return f"{self._now():%H:%M:%S}"

    def _tool(self, call: str) -> str:
        return self._tools.get(call, call)

    def _grow(self, label: str, of: str, more: str) -> None:
        """Adds to the text of the item with the id `of`."""
        if label in self._hidden:
            return
        if not self._out.is_terminal:
            self._growing[label, of] = self._growing.get((label, of), "") + more
            return
        if (label, of) not in self._growing:
            self._end_line()
            self._growing[label, of] = ""
            self._print(_label(label))
        self._print(Text(_without_controls(more.replace("\n", _INDENT)), _style(label)))

    def _end_text(self, label: str, of: str) -> None:
        """Ends the text of an item: ends its line on a terminal, and prints it in a pipe."""
        content = self._growing.pop((label, of), None)
        if content is not None and self._out.is_terminal:
            self._print(Text("\n"))
        elif content is not None:
            self._line(label, content.rstrip() if label == "tool call" else content)

    def _line(self, label: str, content: str) -> None:
        if label in self._hidden:
            return
        if self._out.is_terminal:
            self._end_line()
        whole = content.replace("\n", _INDENT) + "\n"
        self._print(_label(label).append(_without_controls(whole), _style(label)))

    def _end_line(self) -> None:
        """On a terminal, ends the line that grows. Text that arrives for it later begins another line."""
        if self._growing:
            self._growing.clear()
            self._print(Text("\n"))

    def _print(self, content: Text) -> None:
        self._replaceable = None
        self._out.print(content, end="")


def _label(label: str) -> Text:
    """Returns the beginning of a line."""
    return Text.assemble((f"{label:>{_LABEL_WIDTH}}  ", _MINOR))


def _style(label: str) -> str:
    return _STYLES.get(label, _MINOR)


def _without_controls(content: str) -> str:
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", content)
