"""Describes what an agent can do, as AG-UI's capabilities. Pure: it only looks at the graph.

Only what is certain is declared. Anything else is left open, and the owner may declare more (`Agent.capabilities`). The
names and schemas of tools are not declared, because only the owner may publish them.

| declared | if |
|---|---|
| streaming | always |
| WebSockets | the app serves them |
| streams that resume after `Last-Event-ID` | runs are in this process, where events have ids |
| snapshots and deltas of the state | the options emit them |
| state that persists, interrupts | threads are kept: on a platform, or by a checkpointer |
| memory | the graph has a store |
| tools | the graph runs tools (in a `ToolNode`), or accepts those of a front end |
| tools of the client | the graph's state or context has a field for them |
| approvals | the graph contains LangChain's approval middleware |
| delegation | the graph runs deepagents' tool `task` |
| no reasoning | the options leave it out |

In addition, `writable` lists the channels that clients may write, if they are known. `dropped` lists what clients have
sent so far although the agent has no field for it: tools, context, state, forwardedProps. `watch` says how threads of a
platform are watched, once one was: by the thread's `stream`, by `announcements` of its runs, or by `polls`.
`threads` says that lists can be searched, and whether threads can be renamed and archived by clients that may do so.

The graph of a platform can't be looked at, so only what all graphs there can do is declared.
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
"""The prefix of the names of nodes that LangChain's approval middleware adds."""
_DELEGATES = "task"


def describe(name: str, agent: Agent, *, has_sockets: bool = False) -> dict[str, Any]:
    """Returns an agent as CopilotKit's `/info` describes it. `name` is the name it is served by, and `has_sockets` says
    whether the app serves WebSockets."""
    fields: dict[str, Any] = {
        "name": agent.name or name,
        "capabilities": capabilities(agent, has_sockets=has_sockets),
        "threads": {"search": True, "changes": keeps_changes(agent)},
    }
    if agent.backend.watches_by is not None:
        fields["watch"] = agent.backend.watches_by
    if (writable := agent.writable()) is not None:
        fields["writable"] = writable
    dropped = sorted(agent.backend.unused)
    if dropped:
        fields["dropped"] = dropped
    return fields if agent.description is None else {**fields, "description": agent.description}


def keeps_changes(agent: Agent) -> bool:
    """Whether threads of the agent can be renamed and archived, which is stored by a platform or in a graph's store."""
    graph = agent.backend.template
    return not agent.backend.is_local or (graph is not None and isinstance(graph.store, BaseStore))


def capabilities(agent: Agent, *, has_sockets: bool = False) -> dict[str, Any]:
    """Returns the agent's own capabilities as JSON, or else those that can be detected."""
    declared = agent.capabilities
    if declared is None:
        options = agent.adjusted(agent.options or Options())
        graph, is_local = agent.backend.template, agent.backend.is_local
        detected = _of_any(options, keeps=not is_local or (graph is not None and has_checkpointer(graph)))
        detected["transport"] |= {"websocket": has_sockets, "resumable": is_local}
        if graph is not None:
            _add(detected, graph, options)
        declared = AgentCapabilities.model_validate(detected)
    fields: dict[str, Any] = declared.model_dump(mode="json", by_alias=True, exclude_none=True)
    return fields


def _of_any(options: Options, *, keeps: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "identity": {"type": "langgraph"},
        "transport": {"streaming": True},
        "state": {"snapshots": options.state != "none", "deltas": options.state == "deltas", "persistentState": keeps},
        "humanInTheLoop": {"supported": keeps, "interrupts": keeps},
    }
    return fields if options.reasoning else {**fields, "reasoning": {"supported": False}}


def _add(detected: dict[str, Any], graph: Pregel[Any, Any, Any, Any], options: Options) -> None:
    """Adds what can be detected in a graph of this process."""
    if graph.store is not None:
        detected["state"]["memory"] = True
    if any(name.startswith(_APPROVES) for name in graph.nodes):
        detected["humanInTheLoop"]["approvals"] = detected["humanInTheLoop"]["supported"]
    channels = input_channels_of(graph, options.messages_key)
    takes = not TOOLS.isdisjoint((channels.names or frozenset()) | channels.context)
    names = own_tools(graph)
    if takes or names:
        detected["tools"] = {"supported": True, "clientProvided": takes}
    if _DELEGATES in names:
        detected["multiAgent"] = {"supported": True, "delegation": True}
