"""What a tool reports while it runs, as an editor displays it in the card of its call: `ToolProgress`, fed with the
translator's activities `tool_progress`.

Rules:

1. The end of its output is displayed, at most `_DISPLAYED` characters, and its last progress. The result replaces both.
2. It is emitted when the progress has changed, when the output has grown by a tenth of what is displayed, and when the
   tool has stopped without a result. So the cost is in proportion to the output, whatever the size of its parts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ....translator import ClientView

ACTIVITY: Final = "tool_progress"
"""The type of the activity."""
_DISPLAYED: Final = 2_000
_SHARE: Final = 10
_FINAL: Final = ("done", "failed")


class Report(NamedTuple):
    """What is displayed of a running tool. `call_id`: of its call, as the thread knows it."""

    call_id: str
    output: str
    progress: str


class _Emitted(NamedTuple):
    """What was emitted last of a call. `parts`: of its output, of which it is the end."""

    report: Report
    parts: int


class ToolProgress:
    """The tools of one session."""

    def __init__(self) -> None:
        self._views: dict[str, ClientView] = {}
        """By the id of its activity, each that is not final."""
        self._emitted: dict[str, _Emitted] = {}

    def report(self, event: dict[str, Any]) -> Report | None:
        """What is to be displayed after an event of an activity `tool_progress`; None: nothing has changed."""
        activity_id = event["messageId"]
        view = self._views.setdefault(activity_id, ClientView())
        view.apply_emitted(event)
        content = (view.message(activity_id) or {}).get("content")
        if not isinstance(content, Mapping) or not isinstance(content.get("toolCallId"), str):
            return None
        if content.get("status") in _FINAL:
            del self._views[activity_id]
            self._emitted.pop(activity_id, None)
            return None
        output = content.get("output")
        parts: Sequence[Any] = output if isinstance(output, list) else ()
        report = Report(content["toolCallId"], _end(parts), _line(content.get("progress")))
        before = self._emitted.get(activity_id)
        if before is not None and not _is_due(before, report, parts, is_running=content.get("status") == "running"):
            return None
        self._emitted[activity_id] = _Emitted(report, len(parts))
        return report


def _is_due(before: _Emitted, report: Report, parts: Sequence[Any], *, is_running: bool) -> bool:
    if report == before.report:
        return False
    if report.progress != before.report.progress or len(parts) < before.parts or not is_running:
        return True
    return _SHARE * sum(len(_text(part)) for part in parts[before.parts :]) >= len(before.report.output)


def _end(parts: Sequence[Any]) -> str:
    """The last characters of an output."""
    found: list[str] = []
    left = _DISPLAYED
    for part in reversed(parts):
        if left <= 0:
            break
        found.append(_text(part)[-left:])
        left -= len(found[-1])
    return "".join(reversed(found))


def _line(progress: Any) -> str:
    """A progress as one line: a text as it is, fields by their names, anything else as JSON."""
    if progress is None:
        return ""
    if isinstance(progress, Mapping) and not any(isinstance(each, Mapping | list) for each in progress.values()):
        return ", ".join(f"{name}: {_text(each)}" for name, each in progress.items())[:_DISPLAYED]
    return _text(progress)[:_DISPLAYED]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
