// What took time in a run, as bars on lanes: steps, subagents, tools, texts, reasoning; and its usage.

import { isObject } from "./json.ts";
import type { Entry } from "./log.ts";
import { closingAfter, type Usage } from "./view.ts";

export type SpanKind = "step" | "subagent" | "tool" | "text" | "reasoning";

export interface Span {
  readonly kind: SpanKind;
  readonly name: string;
  readonly from: Entry;
  /** What closed it; undefined while it is open. */
  to?: Entry;
  hasFailed?: boolean;
  lane: number;
}

export interface RunSpan {
  readonly runId: string;
  readonly from: Entry;
  to?: Entry;
  readonly entries: Entry[];
  readonly spans: Span[];
  usage: readonly Usage[];
  outcome: string;
}

const OPENS: { readonly [type: string]: [SpanKind, string, string] } = {
  STEP_STARTED: ["step", "stepName", "stepName"],
  SUBAGENT_STARTED: ["subagent", "subagentRunId", "name"],
  TOOL_CALL_START: ["tool", "toolCallId", "toolCallName"],
  TEXT_MESSAGE_START: ["text", "messageId", ""],
  REASONING_MESSAGE_START: ["reasoning", "messageId", ""],
};
const CLOSES: { readonly [type: string]: [SpanKind, string] } = {
  STEP_FINISHED: ["step", "stepName"],
  SUBAGENT_FINISHED: ["subagent", "subagentRunId"],
  SUBAGENT_ERROR: ["subagent", "subagentRunId"],
  TOOL_CALL_RESULT: ["tool", "toolCallId"],
  TEXT_MESSAGE_END: ["text", "messageId"],
  REASONING_MESSAGE_END: ["reasoning", "messageId"],
};

/** The runs of a log. A tool's bar ends with its result; without one, with its run. */
export function runsOf(entries: readonly Entry[]): RunSpan[] {
  const runs: RunSpan[] = [];
  let open = new Map<string, Span>();
  let closing: readonly string[] = [];
  for (const entry of entries) {
    const { event } = entry;
    let run = runs.at(-1);
    if (event.type === "RUN_STARTED") {
      if (run?.runId === String(event.runId) && run?.to === undefined) {
        run?.entries.push(entry);
        continue; // the same run again, after a lost connection
      }
      run = { runId: String(event.runId), from: entry, entries: [], spans: [], usage: [], outcome: "running" };
      runs.push(run);
      open = new Map();
    }
    if (run === undefined) continue;
    run.entries.push(entry);
    closing = closingAfter(closing, event);
    const owner = event.type.startsWith("SUBAGENT") ? "" : (event.subagentRunId ?? "");
    const opens = Object.hasOwn(OPENS, event.type) && OPENS[event.type];
    if (opens) {
      const [kind, key, label] = opens;
      const id = `${kind} ${owner} ${event[key]}`;
      if (!open.has(id)) {
        const span: Span = { kind, name: label ? String(event[label]) : kind, from: entry, lane: 0 };
        span.lane = freeLane(run.spans, span);
        run.spans.push(span);
        open.set(id, span);
      }
    }
    const closes = Object.hasOwn(CLOSES, event.type) && CLOSES[event.type];
    if (closes) {
      const id = `${closes[0]} ${owner} ${event[closes[1]]}`;
      const span = open.get(id);
      if (span) {
        span.to = entry;
        span.hasFailed = event.type === "SUBAGENT_ERROR" || event.metadata?.status === "error";
        open.delete(id);
      }
    }
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") {
      run.to = entry;
      run.usage = Array.isArray(event.usage) ? event.usage.filter(isObject) : [];
      run.outcome = event.type === "RUN_ERROR" ? String(event.code ?? "failed") : String(event.outcome?.type ?? "success");
      for (const span of open.values()) span.to = entry;
      if (event.type === "RUN_ERROR" && event.code !== "cancelled") {
        for (const span of run.spans) if (span.kind === "step" && closing.includes(span.name) && span.to && isLastOf(run.spans, span)) span.hasFailed = true;
      }
      open = new Map();
    }
  }
  return runs;
}

const isLastOf = (spans: readonly Span[], span: Span): boolean => spans.findLast(({ kind, name }) => kind === span.kind && name === span.name) === span;

/** The first lane of this kind that no span occupies that is still open. */
function freeLane(spans: readonly Span[], { kind }: Span): number {
  const taken = new Set(spans.filter((each) => each.kind === kind && each.to === undefined).map(({ lane }) => lane));
  let lane = 0;
  while (taken.has(lane)) lane += 1;
  return lane;
}
