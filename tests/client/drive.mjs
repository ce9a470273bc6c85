// Drives the real AG-UI clients: one JSON job per line in, one JSON answer per line out, in order.
//
// A job: { id, version: "1.0.0" | "0.0.59" | "0.0.58", mode?: "run" | "connect", messages?, state?, events? | frames?, split?,
// trace?, after?, resume? }. `events` are written as LF-framed SSE; `frames` is SSE text taken as it is. Either way the bytes
// go through the client's own HTTP reader, so everything it does to a response is done to them; `split` is the size of
// the reads (65536).
// An answer: { id, error, warnings, messages, state, pendingInterrupts, result, trace? }. `trace` has what the agent
// held after each event that reached its reducer; with `after`, a sorted list of counts, what it held after so many
// events, in which a number stands for the message at that place in the entry before, and no `state` for the same state.
//
// The one module here that is not a test; it knows nothing of what is tested.

import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { HttpAgent as AgentUnowned } from "agui-0-0-58";
import { HttpAgent as Agent0 } from "agui-0-0-59";
import { HttpAgent as Agent1 } from "agui-1-0-0";

const AGENTS = { "0.0.58": AgentUnowned, "0.0.59": Agent0, "1.0.0": Agent1 };

// Neither client's HttpAgent can connect; a connecting one posts the same input elsewhere.
const connecting = (Base) =>
  class extends Base {
    connect(input) {
      return this.run(input);
    }
  };
const CONNECTING = Object.fromEntries(Object.entries(AGENTS).map(([version, Base]) => [version, connecting(Base)]));

const asFrames = (events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

const response = (text, split) => {
  const bytes = new TextEncoder().encode(text);
  let read = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (read < bytes.length) controller.enqueue(bytes.slice(read, (read += split)));
      else controller.close();
    },
  });
  return new Response(body, { status: 200, headers: { "content-type": "text/event-stream" } });
};

// What changed since the last time: messages that are the same are told by their place in the list before.
const changes = () => {
  let places = new Map();
  let last;
  return ({ messages, state }) => {
    const texts = messages.map((message) => JSON.stringify(message));
    const entry = { messages: texts.map((text, at) => places.get(text) ?? structuredClone(messages[at])) };
    const now = JSON.stringify(state);
    if (now !== last) entry.state = structuredClone(state);
    places = new Map(texts.map((text, at) => [text, at]));
    last = now;
    return entry;
  };
};

export const drive = async (job) => {
  const warnings = [];
  const failures = [];
  const text = job.frames ?? asFrames(job.events ?? []);
  const agent = new CONNECTING[job.version]({
    url: "http://client.invalid/",
    threadId: job.threadId ?? "thread",
    initialMessages: job.messages ?? [],
    initialState: job.state ?? {},
    fetch: async () => response(text, job.split ?? 65536),
  });
  const trace = [];
  const held = () => ({ messages: agent.messages, state: agent.state });
  const changed = changes();
  let count = 0;
  // Records what was held after so many events, for each count that is asked for.
  const record = () => {
    while (job.after[trace.length] <= count) trace.push(changed(held()));
  };
  // onEvent comes before its event is applied: what is held then is what the event before it left.
  const tracer = {
    onEvent: () => {
      if (!job.after) return void trace.push(structuredClone(held()));
      record();
      count += 1;
    },
  };

  const kept = { warn: console.warn, error: console.error, log: console.log, debug: console.debug };
  const note = (...args) => void warnings.push(args.map((arg) => (arg instanceof Error ? arg.message : String(arg))).join(" "));
  Object.assign(console, { warn: note, error: note, log: note, debug: note });
  const escaped = (error) => void failures.push(error);
  process.on("unhandledRejection", escaped);
  process.on("uncaughtException", escaped);
  let result;
  try {
    const parameters = job.resume === undefined ? {} : { resume: job.resume };
    const call = job.mode === "connect" ? "connectAgent" : "runAgent";
    ({ result } = await agent[call](parameters, job.trace || job.after ? tracer : {}));
  } catch (error) {
    failures.push(error);
  } finally {
    await new Promise((resolve) => setImmediate(resolve)); // rejections nobody handles are told after the microtasks
    process.off("unhandledRejection", escaped);
    process.off("uncaughtException", escaped);
    Object.assign(console, kept);
  }
  const answer = {
    id: job.id ?? null,
    error: failures.length > 0 ? String(failures[0]?.message ?? failures[0]) : null,
    warnings: warnings.filter((warning) => !warning.startsWith("Agent execution failed:")),
    ...held(),
    pendingInterrupts: agent.pendingInterrupts,
    result: result ?? null,
  };
  if (job.after) record();
  if (job.after) answer.trace = trace;
  else if (job.trace) answer.trace = [...trace.slice(1), held()];
  return structuredClone(answer);
};

// A state with a circle in it cannot be told; the client can be brought to hold one.
const told = (answer) => {
  try {
    return JSON.stringify(answer);
  } catch (error) {
    const { id, warnings } = answer;
    const untold = { messages: [], state: null, pendingInterrupts: [], result: null, trace: [] };
    return JSON.stringify({ id, error: String(error), warnings, ...untold });
  }
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${told(await drive(JSON.parse(line)))}\n`);
  }
}
