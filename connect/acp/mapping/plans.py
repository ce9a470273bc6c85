"""A graph's plan as an editor displays it: the channel `todos`, as LangChain's middleware writes it, or `plan`, a list
of texts or of objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PLANS: Final = ("todos", "plan")
"""The channels that can have a plan; the first of them that has one counts."""

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
    """The entries of the plan in a channel; None if the channel has no plan. Entries that are no steps are left out."""
    given = state.get(name) if isinstance(state, Mapping) else None
    if not isinstance(given, list):
        return None
    return [entry for each in given if (entry := _entry(each)) is not None]


def _entry(step: Any) -> dict[str, Any] | None:
    fields: Mapping[str, Any] = (
        {"content": step} if isinstance(step, str) else step if isinstance(step, Mapping) else {}
    )
    content = next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), None)
    if content is None:
        return None
    given = fields.get("status", fields.get("done"))
    priority = fields.get("priority")
    return {
        "content": content,
        "priority": priority if priority in _PRIORITIES else "medium",
        "status": _STATUSES.get(given, "pending") if isinstance(given, str | bool) else "pending",
    }
