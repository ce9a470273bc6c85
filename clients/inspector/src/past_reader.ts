// Reads the past of a thread from its server: the list of runs, and run by run their events. The newest run is read with
// its thread, any other when it is asked for.

import { effect } from "@preact/signals";

import { isObject, parsed } from "./model/json.ts";
import type { Entry } from "./model/log.ts";
import { prelude } from "./model/prelude.ts";
import { Verifier } from "./model/verifier.ts";
import type { WireEvent } from "./model/view.ts";
import { asked, insert, pastRuns, reading, readsWith } from "./past.ts";
import { type FinishedRun, listRuns, Refused, runLines } from "./server/api.ts";
import { failure, session, type Session, tick } from "./session.ts";

/** Compressed bytes of events up to which a run is read without being asked for: some ten thousand events. */
const LARGE = 1_000_000;
/** Milliseconds of work after which the page may draw. */
const SLICE = 10;

/** From now on the past of whichever thread is open is listed, once the thread is known to have one. */
export function readPast(): void {
  readsWith(read);
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
  if (asked.now?.of === of) await read(of, asked.now.runId);
  asked.now = null;
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
