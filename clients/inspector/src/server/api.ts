// The requests of the page, to the server that it came from. An error response becomes a `Refused`.

import type { Graph } from "../model/graph.ts";
import type { JsonObject } from "../model/json.ts";

export interface Agent {
  readonly name: string;
  readonly description?: string;
  /** What can be done with its threads, by those who may. */
  readonly threads?: { readonly search: boolean; readonly changes: boolean };
}

export type ThreadStatus = "idle" | "running" | "waiting" | "failed" | "unreadable";

export interface Thread {
  readonly id: string;
  readonly name: string | null;
  readonly agentId: string;
  readonly updatedAt: string;
  readonly archived: boolean;
  readonly status: ThreadStatus;
}

/** An answer of 400 or more. `code` and `message` are the server's. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const BASE = new URL(".", location.href);
const KEY = "authorization";

/** What the page sends as `Authorization`, for as long as its tab is open. */
export const credentials = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value: string) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
  /** The server's token; also the address with it, which the server prints. */
  setToken: (text: string) => credentials.set(`Bearer ${tokenIn(text) ?? text}`),
};

/** Takes the token out of the page's address, so that no bookmark, link or picture of the page has it; returns whether
 * there was one. */
export function takeToken(): boolean {
  const token = tokenIn(location.hash);
  if (token === null) return false;
  history.replaceState(history.state, "", location.pathname + location.search);
  credentials.set(`Bearer ${token}`);
  return true;
}

/** The token in a fragment, or in an address that has one. */
function tokenIn(text: string): string | null {
  const token = new URLSearchParams(text.slice(text.indexOf("#") + 1)).get("token") ?? "";
  return /^[!-~]+$/.test(token) ? token : null; // no header can have others
}

/** The answer to a request; throws `Refused`, and a `TypeError` where the server cannot be reached. */
export async function requested(path: string, how: RequestInit = {}): Promise<Response> {
  const headers = new Headers(how.headers);
  if (credentials.get()) headers.set("Authorization", credentials.get());
  const response = await fetch(new URL(path, BASE), { ...how, headers });
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { error?: string; message?: string };
  throw new Refused(response.status, body.error ?? "refused", body.message ?? `The server answered ${response.status}.`);
}

/** The agents, each once: an only one is also listed as `default`, for pages that name none. */
export async function listAgents(): Promise<Agent[]> {
  const { agents } = (await (await requested("info")).json()) as { agents: { [name: string]: { name?: string; description?: string; threads?: Agent["threads"] } } };
  const own = Object.entries(agents).filter(([key, { name = key }]) => name === key);
  return own.map(([name, { description, threads }]) => ({ name, description, threads }));
}

/** What a page may send to an agent. */
export interface AgentInput {
  /** The schema of the state that it may write, and of the context that it may set; null if the server knows none. */
  readonly input: JsonObject | null;
  readonly context: JsonObject | null;
  /** Whether the agent takes messages. */
  readonly messages: boolean;
  /** What only the owner may open to pages, for those who may know. */
  readonly closed?: { readonly input: readonly string[]; readonly context: readonly string[] };
}

export async function readInput(agent: string): Promise<AgentInput> {
  return (await requested(`${encodeURIComponent(agent)}/schemas`)).json();
}

/** How the graph of an agent looks, and whether this page may name nodes at which its runs pause. */
export async function readGraph(agent: string): Promise<Graph & { readonly breakpoints: boolean }> {
  return (await requested(`${encodeURIComponent(agent)}/graph`)).json();
}

export interface Wanted {
  readonly status: ThreadStatus | null;
  /** Words of the title or the id. */
  readonly text: string;
  /** Archived threads alone; else they are left out. */
  readonly archived: boolean;
}

/** A page of an agent's threads, the newest first. */
export async function listThreads(agent: string, { status, text, archived }: Wanted, limit: number, cursor: string | null): Promise<{ threads: Thread[]; nextCursor: string | null }> {
  const query = new URLSearchParams({ agent, limit: String(limit), ...(status && { status }), ...(text && { search: text }), ...(archived && { archived: "only" }), ...(cursor && { cursor }) });
  return (await requested(`threads?${query}`)).json();
}

/** A run of a thread, as the server lists it. */
export interface FinishedRun {
  readonly runId: string;
  readonly status: "running" | "stopping" | "finished" | "interrupted" | "failed" | "cancelled" | "unknown";
  readonly startedAt: string | null;
  /** The size of its events where they are kept. */
  readonly bytes: number;
  /** Whether its events are kept; if not, they are made of its checkpoints. */
  readonly kept: boolean;
}

const MOST_RUNS = 100;

/** The runs of a thread, the newest first. */
export async function listRuns(agent: string, threadId: string): Promise<readonly FinishedRun[]> {
  const query = new URLSearchParams({ agent, limit: String(MOST_RUNS) });
  return (await (await requested(`${pathOf(threadId)}/runs?${query}`)).json()).runs;
}

/** The events of a run that has ended, each as a line of JSON with its time. */
export async function runLines(agent: string, threadId: string, runId: string): Promise<string> {
  const query = new URLSearchParams({ agent, run: runId });
  return (await requested(`${pathOf(threadId)}/events?${query}`, { headers: { Accept: "application/x-ndjson" } })).text();
}

export interface Checkpoint {
  readonly id: string;
  readonly parentId: string | null;
  readonly createdAt: string | null;
  /** The run that made it. */
  readonly runId: string | null;
  /** Why it was made: `input`, `loop`, `update`, `fork`. */
  readonly source: string | null;
  /** The nodes that run next; none at the end of a run. */
  readonly next: readonly string[];
  /** Whether one of them asked. */
  readonly asks: boolean;
  /** What one of them raised, as far as the server says it. */
  readonly error: { readonly message: string; readonly code: string | null } | null;
  readonly state: JsonObject;
}

export interface CheckpointPage {
  readonly checkpoints: readonly Checkpoint[];
  /** Before which checkpoint the next page begins. */
  readonly next: string | null;
  readonly writable: readonly string[];
}

/** Some checkpoints of a thread, the newest first. */
export async function listCheckpoints(agent: string, threadId: string, before: string | null, limit?: number): Promise<CheckpointPage> {
  const query = new URLSearchParams({ agent, ...(before !== null && { before }), ...(limit && { limit: String(limit) }) });
  return (await requested(`${pathOf(threadId)}/checkpoints?${query}`)).json();
}

/** The path of a thread, whose id may have slashes. */
const pathOf = (threadId: string): string => `threads/${threadId.split("/").map(encodeURIComponent).join("/")}`;

const threadPath = (agent: string, id: string): string => `threads/${encodeURIComponent(id)}?agent=${encodeURIComponent(agent)}`;

/** Gives a thread a name, or puts it into the archive or takes it out. */
export async function changeThread(agent: string, id: string, changes: { readonly name?: string; readonly archived?: boolean }): Promise<Thread> {
  return (await requested(threadPath(agent, id), { ...post(changes), method: "PATCH" })).json();
}

/** Deletes a thread; one that is gone already is deleted. */
export async function deleteThread(agent: string, id: string): Promise<void> {
  try {
    await requested(threadPath(agent, id), { method: "DELETE" });
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) throw error;
  }
}

/**
 * Starts a run. Returns when the server has taken the input; its events come with the thread's own stream. The answer is
 * read until `signal` says that the run is seen there: an agent may stop a run that has lost its last reader.
 */
export async function startRun(agent: string, input: JsonObject, signal: AbortSignal): Promise<void> {
  const response = await requested(encodeURIComponent(agent), { ...post(input), signal });
  void response.body?.pipeTo(new WritableStream()).catch(() => {});
}

export async function stopRun(agent: string, threadId: string): Promise<void> {
  await requested(`${encodeURIComponent(agent)}/stop`, post({ threadId }));
}

const post = (body: JsonObject): RequestInit => ({ method: "POST", headers: { "Content-Type": "application/json", Accept: "text/event-stream" }, body: JSON.stringify(body) });
