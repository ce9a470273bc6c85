// Recordings: one event a line, with its time as AG-UI's `timestamp`. Those of `langgraph-agui record` have other lines
// too, which are skipped: what it is, LangGraph's parts with their metadata, and how the run ended.

import type { Entry } from "./log.ts";
import { isObject, parsed } from "./json.ts";
import type { WireEvent } from "./view.ts";

const OTHERS = ["recording", "metadata", "mode", "event", "ending"];

/** The file of these events. */
export function toJsonl(entries: readonly Entry[]): string {
  return entries.map(({ event, at }) => `${JSON.stringify({ ...event, timestamp: event.timestamp ?? Math.round(at) })}\n`).join("");
}

export interface Recorded {
  readonly events: { event: WireEvent; at: number }[];
  /** The number of the last line, if that is incomplete: it is left out. */
  readonly incomplete?: number;
}

/** The events of a file; throws, with the number of the line, for what is none. Events without a time come one after
 *  the other, 50 ms apart. */
export function fromJsonl(text: string): Recorded {
  const found: { event: WireEvent; at: number }[] = [];
  let last = 0;
  const lines = text.split("\n");
  for (const [number, line] of lines.entries()) {
    if (!line.trim()) continue;
    const value = parsed(line);
    if (value === undefined && found.length && number === lines.length - 1) return { events: found, incomplete: number + 1 };
    if (!isObject(value)) throw new Error(`Line ${number + 1}: expected an AG-UI event, an object of JSON.`);
    if (!("type" in value) && OTHERS.some((name) => Object.hasOwn(value, name))) continue;
    if (typeof value.type !== "string") throw new Error(`Line ${number + 1}: expected an AG-UI event with a "type".`);
    last = typeof value.timestamp === "number" ? value.timestamp : last + 50;
    found.push({ event: value as WireEvent, at: last });
  }
  if (!found.length) throw new Error("The file has no events.");
  return { events: found };
}
