// What was emitted before the page was there: it is put before what the page has seen, and is seen as if it had always been.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EventLog } from "../src/model/log.ts";
import { prelude, saySame } from "../src/model/prelude.ts";
import { RunReader } from "../src/model/spans.ts";
import type { WireEvent } from "../src/model/view.ts";

/** A run of so many words, read by somebody new. */
function run(runId: string, words: number): WireEvent[] {
  const messages = [{ id: `question of ${runId}`, role: "user", content: "?" }];
  const contents = Array.from({ length: words }, (_, number) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: runId, delta: `${number} ` }));
  return [
    { type: "RUN_STARTED", threadId: "t", runId },
    { type: "MESSAGES_SNAPSHOT", messages },
    { type: "STATE_SNAPSHOT", snapshot: { of: runId } },
    { type: "TEXT_MESSAGE_START", messageId: runId, role: "assistant" },
    ...contents,
    { type: "TEXT_MESSAGE_END", messageId: runId },
    { type: "RUN_FINISHED", threadId: "t", runId },
  ];
}

/** What a new connection says of the run. */
function said(events: readonly WireEvent[]): WireEvent[] {
  const { messages, state } = logOf(events).view;
  const [first, last] = [events[0]!, events.at(-1)!];
  return [first, { type: "STATE_SNAPSHOT", snapshot: structuredClone(state) }, { type: "MESSAGES_SNAPSHOT", messages: structuredClone(messages) }, last];
}

function logOf(events: readonly WireEvent[]): EventLog {
  const log = new EventLog();
  events.forEach((event, place) => log.append(event, place));
  return log;
}

const timed = (events: readonly WireEvent[]) => events.map((event, at) => ({ event, at }));

function assertSame(log: EventLog, events: readonly WireEvent[]): void {
  const whole = logOf(events);
  assert.deepEqual(log.entries.map(({ event }) => event), events);
  assert.deepEqual(log.entries.map(({ index }) => index), events.map((_, index) => index));
  for (const count of [0, 1, 63, 64, 65, 130, events.length - 1, events.length]) assert.deepEqual(log.viewAt(count), whole.viewAt(count));
}

test("events that are put before or between others are as if they had come first, also while more come", async () => {
  const [one, two, three] = [run("one", 70), run("two", 200), run("three", 3)];
  const log = logOf(three);
  const more = run("four", 2);
  const done = log.splice(0, 0, timed(one));
  await done;
  const seen = log.entries.at(-1)!;
  const going = log.splice(one.length, 0, timed(two));
  more.forEach((event, place) => log.append(event, place));
  await going;
  assertSame(log, [...one, ...two, ...three, ...more]);
  assert.equal(log.entries.indexOf(seen), seen.index);
  await log.splice(one.length, two.length, []);
  assertSame(log, [...one, ...three, ...more]);
});

test("what a connection says of a run that has ended is known, and whether it says anything new", () => {
  const events = run("one", 3);
  const again = said(events);
  const log = logOf([...events, ...again]);
  assert.deepEqual(prelude(log, events.length), { runId: "one", count: again.length });
  assert.ok(saySame(log.viewAt(events.length), log.view));
  assert.deepEqual(prelude(logOf(events), 0), { count: 0 });
  assert.deepEqual(prelude(logOf(again.slice(0, -1)), 0), { count: 0 });
  const changes: WireEvent[] = [
    { type: "STATE_SNAPSHOT", snapshot: { of: "one", and: "an update" } },
    { type: "MESSAGES_SNAPSHOT", messages: [] },
    { type: "RUN_FINISHED", threadId: "t", runId: "one", outcome: { type: "interrupt", interrupts: [{ id: "i", reason: "input_required" }] } },
  ];
  for (const change of changes) {
    const other = logOf([...events, again[0]!, ...again.slice(1, -1), change, again.at(-1)!].filter((event, place, all) => change.type !== "RUN_FINISHED" || place < all.length - 1));
    assert.ok(!saySame(other.viewAt(events.length), other.view), change.type);
  }
});

test("a run that a new connection names again is still one run, with its own end", () => {
  const events = run("one", 3);
  const log = logOf([...events, ...said(events)]);
  const [only, ...others] = new RunReader().read(log.entries);
  assert.equal(others.length, 0);
  assert.equal(only!.to, log.entries[events.length - 1]);
});
