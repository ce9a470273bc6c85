// Recordings: one event a line, with its time as AG-UI's `timestamp`.

import type { Entry } from "./log.ts";
import { isObject, parsed } from "./json.ts";
import type { WireEvent } from "./view.ts";

/** The file of these events. */
export function toJsonl(entries: readonly Entry[]): string {
  return entries.map(({ event, at }) => `${JSON.stringify({ ...event, timestamp: event.timestamp ?? Math.round(at) })}\n`).join("");
}

/** The events of a file; throws, with the number of the line, for what is none. Events without a time come one after
 *  the other, 50 ms apart. A line of `langgraph-agui record` that has no event is passed over. */
export function fromJsonl(text: string): { event: WireEvent; at: number }[] {
  const found: { event: WireEvent; at: number }[] = [];
  let last = 0;
  for (const [number, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const value = parsed(line);
    if (!isObject(value)) throw new Error(`Line ${number + 1}: expected an AG-UI event, an object of JSON.`);
    const event = isObject(value.event) ? value.event : value;
    if (typeof event.type !== "string") {
      if ("part" in value || "recording" in value) continue;
      throw new Error(`Line ${number + 1}: expected an AG-UI event with a "type".`);
    }
    last = typeof event.timestamp === "number" ? event.timestamp : typeof value.at === "number" ? value.at : last + 50;
    found.push({ event: event as WireEvent, at: last });
  }
  if (!found.length) throw new Error("The file has no events.");
  return found;
}
