// Forms of JSON schemas: their fields, what they begin with, and the values that drafts make.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Json, JsonObject } from "../src/model/json.ts";
import { type Draft, draftOf, fieldOf, partial, read, refusedFields } from "../src/model/schema.ts";

const TRIP: JsonObject = {
  $defs: {
    Person: { type: "object", properties: { name: { type: "string" }, age: { type: "integer", minimum: 0, default: 30 } }, required: ["name"] },
    Tree: { type: "object", properties: { word: { type: "string" }, below: { type: "array", items: { $ref: "#/$defs/Tree" } } }, required: ["word"] },
  },
  type: "object",
  properties: {
    town: { type: "string", minLength: 2 },
    day: { anyOf: [{ type: "string", format: "date" }, { type: "null" }], default: null },
    who: { $ref: "#/$defs/Person" },
    others: { type: "array", items: { $ref: "#/$defs/Person" }, maxItems: 2 },
    tree: { $ref: "#/$defs/Tree" },
    speed: { anyOf: [{ type: "integer" }, { type: "string" }] },
    kind: { enum: ["a", 2, null] },
    any: {},
  },
  required: ["town", "who"],
};

const begun = (schema: JsonObject, value?: Json) => draftOf(fieldOf(schema), true, value);

test("an empty form of required parts, and the values of one that is filled in", () => {
  const draft = begun(TRIP) as Record<string, Draft>;
  assert.deepEqual(draft, { town: "", day: "", who: { name: "", age: "30" }, others: undefined, tree: undefined, speed: undefined, kind: "", any: "" });
  assert.deepEqual([...read(fieldOf(TRIP), draft, true).errors.keys()], ["town", "who.name"]);
  const filled = { ...draft, town: "Oslo", day: "2026-05-17", who: { name: "Ada", age: "36" }, others: [{ name: "Bo", age: "" }], speed: { which: "0", draft: "7" }, kind: "1", any: '{"x": [1]}' };
  const { value, errors } = read(fieldOf(TRIP), filled, true);
  assert.deepEqual([...errors], []);
  assert.deepEqual(value, { town: "Oslo", day: "2026-05-17", who: { name: "Ada", age: 36 }, others: [{ name: "Bo" }], speed: 7, kind: 2, any: { x: [1] } });
  assert.deepEqual(read(fieldOf(TRIP), begun(TRIP, value), true).value, { ...(value as JsonObject), others: [{ name: "Bo", age: 30 }] });
});

test("what is wrong is named by its place", () => {
  const draft = { ...(begun(TRIP) as object), town: "O", who: { name: "Ada", age: "-1" }, others: [{ name: "" }, { name: "x", age: "1.5" }, { name: "y" }], any: "{", speed: { which: "0", draft: "fast" } };
  assert.deepEqual([...read(fieldOf(TRIP), draft as unknown as Draft, true).errors.keys()], ["town", "who.age", "others[0].name", "others[1].age", "others", "speed", "any"]);
});

test("a schema that contains itself has as many levels as are entered", () => {
  const tree = { word: "a", below: [{ word: "b", below: [{ word: "c" }] }] };
  assert.deepEqual(read(fieldOf(TRIP), begun(TRIP, { town: "Oslo", who: { name: "Ada" }, tree }), true).value, { town: "Oslo", who: { name: "Ada", age: 30 }, tree });
});

const cases: readonly (readonly [string, JsonObject, Draft, Json | undefined, string?])[] = [
  ["a nullable value that is needed is null", { type: ["integer", "null"] }, "", null],
  ["a text may be empty", { type: "string" }, "", ""],
  ["but not if it has a length", { type: "string", minLength: 1 }, "", undefined, "This is needed."],
  ["constants are a choice", { oneOf: [{ const: "x", title: "X" }, { const: "y" }] }, "1", "y"],
  ["a constant is no field", { const: 7 }, "", 7],
  ["parts of `allOf` are one schema", { allOf: [{ type: "object", properties: { a: { type: "number" } }, required: ["a"] }, { properties: { b: { type: "boolean" } } }] }, { a: "1.5", b: "true" }, { a: 1.5, b: true }],
  ["a pattern", { type: "string", pattern: "^[a-z]+$" }, "A1", "A1", "This does not match ^[a-z]+$"],
  ["a pattern that no browser reads is left to the server", { type: "string", pattern: "(?P<x>a)" }, "b", "b"],
  ["an address", { type: "string", format: "uri" }, "example", "example", "This is not an address, such as https://example.org."],
  ["a time is sent in UTC", { type: "string", format: "date-time" }, "2026-05-17T10:00:00Z", "2026-05-17T10:00:00.000Z"],
  ["an object without parts is JSON", { type: "object", additionalProperties: { type: "integer" } }, "[1]", [1], 'This is not a JSON object, such as {"name": 1}.'],
  ["a tuple is JSON", { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] }, '["a", 1]', ["a", 1]],
  ["a reference to nothing is JSON", { $ref: "#/$defs/None" }, "1", 1],
];
for (const [name, schema, draft, value, wrong] of cases) {
  test(name, () => {
    const reading = read(fieldOf(schema), draft, true);
    assert.deepEqual([...reading.errors.values()], wrong === undefined ? [] : [wrong]);
    assert.deepEqual(reading.value, value);
  });
}

test("an alternative is found again by its constant", () => {
  const one = (kind: string, part: string) => ({ type: "object", properties: { kind: { const: kind }, [part]: { type: "string" } }, required: [part] });
  const schema = { anyOf: [one("hotel", "name"), one("tent", "place")] };
  assert.deepEqual(begun(schema, { kind: "tent", place: "river" }), { which: "1", draft: { kind: "", place: "river" } });
  assert.deepEqual(read(fieldOf(schema), { which: "1", draft: { place: "river" } }, true).value, { kind: "tent", place: "river" });
});

test("booleans of a graph's input may be left out", () => {
  const schema = { type: "object", properties: { sure: { type: "boolean" }, loud: { type: "boolean", default: true } } };
  assert.deepEqual(read(fieldOf(partial(schema)), begun(partial(schema)), true).value, { loud: true });
  assert.deepEqual(read(fieldOf(schema), begun(schema), true).value, { sure: false, loud: true });
});

test("a refusal of the server is divided among its fields", () => {
  const message = "state.trip.seats: expected a valid integer; state.others[0]: expected an object; context.tone: expected 'dry' or 'warm'";
  assert.deepEqual(Object.fromEntries(refusedFields(message, "state")), { "trip.seats": "The server expected a valid integer.", "others[0]": "The server expected an object." });
  assert.deepEqual(Object.fromEntries(refusedFields(message, "context")), { tone: "The server expected 'dry' or 'warm'." });
  assert.equal(refusedFields("messages[0]: is missing", "state").size, 0);
});
