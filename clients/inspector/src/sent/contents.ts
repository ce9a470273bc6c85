// What is in a run, in words, for whoever is about to send it.

import { isObject, type Json } from "../model/json.ts";
import type { Entry } from "../model/log.ts";
import { callsOf, type View } from "../model/view.ts";
import { type Choice, type Kind, KINDS } from "./choose.ts";
import { eventsOf } from "./file.ts";

export interface Contents {
  readonly runs: number;
  readonly events: number;
  readonly messages: number;
  readonly thoughts: number;
  readonly failures: number;
  /** The names of what the kinds have: channels, tools, types of files, events; each once, in their order. */
  readonly names: { readonly [kind in Kind]: readonly string[] };
}

/** What these entries have; `view`: what a client has after them. */
export function contentsOf(entries: readonly Entry[], view: View): Contents {
  const names = Object.fromEntries(KINDS.map((kind) => [kind, new Set<string>()])) as Record<Kind, Set<string>>;
  let [runs, failures] = [0, 0];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(walk);
    if (!isObject(value)) return;
    const source = isObject(value.source) ? value.source : value;
    if (typeof value.type === "string" && value.type !== "text" && (isObject(value.source) || "mimeType" in value)) names.attachments.add(typeof source.mimeType === "string" && source.mimeType ? source.mimeType : value.type);
    if (Array.isArray(value.toolCalls)) for (const call of value.toolCalls) if (isObject(call) && isObject(call.function)) names.tools.add(String(call.function.name));
    walk(value.content);
  };
  for (const { event } of entries) {
    if (event.type === "RUN_STARTED") runs += 1;
    if (event.type === "RUN_ERROR" && event.code !== "cancelled") failures += 1;
    if (event.type === "STATE_SNAPSHOT" && isObject(event.snapshot)) for (const name of Object.keys(event.snapshot)) names.state.add(name);
    if (event.type === "STATE_DELTA" && Array.isArray(event.delta)) for (const each of event.delta as Json[]) if (isObject(each)) names.state.add(channelOf(String(each.path)));
    if (event.type === "RUN_FINISHED" && event.result !== undefined) names.state.add("the result");
    if (event.type === "TOOL_CALL_START" || event.type === "TOOL_CALL_CHUNK") if (event.toolCallName) names.tools.add(String(event.toolCallName));
    if (event.type === "RUN_FINISHED" && event.outcome?.type === "interrupt") names.tools.add("questions");
    if (event.type === "CUSTOM" && event.name === "on_interrupt") names.tools.add("questions");
    else if (event.type === "CUSTOM") names.other.add(String(event.name));
    if (event.type === "RAW") names.other.add("raw events");
    if (event.type === "MESSAGES_SNAPSHOT") walk(event.messages);
    if (event.type === "RUN_STARTED" && isObject(event.input)) walk(event.input.messages);
    if (event.type === "ACTIVITY_SNAPSHOT" && event.activityType === "media") walk([event.content]);
    if (event.type === "TOOL_CALL_RESULT") walk(event.content);
  }
  for (const message of view.messages) for (const call of callsOf(message)) names.tools.add(call.function.name);
  const said = view.messages.filter(({ role }) => role !== "tool" && role !== "activity" && role !== "reasoning");
  return {
    runs,
    failures,
    events: entries.length,
    messages: said.length,
    thoughts: view.messages.filter(({ role }) => role === "reasoning").length,
    names: Object.fromEntries(KINDS.map((kind) => [kind, [...names[kind]]])) as unknown as Contents["names"],
  };
}

const channelOf = (path: string): string => (path.split("/")[1] ?? "").replaceAll("~1", "/").replaceAll("~0", "~");

/** How many bytes the events of a file take. */
export const sizeOf = (entries: readonly Entry[], choice: Choice): number => bytesOf(JSON.stringify(eventsOf(entries, choice)));

/** How many bytes less a file takes without a kind; 0 for one of which there is nothing. */
export function sizesOf(entries: readonly Entry[]): { readonly [kind in Kind]: number } {
  const whole = JSON.stringify(eventsOf(entries, new Set(KINDS)));
  const size = (kind: Kind): number => {
    const text = JSON.stringify(eventsOf(entries, new Set(KINDS.filter((each) => each !== kind))));
    return text === whole ? 0 : Math.max(1, bytesOf(whole) - bytesOf(text));
  };
  return Object.fromEntries(KINDS.map((kind) => [kind, size(kind)])) as { [kind in Kind]: number };
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
