// What is shown of the past: the button that reads the run before, and what is said of a run whose events are gone.

import { computed } from "@preact/signals";

import { isFromCheckpoints, nextEarlier, pastRuns, reading, showRun } from "../past.ts";
import { position, session, tick } from "../session.ts";
import { Icon } from "./icons.tsx";
import { minute } from "./times.ts";

/** Reads the run before the first one that is there. */
export function EarlierRun() {
  if (!pastRuns.value?.length) return null;
  const run = nextEarlier();
  const left = pastRuns.value.filter(({ count }) => count === 0).length;
  const name = run === undefined ? "All earlier runs are shown" : `Show the run before${run.startedAt ? `, ${minute(Date.parse(run.startedAt))}` : ""} (${left === 1 ? "1 is not shown" : `${left} are not shown`})`;
  return (
    <button type="button" class="plain earlier" title={name} aria-label={name} aria-busy={reading.value !== null} disabled={run === undefined || reading.value !== null} onClick={() => run && void showRun(run.runId)}>
      <Icon name="earlier" />
    </button>
  );
}

const runAtHead = computed(() => {
  void tick.value;
  const entries = session.value?.log.entries ?? [];
  return entries.slice(0, position.value ?? undefined).findLast(({ event }) => event.type === "RUN_STARTED")?.event.runId;
});

/** That the run at the playhead is made of its checkpoints. */
export function PastNote() {
  const runId = runAtHead.value;
  if (runId === undefined || !isFromCheckpoints(String(runId))) return null;
  return (
    <p class="past-note" role="note">
      The events of this run are not kept. Its steps, messages and state are those of its checkpoints: single tokens, reasoning and progress are gone.
    </p>
  );
}
