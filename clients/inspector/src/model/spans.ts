// What took time in a run: steps, subagents, tools, texts, reasoning, each below what it belongs to; its first token, its
// pace, and its usage.

import { isObject } from "./json.ts";
import type { Entry } from "./log.ts";
import { closingAfter, type Usage } from "./view.ts";

export type SpanKind = "step" | "subagent" | "tool" | "text" | "reasoning";

export interface Span {
  readonly kind: SpanKind;
  readonly name: string;
  readonly from: Entry;
  /** The subagent of a step, the call of a subagent, the step of whatever else. */
  readonly parent?: Span | undefined;
  readonly depth: number;
  /** What closed it; undefined while it is open. */
  to?: Entry;
  hasFailed?: boolean;
}

export interface RunSpan {
  readonly runId: string;
  readonly from: Entry;
  to?: Entry;
  readonly entries: Entry[];
  readonly spans: Span[];
  usage: readonly Usage[];
  outcome: string;
  /** The first piece of a text or of reasoning. */
  firstToken?: Entry;
  /** Milliseconds in which models streamed, those of models in parallel added. */
  streamed: number;
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
const TOKENS = new Set(["TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"]);

/** The runs of these events. */
export const runsOf = (entries: readonly Entry[]): readonly RunSpan[] => new RunReader().read(entries);

/** Reads the runs of a log that grows: each event once. A tool's span ends with its result; without one, with its run. */
export class RunReader {
  readonly #runs: RunSpan[] = [];
  #open = new Map<string, Span>();
  #calls = new Map<string, Span>();
  #streams = new Map<string, Entry>();
  #closing: readonly string[] = [];
  #read = 0;

  /** The runs after all of these entries: a new list, of the same runs. */
  read(entries: readonly Entry[]): readonly RunSpan[] {
    for (; this.#read < entries.length; this.#read += 1) this.#take(entries[this.#read]!);
    return [...this.#runs];
  }

  #take(entry: Entry): void {
    const { event } = entry;
    let run = this.#runs.at(-1);
    if (event.type === "RUN_STARTED") {
      if (run?.runId === String(event.runId)) {
        run.entries.push(entry);
        return; // the same run again, after a lost connection
      }
      run = { runId: String(event.runId), from: entry, entries: [], spans: [], usage: [], outcome: "running", streamed: 0 };
      this.#runs.push(run);
      this.#open = new Map();
      this.#streams = new Map();
    }
    if (run === undefined) return;
    run.entries.push(entry);
    this.#closing = closingAfter(this.#closing, event);
    const owner = event.type.startsWith("SUBAGENT") ? "" : String(event.subagentRunId ?? "");
    this.#time(run, entry);
    const opens = Object.hasOwn(OPENS, event.type) && OPENS[event.type];
    if (opens) this.#begin(run, entry, opens, owner);
    const closes = Object.hasOwn(CLOSES, event.type) && CLOSES[event.type];
    if (closes) this.#end(entry, `${closes[0]} ${owner} ${event[closes[1]]}`);
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") this.#finish(run, entry);
  }

  #begin(run: RunSpan, from: Entry, [kind, key, label]: [SpanKind, string, string], owner: string): void {
    const { event } = from;
    const id = `${kind} ${owner} ${event[key]}`;
    if (this.#open.has(id)) return;
    const subagent = owner ? this.#open.get(`subagent  ${owner}`) : undefined;
    const parent = kind === "step" ? subagent : kind === "subagent" ? this.#calls.get(String(event.parentToolCallId)) : (this.#stepOf(run, owner) ?? subagent);
    const span: Span = { kind, name: label ? String(event[label]) : kind, from, parent, depth: parent === undefined ? 0 : parent.depth + 1 };
    run.spans.push(span);
    this.#open.set(id, span);
    if (kind === "tool") this.#calls.set(String(event.toolCallId), span);
  }

  /** The step of this owner that began last and is open. */
  #stepOf(run: RunSpan, owner: string): Span | undefined {
    return run.spans.findLast((each) => each.kind === "step" && each.to === undefined && String(each.from.event.subagentRunId ?? "") === owner);
  }

  #end(to: Entry, id: string): void {
    const span = this.#open.get(id);
    if (span === undefined) return;
    span.to = to;
    span.hasFailed = to.event.type === "SUBAGENT_ERROR" || to.event.metadata?.status === "error";
    this.#open.delete(id);
  }

  #time(run: RunSpan, entry: Entry): void {
    const { type, messageId, toolCallId } = entry.event;
    if (TOKENS.has(type)) run.firstToken ??= entry;
    const id = String(toolCallId ?? messageId);
    if (/^(TEXT_MESSAGE|REASONING_MESSAGE|TOOL_CALL)_START$/.test(type)) this.#streams.set(id, entry);
    const began = /^(TEXT_MESSAGE|REASONING_MESSAGE|TOOL_CALL)_END$/.test(type) ? this.#streams.get(id) : undefined;
    if (began) run.streamed += entry.at - began.at;
  }

  #finish(run: RunSpan, entry: Entry): void {
    const { event } = entry;
    if (run.to !== undefined) return; // what a new connection says of a run that has ended
    run.to = entry;
    run.usage = Array.isArray(event.usage) ? event.usage.filter(isObject) : [];
    run.outcome = event.type === "RUN_ERROR" ? String(event.code ?? "failed") : String(event.outcome?.type ?? "success");
    for (const span of this.#open.values()) span.to = entry;
    this.#open = new Map();
    if (event.type !== "RUN_ERROR" || event.code === "cancelled") return;
    for (const name of this.#closing) {
      const step = run.spans.findLast((each) => each.kind === "step" && each.name === name);
      if (step) step.hasFailed = true;
    }
  }
}

/** The spans as they are shown: each followed by what belongs to it. */
export function nested(spans: readonly Span[]): readonly Span[] {
  const children = new Map<Span | undefined, Span[]>();
  for (const span of spans) {
    const siblings = children.get(span.parent);
    if (siblings) siblings.push(span);
    else children.set(span.parent, [span]);
  }
  const found: Span[] = [];
  const left = [...(children.get(undefined) ?? [])].reverse();
  for (let span = left.pop(); span !== undefined; span = left.pop()) {
    found.push(span);
    left.push(...[...(children.get(span) ?? [])].reverse());
  }
  return found;
}
