// What of a run's events leaves with a file that is sent. `fields.json` says of every field of AG-UI what it belongs to:
//
//   "always"        is in every file: which tools and steps ran, when, how it ended. Scalars only
//   "text"          is in every file, but the data of `data:` URLs in it ("$data" finds them): those are attachments
//   "state" ...     is there if that was chosen, whole; "a+b" if both were
//   "@name"         has the shape of that name
//   [shape]         a list; "$list" and "$else": a list, or something else
//   "$by"           the fields, by the value of one of them; "$all" are those of every case
//
// What is not in the table is "other". What was not chosen is replaced by an empty value of its kind, so that the events
// are still those of AG-UI, in the same number; a field that is not in the table is removed with its name.
// `langgraph-agui record --html` reads the same table: `connect/serve/inspector/sent.py`.

import { isObject, type Json, type JsonObject } from "../model/json.ts";
import type { WireEvent } from "../model/view.ts";
import table from "./fields.json";

export const KINDS = ["state", "tools", "attachments", "other"] as const;
export type Kind = (typeof KINDS)[number];
/** What they are called. */
export const NAMES: { readonly [kind in Kind]: string } = { state: "State", tools: "Tool calls", attachments: "Attachments", other: "Everything else" };
/** What is sent of a run, beyond what always is. */
export type Choice = ReadonlySet<Kind>;

type Fields = { readonly [name: string]: Shape };
type Shape = string | readonly [Shape] | { readonly [name: string]: Shape };

const SHAPES = table as unknown as { readonly [name: string]: Shape };

const DATA = new RegExp(SHAPES.$data as string, "g");
/** The events that continue a text. */
const CONTINUES = /^(TEXT|REASONING)_MESSAGE_(CONTENT|CHUNK)$/;

/** The events with what was chosen, and what is always sent. */
export function chosen(events: readonly WireEvent[], choice: Choice): readonly WireEvent[] {
  if (KINDS.every((kind) => choice.has(kind))) return events;
  const pieces = choice.has("attachments") ? events : withWholeData(events);
  return pieces.map((event) => kept(event as unknown as Json, "@event", choice) as unknown as WireEvent);
}

/** The events of which each `data:` URL that streams is in the piece of its text in which it begins. */
function withWholeData(events: readonly WireEvent[]): WireEvent[] {
  const texts = new Map<string, { readonly places: number[]; text: string; readonly ends: number[] }>();
  let last: Json = null; // a chunk without an id continues the message of the one before
  for (const [place, { type, messageId, delta }] of events.entries()) {
    if (!CONTINUES.test(type) || typeof delta !== "string") continue;
    last = messageId ?? last;
    const key = JSON.stringify([type.split("_")[0]!, last]);
    const found = texts.get(key) ?? { places: [], text: "", ends: [] };
    found.places.push(place);
    found.text += delta;
    found.ends.push(found.text.length);
    texts.set(key, found);
  }
  const whole = [...events];
  for (const { places, text, ends } of texts.values()) {
    const data = [...text.matchAll(DATA)].map((match) => [match.index, match.index + match[0].length] as const);
    let [next, begin] = [0, 0];
    for (const [index, place] of places.entries()) {
      while (next < data.length && data[next]![1] < ends[index]!) next += 1;
      const end = next < data.length && data[next]![0] < ends[index]! ? data[next]![1] : ends[index]!;
      whole[place] = { ...events[place]!, delta: text.slice(begin, end) };
      begin = end;
    }
  }
  return whole;
}

function kept(value: Json, shape: Shape, choice: Choice): Json {
  if (typeof shape === "string") {
    if (shape.startsWith("@")) return kept(value, SHAPES[shape.slice(1)]!, choice);
    if (shape === "always" || shape === "text") {
      if (typeof value === "object") return emptied(value);
      return shape === "text" && typeof value === "string" && !choice.has("attachments") ? value.replace(DATA, (url) => url.slice(0, url.indexOf(",") + 1)) : value;
    }
    return shape.split("+").every((kind) => choice.has(kind as Kind)) ? value : emptied(value);
  }
  if (isList(shape)) return Array.isArray(value) ? value.map((each: Json) => kept(each, shape[0], choice)) : emptied(value);
  if ("$list" in shape) return kept(value, Array.isArray(value) ? [shape.$list!] : shape.$else!, choice);
  if (!isObject(value)) return emptied(value);
  const fields = fieldsOf(value, shape);
  const entries = Object.entries(value).filter(([name, each]) => each !== undefined && (Object.hasOwn(fields, name) || choice.has("other")));
  return Object.fromEntries(entries.map(([name, each]) => [name, Object.hasOwn(fields, name) ? kept(each, fields[name]!, choice) : each]));
}

/** The fields that the shape has for this value. */
function fieldsOf(value: JsonObject, shape: Shape): Fields {
  if (typeof shape === "string") return fieldsOf(value, SHAPES[shape.slice(1)]!);
  if (isList(shape) || !("$by" in shape)) return shape as Fields;
  const { $all = {}, $cases, $else = {}, $by } = shape as unknown as { $all?: Fields; $cases: Fields; $else?: Fields; $by: string };
  const which = value[$by];
  const own = typeof which === "string" && Object.hasOwn($cases, which) ? $cases[which]! : ($else as Shape);
  return { ...$all, ...fieldsOf(value, own) };
}

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);

/** An empty value of the same kind. */
function emptied(value: Json): Json {
  if (typeof value === "string") return "";
  if (Array.isArray(value)) return [];
  return isObject(value) ? {} : null;
}
