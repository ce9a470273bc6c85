// The checkpoints of a thread: what each of them has, and a run from there, with another state if the server allows it.

import { useState } from "preact/hooks";

import { branch, checkpoints, hasOlder, isReading, mayShow, more, show, writable, writablePart } from "../checkpoints.ts";
import { isObject, parsed, type Json, type JsonObject } from "../model/json.ts";
import { same } from "../model/patch.ts";
import type { Checkpoint } from "../server/api.ts";
import { latest, runFrom, session } from "../session.ts";
import { DraftArea } from "./draft_area.tsx";
import { JsonTree } from "./json_view.tsx";
import { Failure } from "./message.tsx";
import { pane } from "./panes.ts";
import { clock } from "./times.ts";

export function Checkpoints() {
  const [open, setOpen] = useState<string | null>(null);
  const all = checkpoints.value;
  if (session.value?.kind !== "thread") return <p class="empty quiet">A recording has no checkpoints.</p>;
  if (all === null) return <p class="empty quiet">{isReading.value ? "Loading…" : latest.value.status === "running" ? "The checkpoints are listed when the run has ended." : "The thread has no checkpoints yet."}</p>;
  if (all.length === 0) return <p class="empty quiet">The thread has no checkpoints.</p>;
  return (
    <div class="scrolls checkpoints" tabIndex={0} role="group" aria-label="Checkpoints">
      <ol>
        {all.map((checkpoint) => (
          <li key={checkpoint.id} class={branch.value.has(checkpoint.id) ? "" : "aside"}>
            <button type="button" class="checkpoint" aria-expanded={open === checkpoint.id} onClick={() => setOpen(open === checkpoint.id ? null : checkpoint.id)}>
              <span class="checkpoint-time">{checkpoint.createdAt === null ? "" : clock(Date.parse(checkpoint.createdAt))}</span>
              <span class="checkpoint-next">{nameOf(checkpoint)}</span>
              {checkpoint.error && <span class="word failed">failed</span>}
              {checkpoint.asks && <span class="word waiting">asked</span>}
              {!branch.value.has(checkpoint.id) && <span class="quiet">another branch</span>}
            </button>
            {open === checkpoint.id && <Opened checkpoint={checkpoint} close={() => setOpen(null)} />}
          </li>
        ))}
      </ol>
      {hasOlder.value && (
        <button type="button" class="wide" disabled={isReading.value} onClick={() => void more()}>
          Older checkpoints
        </button>
      )}
    </div>
  );
}

const SOURCES: { readonly [source: string]: string } = { input: "input", update: "changed by hand", fork: "forked" };

function nameOf({ source, next }: Checkpoint): string {
  const nodes = next.filter((name) => name !== "__start__").join(", ");
  const made = SOURCES[source ?? ""];
  const then = nodes ? `before ${nodes}` : next.length ? "before the first step" : "end of the run";
  return made ? `${made}, ${then}` : then;
}

function Opened({ checkpoint, close }: { checkpoint: Checkpoint; close: () => void }) {
  const [draft, setDraft] = useState<string | null>(null);
  const [isSending, setIsSending] = useState(false);
  const isBusy = isSending || latest.value.status === "running";
  const value = draft === null ? undefined : parsed(draft);
  const edited = isObject(value) ? changed(checkpoint.state, value) : null;
  const unknown = edited === null ? [] : Object.keys(edited).filter((name) => !writable.value.includes(name));
  const run = async (state?: JsonObject) => {
    setIsSending(true);
    const isTaken = await runFrom(checkpoint.id, state);
    setIsSending(false);
    if (!isTaken) return;
    pane.value = "conversation";
    close();
  };
  const isEnd = checkpoint.next.length === 0;
  return (
    <div class="checkpoint-open">
      {checkpoint.error && <Failure message={checkpoint.error.message} code={checkpoint.error.code} />}
      {draft === null ? (
        <JsonTree value={checkpoint.state} />
      ) : (
        <>
          <DraftArea label="State to run with" class="code" rows={8} draft={draft} isInvalid={edited === null || unknown.length > 0} write={setDraft} />
          {edited === null && <p class="wrong">This is not a JSON object.</p>}
          {unknown.length > 0 && <p class="wrong">{`Clients may not write ${unknown.join(", ")}.`}</p>}
        </>
      )}
      {isEnd && <p class="quiet">The run ended here, so nothing can run from here. Run from an earlier checkpoint, or edit a message.</p>}
      {!isEnd && draft === null && writable.value.length === 0 && <p class="quiet">The server lets clients write no channel of the state (`--state`), so the state cannot be edited.</p>}
      <div class="actions">
        {draft === null ? (
          <>
            <button type="button" class="small" disabled={!mayShow(checkpoint)} onClick={() => void show(checkpoint)}>
              Show this moment
            </button>
            {!isEnd && writable.value.length > 0 && (
              <button type="button" class="small" onClick={() => setDraft(JSON.stringify(writablePart(checkpoint.state), null, 2))}>
                Edit the state
              </button>
            )}
            {!isEnd && (
              <button type="button" class="small primary" disabled={isBusy} onClick={() => void run()}>
                Run from here
              </button>
            )}
          </>
        ) : (
          <>
            <button type="button" class="small" onClick={() => setDraft(null)}>
              Cancel
            </button>
            <button type="button" class="small primary" disabled={isBusy || edited === null || unknown.length > 0} onClick={() => void run(edited!)}>
              Run with this state
            </button>
          </>
        )}
      </div>
    </div>
  );
}

/** The values that differ from those of the checkpoint. */
function changed(before: JsonObject, after: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => !same((before[name] ?? null) as Json, value)));
}
