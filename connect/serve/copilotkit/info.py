"""What an agent can do, as AG-UI's capabilities. Pure: it looks at the graph only.

Only what is certain is declared: what is left out is left open, and the owner may say more (`Agent.capabilities`). The
names and schemas of tools are the owner's to emit.

| declared | when |
|---|---|
| streaming | always |
| WebSockets | where the app has them |
| streams that resume after `Last-Event-ID` | runs of this process: their events have ids |
| snapshots and deltas of the state | as the options have it |
| state that persists, interrupts | where threads are kept: on a platform, and by a checkpointer |
| memory | the graph has a store |
| tools | the graph runs some (a `ToolNode`), or takes those of a front end |
| tools of the client | its state or context has a place for them |
| approvals | LangChain's approval middleware is in it |
| delegation | it runs deepagents' tool `task` |
| no reasoning | the options leave it out |

Beside them, `dropped` names what clients have sent so far and the agent has no place for: tools, context, state,
forwardedProps.

A platform's graph can't be looked at: of it only what all graphs there can do.
"""

from __future__ import annotations

from typing import Any

from ag_ui.core import AgentCapabilities
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from ....translator import Options
from ...inputs.channels import TOOLS
from ...local.channels import input_channels_of
from ...local.checkpointers import has_checkpointer
from ...local.checkpoints.thread_state import own_tools
from ..agents import Agent

_APPROVES = "HumanInTheLoopMiddleware."
"""How the nodes of LangChain's approval middleware begin."""
_DELEGATES = "task"


def described(name: str, agent: Agent, *, has_sockets: bool = False) -> dict[str, Any]:
    """An agent as CopilotKit's `/info` describes it; `name` is the one that it is served by. `has_sockets`: whether the
    app serves WebSockets."""
    found: dict[str, Any] = {"name": agent.name or name, "capabilities": capabilities(agent, has_sockets=has_sockets)}
    lost = sorted(agent.backend.unused)
    if lost:
        found["dropped"] = lost
    return found if agent.description is None else {**found, "description": agent.description}


def keeps_changes(agent: Agent) -> bool:
    """Whether a thread of the agent can be renamed and archived: a platform keeps that, and a graph's store."""
    graph = agent.backend.template
    return not agent.backend.is_local or (graph is not None and isinstance(graph.store, BaseStore))


def capabilities(agent: Agent, *, has_sockets: bool = False) -> dict[str, Any]:
    """The agent's own capabilities as JSON, or else what can be seen of it."""
    declared = agent.capabilities
    if declared is None:
        options = agent.adjusted(agent.options or Options())
        graph, is_local = agent.backend.template, agent.backend.is_local
        seen = _of_any(options, keeps=not is_local or (graph is not None and has_checkpointer(graph)))
        seen["transport"] |= {"websocket": has_sockets, "resumable": is_local}
        if graph is not None:
            _add(seen, graph, options)
        declared = AgentCapabilities.model_validate(seen)
    found: dict[str, Any] = declared.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


def _of_any(options: Options, *, keeps: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "identity": {"type": "langgraph"},
        "transport": {"streaming": True},
        "state": {"snapshots": options.state != "none", "deltas": options.state == "deltas", "persistentState": keeps},
        "humanInTheLoop": {"supported": keeps, "interrupts": keeps},
    }
    return found if options.reasoning else {**found, "reasoning": {"supported": False}}


def _add(seen: dict[str, Any], graph: Pregel[Any, Any, Any, Any], options: Options) -> None:
    """Adds what a graph of this process shows."""
    if graph.store is not None:
        seen["state"]["memory"] = True
    if any(name.startswith(_APPROVES) for name in graph.nodes):
        seen["humanInTheLoop"]["approvals"] = seen["humanInTheLoop"]["supported"]
    channels = input_channels_of(graph, options.messages_key)
    takes = not TOOLS.isdisjoint((channels.names or frozenset()) | channels.context)
    names = own_tools(graph)
    if takes or names:
        seen["tools"] = {"supported": True, "clientProvided": takes}
    if _DELEGATES in names:
        seen["multiAgent"] = {"supported": True, "delegation": True}
