// What an event is about, in a word and a line.

import { inLine, written } from "../model/json.ts";
import type { WireEvent } from "../model/view.ts";

export const FAMILIES = ["run", "text", "tool", "state", "custom"] as const;
export type Family = (typeof FAMILIES)[number];

export function familyOf({ type }: WireEvent): Family {
  if (type.startsWith("RUN_") || type.startsWith("STEP_") || type.startsWith("SUBAGENT_")) return "run";
  if (type.startsWith("TEXT_") || type.startsWith("REASONING_")) return "text";
  if (type.startsWith("TOOL_")) return "tool";
  if (type.startsWith("STATE_") || type.startsWith("MESSAGES_")) return "state";
  return "custom";
}

export function summaryOf(event: WireEvent): string {
  try {
    return summary(event);
  } catch {
    return ""; // its fields are not those of its type
  }
}

function summary(event: WireEvent): string {
  switch (event.type) {
    case "RUN_STARTED":
      return String(event.runId);
    case "RUN_FINISHED":
      return String(event.outcome?.type ?? "success");
    case "RUN_ERROR":
      return inLine(`${event.code ?? ""} ${event.message}`);
    case "MESSAGES_SNAPSHOT":
      return `${event.messages.length} messages`;
    case "STATE_SNAPSHOT":
      return inLine(event.snapshot);
    case "STATE_DELTA":
      return inLine((event.delta as { op: string; path: string }[]).map(({ op, path }) => `${op} ${path}`).join(", "));
    case "CUSTOM":
      return inLine(`${event.name} ${written(event.value)}`);
    default:
      return inLine(event.delta ?? event.toolCallName ?? event.stepName ?? event.name ?? event.activityType ?? event.content ?? event.messageId ?? event.toolCallId ?? "");
  }
}
