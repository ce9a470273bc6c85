// What of a graph has run at a moment, and what is known of a graph that nobody describes.

import assert from "node:assert/strict";
import { test } from "node:test";

import { graphOf, labelOf, parentOf, ranUntil, subgraphsOf } from "../src/model/graph.ts";
import { EventLog } from "../src/model/log.ts";
import { runsOf } from "../src/model/spans.ts";
import type { WireEvent } from "../src/model/view.ts";

const began = (stepName: string, more = {}): WireEvent => ({ type: "STEP_STARTED", stepName, ...more });
const ended = (stepName: string, more = {}): WireEvent => ({ type: "STEP_FINISHED", stepName, ...more });

const EVENTS: readonly WireEvent[] = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  ...[began("one"), ended("one"), began("sub"), began("sub/a"), ended("sub/a"), ended("sub")],
  ...[began("one"), began("x", { subagentRunId: "s" }), ended("x", { subagentRunId: "s" }), ended("one")],
  { type: "RUN_ERROR", message: "no" },
];

function runs() {
  const log = new EventLog();
  for (const [place, event] of EVENTS.entries()) log.append(event, place);
  return runsOf(log.entries);
}

test("what had run at a moment is counted, and what ran then is lit; a step of a subagent is none of the graph", () => {
  const facts = (now: number | null) => [...ranUntil(runs()[0], now)].map(([name, { steps, isRunning, hasFailed }]) => `${name} ${steps.length}${isRunning ? " runs" : ""}${hasFailed ? " failed" : ""}`);
  assert.deepEqual(facts(1), []);
  assert.deepEqual(facts(2), ["one 1 runs"]);
  assert.deepEqual(facts(5), ["one 1", "sub 1 runs", "sub/a 1 runs"]);
  assert.deepEqual(facts(8), ["one 2 runs", "sub 1", "sub/a 1"]);
  assert.deepEqual(facts(null), ["one 2 failed", "sub 1", "sub/a 1"]);
  assert.deepEqual(ranUntil(undefined, null), new Map());
});

test("a graph that is not described has the nodes that ran, in their order", () => {
  const graph = graphOf(runs());
  assert.deepEqual(graph.nodes.map(({ name }) => name), ["one", "sub/a"]);
  assert.deepEqual(graph.edges.map(({ source, target }) => `${source} > ${target}`), ["one > sub", "sub > one"]);
  assert.deepEqual(subgraphsOf(graph), ["sub"]);
  assert.deepEqual([labelOf("a/b/c"), parentOf("a/b/c"), parentOf("a"), labelOf("__start__")], ["c", "a/b", "", "start"]);
});
