// The page's address names the agent and the thread, or a recording, the moment that is looked at, and the panel, so that a reload and a link
// show the same. A moment is a run and how many of its events have come: numbers of all events would be others after a
// reload, which begins with what the thread has by then.

import { effect } from "@preact/signals";

import { agent } from "./threads.ts";
import { kept } from "./kept.ts";
import { close, failure, openRecording, openThread, position, session, tick } from "./session.ts";
import { ask, isSettled } from "./past.ts";
import { type Panel, panel, PANEL_NAMES } from "./ui/panes.ts";

/** The moment that the address names, until the events are there. */
let wanted: { readonly run: string; readonly at: number } | null = null;

/** Opens what the address names. */
export function openAddressed(): void {
  const query = new URLSearchParams(location.search);
  const named = query.get("agent") ?? "";
  const thread = query.get("thread");
  const shown = query.get("panel") as Panel;
  if (PANEL_NAMES.includes(shown)) panel.value = shown;
  if (named) agent.value = named;
  wanted = query.has("run") ? { run: query.get("run")!, at: Number(query.get("at")) || 0 } : null;
  const recording = query.get("recording");
  if (named && thread) openThread(named, thread);
  else close();
  if (wanted && session.value?.kind === "thread") ask(session.value, wanted.run);
  if (recording) void openKept(recording);
}

/** Opens a thread, and names it in the address. */
export function goTo(name: string, threadId: string | null): void {
  const query = new URLSearchParams({ agent: name, ...(threadId !== null && { thread: threadId }), ...(panel.peek() !== "state" && { panel: panel.peek() }) });
  history.pushState(null, "", `?${query}`);
  openAddressed();
}

/** The address of a thread. */
export const addressOf = (name: string, threadId: string): string => `?${new URLSearchParams({ agent: name, thread: threadId })}`;

/** Names a recording that was opened in the address. */
export function leave(recording: string): void {
  wanted = null;
  history.pushState(null, "", `?${new URLSearchParams({ recording })}`);
}

async function openKept(name: string): Promise<void> {
  const text = await kept(name);
  if (text === undefined) failure.value = `${name} is not kept in this browser: open the file again.`;
  else if (new URLSearchParams(location.search).get("recording") === name) openRecording(name, text);
}

/** Milliseconds between two changes of the address: browsers refuse many. */
const PACE = 400;

/** From now on the address follows what is looked at. */
export function keepAddress(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    void tick.value;
    if (wanted !== null) goToWanted();
    void [position.value, panel.value, session.value];
    clearTimeout(timer);
    timer = setTimeout(() => {
      const query = current();
      if (query !== null && `?${query}` !== location.search) history.replaceState(history.state, "", `?${query}`);
    }, PACE);
  });
}

function current(): URLSearchParams | null {
  const now = session.peek();
  if (now === null || wanted !== null) return null;
  const query = new URLSearchParams(now.kind === "thread" ? { agent: now.agent, thread: now.name } : { recording: now.name });
  const at = position.peek();
  if (at !== null) {
    const run = now.log.entries.slice(0, at).findLast(({ event }) => event.type === "RUN_STARTED")?.event.runId;
    const begun = now.log.entries.find(({ event }) => event.type === "RUN_STARTED" && event.runId === run);
    if (begun) {
      query.set("run", String(run));
      query.set("at", String(at - begun.index));
    }
  }
  if (panel.peek() !== "state") query.set("panel", panel.peek());
  return query;
}

/** Puts the playhead where the address says, as soon as the events are there. */
function goToWanted(): void {
  if (session.peek()?.kind === "thread" && !isSettled(wanted!.run)) return;
  const entries = session.peek()?.log.entries ?? [];
  const begun = entries.find(({ event }) => event.type === "RUN_STARTED" && String(event.runId) === wanted!.run);
  if (begun === undefined) return;
  const next = entries.findIndex(({ event }, place) => place > begun.index && event.type === "RUN_STARTED" && event.runId !== begun.event.runId);
  const end = next === -1 ? entries.length : next;
  if (begun.index + wanted!.at > end) {
    if (next === -1 && entries.at(-1)?.event.type !== "RUN_FINISHED" && entries.at(-1)?.event.type !== "RUN_ERROR") return; // more may come
    position.value = end;
  } else position.value = begun.index + wanted!.at;
  wanted = null;
}
