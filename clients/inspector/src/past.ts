// The runs of the open thread that the page has not seen itself, and where their events are: before those that it has seen.
// `past_reader.ts` reads them.

import { signal } from "@preact/signals";

import type { Entry, EventLog } from "./model/log.ts";
import { prelude, saySame } from "./model/prelude.ts";
import type { FinishedRun } from "./server/api.ts";
import { position, session, type Session, splice } from "./session.ts";

export interface PastRun extends FinishedRun {
  /** How many of its events are in the log; 0 until it is read. */
  readonly count: number;
}

/** The oldest first; null until the server has listed them. Only runs that the page has not seen itself. */
export const pastRuns = signal<readonly PastRun[] | null>(null);
/** The run that is being read. */
export const reading = signal<string | null>(null);

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

/** Reads a run of the open thread. A page without a server reads none. */
let reader = async (_of: Session, _runId: string): Promise<boolean> => false;
export const readsWith = (read: typeof reader): void => void (reader = read);

/** The run that the address names. */
export const asked: { now: { readonly of: Session; readonly runId: string } | null } = { now: null };
export function ask(of: Session, runId: string): void {
  asked.now = { of, runId };
}

/** Reads a run, and shows its last moment. */
export async function showRun(runId: string): Promise<void> {
  const of = session.peek();
  if (of === null || !(await reader(of, runId)) || session.peek() !== of) return;
  const { start, count } = placeOf(runId);
  position.value = start + count;
}

/** Puts the events of a run where they belong, before those that the page has seen. */
export async function insert(log: EventLog, runId: string, entries: readonly Omit<Entry, "index">[]): Promise<void> {
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
