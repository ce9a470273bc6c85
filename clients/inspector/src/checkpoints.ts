// The checkpoints of the open thread: read from the server when they are looked at, some at a time, and again after each
// run. A run from one of them is an ordinary run, and becomes the thread's newest branch.

import { computed, effect, signal } from "@preact/signals";

import type { JsonObject } from "./model/json.ts";
import type { Entry } from "./model/log.ts";
import { pastRuns, showRun } from "./past.ts";
import { type Checkpoint, listCheckpoints, Refused } from "./server/api.ts";
import { failure, latest, position, session, type Session, tick } from "./session.ts";
import { panel } from "./ui/panes.ts";

/** The newest first; null until the server has listed them. */
export const checkpoints = signal<readonly Checkpoint[] | null>(null);
/** The channels of the state that a client may write. */
export const writable = signal<readonly string[]>([]);
export const isReading = signal(false);
/** Before which checkpoint the older ones come; null if there are none. */
const older = signal<string | null>(null);
export const hasOlder = computed(() => older.value !== null);

/** The checkpoints of the newest branch: the newest one, and all from which it came. */
export const branch = computed<ReadonlySet<string>>(() => {
  const found = new Set<string>();
  const all = new Map((checkpoints.value ?? []).map((each) => [each.id, each]));
  for (let now = checkpoints.value?.[0]; now !== undefined; now = now.parentId === null ? undefined : all.get(now.parentId)) found.add(now.id);
  return found;
});

export interface Mark {
  readonly checkpoint: Checkpoint;
  /** After how many events it was made. */
  readonly place: number;
}

/** Where the checkpoints are among the events; those of runs that are not read have no place. */
export const marks = computed<readonly Mark[]>(() => {
  void tick.value;
  const runs = new Map<string, Entry[]>();
  let run: Entry[] = [];
  for (const entry of checkpoints.value ? (session.value?.log.entries ?? []) : []) {
    if (entry.event.type === "RUN_STARTED") {
      const runId = String(entry.event.runId);
      run = runs.get(runId) ?? [];
      runs.set(runId, run);
    }
    run.push(entry);
  }
  return (checkpoints.value ?? []).flatMap((checkpoint) => {
    const entries = runs.get(checkpoint.runId ?? "");
    if (entries === undefined) return [];
    const at = Date.parse(checkpoint.createdAt ?? "");
    return [{ checkpoint, place: (entries.findLast((entry) => entry.at <= at) ?? entries[0]!).index + 1 }];
  });
});

/** Shows the moment of a checkpoint; its run is read for that, if it is not there yet. */
export async function show({ id, runId }: Checkpoint): Promise<void> {
  const of = session.peek();
  const find = () => marks.value.find(({ checkpoint }) => checkpoint.id === id);
  if (find() === undefined && runId !== null && pastRuns.peek()?.some((run) => run.runId === runId)) await showRun(runId);
  const mark = find();
  if (mark && session.peek() === of) position.value = mark.place;
}

/** Whether the moment of a checkpoint can be shown. */
export const mayShow = ({ id, runId }: Checkpoint): boolean => marks.value.some(({ checkpoint }) => checkpoint.id === id) || (pastRuns.value?.some((run) => run.runId === runId) ?? false);

/** Reads the next older ones. */
export const more = (): Promise<void> => read(session.peek()!, older.peek());

/** From now on the checkpoints are read while they are looked at, and again when a run has ended. */
export function readCheckpoints(): void {
  let of: Session | null = null;
  let was = "";
  effect(() => {
    const [now, { status, runId }] = [session.value, latest.value];
    const state = `${status} ${runId}`;
    if (now !== of) {
      [of, was] = [now, ""];
      checkpoints.value = older.value = null;
    }
    if (panel.value !== "checkpoints" || now?.kind !== "thread" || now.log.length === 0 || status === "running" || state === was) return;
    was = state;
    void read(now, null);
  });
}

async function read(of: Session, before: string | null): Promise<void> {
  isReading.value = true;
  try {
    const page = await listCheckpoints(of.agent, of.name, before);
    if (session.peek() !== of) return;
    checkpoints.value = before === null ? page.checkpoints : [...(checkpoints.peek() ?? []), ...page.checkpoints];
    older.value = page.next;
    writable.value = page.writable;
  } catch (error) {
    if (session.peek() === of) failure.value = `The checkpoints cannot be listed. ${error instanceof Refused ? error.message : "The server cannot be reached."}`;
  } finally {
    isReading.value = false;
  }
}

/** The part of a state that a client may write. */
export const writablePart = (state: JsonObject): JsonObject => Object.fromEntries(Object.entries(state).filter(([name]) => writable.value.includes(name)));
