"""What clients are told an agent can do, in AG-UI's words. Only what is certain is declared: what is left out is left
open."""

from __future__ import annotations

from typing import Any

from ag_ui.core import AgentCapabilities

from ..runs import has_checkpointer
from ..sources import Local
from .agents import Agent


def described(name: str, agent: Agent) -> dict[str, Any]:
    """An agent as CopilotKit's client is told of it; `name` is the one that it is served by."""
    found = {"name": agent.name or name, "capabilities": capabilities(agent)}
    return found if agent.description is None else {**found, "description": agent.description}


def capabilities(agent: Agent) -> dict[str, Any]:
    """The agent's own capabilities as JSON, or else what can be seen of it: it streams, and where its threads are kept
    they can be come back to, and questions answered."""
    if agent.capabilities is not None:
        return _json(agent.capabilities)
    keeps = not isinstance(agent.source, Local) or has_checkpointer(agent.source.graph)
    seen = {
        "identity": {"type": "langgraph"},
        "transport": {"streaming": True},
        "state": {"snapshots": True, "deltas": True, "persistentState": keeps},
        "humanInTheLoop": {"supported": keeps, "interrupts": keeps},
    }
    return _json(AgentCapabilities.model_validate(seen))


def _json(declared: AgentCapabilities) -> dict[str, Any]:
    found: dict[str, Any] = declared.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found
