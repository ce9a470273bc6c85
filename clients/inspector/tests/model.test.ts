// Patches that share what they leave alone, recordings, and what took time in a run.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Json } from "../src/model/json.ts";
import { fromJsonl, toJsonl } from "../src/model/jsonl.ts";
import { EventLog } from "../src/model/log.ts";
import { patched } from "../src/model/patch.ts";
import { nested, RunReader, runsOf } from "../src/model/spans.ts";
import { next, type WireEvent } from "../src/model/view.ts";

test("a patch changes what it names, and shares the rest", () => {
  const before = { a: { b: [1, 2, 3] }, c: { d: "same" } } as const;
  const after = patched(before, [
    { op: "add", path: "/a/b/-", value: 4 },
    { op: "remove", path: "/a/b/0" },
    { op: "replace", path: "/a/b/1", value: "three" },
    { op: "copy", from: "/c/d", path: "/e~1f" },
    { op: "move", from: "/e~1f", path: "/a/moved" },
    { op: "test", path: "/a/moved", value: "same" },
  ]) as { [key: string]: Json };
  assert.deepEqual(after, { a: { b: [2, "three", 4], moved: "same" }, c: { d: "same" } });
  assert.equal(after.c, before.c);
  assert.deepEqual(before, { a: { b: [1, 2, 3] }, c: { d: "same" } });
});

test("a patch that cannot be applied throws", () => {
  for (const operation of [
    { op: "replace", path: "/none", value: 1 },
    { op: "remove", path: "/list/7" },
    { op: "add", path: "/list/01", value: 1 },
    { op: "add", path: "/none/deep", value: 1 },
    { op: "test", path: "/list", value: [] },
    { op: "add", path: "list", value: 1 },
    { op: "add", path: "/__proto__", value: 1 },
    { op: "burn", path: "/list" },
  ]) assert.throws(() => patched({ list: [1] }, [operation]), JSON.stringify(operation));
});

const EVENTS: WireEvent[] = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "STEP_STARTED", stepName: "tools" },
  { type: "TOOL_CALL_START", toolCallId: "a", toolCallName: "left" },
  { type: "TOOL_CALL_START", toolCallId: "b", toolCallName: "right" },
  { type: "TOOL_CALL_RESULT", toolCallId: "a", messageId: "1", content: "done" },
  { type: "TOOL_CALL_RESULT", toolCallId: "b", messageId: "2", content: "done", metadata: { status: "error" } },
  { type: "STEP_FINISHED", stepName: "tools" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r", usage: [{ inputTokens: 3, outputTokens: 4 }] },
];

function logOf(events: readonly WireEvent[]): EventLog {
  const log = new EventLog();
  for (const [place, event] of events.entries()) log.append(event, 1000 + place * 10);
  return log;
}

test("what runs is below what it belongs to: a tool below its step, a subagent below its call", () => {
  const [run] = runsOf(logOf(EVENTS).entries);
  assert.deepEqual(
    run!.spans.map(({ kind, name, depth, hasFailed }) => [kind, name, depth, hasFailed ?? false]),
    [["step", "tools", 0, false], ["tool", "left", 1, false], ["tool", "right", 1, true]],
  );
  const started = (subagentRunId: string, parentToolCallId: string) => ({ type: "SUBAGENT_STARTED", subagentRunId, parentToolCallId, name: subagentRunId });
  const team = [
    ...EVENTS.slice(0, 4),
    started("one", "a"),
    started("two", "b"),
    { type: "STEP_STARTED", stepName: "agent", subagentRunId: "two" },
    { type: "TEXT_MESSAGE_START", messageId: "m", subagentRunId: "one" },
    { type: "TEXT_MESSAGE_START", messageId: "n", subagentRunId: "two" },
  ];
  const names = nested(runsOf(logOf(team).entries)[0]!.spans).map(({ name, depth }) => `${depth} ${name}`);
  assert.deepEqual(names, ["0 tools", "1 left", "2 one", "3 text", "1 right", "2 two", "3 agent", "4 text"]);
  assert.deepEqual([run!.outcome, run!.usage], ["success", [{ inputTokens: 3, outputTokens: 4 }]]);
});

test("a run that is read again after a lost connection is one run", () => {
  const [run, ...others] = runsOf(logOf([...EVENTS.slice(0, 3), EVENTS[0]!, ...EVENTS.slice(3)]).entries);
  assert.deepEqual([others.length, run!.spans.length, run!.outcome], [0, 3, "success"]);
});

test("a run that failed says in which step, which was closed before", () => {
  const events = [...EVENTS.slice(0, 6), { type: "TEXT_MESSAGE_END", messageId: "m" }, { type: "STEP_FINISHED", stepName: "tools" }, { type: "ACTIVITY_SNAPSHOT", messageId: "e", activityType: "run_error", content: {} }, { type: "RUN_ERROR", message: "no", code: "ValueError" }];
  const log = logOf(events);
  assert.deepEqual(log.view.error, { message: "no", code: "ValueError", step: "tools" });
  assert.deepEqual(runsOf(log.entries)[0]!.spans.map(({ hasFailed }) => hasFailed), [true, false, true]);
  assert.equal(logOf([...EVENTS.slice(0, 7), EVENTS[1]!, events.at(-1)!]).view.error!.step, undefined);
});

test("a log that grows is read event by event: the same runs, the first token and the pace", () => {
  const log = logOf([EVENTS[0]!, { type: "TEXT_MESSAGE_START", messageId: "m" }]);
  const reader = new RunReader();
  const [first] = reader.read(log.entries);
  log.append({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "x" }, 1100);
  log.append({ type: "TEXT_MESSAGE_END", messageId: "m" }, 1510);
  const [again] = reader.read(log.entries);
  assert.equal(again, first);
  assert.deepEqual([again!.firstToken!.at, again!.streamed, again!.entries.length], [1100, 500, 4]);
});

test("an event that is not what AG-UI says changes nothing", () => {
  const before = logOf(EVENTS).view;
  for (const event of [
    { type: "MESSAGES_SNAPSHOT", messages: 5 },
    { type: "MESSAGES_SNAPSHOT" },
    { type: "STATE_DELTA", delta: 5 },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/none", value: 1 }] },
    { type: "RUN_STARTED", input: { messages: {} } },
    { type: "TOOL_CALL_ARGS", toolCallId: "none", delta: "x" },
    { type: "toString" },
    { type: "__proto__" },
  ]) assert.deepEqual({ ...next(before, event), closing: before.closing }, before, JSON.stringify(event));
});

test("a recording is read as it was written, with its times", () => {
  const log = logOf(EVENTS);
  const { events: read, incomplete } = fromJsonl(toJsonl(log.entries));
  assert.equal(incomplete, undefined);
  assert.deepEqual(read.map(({ at }) => at), log.entries.map(({ at }) => at));
  assert.deepEqual(read.map(({ event }) => event.type), EVENTS.map(({ type }) => type));
});

test("an incomplete last line is left out, with its number; any other is an error", () => {
  const whole = '{"type": "RUN_STARTED"}\n';
  for (const part of ['{"type": "STEP_', '{"type": "STEP_STARTED", "stepName": "\u0000', "\u0000\u0000"]) {
    const { events, incomplete } = fromJsonl(whole + part);
    assert.deepEqual([events.map(({ event }) => event.type), incomplete], [["RUN_STARTED"], 2]);
    assert.throws(() => fromJsonl(`${whole}${part}\n`), /Line 2: /);
  }
  assert.equal(fromJsonl(whole.trim()).incomplete, undefined);
  assert.throws(() => fromJsonl('{"type": "RUN'), /Line 1: /);
});

test("a file that is no recording is refused with its line", () => {
  assert.throws(() => fromJsonl('{"type": "RUN_STARTED"}\nhello\n'), /Line 2: expected an AG-UI event/);
  assert.throws(() => fromJsonl('{"kind": 1}\n'), /Line 1: expected an AG-UI event with a "type"/);
  assert.throws(() => fromJsonl("\n"), /no events/);
  const recorded = '{"recording": {}}\n{"type": "RUN_STARTED", "timestamp": 7}\n{"metadata": {}}\n{"mode": "values", "data": {}, "timestamp": 8}\n{"ending": {}, "timestamp": 9}\n';
  assert.deepEqual(fromJsonl(recorded).events.map(({ event, at }) => [event.type, at]), [["RUN_STARTED", 7]]);
});
