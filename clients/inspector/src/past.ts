// The runs of the open thread that the page has not seen itself: listed by the server, and read from it one by one. The
// newest is read with its thread, any other when it is asked for. Their events come before those that the page has seen.

import { effect, signal } from "@preact/signals";

import { isObject, parsed } from "./model/json.ts";
import type { Entry, EventLog } from "./model/log.ts";
import { prelude, saySame } from "./model/prelude.ts";
import { Verifier } from "./model/verifier.ts";
import type { WireEvent } from "./model/view.ts";
import { type FinishedRun, listRuns, Refused, runLines } from "./server/api.ts";
import { failure, position, session, type Session, splice, tick } from "./session.ts";

export interface PastRun extends FinishedRun {
  /** How many of its events are in the log; 0 until it is read. */
  readonly count: number;
}

/** The oldest first; null until the server has listed them. Only runs that the page has not seen itself. */
export const pastRuns = signal<readonly PastRun[] | null>(null);
/** The run that is being read. */
export const reading = signal<string | null>(null);

/** Compressed bytes of events up to which a run is read without being asked for: some ten thousand events. */
const LARGE = 1_000_000;
/** Milliseconds of work after which the page may draw. */
const SLICE = 10;

/** From now on the past of whichever thread is open is listed, once the thread is known to have one. */
export function readPast(): void {
  let of: Session | null = null;
  let isListed = false;
  effect(() => {
    void tick.value;
    const now = session.value;
    if (now !== of) [of, isListed] = [now, false];
    if (now?.kind !== "thread" || now.log.length === 0) {
      if (!isListed) pastRuns.value = reading.value = null;
      return;
    }
    if (isListed) return;
    isListed = true;
    void list(now);
  });
}

/** Whether the events of a run are there, or can no longer come. */
export const isSettled = (runId: string): boolean => pastRuns.value !== null && !pastRuns.value.some((run) => run.runId === runId && run.count === 0);

/** Whether the events of a run were made of its checkpoints. */
export const isFromCheckpoints = (runId: string): boolean => pastRuns.value?.some((run) => run.runId === runId && run.count > 0 && !run.kept) ?? false;

/** The newest run before the first one that is read. */
export const nextEarlier = (): PastRun | undefined => {
  const runs = pastRuns.value ?? [];
  const first = runs.findIndex(({ count }) => count > 0);
  return runs.slice(0, first === -1 ? undefined : first).findLast(({ count }) => count === 0);
};

/** Reads a run, and shows its last moment. */
export async function showRun(runId: string): Promise<void> {
  const of = session.peek();
  if (of === null || !(await read(of, runId)) || session.peek() !== of) return;
  const { start, count } = placeOf(runId);
  position.value = start + count;
}

const GONE = 404;

async function list(of: Session): Promise<void> {
  let runs: readonly FinishedRun[] = [];
  try {
    runs = await listRuns(of.agent, of.name);
  } catch (error) {
    if (session.peek() === of) failure.value = `The runs of the thread cannot be listed. ${wordsOf(error)}`;
  }
  if (session.peek() !== of) return;
  const first = prelude(of.log, 0);
  const seen = new Set(of.log.entries.slice(first.count).flatMap(({ event }) => (event.type === "RUN_STARTED" ? [String(event.runId)] : [])));
  const past = runs.filter(({ runId, status }) => !seen.has(runId) && status !== "running" && status !== "stopping");
  pastRuns.value = past.toReversed().map((run) => ({ ...run, count: 0 }));
  const newest = past[0];
  if (newest && newest === runs[0] && newest.bytes < LARGE) await read(of, newest.runId, false);
  if (asked?.of === of) await read(of, asked.runId);
  asked = null;
}

/** The run that the address names. */
let asked: { readonly of: Session; readonly runId: string } | null = null;
export function ask(of: Session, runId: string): void {
  asked = { of, runId };
}

/** One after the other: each has its place before those that were read before it. */
let last: Promise<unknown> = Promise.resolve();
function read(of: Session, runId: string, isAskedFor = true): Promise<boolean> {
  const now = last.then(() => readNow(of, runId, isAskedFor));
  last = now;
  return now;
}

async function readNow(of: Session, runId: string, isAskedFor: boolean): Promise<boolean> {
  const run = pastRuns.peek()?.find((each) => each.runId === runId);
  if (session.peek() !== of || run === undefined || run.count > 0) return run !== undefined && session.peek() === of;
  reading.value = runId;
  try {
    const entries = await entriesOf(await runLines(of.agent, of.name, runId));
    if (session.peek() !== of) return false;
    await insert(of.log, runId, entries);
    return true;
  } catch (error) {
    if (session.peek() !== of) return false;
    // Of a run that failed at once there is nothing but what the thread says anyway.
    if (isAskedFor || !(error instanceof Refused) || error.status !== GONE) failure.value = `The run cannot be shown. ${wordsOf(error)}`;
    pastRuns.value = pastRuns.peek()!.filter((each) => each.runId !== runId);
    return false;
  } finally {
    if (session.peek() === of) reading.value = null;
  }
}

async function insert(log: EventLog, runId: string, entries: readonly Omit<Entry, "index">[]): Promise<void> {
  const { start } = placeOf(runId);
  await splice(log, start, 0, entries);
  pastRuns.value = pastRuns.peek()!.map((run) => (run.runId === runId ? { ...run, count: entries.length } : run));
  const end = pastRuns.peek()!.reduce((sum, { count }) => sum + count, 0);
  const said = prelude(log, end);
  const isNewest = start + entries.length === end;
  if (isNewest && said.runId === runId && saySame(log.viewAt(end), log.viewAt(end + said.count))) await splice(log, end, said.count, []);
}

/** Where the events of a run are in the log, or have to be. */
function placeOf(runId: string): { readonly start: number; readonly count: number } {
  let start = 0;
  for (const run of pastRuns.peek() ?? []) {
    if (run.runId === runId) return { start, count: run.count };
    start += run.count;
  }
  return { start, count: 0 };
}

/** The events of a run, as they were emitted. */
async function entriesOf(lines: string): Promise<Omit<Entry, "index">[]> {
  const verifier = new Verifier();
  const entries: Omit<Entry, "index">[] = [];
  let since = performance.now();
  for (const line of lines.split("\n")) {
    const event = parsed(line);
    if (!isObject(event) || typeof event.type !== "string") continue;
    entries.push({ event: event as WireEvent, at: Number(event.timestamp), refused: verifier.refusal(event as WireEvent) });
    if (performance.now() - since < SLICE) continue;
    await new Promise((resolve) => setTimeout(resolve));
    since = performance.now();
  }
  return entries;
}

const wordsOf = (error: unknown): string => (error instanceof Refused ? error.message : "The server cannot be reached.");
