// How the agents' graphs look, as their servers describe them, and where the runs of this page pause.

import { computed, effect, signal } from "@preact/signals";

import type { Graph, Side } from "./model/graph.ts";
import { breakpoints, session } from "./session.ts";
import { readGraph, Refused } from "./server/api.ts";
import { panel } from "./ui/panes.ts";

interface Known {
  /** Null if the server does not say. */
  readonly graph: Graph | null;
  readonly mayPause: boolean;
  /** Why the server does not say. */
  readonly problem?: string;
}

const graphs = signal<ReadonlyMap<string, Known>>(new Map());
const asked = new Set<string>();

/** What is known of the graph of the open thread; null while the server is asked. */
export const known = computed<Known | null>(() => (session.value?.kind === "thread" ? (graphs.value.get(session.value.agent) ?? null) : { graph: null, mayPause: false }));

/** From now on the graph of an agent is asked for when it is looked at. */
export function readGraphs(): void {
  effect(() => {
    const agent = session.value?.kind === "thread" && panel.value === "graph" ? session.value.agent : null;
    if (agent === null || asked.has(agent)) return;
    asked.add(agent);
    readGraph(agent)
      .then(({ nodes, edges, breakpoints }): Known => ({ graph: { nodes, edges }, mayPause: breakpoints }))
      .catch((error: Error): Known => {
        if (!(error instanceof Refused)) asked.delete(agent); // asked again with the next thread
        return { graph: null, mayPause: false, problem: error instanceof Refused ? error.message : "The server cannot be reached." };
      })
      .then((now) => (graphs.value = new Map(graphs.peek()).set(agent, now)));
  });
}

/** Whether runs of the open thread pause on this side of a node. */
export const isPaused = (name: string, side: Side): boolean => breakpoints.value[side].includes(name);

/** Lets runs pause on a side of a node, or not. */
export function pause(name: string, side: Side, isOn: boolean): void {
  const names = breakpoints.peek()[side].filter((each) => each !== name);
  breakpoints.value = { ...breakpoints.peek(), [side]: isOn ? [...names, name] : names };
}
