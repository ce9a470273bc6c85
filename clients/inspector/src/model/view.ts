// What a client has after each event: its messages, its state, and what is pending. `next(view, event)` is the reducer of
// @ag-ui/client; tests compare the two on recorded streams. That one copies all messages at every event. This one
// changes nothing in place, so a view can be kept for any event, and what has changed is found by comparing references.

import type { Interrupt, Message, ToolCall } from "@ag-ui/client";

import { isObject, type Json, type JsonObject } from "./json.ts";
import { patched, type Operation } from "./patch.ts";

/** An event as it came. Its fields are those of AG-UI; nothing else may be taken for granted. */
export type WireEvent = { readonly type: string } & { readonly [field: string]: any };

export type Status = "idle" | "running" | "waiting" | "failed" | "cancelled";
export type Usage = { readonly provider?: string; readonly model?: string; readonly inputTokens?: number; readonly outputTokens?: number; readonly totalTokens?: number };

export interface Subagent {
  readonly name: string;
  readonly status: "running" | "finished" | "failed";
  readonly parentToolCallId?: string;
}

export interface View {
  readonly messages: readonly Message[];
  readonly state: Json;
  /** The state before the last event that changed it. */
  readonly stateBefore: Json;
  readonly status: Status;
  readonly runId?: string;
  readonly interrupts: readonly Interrupt[];
  /** Why the last run failed. */
  readonly error?: { readonly message: string; readonly code?: string; readonly step?: string };
  readonly usage: readonly Usage[];
  readonly subagents: { readonly [subagentRunId: string]: Subagent };
  /** Ids of texts and reasoning that still stream. */
  readonly open: ReadonlySet<string>;
  /** The steps that were closed since the last event that is no end: those of a run that fails are closed before it. */
  readonly closing: readonly string[];
}

export const EMPTY: View = { messages: [], state: {}, stateBefore: {}, status: "idle", interrupts: [], usage: [], subagents: {}, open: new Set(), closing: [] };

/** The view after one more event. One that is not what AG-UI says changes nothing. */
export function next(view: View, event: WireEvent): View {
  const closing = closingAfter(view.closing, event);
  if (!Object.hasOwn(REDUCERS, event.type)) return closing === view.closing ? view : { ...view, closing };
  try {
    return { ...view, ...REDUCERS[event.type]!(view, event), closing };
  } catch {
    return view;
  }
}

const NONE: readonly string[] = [];

/** The steps that end with what ends now, after one more event. */
export function closingAfter(closing: readonly string[], { type, stepName, activityType }: WireEvent): readonly string[] {
  if (type === "STEP_FINISHED") return [...closing, String(stepName)];
  return ENDS.test(type) || activityType === "run_error" ? closing : NONE;
}

const ENDS = /_(END|FINISHED|ERROR)$/;

type Reducer = (view: View, event: WireEvent) => Partial<View>;

const REDUCERS: { readonly [type: string]: Reducer } = {
  RUN_STARTED: (view, event) => {
    const known = new Set(view.messages.map(({ id }) => id));
    const more = messagesOf(event.input?.messages ?? []).filter(({ id }) => !known.has(id));
    const messages = more.length ? [...view.messages, ...more] : view.messages;
    return { messages, status: "running", runId: event.runId, error: undefined, open: new Set() };
  },
  RUN_FINISHED: (_, event) => {
    const kind = event.outcome?.type ?? "success";
    const interrupts = kind === "interrupt" ? objectsOf<Interrupt>(event.outcome.interrupts, "id") : [];
    const status = kind === "interrupt" ? "waiting" : kind === "cancelled" ? "cancelled" : "idle";
    return { status, interrupts, usage: objectsOf<Usage>(event.usage ?? []), open: new Set() };
  },
  RUN_ERROR: (view, event) => ({
    status: event.code === "cancelled" ? "cancelled" : "failed",
    error: event.code === "cancelled" ? undefined : { message: String(event.message), code: event.code === undefined ? undefined : String(event.code), step: view.closing.at(-1) },
    usage: objectsOf<Usage>(event.usage ?? []),
    open: new Set(),
  }),
  TEXT_MESSAGE_START: (view, event) => {
    const { messageId: id, role = "assistant", name, subagentRunId } = event;
    const existing = view.messages.find((each) => each.id === id);
    if (existing?.role === "activity") return {};
    const open = added(view.open, id);
    if (existing) return { open, ...merged(view, id, event) };
    const message = { id, role, content: "", ...given({ name, subagentRunId, metadata: event.metadata }) } as Message;
    return { open, messages: [...view.messages, message] };
  },
  TEXT_MESSAGE_CONTENT: (view, event) => changed(view, event.messageId, (message) => (message.role === "activity" ? message : marked({ ...message, content: textOf(message.content) + event.delta } as Message, event))),
  TEXT_MESSAGE_END: (view, event) => ({ open: without(view.open, event.messageId), ...merged(view, event.messageId, event) }),
  REASONING_MESSAGE_START: (view, event) => {
    const { messageId: id, subagentRunId } = event;
    const existing = view.messages.find((each) => each.id === id);
    if (existing?.role === "activity") return {};
    const open = added(view.open, id);
    if (existing) return { open, ...merged(view, id, event) };
    const message = { id, role: "reasoning", content: "", ...given({ subagentRunId, metadata: event.metadata }) } as Message;
    return { open, messages: [...view.messages, message] };
  },
  REASONING_MESSAGE_CONTENT: (view, event) => REDUCERS.TEXT_MESSAGE_CONTENT!(view, event),
  REASONING_MESSAGE_END: (view, event) => REDUCERS.TEXT_MESSAGE_END!(view, event),
  REASONING_ENCRYPTED_VALUE: (view, { subtype, entityId, encryptedValue }) =>
    subtype === "tool-call" ? changedCall(view, entityId, (call) => ({ ...call, encryptedValue })) : changed(view, entityId, (message) => (message.role === "activity" ? message : ({ ...message, encryptedValue } as Message))),
  TOOL_CALL_START: (view, event) => {
    const { toolCallId: id, toolCallName: name, parentMessageId, subagentRunId } = event;
    if (callOf(view, id)) {
      return changedCall(view, id, (call) => marked({ ...call, function: { ...call.function, name } }, event));
    }
    const call = { id, type: "function", function: { name, arguments: "" }, ...given({ metadata: event.metadata }) } as ToolCall;
    const parent = parentMessageId && view.messages.find((each) => each.id === parentMessageId);
    if (parent?.role === "assistant") {
      return changed(view, parentMessageId, (message) => ({ ...message, toolCalls: [...callsOf(message), call] }) as Message);
    }
    const own = parent || !parentMessageId ? id : parentMessageId;
    const message = { id: own, role: "assistant", toolCalls: [call], ...given({ subagentRunId }) } as Message;
    return { messages: [...view.messages, message] };
  },
  TOOL_CALL_ARGS: (view, event) => changedCall(view, event.toolCallId, (call) => marked({ ...call, function: { ...call.function, arguments: call.function.arguments + event.delta } }, event)),
  TOOL_CALL_END: (view, event) => (event.metadata === undefined ? {} : changedCall(view, event.toolCallId, (call) => marked(call, event))),
  TOOL_CALL_RESULT: (view, event) => {
    const { messageId: id, toolCallId, content, subagentRunId, metadata } = event;
    const message = { id, toolCallId, role: event.role || "tool", content, ...given({ subagentRunId, metadata }) } as Message;
    const owner = view.messages.findIndex((each) => callsOf(each).some((call) => call.id === toolCallId));
    let place = owner === -1 ? view.messages.length : owner + 1;
    while (owner !== -1 && view.messages[place]?.role === "tool") place += 1;
    return { messages: view.messages.toSpliced(place, 0, message) };
  },
  MESSAGES_SNAPSHOT: (view, event) => {
    const messages = messagesOf(event.messages);
    const byId = new Map(messages.map((each) => [each.id, each]));
    const owned = ownedActivities(event);
    const hasActivity = messages.some(({ role }) => role === "activity");
    const hasReasoning = messages.some(({ role }) => role === "reasoning");
    const stays = (message: Message) =>
      (message.role === "activity" && (owned ? !owned.includes(message.activityType) : owned !== null && !hasActivity)) || (message.role === "reasoning" && !hasReasoning);
    const kept = view.messages.filter((each) => byId.has(each.id) || stays(each)).map((each) => byId.get(each.id) ?? each);
    const known = new Set(kept.map(({ id }) => id));
    return { messages: [...kept, ...messages.filter(({ id }) => !known.has(id))] };
  },
  ACTIVITY_SNAPSHOT: (view, event) => {
    const { messageId: id, activityType, content, replace = true, subagentRunId } = event;
    const place = view.messages.findIndex((each) => each.id === id);
    const message = { id, role: "activity", activityType, content, ...given({ subagentRunId }) } as Message;
    const existing = view.messages[place];
    if (existing === undefined) return { messages: [...view.messages, marked(message, event)] };
    if (!replace) return existing.role === "activity" ? merged(view, id, event) : {};
    const before = existing.role === "activity" ? given({ metadata: existing.metadata }) : {};
    return { messages: view.messages.with(place, marked({ ...message, ...before } as Message, event)) };
  },
  ACTIVITY_DELTA: (view, event) =>
    changed(view, event.messageId, (message) => {
      if (message.role !== "activity") return message;
      const content = tried(message.content as Json, event.patch);
      return content === undefined ? message : marked({ ...message, content: content as Record<string, unknown>, activityType: event.activityType }, event);
    }),
  STATE_SNAPSHOT: (view, { snapshot }) => ({ state: snapshot, stateBefore: view.state }),
  STATE_DELTA: (view, { delta }) => {
    const state = tried(view.state, delta);
    return state === undefined || delta.length === 0 ? {} : { state, stateBefore: view.state };
  },
  SUBAGENT_STARTED: (view, { subagentRunId, name, parentToolCallId }) => ({
    subagents: { ...view.subagents, [subagentRunId]: { name, status: "running", parentToolCallId } },
  }),
  SUBAGENT_FINISHED: (view, event) => ended(view, event, "finished"),
  SUBAGENT_ERROR: (view, event) => ended(view, event, "failed"),
};

/** The calls of a message; none for one that makes none. */
export const callsOf = (message: Message): readonly ToolCall[] => (message.role === "assistant" && message.toolCalls) || [];

/** Those of these values that are objects, with a text of this name if one is given; none if it is no list. */
const objectsOf = <T>(values: unknown, name?: string): T[] => (Array.isArray(values) ? values.filter((each) => isObject(each) && (name === undefined || typeof each[name] === "string")) : []) as T[];

const isCall = (call: unknown): boolean => isObject(call) && typeof call.id === "string" && isObject(call.function) && typeof call.function.arguments === "string";

/** Those of these values that are messages; throws if it is no list. */
function messagesOf(values: unknown): Message[] {
  if (!Array.isArray(values)) throw new TypeError("expected a list of messages");
  return objectsOf<Message & { toolCalls?: unknown }>(values, "id").filter(({ role, toolCalls }) => typeof role === "string" && (toolCalls === undefined || toolCalls === null || (Array.isArray(toolCalls) && toolCalls.every(isCall))));
}

/** The text of a content; media are left out. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content.filter((part) => isObject(part) && part.type === "text") : [];
  return parts.map((part) => String(part.text ?? "")).join("\n");
}

function ended(view: View, { subagentRunId }: WireEvent, status: "finished" | "failed"): Partial<View> {
  const known = Object.hasOwn(view.subagents, subagentRunId) && view.subagents[subagentRunId];
  return known ? { subagents: { ...view.subagents, [subagentRunId]: { ...known, status } } } : {};
}

/** The types of activities whose whole list a snapshot has: null for all, undefined if it does not say. */
function ownedActivities(event: WireEvent): readonly string[] | null | undefined {
  const said = event.metadata?.["@ag-ui/client"]?.authoritativeActivityTypes;
  return said === null || (Array.isArray(said) && said.every((each) => typeof each === "string")) ? said : undefined;
}

function callOf(view: View, id: string): ToolCall | undefined {
  for (const message of view.messages) for (const call of callsOf(message)) if (call.id === id) return call;
  return undefined;
}

function changedCall(view: View, id: string, change: (call: ToolCall) => ToolCall): Partial<View> {
  const owner = view.messages.findLast((each) => callsOf(each).some((call) => call.id === id));
  if (owner === undefined) return {};
  return changed(view, owner.id, (message) => ({ ...message, toolCalls: callsOf(message).map((call) => (call.id === id ? change(call) : call)) }) as Message);
}

function changed(view: View, id: string, change: (message: Message) => Message): Partial<View> {
  const place = view.messages.findLastIndex((each) => each.id === id);
  const message = view.messages[place];
  return message === undefined ? {} : { messages: view.messages.with(place, change(message)) };
}

const merged = (view: View, id: string, event: WireEvent): Partial<View> => (event.metadata === undefined ? {} : changed(view, id, (message) => (message.role === "activity" && event.type !== "ACTIVITY_SNAPSHOT" ? message : marked(message, event))));

/** The same with the event's metadata, of which each key replaces what was there. */
function marked<T extends { metadata?: unknown }>(target: T, event: WireEvent): T {
  return event.metadata === undefined ? target : { ...target, metadata: { ...(target.metadata as JsonObject | undefined), ...event.metadata } };
}

function given<T extends Record<string, unknown>>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as Partial<T>;
}

function tried(value: Json, operations: readonly Operation[]): Json | undefined {
  try {
    return patched(value, operations);
  } catch {
    return undefined;
  }
}

const added = (set: ReadonlySet<string>, id: string): ReadonlySet<string> => new Set(set).add(id);

function without(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const left = new Set(set);
  left.delete(id);
  return left;
}
