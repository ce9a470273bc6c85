// The agents, the chosen one, and its threads: read again every few seconds while the page is seen.

import { effect, signal } from "@preact/signals";

import { type Agent, listAgents, listThreads, Refused, type Thread, type ThreadStatus } from "./server/api.ts";
import { repeated } from "./repeated.ts";
import { session, view } from "./session.ts";

export const agents = signal<readonly Agent[] | null>(null);
export const agent = signal("");
export const status = signal<ThreadStatus | null>(null);
export const threads = signal<readonly Thread[] | null>(null);
export const hasMore = signal(false);
/** Why there is no list, and what the server wants to have for one, as far as the user can give it. */
export const problem = signal<{ readonly message: string; readonly missing: "user" | "token" | null } | null>(null);

const PAGE = 30;
const MOST_IN_A_PAGE = 100;
const EVERY = 4_000;

let pages = 1;
let reading = 0;

export async function refresh(): Promise<void> {
  const number = ++reading;
  try {
    if (agents.peek() === null) agents.value = await listAgents();
    const name = agent.peek() || (agents.peek()?.[0]?.name ?? "");
    agent.value = name;
    const found: Thread[] = [];
    let cursor: string | null = null;
    for (let left = pages * PAGE; left > 0; left -= MOST_IN_A_PAGE) {
      const page = await listThreads(name, status.peek(), Math.min(left, MOST_IN_A_PAGE), cursor);
      found.push(...page.threads);
      cursor = page.nextCursor;
      if (cursor === null) break;
    }
    if (number !== reading) return;
    threads.value = found;
    hasMore.value = cursor !== null;
    problem.value = null;
  } catch (error) {
    if (number !== reading) return;
    const refused = error instanceof Refused ? error : null;
    const missing = refused?.status === 401 ? "user" : refused?.code === "token_expected" ? "token" : null;
    problem.value = { message: refused?.message ?? "The server cannot be reached.", missing };
  }
}

export function choose(name: string): void {
  agent.value = name;
  restart();
}

export function filterBy(wanted: ThreadStatus | null): void {
  status.value = wanted;
  restart();
}

export function more(): void {
  pages += 1;
  void refresh();
}

function restart(): void {
  pages = 1;
  threads.value = null;
  void refresh();
}

/** Reads the list from now on: some seconds after each answer, and when the open thread begins or ends a run. */
export function keepReading(): void {
  const again = repeated(refresh, EVERY, () => document.visibilityState === "visible");
  again();
  document.addEventListener("visibilitychange", again);
  let before = "";
  effect(() => {
    const now = `${session.value?.name} ${view.value.status}`;
    if (before && now !== before) again();
    before = now;
  });
}
