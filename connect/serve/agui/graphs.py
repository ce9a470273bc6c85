"""Describes over HTTP how the graph of an agent looks, for pages that draw it.

    GET /{agent}/graph    {"nodes": [{"name", "stops"}], "edges": [{"source", "target", "conditional", "label"}],
                           "breakpoints": bool}

The names of nodes are those of their steps. `stops` has the sides, `before` and `after`, on which every run pauses.
`breakpoints` says whether the client may name nodes at which its own runs pause; see `inputs.breakpoints`. Only a
client that may list the agent's threads gets an answer: the nodes that never ran for it are not its business.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...graph_structure import Edge
from ..operations import DescribeGraph, GraphDescription, Result
from ..protocol import Call, Endpoint, Reply, plain_reply


def endpoints() -> Iterator[Endpoint]:
    """Yields the endpoint."""
    summary = "The nodes and edges of this agent's graph"
    yield Endpoint(method="GET", path="/{agent}/graph", summary=summary, check=_agent, parse=_parse, reply=_reply)


def _agent(call: Call) -> str:
    return call.agents.checked(call.path["agent"])


def _parse(call: Call) -> DescribeGraph:
    return DescribeGraph(agent=_agent(call))


def _reply(call: Call, result: Result) -> Reply:
    if not isinstance(result, GraphDescription):
        return plain_reply(result)
    nodes = [{"name": node.name, "stops": [*node.stops]} for node in result.structure.nodes]
    edges = [_edge(edge) for edge in result.structure.edges]
    return Reply({"nodes": nodes, "edges": edges, "breakpoints": result.may_pause})


def _edge(edge: Edge) -> dict[str, Any]:
    label = {} if edge.label is None else {"label": edge.label}
    return {"source": edge.source, "target": edge.target, "conditional": edge.is_conditional, **label}
