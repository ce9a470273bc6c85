// The rows of a conversation: each message with the results of its calls, and how deep in subagents it is.

import type { ActivityMessage, Message, ToolMessage } from "@ag-ui/client";

import type { JsonObject } from "../model/json.ts";
import { callsOf, type Subagent, type View } from "../model/view.ts";

export interface Row {
  readonly message: Message;
  readonly depth: number;
  /** The subagent that begins to speak here. */
  readonly heading: string | null;
  readonly results: ReadonlyMap<string, ToolMessage>;
  /** What its calls report while they run, by their ids. */
  readonly progress: ReadonlyMap<string, JsonObject>;
}

const NONE: ReadonlyMap<string, never> = new Map<string, never>();

export function rowsOf(view: View): Row[] {
  const results = new Map<string, ToolMessage>();
  const called = new Set<string>();
  const progress = new Map<string, JsonObject>();
  for (const message of view.messages) {
    if (message.role === "tool") results.set(message.toolCallId, message);
    if (isProgress(message)) progress.set(String(message.content.toolCallId), message.content as JsonObject);
    for (const { id } of callsOf(message)) called.add(id);
  }
  const rows: Row[] = [];
  let speaker: string | undefined;
  for (const message of view.messages) {
    if (message.role === "tool" && called.has(message.toolCallId)) continue;
    if (isProgress(message) && called.has(String(message.content.toolCallId))) continue;
    if (view.error && message.role === "activity" && message.activityType === "run_error" && message.id === `${view.runId}-error`) continue; // shown at the end
    const calls = callsOf(message);
    if (message.role === "assistant" && !calls.length && !message.content && !view.open.has(message.id)) continue;
    const subagent = message.subagentRunId;
    const heading = subagent !== undefined && subagent !== speaker ? nameOf(view, subagent) : null;
    speaker = subagent;
    rows.push({ message, depth: depthOf(view, subagent), heading, results: calls.length ? results : NONE, progress: calls.length ? progress : NONE });
  }
  return rows;
}

const isProgress = (message: Message): message is ActivityMessage => message.role === "activity" && message.activityType === "tool_progress";

/** The name of a subagent; numbered where several have it. */
function nameOf(view: View, subagentRunId: string): string {
  const name = view.subagents[subagentRunId]?.name;
  if (name === undefined) return "subagent";
  const namesakes = Object.keys(view.subagents).filter((id) => view.subagents[id]?.name === name);
  return namesakes.length > 1 ? `${name} ${namesakes.indexOf(subagentRunId) + 1}` : name;
}

/** How many subagents are around a message: its own, and those whose calls started it. */
function depthOf(view: View, subagentRunId: string | undefined): number {
  let depth = 0;
  for (let id = subagentRunId; id !== undefined && depth < 4; id = ownerOf(view, view.subagents[id])) depth += 1;
  return depth;
}

function ownerOf(view: View, subagent: Subagent | undefined): string | undefined {
  const call = subagent?.parentToolCallId;
  return call && view.messages.find((message) => callsOf(message).some(({ id }) => id === call))?.subagentRunId;
}
