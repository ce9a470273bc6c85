// The requests of the page, apart from those that `useChat` makes itself: it loads a thread, and stops a run.

import type { UIMessage } from "ai";

export interface Thread {
  messages: UIMessage[];
  /** The channels of the graph's state that pages may see. */
  state: Record<string, unknown>;
}

export const NEW_THREAD: Thread = { messages: [], state: {} };

/** The thread as the server has it; a new one, if nothing was sent to it yet. `api`: `{server}/{agent}/ui`. */
export async function loadThread(api: string, thread: string): Promise<Thread> {
  const response = await fetch(`${api}/${encodeURIComponent(thread)}`);
  if (response.status === 404) return NEW_THREAD;
  if (!response.ok) throw new Error(`The server answers ${response.status}.`);
  return response.json();
}

/** Stops what runs on the thread. `stop()` of `useChat` alone ends the page's request, and the run goes on. */
export async function stopRun(api: string, thread: string): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  await fetch(`${api}/${encodeURIComponent(thread)}/stop`, { method: "POST", headers, body: "{}" });
}
