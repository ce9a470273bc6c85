// A graph: its nodes and edges, what of it has run at a moment, and where its runs are to pause.

import type { RunSpan, Span } from "./spans.ts";

export type Side = "before" | "after";

export interface GraphNode {
  /** The name of its steps: a path for a node of a subgraph. */
  readonly name: string;
  /** Where every run pauses. */
  readonly stops: readonly Side[];
}

export interface GraphEdge {
  readonly source: string;
  readonly target: string;
  readonly conditional: boolean;
  readonly label?: string;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

export const [START, END] = ["__start__", "__end__"];

/** The subgraph that a node is in, which is a node of another graph; the empty text for the graph's own nodes. */
export const parentOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf("/")));
export const labelOf = (name: string): string => name.slice(parentOf(name).length).replace(/^\//, "").replace(/^__(start|end)__$/, "$1");

/** The subgraphs, the outer ones first. */
export function subgraphsOf({ nodes }: Graph): readonly string[] {
  const found = new Set<string>();
  const add = (name: string): void => {
    if (!name || found.has(name)) return;
    add(parentOf(name));
    found.add(name);
  };
  for (const { name } of nodes) add(parentOf(name));
  return [...found];
}

/** What a node has done in a run until a moment. */
export interface Ran {
  /** Its steps that have begun, the oldest first. */
  readonly steps: readonly Span[];
  readonly isRunning: boolean;
  readonly hasFailed: boolean;
}

/** By name, the nodes that have begun in a run before the event `now`; null: until its last event. Steps of subagents
 * are no steps of the graph. */
export function ranUntil(run: RunSpan | undefined, now: number | null): ReadonlyMap<string, Ran> {
  const found = new Map<string, Ran>();
  const at = now ?? Infinity;
  for (const span of stepsOf(run)) {
    if (span.from.index >= at) break;
    const isOver = span.to !== undefined && span.to.index < at;
    const before = found.get(span.name);
    found.set(span.name, { steps: [...(before?.steps ?? []), span], isRunning: !isOver, hasFailed: isOver && span.hasFailed === true });
  }
  return found;
}

const stepsOf = (run: RunSpan | undefined): readonly Span[] => run?.spans.filter(({ kind, from }) => kind === "step" && from.event.subagentRunId === undefined) ?? [];

/** The nodes that ran, with an edge to each from the one that had ended last: what is known of a graph that is not
 * described. */
export function graphOf(runs: readonly RunSpan[]): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  for (const run of runs) {
    const steps = stepsOf(run);
    for (const [place, { name, from }] of steps.entries()) {
      nodes.set(name, { name, stops: [] });
      const before = steps.slice(0, place).findLast((each) => parentOf(each.name) === parentOf(name) && each.to !== undefined && each.to.index < from.index);
      if (before) edges.set(`${before.name}\n${name}`, { source: before.name, target: name, conditional: false });
    }
  }
  const outer = new Set([...nodes.keys()].map(parentOf));
  return { nodes: [...nodes.values()].filter(({ name }) => !outer.has(name)), edges: [...edges.values()] };
}
