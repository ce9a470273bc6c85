// What a file of a run has that is sent: what was chosen, and nothing else.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { EventLog } from "../src/model/log.ts";
import type { WireEvent } from "../src/model/view.ts";
import { type Choice, chosen, type Kind, KINDS } from "../src/sent/choose.ts";
import { contentsOf, sizeOf, sizesOf } from "../src/sent/contents.ts";
import { fileOf } from "../src/sent/file.ts";

/** Every text says to which kind it belongs: "state!", or "tools+attachments!" for one that needs both. */
const MARKED: WireEvent[] = JSON.parse(readFileSync(join(process.cwd(), "tests/marked_events.json"), "utf8"));

const choices = (): Choice[] => Array.from({ length: 16 }, (_, number) => new Set(KINDS.filter((__, place) => number & (1 << place))));
const marksIn = (value: unknown): string[] => (JSON.stringify(value).match(/[a-z+]+!/g) ?? []).toSorted();
const isIn = (choice: Choice) => (mark: string) => mark === "always!" || mark.slice(0, -1).split("+").every((kind) => choice.has(kind as Kind));

test("what was not chosen leaves no trace, in any event, and what was chosen is all there", () => {
  for (const choice of choices().slice(0, -1)) {
    const sent = chosen(MARKED, choice);
    for (const [place, event] of sent.entries()) assert.deepEqual(marksIn(event), marksIn(MARKED[place]).filter(isIn(choice)), `${JSON.stringify(event)} of ${[...choice]}`);
    assert.deepEqual(sent.map(({ type }) => type), MARKED.map(({ type }) => type));
  }
});

test("with everything chosen the events are as they were", () => {
  assert.equal(chosen(MARKED, new Set(KINDS)), MARKED);
});

test("an image in a text is an attachment, wherever its pieces begin and end", () => {
  const text = "See ![](data:image/png;base64,QUJD+/=) and data:text/plain,x%20y then.";
  const piece = (delta: string): WireEvent => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta });
  const others = new Set(KINDS.filter((kind) => kind !== "attachments"));
  const [first, other] = [{ type: "TEXT_MESSAGE_CHUNK", messageId: "n", delta: "QUJD" }, { type: "REASONING_MESSAGE_CONTENT", messageId: "m", delta: "QUJD" }];
  for (let from = 0; from < text.length; from += 1) {
    for (let to = from + 1; to <= text.length; to += 1) {
      const events = [piece(text.slice(0, from)), first, piece(text.slice(from, to)), other, piece(text.slice(to))];
      const sent = chosen(events, others);
      assert.equal([0, 2, 4].map((place) => sent[place]!.delta as string).join(""), "See ![](data:image/png;base64,) and data:text/plain, then.");
      assert.deepEqual([sent[1], sent[3]], [first, other]);
      assert.deepEqual(chosen(events, new Set(["attachments"])), events);
    }
  }
  const chunks = [...text].map((delta, place) => ({ type: "TEXT_MESSAGE_CHUNK", delta, ...(place === 0 ? { messageId: "m" } : {}) }));
  assert.equal(chosen(chunks, others).map(({ delta }) => delta as string).join(""), "See ![](data:image/png;base64,) and data:text/plain, then.");
});

test("a file's data end no script, whatever the events say", () => {
  const hostile = { type: "TEXT_MESSAGE_CONTENT", delta: "</script><!-- <script> $& $` {{run}} \u2028 \u2029" };
  const run = { title: "</script>", agent: "<", left: [], at: 3, panel: "state", events: [hostile] };
  const [before, data, after] = fileOf("<x>{{run}}|{{run}}", run).split(/(?<=<x>)|\|/);
  assert.deepEqual([before, after], ["<x>", "{{run}}"]);
  assert.doesNotMatch(data!, /[<\u2028\u2029]/);
  assert.deepEqual(JSON.parse(data!), run);
});

test("what a run has is said before it is sent", () => {
  const log = new EventLog();
  const events: WireEvent[] = [
    { type: "RUN_STARTED", threadId: "t", runId: "r" },
    { type: "MESSAGES_SNAPSHOT", messages: [{ id: "u", role: "user", content: [{ type: "text", text: "hi" }, { type: "image", source: { type: "data", mimeType: "image/png", value: "AAAA" } }] }] },
    { type: "STATE_SNAPSHOT", snapshot: { plan: [], "a/b": 1 } },
    { type: "STATE_DELTA", delta: [{ op: "add", path: "/a~1b", value: 2 }, { op: "add", path: "/later/x", value: 2 }] },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "search" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"q": 1}' },
    { type: "CUSTOM", name: "heard", value: 1 },
    { type: "RUN_ERROR", message: "no" },
  ];
  for (const event of events) log.append(event, 1);
  const { names, ...counts } = contentsOf(log.entries, log.view);
  assert.deepEqual(counts, { runs: 1, failures: 1, events: 8, messages: 2, thoughts: 0 });
  assert.deepEqual(names, { state: ["plan", "a/b", "later"], tools: ["search"], attachments: ["image/png"], other: ["heard"] });
  const sizes = sizesOf(log.entries);
  assert.ok(KINDS.every((kind) => sizes[kind] > 0), JSON.stringify(sizes));
  assert.deepEqual(sizesOf(log.entries.slice(0, 1)), { state: 0, tools: 0, attachments: 0, other: 0 });
  assert.equal(sizeOf(log.entries, new Set(KINDS)), JSON.stringify(events.map((event) => ({ ...event, timestamp: 1 }))).length);
});
