// What the page shows: a thread of the server, live, or a recording; and the event at which it is looked at.

import { computed, signal } from "@preact/signals";
import type { Message } from "@ag-ui/client";

import type { Json, JsonObject } from "./model/json.ts";
import { fromJsonl } from "./model/jsonl.ts";
import { type Entry, EventLog, type Gap } from "./model/log.ts";
import { RunReader, type RunSpan } from "./model/spans.ts";
import { Verifier } from "./model/verifier.ts";
import { EMPTY, type View, type WireEvent } from "./model/view.ts";
import type { Kind } from "./sent/choose.ts";
import { startRun, stopRun } from "./server/api.ts";
import { type Connection, ThreadStream } from "./server/stream.ts";

export interface Session {
  readonly kind: "thread" | "recording";
  /** The thread's id, or the name of the file. */
  readonly name: string;
  readonly agent: string;
  readonly log: EventLog;
  readonly stream?: ThreadStream;
  /** The file of a recording, which has more than its events. */
  readonly text?: string;
  /** What is said of it below its name. */
  readonly about?: string;
  /** Of a run that was sent: what it had that was not sent. */
  readonly left?: readonly Kind[];
}

export const session = signal<Session | null>(null);
export const connection = signal<Connection>({ status: "connecting" });
/** How many events are taken as having come; null: all, also those to come. */
export const position = signal<number | null>(null);
/** Whether what is shown is of a run that was sent without this. */
export const isLeftOut = (kind: Kind): boolean => session.value?.left?.includes(kind) === true;
/** Counts the frames in which events came. */
export const tick = signal(0);
/** Why the last thing that the user did has failed, or was done in part only. */
export const failure = signal<string | null>(null);

/** Where the runs that this page starts pause: names of nodes. A page that is loaded again pauses nowhere. */
export interface Breakpoints {
  readonly before: readonly string[];
  readonly after: readonly string[];
}
export const NOWHERE: Breakpoints = { before: [], after: [] };
export const breakpoints = signal<Breakpoints>(NOWHERE);

export const length = computed(() => (tick.value, session.value?.log.length ?? 0));
export const view = computed<View>(() => {
  void tick.value;
  const log = session.value?.log;
  if (!log) return EMPTY;
  return position.value === null ? log.view : log.viewAt(position.value);
});
export const isLive = computed(() => position.value === null);
/** The view after all events, whichever is looked at. */
export const latest = computed<View>(() => (tick.value, session.value?.log.view ?? EMPTY));
/** The runs, for the timeline; made when it is looked at. */
export const runs = computed<readonly RunSpan[]>(() => {
  void tick.value;
  const log = session.value?.log;
  if (log === undefined) return [];
  let reader = readers.get(log);
  if (reader === undefined) readers.set(log, (reader = new RunReader()));
  return reader.read(log.entries);
});
const readers = new WeakMap<EventLog, RunReader>();

/** Puts events of the past in the place of others; the moment that is looked at stays. */
export async function splice(log: EventLog, place: number, removed: number, more: readonly Omit<Entry, "index">[]): Promise<void> {
  await log.splice(place, removed, more);
  readers.delete(log);
  const at = position.peek();
  if (session.peek()?.log === log && at !== null && at > place) position.value = Math.max(place, at - removed) + more.length;
  tick.value += 1;
}

/** Milliseconds between two drawings while events come, and at most; a drawing that takes long is followed by a longer
 * pause, so that the page has time for its user however fast events come. */
const PACE = 50;
const SLOWEST = 500;
let isWaiting = false;
let drawnAt = 0;
let took = 0;
/** However many events come meanwhile, the page is drawn once. The first one after a pause is drawn at once. */
export function changed(): void {
  if (isWaiting) return;
  isWaiting = true;
  const now = () => {
    isWaiting = false;
    const began = performance.now();
    tick.value += 1;
    setTimeout(() => {
      drawnAt = performance.now();
      took = drawnAt - began;
    });
  };
  const wait = drawnAt + Math.min(Math.max(PACE, took * 3), SLOWEST) - performance.now();
  if (document.visibilityState === "hidden") setTimeout(now, 200);
  else if (wait <= 0) requestAnimationFrame(now);
  else setTimeout(() => (document.visibilityState === "hidden" ? now() : requestAnimationFrame(now)), wait);
}

function show(next: Session | null): void {
  session.peek()?.stream?.close();
  position.value = null;
  failure.value = null;
  connection.value = { status: "connecting" };
  session.value = next;
}

export function openThread(agent: string, threadId: string): void {
  const log = new EventLog();
  const verifier = new Verifier();
  const handlers = {
    events(events: readonly WireEvent[], gap?: Gap) {
      for (const event of events) if (event.type === "RUN_STARTED") seen(String(event.runId));
      for (const event of events) log.append(event, event.timestamp ?? Date.now(), { refused: verifier.refusal(event), ...(gap && { gap }) });
      changed();
    },
    connection: (now: Connection) => {
      if (session.peek()?.stream === undefined || session.peek()?.log === log) connection.value = now;
    },
  };
  if (agent !== session.peek()?.agent) breakpoints.value = NOWHERE;
  show(null);
  session.value = { kind: "thread", name: threadId, agent, log, stream: new ThreadStream(agent, threadId, handlers) };
}

/** Shows a recording, without an incomplete last line; throws for a text that is no recording. */
export function openRecording(name: string, text: string): void {
  const log = new EventLog();
  const verifier = new Verifier();
  const { events, incomplete } = fromJsonl(text);
  for (const { event, at } of events) log.append(event, at, { refused: verifier.refusal(event) });
  show({ kind: "recording", name, agent: "", log, text });
  if (incomplete !== undefined) failure.value = `${name}: line ${incomplete}, the last one, is incomplete, and left out.`;
}

export const close = (): void => show(null);

/** Random, and a UUID: a platform takes no other ids. (`crypto.randomUUID` is there on HTTPS and localhost only.) */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** What a run gets besides messages: values of the state's channels, and of the context's fields. */
export interface Values {
  readonly state?: JsonObject;
  readonly context?: JsonObject;
}

/** Sends a message, and returns whether the server has taken it. */
export const send = (text: string, values?: Values): Promise<boolean> => run([...sent(), { id: newId(), role: "user", content: text }], fieldsOf(values));

/** Runs the agent with these values, and no new message; returns whether the server has taken them. */
export const runWith = (values: Values): Promise<boolean> => run(sent(), fieldsOf(values));

/** Runs the turn of a user's message again; with a text, as if that had been sent in its place. */
export function forkAt(messageId: string, text?: string): Promise<boolean> {
  const messages = sent();
  const place = messages.findIndex(({ id }) => id === messageId);
  const message = messages[place]!;
  return run([...messages.slice(0, place), text === undefined ? message : ({ ...message, content: text } as Message)]);
}

export interface Answer {
  readonly interruptId: string;
  readonly status: "resolved" | "cancelled";
  readonly payload?: Json;
}

export const answer = (answers: readonly Answer[]): Promise<boolean> => run(sent(), { resume: answers as unknown as Json });

/** Runs the thread from a checkpoint, with these values in its state; what runs then is the thread's newest branch. */
export const runFrom = (checkpointId: string, state?: JsonObject): Promise<boolean> => run([], { forwardedProps: { command: { checkpointId } }, ...(state && { state }) });

/** Where an input has these values. */
const fieldsOf = ({ state, context }: Values = {}): JsonObject => ({ ...(state && { state }), ...(context && { forwardedProps: { context } }) });

export const stop = (): Promise<boolean> => tried(({ agent, name }) => stopRun(agent, name));

/** What a client sends: it shows activities, and sends them not. */
const sent = (): Message[] => session.peek()!.log.view.messages.filter(({ role }) => role !== "activity");

/** Runs whose own answer is read, for as long as the thread's stream has not shown them. */
const answers = new Map<string, AbortController>();

function seen(runId: string): void {
  answers.get(runId)?.abort();
  answers.delete(runId);
}

/** A browser keeps a page that was left, with its requests: they end. */
addEventListener("pagehide", () => [...answers.keys()].forEach(seen));

function run(messages: readonly Message[], more: JsonObject = {}): Promise<boolean> {
  return tried(({ agent, name: threadId }) => {
    const runId = newId();
    const answer = new AbortController();
    answers.set(runId, answer);
    const input = { threadId, runId, protocolVersion: "1.0", messages: messages as unknown as Json, tools: [], context: [], ...withBreakpoints(more) };
    position.value = null;
    return startRun(agent, input as JsonObject, answer.signal).catch((error: Error) => {
      answers.delete(runId);
      if (!answer.signal.aborted) throw error;
    });
  });
}

/** An input's fields, with the nodes at which its run pauses. */
function withBreakpoints(more: JsonObject): JsonObject {
  const { before, after } = breakpoints.peek();
  if (!before.length && !after.length) return more;
  const forwarded = (more.forwardedProps ?? {}) as JsonObject;
  const command = { ...((forwarded.command ?? {}) as JsonObject), interruptBefore: before, interruptAfter: after };
  return { ...more, forwardedProps: { ...forwarded, command } };
}

async function tried(what: (of: Session) => Promise<void>): Promise<boolean> {
  failure.value = null;
  try {
    await what(session.peek()!);
    return true;
  } catch (error) {
    failure.value = error instanceof TypeError ? "The server cannot be reached." : (error as Error).message;
    return false;
  }
}
