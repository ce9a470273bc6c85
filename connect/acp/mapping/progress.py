"""Shows the editor what a tool reports while it is running, in the card of its call: `ToolProgress`. It reads the
activities `tool_progress` that the translator emits.

Rules:

1. The card displays the end of the output, at most `_DISPLAYED` characters, and the latest progress. The result
   replaces both.
2. An update is sent when the progress changes, when the output has grown by a tenth of what is displayed, and when the
   tool has stopped without a result. So the cost is proportional to the output, however small its pieces are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ....translator import ClientView

ACTIVITY: Final = "tool_progress"
"""The type of the activities."""
_DISPLAYED: Final = 2_000
_SHARE: Final = 10
_FINAL: Final = ("done", "failed")


class Report(NamedTuple):
    """What is displayed about a running tool. `call_id` is the id of its call in the thread."""

    call_id: str
    output: str
    progress: str


class _Emitted(NamedTuple):
    """What was last sent about a call. `parts` is how many parts its output had then."""

    report: Report
    parts: int


class ToolProgress:
    """The running tools of one session."""

    def __init__(self) -> None:
        self._views: dict[str, ClientView] = {}
        """Unfinished activities by id."""
        self._emitted: dict[str, _Emitted] = {}

    def report(self, event: dict[str, Any]) -> Report | None:
        """Returns what to display after an event of an activity `tool_progress`, or None if nothing is to be sent."""
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
    """Returns the last characters of an output."""
    texts: list[str] = []
    left = _DISPLAYED
    for part in reversed(parts):
        if left <= 0:
            break
        texts.append(_text(part)[-left:])
        left -= len(texts[-1])
    return "".join(reversed(texts))


def _line(progress: Any) -> str:
    """Returns progress as one line: a string unchanged, a flat mapping as `name: value`, anything else as JSON."""
    if progress is None:
        return ""
    if isinstance(progress, Mapping) and not any(isinstance(value, Mapping | list) for value in progress.values()):
        return ", ".join(f"{name}: {_text(value)}" for name, value in progress.items())[:_DISPLAYED]
    return _text(progress)[:_DISPLAYED]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
