// The file of a run that is sent: a page with its script, its style and the events, which needs no server. Here it is
// written and read; `langgraph-agui record --html` writes it too (`connect/serve/inspector/sent.py`).

import type { Entry } from "../model/log.ts";
import type { WireEvent } from "../model/view.ts";
import { type Choice, chosen, type Kind } from "./choose.ts";

/** What a file has beside its page. */
export interface SentRun {
  readonly title: string;
  readonly agent: string;
  /** What the run has, and the file has not. */
  readonly left: readonly Kind[];
  /** How many events have come at the moment that the file opens at; null: all. */
  readonly at: number | null;
  readonly panel: string;
  readonly events: readonly WireEvent[];
}

/** Where the events are in the page. */
const PLACE = "{{run}}";

/** The events of a file, each with its time. */
export function eventsOf(entries: readonly Entry[], choice: Choice): WireEvent[] {
  const events = chosen(entries.map(({ event }) => event), choice);
  return entries.map(({ event, at }, place) => ({ ...events[place]!, timestamp: typeof event.timestamp === "number" ? event.timestamp : Math.round(at) }));
}

/** The file's text; `page` is the built page, without a run. */
export function fileOf(page: string, run: SentRun): string {
  const data = JSON.stringify(run).replace(/[<\u2028\u2029]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const place = page.indexOf(PLACE); // the first: the script, which comes later, has this text too
  return page.slice(0, place) + data + page.slice(place + PLACE.length);
}

/** The run of the file that this page is. */
export const ownRun = (): SentRun => JSON.parse(document.getElementById("run")!.textContent!) as SentRun;
