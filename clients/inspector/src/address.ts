// The page's address names the agent and the thread, so that a reload and a link show them.

import { agent } from "./threads.ts";
import { close, openThread, session } from "./session.ts";

/** Opens what the address names. */
export function openAddressed(): void {
  const query = new URLSearchParams(location.search);
  const named = query.get("agent") ?? "";
  const thread = query.get("thread");
  if (named) agent.value = named;
  if (named && thread) openThread(named, thread);
  else close();
}

/** Opens a thread, and names it in the address. */
export function goTo(name: string, threadId: string | null): void {
  const query = new URLSearchParams({ agent: name, ...(threadId !== null && { thread: threadId }) });
  history.pushState(null, "", `?${query}`);
  openAddressed();
}

/** The address of a thread. */
export const addressOf = (name: string, threadId: string): string => `?${new URLSearchParams({ agent: name, thread: threadId })}`;

/** Leaves the thread's address for a recording, which has none. */
export function leave(): void {
  history.pushState(null, "", session.peek() ? `?${new URLSearchParams({ agent: agent.peek() })}` : location.search);
}
