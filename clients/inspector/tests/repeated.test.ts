// A list that is read again and again waits for its answer.

import assert from "node:assert/strict";
import { test } from "node:test";

import { repeated } from "../src/repeated.ts";

test("a list is read again after its answer, once at a time, and only while it is seen", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let reads = 0;
  let isSeen = true;
  let answer = (): void => {};
  const read = () => new Promise<void>((resolve) => ((answer = resolve), (reads += 1)));
  const answered = async () => (answer(), await new Promise(setImmediate));
  const again = repeated(read, 4_000, () => isSeen);

  again();
  context.mock.timers.tick(60_000); // the answer takes longer than the interval
  assert.equal(reads, 1);
  again();
  again();
  assert.equal(reads, 1);
  await answered();
  assert.equal(reads, 2); // what was wanted meanwhile, once
  await answered();
  context.mock.timers.tick(3_999);
  assert.equal(reads, 2);
  context.mock.timers.tick(1);
  assert.equal(reads, 3);
  await answered();
  isSeen = false;
  context.mock.timers.tick(60_000);
  assert.equal(reads, 3);
  isSeen = true;
  again();
  assert.equal(reads, 4);
  await answered();
});
