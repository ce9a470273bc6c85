// What the guide's graph keeps, as the page gets it: the state, and what its tools take and write.

import type { useAgent } from "@copilotkit/react-core/v2/headless";

export type Message = ReturnType<typeof useAgent>["agent"]["messages"][number];
export type Call = NonNullable<Extract<Message, { role: "assistant" }>["toolCalls"]>[number];

export type Stop = { at: string; cost: number; booked?: boolean };
export type Visit = { stops?: Record<string, Stop>; budget?: number };
export type Booking = { place: string; at: string; people: number };

/** The content of the activity `tool_progress`; `progress` is what the tool writes. */
export type ToolProgress = {
  toolCallId: string;
  status: "running" | "done" | "failed" | "waiting" | "stopped";
  progress?: { now: string; done: number; of: number };
};

/** The content of the activity `plan`: what the agent is about to do, and has done. */
export type Todos = { todos: { content: string; status: "pending" | "in_progress" | "completed" }[] };

/** The content of the activity `run_error`. */
export type RunFailure = { message: string; code?: string };

/** The budget of a visit whose user has said none; the graph assumes the same. */
export const BUDGET = 40;
