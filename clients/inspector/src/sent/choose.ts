// What of a run's events leaves with a file that is sent. `fields.json` says of every field of AG-UI what it belongs to:
//
//   "always"        is in every file: who said what, which tools and steps ran, when, how it ended. Scalars only
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

/** The event with what was chosen, and what is always sent. */
export function chosen(event: WireEvent, choice: Choice): WireEvent {
  return KINDS.every((kind) => choice.has(kind)) ? event : (kept(event as unknown as Json, "@event", choice) as unknown as WireEvent);
}

function kept(value: Json, shape: Shape, choice: Choice): Json {
  if (typeof shape === "string") {
    if (shape.startsWith("@")) return kept(value, SHAPES[shape.slice(1)]!, choice);
    if (shape === "always") return typeof value === "object" ? emptied(value) : value;
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
