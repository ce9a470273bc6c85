"""Reads a graph's plan for the editor. The plan is in the channel `todos`, as LangChain's middleware writes it, or in
`plan`, as a list of strings or objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PLANS: Final = ("todos", "plan")
"""The channels that may contain a plan. The first one that does is displayed."""

_TEXTS: Final = ("content", "step", "description", "title", "task")
_STATUSES: Final[Mapping[Any, str]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "done": "completed",
    True: "completed",
    False: "pending",
}
_PRIORITIES: Final = ("high", "medium", "low")


def entries(state: Any, name: str) -> list[dict[str, Any]] | None:
    """Returns the entries of the plan in a channel, or None if the channel does not contain a list. Items that are not
    steps of a plan are left out."""
    steps = state.get(name) if isinstance(state, Mapping) else None
    if not isinstance(steps, list):
        return None
    return [entry for step in steps if (entry := _entry(step)) is not None]


def _entry(step: Any) -> dict[str, Any] | None:
    fields: Mapping[str, Any] = (
        {"content": step} if isinstance(step, str) else step if isinstance(step, Mapping) else {}
    )
    content = next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), None)
    if content is None:
        return None
    status = fields.get("status", fields.get("done"))
    priority = fields.get("priority")
    return {
        "content": content,
        "priority": priority if priority in _PRIORITIES else "medium",
        "status": _STATUSES.get(status, "pending") if isinstance(status, str | bool) else "pending",
    }
