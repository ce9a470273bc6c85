// The parts of clients/typescript that need no graph: when an agent connects, and what becomes of a connection in time.
// The clock is the test's; the servers are real.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { module, typescript } from "./typescript.mjs";

const { endOf, next, positionAfter } = await module("position");
const { Connection } = await module("connection");
const { ThreadAgent } = await typescript("1.0.0");

const started = (runId) => ({ type: "RUN_STARTED", threadId: "t", runId });
const finished = (runId, ...ids) => ({
  type: "RUN_FINISHED",
  threadId: "t",
  runId,
  ...(ids.length && { outcome: { type: "interrupt", interrupts: ids.map((id) => ({ id, reason: "ask" })) } }),
});
const frames = (...events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

test("an agent connects when it has not seen what the thread has", () => {
  const seen = new Map([["running", undefined], ["ended", ""], ["asked", "i1 i2"]]);
  const cases = [
    [{ runId: "unknown" }, "", "connect"],
    [{ runId: "unknown", end: "" }, "", "connect"],
    [{ runId: "running" }, "", "connect"], // its stream broke
    [{ runId: "running", end: "" }, "", "connect"],
    [{ runId: "ended" }, "", "wait"], // it runs again, or the report of its end is late
    [{ runId: "ended", end: "" }, "", "nothing"],
    [{ runId: "asked", end: "i1 i2" }, "i1 i2", "nothing"],
    [{ runId: "asked", end: "" }, "i1 i2", "connect"], // answered elsewhere, under the same id
    [{ runId: "unknown", end: "i1 i2" }, "i1 i2", "nothing"], // the same question; the server has named its run anew
  ];
  for (const [thread, waiting, step] of cases) assert.equal(next(thread, seen, waiting), step, JSON.stringify(thread));
});

test("an event of a thread says where it is", () => {
  assert.deepEqual(positionAfter(started("r"), undefined), { runId: "r" });
  assert.deepEqual(positionAfter(finished("r"), undefined), { runId: "r", end: "" });
  assert.deepEqual(positionAfter(finished("r", "b", "a"), undefined), { runId: "r", end: "a b" });
  assert.deepEqual(positionAfter({ type: "RUN_ERROR", message: "" }, { runId: "r" }), { runId: "r", end: "" });
  assert.equal(positionAfter({ type: "RUN_ERROR", message: "" }, undefined), undefined);
  assert.equal(positionAfter({ type: "TEXT_MESSAGE_START" }, { runId: "r" }), undefined);
  assert.equal(endOf(undefined), "");
});

/** A server; `answer` gets each request and its response. */
const serving = async (t, answer) => {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${server.address().port}`;
};

/** Returns when a condition holds; it is looked at whenever something happens. */
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
};

test("a connection on which nothing comes is opened again", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"] });
  let requests = 0;
  const url = await serving(t, (_, response) => {
    requests += 1;
    response.writeHead(200).write(frames(started("r")));
  });
  const events = [];
  const connection = new Connection((signal) => fetch(url, { signal }), (event) => events.push(event), () => {});
  t.after(() => connection.close());
  await until(() => events.length === 1);
  t.mock.timers.tick(40_000);
  assert.equal(connection.state, "live");
  t.mock.timers.tick(20_000);
  await until(() => connection.state === "lost");
  assert.match(connection.error.message, /Nothing came for 45 seconds/);
  t.mock.timers.tick(30_000);
  await until(() => events.length === 2);
  assert.deepEqual([connection.state, requests, connection.error], ["live", 2, undefined]);
});

test("a page that is hidden or was left has no connection, and catches up when it is seen", { timeout: 30_000 }, async (t) => {
  const page = (globalThis.document = Object.assign(new EventTarget(), { visibilityState: "visible" }));
  globalThis.window = new EventTarget();
  t.after(() => (delete globalThis.document, delete globalThis.window));
  const is = (state) => ((page.visibilityState = state), page.dispatchEvent(new Event("visibilitychange")));
  const whole = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "a", role: "assistant", content: "all of it" }] };
  const open = new Set();
  let isOver = false;
  const url = await serving(t, (request, response) => {
    open.add(request.url);
    response.on("close", () => open.delete(request.url));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    if (request.method === "GET") response.write(frames(started("r"), ...(isOver ? [finished("r")] : [])));
    else if (isOver) response.end(frames(started("r"), whole, finished("r")));
    else response.write(frames(started("r"))); // and nothing more yet
  });
  const agent = new ThreadAgent({ url: `${url}/chat`, threadId: "t" });
  const watch = agent.watch();
  t.after(() => watch.close());
  await until(() => open.size === 2 && agent.isRunning); // the watch, and the run of others
  is("hidden");
  assert.equal(watch.state.connection, "paused");
  await until(() => open.size === 0);
  watch.retry();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(open.size, 0);
  isOver = true;
  is("visible");
  await until(() => agent.messages[0]?.content === "all of it" && watch.state.connection === "live");

  isOver = false;
  const run = agent.runAgent({ runId: "own" });
  await until(() => open.has("/chat"));
  is("hidden");
  await until(() => open.size === 1); // what the page itself has started is read on
  assert.ok(open.has("/chat"));
  window.dispatchEvent(Object.assign(new Event("pagehide"), { persisted: true }));
  await until(() => open.size === 0);
  await run;
});

test("attempts come in growing distances, and as the server wants; a refusal waits for the user", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"] });
  const answers = [[503], [503], [503], [429, { "Retry-After": "100" }], [403]];
  let requests = 0;
  const url = await serving(t, (_, response) => response.writeHead(...answers[Math.min(requests++, 4)]).end("no"));
  const connection = new Connection((signal) => fetch(url, { signal }), () => {}, () => {});
  t.after(() => connection.close());
  const delays = [];
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    await until(() => requests === attempt && connection.retryAt > Date.now());
    delays.push(connection.retryAt - Date.now());
    t.mock.timers.tick(delays.at(-1));
  }
  await until(() => connection.state === "refused");
  delays.slice(0, 3).forEach((delay, place) => assert.ok(delay >= 250 * 2 ** place && delay <= 500 * 2 ** place, String(delay)));
  assert.equal(delays[3], 100_000);
  assert.match(connection.error.message, /HTTP 403: no/);
  t.mock.timers.tick(1_000_000);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(requests, 5);
  connection.retry();
  await until(() => requests === 6);
  await until(() => connection.state === "refused");
});

test("an agent that reads a dead connection after its run's end connects", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"] });
  let report;
  const whole = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "a", role: "assistant", content: "all of it" }] };
  const url = await serving(t, async (request, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    if (request.method === "GET") {
      report = (...events) => response.write(frames(...events));
      response.write(":\n\n");
    } else if (request.url.endsWith("/connect")) {
      response.end(report.run ? frames(started("r"), whole, finished("r")) : "");
    } else {
      response.write(frames(started("r"))); // and nothing more
    }
  });
  const agent = new ThreadAgent({ url: `${url}/chat`, threadId: "t" });
  const watch = agent.watch();
  t.after(() => watch.close());
  await until(() => report);
  t.mock.timers.tick(1);
  await until(() => watch.state.connection === "live");
  let begun = false;
  agent.subscribe({ onRunStartedEvent: () => void (begun = true) });
  const run = agent.runAgent({ runId: "r" });
  await until(() => begun);
  report(started("r"), finished("r"));
  report.run = true;
  await until(() => (t.mock.timers.tick(1_000), agent.messages.length));
  await run;
  assert.equal(agent.messages[0].content, "all of it");
});

test("a page whose runs can't be read is lost, and says why, until they can", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"] });
  let watched;
  let refused = 0;
  const whole = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "a", role: "assistant", content: "all of it" }] };
  const url = await serving(t, (request, response) => {
    if (request.method === "GET") {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).write(":\n\n");
      watched = response;
    } else if (watched?.isReported && ++refused <= 2) {
      response.writeHead(503).end("busy");
    } else {
      const events = watched?.isReported ? [started("r"), whole, finished("r")] : [];
      response.writeHead(200, { "Content-Type": "text/event-stream" }).end(frames(...events));
    }
  });
  t.mock.method(console, "error", () => {}); // the client's own
  const agent = new ThreadAgent({ url: `${url}/chat`, threadId: "t" });
  const watch = agent.watch();
  t.after(() => watch.close());
  const states = [];
  watch.subscribe(() => states.push(watch.state));
  await until(() => watched);
  t.mock.timers.tick(1);
  await until(() => watch.state.connection === "live");
  watched.isReported = true;
  watched.write(frames(started("r"), finished("r")));
  await until(() => watch.state.connection === "lost");
  assert.match(watch.state.error.message, /503/);
  assert.ok(watch.state.retryAt > Date.now());
  await until(() => (t.mock.timers.tick(100), watch.state.caughtUp === 1));
  assert.deepEqual([watch.state.connection, watch.state.error, agent.messages.length, refused], ["live", undefined, 1, 3]);
  const seen = states.map(({ connection }) => connection).filter((each, place, all) => each !== all[place - 1]);
  assert.deepEqual(seen, ["connecting", "live", "lost", "live"]);
});

test("a server without the watch route is connected to once, again after a broken stream, and when the user wants", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"] });
  const said = (text) => ({ type: "MESSAGES_SNAPSHOT", messages: [{ id: "a", role: "assistant", content: text }] });
  const streams = [
    [started("r"), said("some"), finished("r")],
    [started("r2"), said("some of it")], // breaks
    [started("r2"), said("all of it"), finished("r2")],
  ];
  const requests = [];
  const url = await serving(t, (request, response) => {
    requests.push(request.method === "GET" ? "watch" : request.url.endsWith("/connect") ? "connect" : "run");
    if (request.method === "GET") return response.writeHead(404).end('{"error":"Not found"}');
    const stream = streams[Math.min(requests.filter((each) => each !== "watch").length, 3) - 1];
    response.writeHead(200, { "Content-Type": "text/event-stream" }).end(frames(...stream));
  });
  const agent = new ThreadAgent({ url: `${url}/chat`, threadId: "t" });
  const watch = agent.watch();
  t.after(() => watch.close());
  const states = [];
  watch.subscribe(() => states.push(watch.state.connection));
  const passes = (milliseconds) => t.mock.timers.tick(milliseconds);
  await until(() => (passes(1), watch.state.connection === "unwatched"));
  assert.equal(agent.messages[0].content, "some");
  assert.match(watch.state.error.message, /HTTP 404/);
  passes(1_000_000);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(requests.toSorted(), ["connect", "watch"]);

  await agent.runAgent({ runId: "r2" }).catch(() => {});
  await until(() => (passes(100), agent.messages[0].content === "all of it"));
  assert.deepEqual(requests.slice(2), ["run", "connect"]);

  await until(() => !agent.isRunning);
  watch.retry();
  await until(() => (passes(100), requests.length === 6 && watch.state.connection === "unwatched"));
  assert.deepEqual(requests.slice(4), ["watch", "connect"]);
  assert.ok(!states.includes("live") && !states.includes("refused"));
});

test("a server that has neither the watch route nor the agent has refused the page", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"] });
  const url = await serving(t, (_, response) => response.writeHead(404).end("no such agent"));
  t.mock.method(console, "error", () => {}); // the client's own
  const agent = new ThreadAgent({ url: `${url}/chat`, threadId: "t" });
  const watch = agent.watch();
  t.after(() => watch.close());
  await until(() => (t.mock.timers.tick(100), watch.state.connection === "refused"));
  assert.match(watch.state.error.message, /404/);
});

test("an agent that connected before it was watched gets the runs that are reported meanwhile", { timeout: 30_000 }, async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"] });
  const whole = { type: "MESSAGES_SNAPSHOT", messages: [{ id: "a", role: "assistant", content: "all of it" }] };
  let report, first;
  const url = await serving(t, (request, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    if (request.method === "GET") {
      response.write(":\n\n");
      report = (...events) => response.write(frames(...events));
    } else if (first === undefined) {
      first = response;
      response.flushHeaders();
    } else {
      response.end(frames(started("r"), whole, finished("r")));
    }
  });
  const agent = new ThreadAgent({ url: `${url}/chat`, threadId: "t" });
  const connecting = agent.connectAgent();
  await until(() => first);
  const watch = agent.watch();
  t.after(() => watch.close());
  await until(() => report);
  report(started("r"));
  for (let waited = 0; waited < 20; waited += 1) {
    t.mock.timers.tick(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  first.end();
  await connecting;
  t.mock.timers.tick(1_000); // less than after which a silent connection is opened again
  await until(() => agent.messages[0]?.content === "all of it");
});
