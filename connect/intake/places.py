"""Where a client's state, tools and context go into a graph: into the places that its schema has for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ag_ui.core import RunAgentInput
from langgraph.pregel import Pregel

from .choices import Intake


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one graph."""

    messages_key: str | None
    """The channel of the conversation; None if it has none."""


def places_of(graph: Pregel[Any, Any, Any, Any], messages_key: str) -> Places:
    """The places of a compiled graph."""
    return Places(messages_key if messages_key in graph.channels else None)


def written(places: Places, given: RunAgentInput, intake: Intake, held: Mapping[str, Any]) -> dict[str, Any]:
    """What is written to channels."""
    return {}


def context_of(places: Places, given: RunAgentInput, base: Any) -> Any:
    """The runtime context."""
    return base
