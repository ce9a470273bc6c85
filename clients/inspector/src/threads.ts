// The agents, the chosen one, and its threads: the newest are read again every few seconds while the page is seen, further
// ones when they are scrolled to. Which threads are on the list, the server decides: it searches and filters.

import { batch, computed, effect, signal } from "@preact/signals";

import { type Agent, changeThread, deleteThread, listAgents, listThreads, Refused, type Thread, type ThreadStatus, type Wanted } from "./server/api.ts";
import { repeated } from "./repeated.ts";
import { session, view } from "./session.ts";

export const agents = signal<readonly Agent[] | null>(null);
export const agent = signal("");
export const wanted = signal<Wanted>({ status: null, text: "", archived: false });
/** Null while the answer for what is wanted has not come. */
export const threads = signal<readonly Thread[] | null>(null);
export const hasMore = computed(() => cursor.value !== null);
/** Whether an answer is awaited for what the user has asked for. */
export const isSearching = signal(false);
/** Why there is no list, and what the server wants to have for one, as far as the user can give it. */
export const problem = signal<{ readonly message: string; readonly missing: "user" | "token" | null } | null>(null);
/** Why the last change of a thread has failed. */
export const refusal = signal<string | null>(null);
/** What can be done with the threads of the chosen agent. */
export const abilities = computed(() => agents.value?.find(({ name }) => name === agent.value)?.threads ?? { search: false, changes: false });

const PAGE = 50;
const EVERY = 4_000;
/** Requests in which no thread comes, after which the list waits for its user to go on. */
const MOST_EMPTY = 12;

const cursor = signal<string | null>(null);
let reading = 0;
let isMoreWanted = false;
/** Whether what is on the list is not what is wanted now. */
let isOther = false;

/** Reads the newest threads again. Those that follow stay as they were read, unless they are among the newest now. */
export async function refresh(): Promise<void> {
  const number = ++reading;
  try {
    if (agents.peek() === null) agents.value = await listAgents();
    if (number !== reading) return;
    agent.value ||= agents.peek()?.[0]?.name ?? "";
    const now = await someThreads(null, number);
    if (now === null) return;
    const before = threads.peek();
    batch(() => {
      isSearching.value = false;
      problem.value = null;
      if (before !== null && !isOther && now.next !== null && before.length > now.threads.length) {
        threads.value = followed(now.threads, before);
      } else {
        threads.value = now.threads;
        cursor.value = now.next;
      }
      isOther = false;
    });
  } catch (error) {
    if (number !== reading) return;
    isSearching.value = false;
    problem.value = problemOf(error);
  }
}

/** The newest threads, and those of an earlier list that are older than all of them. */
function followed(newest: readonly Thread[], before: readonly Thread[]): readonly Thread[] {
  const last = newest.at(-1);
  const known = new Set(newest.map(({ id }) => id));
  return [...newest, ...before.filter(({ id, updatedAt }) => !known.has(id) && last !== undefined && updatedAt <= last.updatedAt)];
}

/** The next threads after a cursor, read from as many pages as it takes, or null if the user wants something else by now. */
async function someThreads(after: string | null, number: number): Promise<{ threads: readonly Thread[]; next: string | null } | null> {
  const found: Thread[] = [];
  let next = after;
  for (let left = MOST_EMPTY; left > 0 && found.length < PAGE; left -= 1) {
    const page = await listThreads(agent.peek(), wanted.peek(), PAGE - found.length, next);
    if (number !== reading) return null;
    found.push(...page.threads);
    next = page.nextCursor;
    if (next === null) break;
  }
  return { threads: found, next };
}

/** Reads the threads that follow. */
export async function more(): Promise<void> {
  if (isMoreWanted || cursor.peek() === null) return;
  isMoreWanted = true;
  const [after, of] = [cursor.peek(), wanted.peek()];
  try {
    const page = await someThreads(after, reading);
    if (page === null || cursor.peek() !== after || wanted.peek() !== of) return; // read again when it is scrolled to
    const known = new Set(threads.peek()?.map(({ id }) => id));
    batch(() => {
      threads.value = [...(threads.peek() ?? []), ...page.threads.filter(({ id }) => !known.has(id))];
      cursor.value = page.next;
    });
  } catch (error) {
    problem.value = problemOf(error);
  } finally {
    isMoreWanted = false;
  }
}

function problemOf(error: unknown): { message: string; missing: "user" | "token" | null } {
  const refused = error instanceof Refused ? error : null;
  const missing = refused?.status === 401 ? "user" : refused?.code === "token_expected" ? "token" : null;
  return { message: refused?.message ?? "The server cannot be reached.", missing };
}

export function choose(name: string): void {
  agent.value = name;
  restart();
}

export function filterBy(status: ThreadStatus | null, archived = false): void {
  wanted.value = { ...wanted.peek(), status, archived };
  restart();
}

/** Milliseconds after the last letter before the server is asked. */
const TYPING = 250;
let typing: ReturnType<typeof setTimeout> | undefined;

/** Searches for a text. What is on the list stays there until the answer comes. */
export function searchFor(text: string): void {
  clearTimeout(typing);
  if (text.trim() === wanted.peek().text) return;
  isSearching.value = true;
  typing = setTimeout(() => {
    wanted.value = { ...wanted.peek(), text: text.trim() };
    forget();
    void refresh();
  }, TYPING);
}

function restart(): void {
  forget();
  threads.value = null;
  void refresh();
}

function forget(): void {
  reading += 1;
  isOther = true;
  cursor.value = null;
  isSearching.value = true;
  if (threads.peek() !== null) threads.value = threads.peek()!.slice(0, PAGE);
}

/** Changes a thread on the list at once, and says so if the server refuses. Returns whether it has taken it. */
export async function change(thread: Thread, changes: { readonly name?: string; readonly archived?: boolean }): Promise<boolean> {
  return tried(async () => {
    const changed = await changeThread(agent.peek(), thread.id, changes);
    reading += 1; // what is being read has it as it was
    if (changed.archived !== wanted.peek().archived) drop(thread.id);
    else threads.value = threads.peek()?.map((each) => (each.id === thread.id ? changed : each)) ?? null;
  });
}

export async function remove(thread: Thread): Promise<boolean> {
  return tried(async () => {
    await deleteThread(agent.peek(), thread.id);
    reading += 1;
    drop(thread.id);
  });
}

function drop(id: string): void {
  threads.value = threads.peek()?.filter((each) => each.id !== id) ?? null;
}

async function tried(what: () => Promise<void>): Promise<boolean> {
  refusal.value = null;
  try {
    await what();
    return true;
  } catch (error) {
    refusal.value = error instanceof TypeError ? "The server cannot be reached." : (error as Error).message;
    return false;
  }
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
