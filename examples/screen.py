"""Shows AG-UI events to a person as they come: `Screen`. What is streamed grows on one line, everything else is a line.

Only what an event says is used. No graph, no translation, no wire here.
"""

import json
from typing import Any, TextIO

from ag_ui.core import (
    BaseEvent,
    MessagesSnapshotEvent,
    ReasoningMessageContentEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

_DIM, _BLUE, _GREEN, _YELLOW, _MAGENTA, _RED = "2", "34", "32", "33", "35", "31"
_LABEL_WIDTH = 19


class Screen:
    """Prints to `out`, in colour if `colour`."""

    def __init__(self, out: TextIO, *, colour: bool) -> None:
        self._out = out
        self._colour = colour
        self._growing: tuple[str, str] | None = None
        """What the unfinished line is about: the label and the id of what is streamed on it."""
        self._tools: dict[str, str] = {}
        """The names of the tools called, by call."""

    def show(self, event: BaseEvent) -> None:
        """Shows one event; starts and ends of what is shown while it grows say nothing more."""
        match event:
            case TextMessageContentEvent():
                self._grow("text", event.message_id, event.delta, _GREEN)
            case ReasoningMessageContentEvent():
                self._grow("reasoning", event.message_id, event.delta, _DIM)
            case ToolCallStartEvent():
                self._tools[event.tool_call_id] = event.tool_call_name
            case ToolCallArgsEvent():
                self._grow("tool call", event.tool_call_id, event.delta, _YELLOW, before=self._tool(event.tool_call_id))
            case ToolCallEndEvent():
                pass
            case ToolCallResultEvent():
                self._line("tool result", f"{self._tool(event.tool_call_id)}{_text(event.content)}", _YELLOW)
            case StateSnapshotEvent():
                self._line("state", _json(event.snapshot), _MAGENTA)
            case StateDeltaEvent():
                for operation in event.delta:
                    self._line("state delta", _json(operation), _MAGENTA)
            case MessagesSnapshotEvent():
                for message in event.messages:
                    self._line("message", f"{message.role}: {_text(message.content)}", _BLUE)
            case StepStartedEvent():
                self._line("step started", event.step_name, _BLUE)
            case StepFinishedEvent():
                self._line("step finished", event.step_name, _BLUE)
            case RunStartedEvent():
                self._line("run started", f"{event.run_id} in thread {event.thread_id}", _BLUE)
            case RunFinishedEvent():
                self._line("run finished", event.outcome.type if event.outcome else "", _BLUE)
            case RunErrorEvent():
                self._line("run error", event.message, _RED)
            case _ if not event.type.value.endswith(("_START", "_END")):
                self._line(event.type.value.lower().replace("_", " "), event.model_dump_json(exclude={"type"}), _DIM)

    def say(self, remark: str) -> None:
        """Ends the line that is open, and says something that no event says."""
        self._end_line()
        self._write(f"\n{remark}\n")

    def _tool(self, call: str) -> str:
        return f"{self._tools.get(call, call)} "

    def _grow(self, label: str, of: str, more: str, colour: str, *, before: str = "") -> None:
        """Adds to the line about `of`; begins one if the last line was about something else."""
        if self._growing != (label, of):
            self._end_line()
            self._growing = (label, of)
            self._write(self._labelled(label) + before)
        self._write(self._painted(more, colour))

    def _line(self, label: str, content: str, colour: str) -> None:
        self._end_line()
        self._write(self._labelled(label) + self._painted(content, colour) + "\n")

    def _end_line(self) -> None:
        if self._growing is not None:
            self._write("\n")
        self._growing = None

    def _labelled(self, label: str) -> str:
        return self._painted(f"{label:>{_LABEL_WIDTH}}", _DIM) + "  "

    def _painted(self, content: str, colour: str) -> str:
        return f"\033[{colour}m{content}\033[0m" if self._colour and content else content

    def _write(self, content: str) -> None:
        self._out.write(content)
        self._out.flush()


def _text(content: Any) -> str:
    return content if isinstance(content, str) else _json(content)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=lambda model: model.model_dump(exclude_none=True))
