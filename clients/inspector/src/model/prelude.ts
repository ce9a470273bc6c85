// What a new connection says of a run that has ended: that it was, what the thread has since, and how the run ended.

import type { Message } from "@ag-ui/client";

import type { Json } from "./json.ts";
import type { EventLog } from "./log.ts";
import { same } from "./patch.ts";
import type { View } from "./view.ts";

export interface Prelude {
  readonly runId?: string;
  /** How many events it has; 0 if a run goes on there, or went on. */
  readonly count: number;
}

const OF_A_RUN = /^(STEP|SUBAGENT|TEXT_MESSAGE|REASONING|TOOL_CALL)_|_DELTA$/;

/** The prelude that begins after so many events. */
export function prelude(log: EventLog, from: number): Prelude {
  const first = log.entries[from]?.event;
  if (first?.type !== "RUN_STARTED") return { count: 0 };
  for (let place = from + 1; place < log.length; place += 1) {
    const { type } = log.entries[place]!.event;
    if (type === "RUN_FINISHED" || type === "RUN_ERROR") return { runId: String(first.runId), count: place + 1 - from };
    if (OF_A_RUN.test(type) || type === "RUN_STARTED") break;
  }
  return { count: 0 };
}

/** Whether two views have the same conversation, state and end, so that one of them says nothing new. */
export function saySame(one: View, other: View): boolean {
  if (one.status !== other.status || !same(one.state, other.state)) return false;
  if (!same(one.interrupts as unknown as Json, other.interrupts as unknown as Json)) return false;
  return same(said(one.messages), said(other.messages));
}

const said = (messages: readonly Message[]): Json =>
  messages.flatMap((message) => {
    const { id, role, content = "" } = message;
    const calls = message.role === "assistant" ? (message.toolCalls ?? []).map(({ id: call, function: of }) => [call, of.name, of.arguments]) : [];
    return role === "activity" || role === "reasoning" ? [] : [[id, role, content, calls]];
  }) as unknown as Json;
