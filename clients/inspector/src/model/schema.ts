// What a JSON schema asks for, as fields of a form: what they are, what their drafts begin with, and which value the drafts
// make. Pure. A schema that no field can draw is a field for JSON text. References are followed when a field is needed,
// since a schema may contain itself.

import { isObject, type Json, type JsonObject, parsed } from "./json.ts";

export type Kind = "text" | "number" | "integer" | "boolean" | "choice" | "object" | "list" | "either" | "fixed" | "json";

export interface Field {
  readonly kind: Kind;
  readonly label: string;
  readonly help: string;
  /** The schema, without references. */
  readonly schema: JsonObject;
  /** The values of a choice. */
  readonly choices: readonly Json[];
  /** Whether nothing is a value of its own: null. */
  readonly isNullable: boolean;
  readonly parts: () => readonly Part[];
  readonly item: () => Field;
  readonly alternatives: () => readonly Field[];
}

/** A field of an object. */
export interface Part {
  readonly name: string;
  readonly isRequired: boolean;
  readonly field: Field;
}

/** What a user has entered: a text; the parts of an object by name; the items of a list; an alternative. Undefined: nothing. */
export type Draft = string | DraftParts | readonly Draft[] | Alternative | undefined;
export interface DraftParts {
  readonly [name: string]: Draft;
}
export interface Alternative {
  readonly which: string;
  readonly draft: Draft;
}

/** The value of a draft; undefined where nothing was entered. The errors, by path (`trip.seats`, `items[0].name`). */
export interface Reading {
  readonly value: Json | undefined;
  readonly errors: ReadonlyMap<string, string>;
}

const TYPES: { readonly [type: string]: Kind } = { string: "text", number: "number", integer: "integer", boolean: "boolean" };
const NONE: Field["parts"] = () => [];

/** The field of a schema. `root`: the schema that it is a part of, with the definitions. */
export function fieldOf(schema: Json | undefined, root: Json | undefined = schema, name = ""): Field {
  const { schema: plain, isNullable } = withoutNull(resolved(schema, root), root);
  const label = typeof plain.title === "string" && plain.title ? plain.title : name.replaceAll("_", " ");
  const help = typeof plain.description === "string" ? plain.description : "";
  const never = (): Field => fieldOf({}, root);
  const base = { label, help, schema: plain, choices: [] as readonly Json[], isNullable, parts: NONE as Field["parts"], item: never, alternatives: (): readonly Field[] => [] };
  const others = alternativesOf(plain).map((each) => resolved(each, root));
  if (Array.isArray(plain.enum)) return { ...base, kind: "choice", choices: plain.enum.filter((each) => each !== null) };
  if (others.length > 0 && others.every((each) => each.const !== undefined)) return { ...base, kind: "choice", choices: others.map((each) => each.const!) };
  if (plain.const !== undefined) return { ...base, kind: "fixed", choices: [plain.const] };
  if (others.length > 1) return { ...base, kind: "either", alternatives: () => others.map((each, place) => fieldOf(each, root, `${label} ${place + 1}`)) };
  if (isObject(plain.properties) && Object.keys(plain.properties).length > 0) return { ...base, kind: "object", parts: () => partsOf(plain, root) };
  if (plain.type === "array" && !Array.isArray(plain.prefixItems) && (isObject(plain.items) || plain.items === undefined)) return { ...base, kind: "list", item: () => fieldOf(plain.items, root) };
  return { ...base, kind: TYPES[String(plain.type)] ?? "json" };
}

/** The same without booleans that have to be true or false: what a graph's input leaves out stays as it is. */
export function partial(schema: JsonObject): JsonObject {
  const open = (each: Json): Json => (isObject(each) && each.type === "boolean" && each.default === undefined ? { ...each, type: ["boolean", "null"] } : each);
  return { ...schema, properties: Object.fromEntries(Object.entries((schema.properties ?? {}) as JsonObject).map(([name, each]) => [name, open(each)])) };
}

function partsOf(schema: JsonObject, root: Json | undefined): Part[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties as JsonObject).map(([name, each]) => ({ name, isRequired: required.includes(name), field: fieldOf(each, root, name) }));
}

const alternativesOf = (schema: JsonObject): readonly Json[] => (Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : []);

const DEEPEST = 32;

/** A schema without references at its top, and with the parts of `allOf` in it. */
function resolved(schema: Json | undefined, root: Json | undefined, depth = 0): JsonObject {
  if (!isObject(schema) || depth > DEEPEST) return {};
  const { $ref: reference, allOf, ...own } = schema;
  const parts = [...(typeof reference === "string" ? [at(reference, root)] : []), ...(Array.isArray(allOf) ? allOf : [])].map((each) => resolved(each, root, depth + 1));
  return parts.reduceRight<JsonObject>(merged, own as JsonObject);
}

function merged(schema: JsonObject, part: JsonObject): JsonObject {
  const properties: JsonObject = isObject(part.properties) || isObject(schema.properties) ? { properties: { ...(part.properties as JsonObject), ...(schema.properties as JsonObject) } } : {};
  const required = [part.required, schema.required].flatMap((each) => (Array.isArray(each) ? each : []));
  return { ...part, ...schema, ...properties, ...(required.length > 0 && { required }) };
}

function at(reference: string, root: Json | undefined): Json | undefined {
  if (!reference.startsWith("#")) return undefined;
  let found = root;
  for (const name of reference.slice(1).split("/").slice(1)) found = isObject(found) ? found[decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  return found;
}

/** `X | None` is X, and may be nothing. */
function withoutNull(schema: JsonObject, root: Json | undefined): { schema: JsonObject; isNullable: boolean } {
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const [type, ...more] = schema.type.filter((each) => each !== "null");
    return { schema: { ...schema, type: more.length ? [type!, ...more] : type! }, isNullable: true };
  }
  const key = Array.isArray(schema.anyOf) ? "anyOf" : "oneOf";
  const all = alternativesOf(schema);
  const left = all.filter((each) => !(isObject(each) && each.type === "null"));
  if (left.length === all.length) return { schema, isNullable: Array.isArray(schema.enum) && schema.enum.includes(null) };
  const { [key]: _, ...own } = schema;
  return { schema: left.length === 1 ? merged(own as JsonObject, resolved(left[0], root)) : { ...own, [key]: left }, isNullable: true };
}

/** What a field begins with: this value, or the schema's default, or what an empty form needs. */
export function draftOf(field: Field, isRequired: boolean, value: Json | undefined = field.schema.default): Draft {
  const begun = value === null ? undefined : value;
  switch (field.kind) {
    case "fixed":
      return "";
    case "object":
      if (begun === undefined && !isRequired) return undefined;
      return Object.fromEntries(field.parts().map((part) => [part.name, draftOf(part.field, part.isRequired, (isObject(begun) ? begun[part.name] : undefined) ?? part.field.schema.default)]));
    case "list":
      if (!Array.isArray(begun)) return isRequired ? Array.from({ length: Number(field.schema.minItems) || 0 }, () => draftOf(field.item(), true)) : undefined;
      return begun.map((each) => draftOf(field.item(), true, each));
    case "either": {
      if (begun === undefined) return isRequired ? { which: "0", draft: draftOf(field.alternatives()[0]!, true) } : undefined;
      const all = field.alternatives();
      const which = Math.max(0, all.findIndex((each) => fits(each, begun)));
      return { which: String(which), draft: draftOf(all[which]!, true, begun) };
    }
    case "choice": {
      const place = field.choices.findIndex((each) => JSON.stringify(each) === JSON.stringify(begun));
      return place >= 0 ? String(place) : "";
    }
    case "json":
      return begun === undefined ? "" : JSON.stringify(begun, null, 2);
    default:
      if (begun === undefined) return "";
      return field.schema.format === "date-time" ? localTime(String(begun)) : String(begun);
  }
}

function fits(field: Field, value: Json): boolean {
  switch (field.kind) {
    case "object":
      return isObject(value) && field.parts().every(({ name, isRequired, field: part }) => (name in value ? part.kind !== "fixed" || part.choices[0] === value[name] : !isRequired));
    case "list":
      return Array.isArray(value);
    case "text":
      return typeof value === "string";
    case "number":
    case "integer":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "fixed":
    case "choice":
      return field.choices.includes(value);
    default:
      return true;
  }
}

/** The value that a draft makes, and what is wrong with it. */
export function read(field: Field, draft: Draft, isRequired: boolean, path = ""): Reading {
  const errors = new Map<string, string>();
  const value = valueOf(field, draft, isRequired, path, errors);
  return { value, errors };
}

const isParts = (draft: Draft): draft is DraftParts => typeof draft === "object" && !Array.isArray(draft);

function valueOf(field: Field, draft: Draft, isRequired: boolean, path: string, errors: Map<string, string>): Json | undefined {
  const { kind, schema } = field;
  const nothing = (): Json | undefined => {
    if (isRequired && field.isNullable) return null;
    if (isRequired) errors.set(path, kind === "choice" ? "Choose one." : "This is needed.");
    return undefined;
  };
  if (kind === "fixed") return field.choices[0];
  if (kind === "object") {
    if (!isParts(draft)) return nothing();
    const values = field.parts().map((part) => [part.name, valueOf(part.field, draft[part.name], part.isRequired, joined(path, part.name), errors)] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as JsonObject;
  }
  if (kind === "list") {
    if (!Array.isArray(draft)) return isRequired && !field.isNullable ? [] : nothing();
    const item = field.item();
    const items = draft.map((each: Draft, place) => valueOf(item, each, true, `${path}[${place}]`, errors));
    const [least, most] = [Number(schema.minItems ?? 0), Number(schema.maxItems ?? Infinity)];
    if (items.length < least) errors.set(path, `At least ${least} ${least === 1 ? "item is" : "items are"} needed.`);
    if (items.length > most) errors.set(path, `At most ${most} ${most === 1 ? "item is" : "items are"} possible.`);
    return items.map((each) => each ?? null);
  }
  if (kind === "either") {
    if (!isParts(draft)) return nothing();
    const { which, draft: inner } = draft as unknown as Alternative;
    return valueOf(field.alternatives()[Number(which)] ?? fieldOf({}), inner, true, path, errors);
  }
  const text = typeof draft === "string" ? draft : "";
  if (kind === "boolean") return text === "" && field.isNullable ? nothing() : text === "true";
  if (kind === "choice") return text === "" ? nothing() : field.choices[Number(text)];
  if (text.trim() === "" && !(kind === "text" && isRequired && schema.minLength === undefined && path === "")) return nothing();
  if (kind === "json") {
    const value = parsed(text) ?? (text.trim() === "null" ? null : undefined);
    const wrong = value === undefined ? "This is not JSON." : schema.type === "object" && !isObject(value) ? 'This is not a JSON object, such as {"name": 1}.' : schema.type === "array" && !Array.isArray(value) ? "This is not a JSON list, such as [1, 2]." : null;
    if (wrong !== null) errors.set(path, wrong);
    return value;
  }
  if (kind === "text") {
    const wrong = wrongText(text, schema);
    if (wrong !== null) errors.set(path, wrong);
    return schema.format === "date-time" ? isoTime(text) : text;
  }
  const number = Number(text);
  const wrong = wrongNumber(number, kind === "integer", schema);
  if (wrong !== null) errors.set(path, wrong);
  return number;
}

const joined = (path: string, name: string): string => (path ? `${path}.${name}` : name);

function wrongText(text: string, { minLength, maxLength, pattern, format }: JsonObject): string | null {
  const length = [...text].length;
  if (typeof minLength === "number" && length < minLength) return `At least ${minLength} characters are needed.`;
  if (typeof maxLength === "number" && length > maxLength) return `At most ${maxLength} characters are possible.`;
  if (typeof pattern === "string" && !matches(text, pattern)) return `This does not match ${pattern}`;
  if (format === "email" && !/^[^\s@]+@[^\s@]+$/.test(text)) return "This is not an email address.";
  if ((format === "uri" || format === "url") && !URL.canParse(text)) return "This is not an address, such as https://example.org.";
  if (format === "uuid" && !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) return "This is not a UUID.";
  if (format === "date-time" && Number.isNaN(Date.parse(text))) return "This is not a date with a time.";
  if (format === "date" && Number.isNaN(Date.parse(text))) return "This is not a date.";
  return null;
}

function matches(text: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // a pattern of another language: the server decides
  }
}

function wrongNumber(number: number, isWhole: boolean, { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonObject): string | null {
  if (!Number.isFinite(number)) return "This is not a number.";
  if (isWhole && !Number.isInteger(number)) return "This is not a whole number.";
  if (typeof minimum === "number" && number < minimum) return `The least is ${minimum}.`;
  if (typeof maximum === "number" && number > maximum) return `The most is ${maximum}.`;
  if (typeof exclusiveMinimum === "number" && number <= exclusiveMinimum) return `More than ${exclusiveMinimum} is needed.`;
  if (typeof exclusiveMaximum === "number" && number >= exclusiveMaximum) return `Less than ${exclusiveMaximum} is needed.`;
  if (typeof multipleOf === "number" && multipleOf > 0 && Math.abs(number / multipleOf - Math.round(number / multipleOf)) > 1e-9) return `This is not a multiple of ${multipleOf}.`;
  return null;
}

/** A time as a browser's field has it, in the user's zone; and the time in such a field for the server. */
function localTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
const isoTime = (text: string): string => (Number.isNaN(Date.parse(text)) ? text : new Date(text).toISOString());

/** The errors in a server's refusal, by path below `root` (`state`, `context`): `state.trip.seats: expected …`. */
export function refusedFields(message: string, root: string): ReadonlyMap<string, string> {
  const errors = new Map<string, string>();
  for (const part of message.split(/; (?=(?:state|context)[.[:])/)) {
    const [, of, path, text] = /^(state|context)\.?([^:]*): (.+)$/s.exec(part) ?? [];
    if (of === root) errors.set(path!, `The server ${text}.`);
  }
  return errors;
}
