"""Separates the interrupts of a thread at which tool calls wait for the page (`page_tools`) from its questions to a
person. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..translator import PageCall


def questions(interrupts: Iterable[Any]) -> list[Any]:
    """Returns the interrupts that wait for the answer of a person. `interrupts`: LangGraph's objects, or their JSON."""
    return [interrupt for interrupt in interrupts if _page_call(interrupt) is None]


def page_calls(interrupts: Iterable[Any]) -> dict[str, str]:
    """Returns the ids of the tool calls that wait for the page, with the ids of their interrupts. If two calls have the
    same id, it stands for the first one."""
    waiting: dict[str, str] = {}
    for interrupt in interrupts:
        if (call := _page_call(interrupt)) is not None:
            waiting.setdefault(call.id, str(_get(interrupt, "id")))
    return waiting


def _page_call(interrupt: Any) -> PageCall | None:
    return PageCall.of(_get(interrupt, "value"))


def _get(interrupt: Any, name: str) -> Any:
    return interrupt.get(name) if isinstance(interrupt, Mapping) else getattr(interrupt, name, None)
