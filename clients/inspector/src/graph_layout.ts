// Where the nodes and edges of a graph are drawn. Loaded when a graph is looked at, because the library for it is large;
// it imports nothing that the page has already, so that the page's own script stays one file.

import { Graph, layout } from "@dagrejs/dagre";

export interface Shape {
  readonly name: string;
  /** The subgraph that it is in; the empty text for none. */
  readonly parent: string;
  readonly width: number;
  readonly height: number;
}

export interface Box extends Shape {
  readonly isSubgraph: boolean;
  readonly left: number;
  readonly top: number;
}

export interface Line {
  readonly conditional: boolean;
  readonly path: string;
  readonly label?: string;
  readonly x: number;
  readonly y: number;
}

interface Edge {
  readonly source: string;
  readonly target: string;
  readonly conditional: boolean;
  readonly label?: string;
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
}

const MARGIN = 16;
/** Above the nodes of a subgraph: its name. */
const HEAD = 30;
const LETTER = 6.4;

type Point = { readonly x: number; readonly y: number };

/** Draws a graph from top to bottom. `subgraphs`: the outer ones first; their sizes are those of what they have. */
export function drawingOf(nodes: readonly Shape[], subgraphs: readonly Shape[], edges: readonly Edge[]): Drawing {
  const graph = new Graph({ compound: true, multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 36, marginx: MARGIN, marginy: MARGIN });
  for (const { name } of subgraphs) graph.setNode(name, {});
  for (const { name, width, height } of nodes) graph.setNode(name, { width, height });
  for (const { name, parent } of [...subgraphs, ...nodes]) if (parent) graph.setParent(name, parent);
  const isSubgraph = new Set(subgraphs.map(({ name }) => name));
  /** An edge ends at a node: that of a subgraph at the first, or the last, node in it. */
  const end = (name: string, isTarget: boolean): string | undefined => {
    if (!isSubgraph.has(name)) return nodes.find((node) => node.name === name)?.name;
    const inside = nodes.filter((node) => node.name.startsWith(`${name}/`));
    return inside.at(isTarget ? 0 : -1)?.name;
  };
  for (const [place, { source, target, label }] of edges.entries()) {
    const [from, to] = [end(source, false), end(target, true)];
    if (from !== undefined && to !== undefined) graph.setEdge(from, to, { width: label ? label.length * LETTER + 8 : 0, height: label ? 16 : 0, labelpos: "c" }, String(place));
  }
  layout(graph);
  const boxes = [...subgraphs, ...nodes].map(({ name, parent }): Box => {
    const { x, y, width, height } = graph.node(name) as Point & { width: number; height: number };
    const head = isSubgraph.has(name) ? HEAD : 0;
    return { name, parent, isSubgraph: head > 0, left: x - width / 2, top: y - height / 2 - head / 2, width, height: height + head / 2 };
  });
  const lines = graph.edges().map((edge): Line => {
    const { points, x, y } = graph.edge(edge) as unknown as { points: readonly Point[]; x?: number; y?: number };
    const { conditional, label } = edges[Number(edge.name)]!;
    return { conditional, path: curve(points), ...(label !== undefined && { label }), x: x ?? points[0]!.x, y: y ?? points[0]!.y };
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  boxes.sort((one, other) => one.top - other.top || one.left - other.left); // as they are read
  return { width, height, boxes, lines };
}

/** A line through the points, round at the corners. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points as readonly [Point, ...Point[]];
  const last = rest.pop() ?? first;
  if (rest.length === 0) return `M${first.x} ${first.y}L${last.x} ${last.y}`;
  return rest.reduce((path, { x, y }, place) => {
    const next = rest[place + 1];
    return `${path}Q${x} ${y} ${next ? (x + next.x) / 2 : last.x} ${next ? (y + next.y) / 2 : last.y}`;
  }, `M${first.x} ${first.y}`);
}
