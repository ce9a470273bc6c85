// The page's reducer and the real client's give the same messages and state, for every golden stream.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { type AbstractAgent, type AgentStateMutation, type BaseEvent, defaultApplyEvents, type RunAgentInput } from "@ag-ui/client";
import { from, lastValueFrom, scan } from "rxjs";

import { EventLog } from "../src/model/log.ts";
import { Verifier } from "../src/model/verifier.ts";
import type { WireEvent } from "../src/model/view.ts";

const GOLDEN = join(process.cwd(), "../../fixtures/golden");

/** The streams of a golden file: lines of events after each heading. */
function streams(text: string): WireEvent[][] {
  const found: WireEvent[][] = [];
  let isHeading = false;
  for (const line of text.split("\n")) {
    if (!line) continue;
    if (line.startsWith("== ")) {
      isHeading = true;
      continue;
    }
    if (isHeading) found.push([]);
    isHeading = false;
    found.at(-1)!.push(JSON.parse(line.slice(line.indexOf(" ") + 1)));
  }
  return found;
}

async function clientsView(events: readonly WireEvent[]): Promise<AgentStateMutation> {
  const agent = { messages: [], state: {}, pendingInterrupts: [] } as unknown as AbstractAgent;
  const input = { threadId: "t", runId: "r", messages: [], state: {}, tools: [], context: [] } as unknown as RunAgentInput;
  const applied = defaultApplyEvents(input, from(structuredClone(events) as unknown as BaseEvent[]), agent, []);
  return lastValueFrom(applied.pipe(scan((all, each) => ({ ...all, ...each }), { messages: [], state: {} } as AgentStateMutation)), { defaultValue: { messages: [], state: {} } });
}

const files = readdirSync(GOLDEN).filter((name) => name.endsWith(".txt"));
console.warn = () => {}; // what the client passes over, it names

test("the reducer gives what the client's gives, for each golden stream, and before its end", async () => {
  let count = 0;
  for (const file of files) {
    const [stream, ...others] = streams(readFileSync(join(GOLDEN, file), "utf8"));
    for (const events of [stream!, ...others.slice(-1)]) {
      const log = new EventLog();
      for (const [place, event] of events.entries()) log.append(event, place);
      for (const end of [events.length, Math.floor(events.length / 2)]) {
        const { messages, state } = log.viewAt(end);
        const theirs = await clientsView(events.slice(0, end));
        const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
        assert.deepEqual(plain({ messages, state }), plain({ messages: theirs.messages, state: theirs.state }), `${file}, ${end} events`);
        count += 1;
      }
    }
  }
  assert.ok(count > 400);
});

test("a view of the past is the view of the shorter stream, and what did not change is shared", () => {
  const events = streams(readFileSync(join(GOLDEN, "agent_parallel_tools.txt"), "utf8"))[0]!;
  const whole = new EventLog();
  for (const [place, event] of events.entries()) whole.append(event, place);
  for (let end = 0; end <= events.length; end += 1) {
    const part = new EventLog();
    for (const [place, event] of events.slice(0, end).entries()) part.append(event, place);
    assert.deepEqual(whole.viewAt(end), part.view);
  }
});

test("the client takes the golden streams, and what it refuses is named at the event", () => {
  const events = streams(readFileSync(join(GOLDEN, "agent_one_tool.txt"), "utf8"))[0]!;
  const verifier = new Verifier();
  assert.deepEqual(events.map((event) => verifier.refusal(event)).filter(Boolean), []);
  const broken = [{ type: "RUN_STARTED", threadId: "t", runId: "r" }, { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "x" }, { type: "RUN_FINISHED", threadId: "t", runId: "r" }];
  const refusals = broken.map((event) => verifier.refusal(event));
  assert.match(String(refusals[1]), /No active text message/);
  assert.deepEqual([refusals[0], refusals[2]], [undefined, undefined]);
});
