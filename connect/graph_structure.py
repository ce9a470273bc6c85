"""Describes the nodes and edges of a graph, for pages that draw it: `structure_of`. Pure.

LangGraph and its servers describe a graph in the same JSON (`Graph.to_json` of langchain-core). It also has the
metadata of nodes and the classes of their functions, which nobody needs to draw it. Only names leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

START: Final = "__start__"
END: Final = "__end__"
_INTERRUPT: Final = "__interrupt"
"""The key in a node's metadata that says where a run always stops: `before`, `after` or `before,after`."""

Side = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class Node:
    """A node. `name`: the name of its steps, so a node of a subgraph has a path such as `outer/inner`. `stops`: on
    which sides of it every run pauses."""

    name: str
    stops: tuple[Side, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes. `label`: what the branch returns that takes it, if that differs from the node."""

    source: str
    target: str
    is_conditional: bool = False
    label: str | None = None


@dataclass(frozen=True, slots=True)
class GraphStructure:
    """A graph, with the nodes of its subgraphs in their places."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def own_nodes(self) -> frozenset[str]:
        """The names of the graph's own nodes. A node that is a subgraph is only in the names of the nodes in it."""
        return frozenset(node.name.partition("/")[0] for node in self.nodes) - {START, END}


def structure_of(described: Mapping[str, Any]) -> GraphStructure:
    """Returns the structure of a graph that LangGraph describes. What is not described as expected is left out."""
    nodes = {str(node["id"]): node for node in _mappings(described.get("nodes")) if "id" in node}
    edges = [edge for edge in _mappings(described.get("edges")) if {edge.get("source"), edge.get("target")} <= {*nodes}]
    return GraphStructure(
        tuple(Node(_name(node_id), _stops(node.get("metadata"))) for node_id, node in nodes.items()),
        tuple(_edge(edge) for edge in edges),
    )


def _edge(edge: Mapping[str, Any]) -> Edge:
    source, target, label = _name(edge["source"]), _name(edge["target"]), edge.get("data")
    label = label if isinstance(label, str) and label != edge["target"] else None
    return Edge(source, target, edge.get("conditional") is True, label)


def _name(node_id: str) -> str:
    return node_id.replace(":", "/")  # no name of a node has a colon


def _stops(metadata: Any) -> tuple[Side, ...]:
    named = str(metadata.get(_INTERRUPT, "")).split(",") if isinstance(metadata, Mapping) else ()
    sides: tuple[Side, ...] = ("before", "after")
    return tuple(side for side in sides if side in named)


def _mappings(values: Any) -> Iterable[Mapping[str, Any]]:
    return (value for value in values if isinstance(value, Mapping)) if isinstance(values, list) else ()
