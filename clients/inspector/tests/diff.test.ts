// What differs between two states.

import assert from "node:assert/strict";
import { test } from "node:test";

import { countOf, type Difference, differenceOf } from "../src/model/diff.ts";
import type { Json } from "../src/model/json.ts";

/** A difference in lines. */
function lines(of: Difference, name = ""): string[] {
  switch (of.kind) {
    case "same":
      return [];
    case "inside":
      return of.children.flatMap((child) => lines(child.of, `${name}/${child.name}`));
    case "changed":
      return [`~ ${name} ${of.words ? of.words.map(({ text, is }) => (is === "same" ? text : is === "added" ? `[+${text}]` : `[-${text}]`)).join("") : `${JSON.stringify(of.before)} ${JSON.stringify(of.after)}`}`];
    default:
      return [`${of.kind === "added" ? "+" : "-"} ${name} ${JSON.stringify(of.value)}`];
  }
}

const cases: readonly (readonly [string, Json, Json, readonly string[]])[] = [
  ["keys that came, went and changed", { a: 1, b: 2, c: { d: 1 } }, { a: 1, c: { d: 2 }, e: null }, ["~ /c/d 1 2", "+ /e null", "- /b 2"]],
  ["an item is found again by its id", [{ id: "x", n: 1 }, { id: "y", n: 1 }], [{ id: "new", n: 0 }, { id: "x", n: 1 }, { id: "y", n: 2 }], ['+ /0 {"id":"new","n":0}', "~ /2/n 1 2"]],
  ["an item that went", [{ id: "x" }, { id: "y" }, { id: "z" }], [{ id: "x" }, { id: "z" }], ['- /1 {"id":"y"}']],
  ["an item without an id has changed", ["a", "b", "c"], ["a", "B", "c"], ['~ /1 "b" "B"']],
  ["a text by words", { plan: "Go to the tower at nine." }, { plan: "Go to the market at nine." }, ["~ /plan Go to the [-tower][+market] at nine."]],
  ["other kinds of values", { a: [], b: "1" }, { a: {}, b: 1 }, ["~ /a [] {}", '~ /b "1" 1']],
  ["equal values that are not shared", { a: [{ b: "c" }] }, { a: [{ b: "c" }] }, []],
];

for (const [name, before, after, expected] of cases) {
  test(name, () => {
    const found = differenceOf(before, after);
    assert.deepEqual(lines(found), expected);
    assert.equal(countOf(found), expected.length);
  });
}

test("long lists and texts that have nothing in common are compared in no time", () => {
  const [one, other] = ["a", "b"].map((letter) => Array.from({ length: 5_000 }, (_, place) => `${letter}${place} `));
  const began = process.cpuUsage();
  assert.ok(countOf(differenceOf(one!, other!)) >= 5_000);
  assert.equal(countOf(differenceOf(one!.join(""), other!.join(""))), 1);
  assert.ok(process.cpuUsage(began).user < 2_000_000, "two seconds of the processor");
});
