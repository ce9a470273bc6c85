// The list of threads as CopilotKit's own client keeps it (`useThreads` is a thin layer over it): pages, names, archive.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { BEARER, Stage, until } from "./harness.mjs";

const { ɵcreateThreadStore: createThreadStore } = createRequire(
  new URL("../../examples/copilotkit/package.json", import.meta.url),
)("@copilotkit/core");

let stage;
before(async () => (stage = await Stage.set()));
after(() => stage?.strike());

const url = () => `http://127.0.0.1:${stage.port}`;

const say = async (threadId) => {
  const message = { id: `said-${threadId}`, role: "user", content: "talk" };
  const body = { threadId, runId: `run-${threadId}`, messages: [message], state: {}, tools: [], context: [], forwardedProps: {} };
  const headers = { "Content-Type": "application/json" };
  await (await fetch(`${url()}/agent/planner/run`, { method: "POST", headers, body: JSON.stringify(body) })).text();
};

/** CopilotKit's store of an agent's threads; `becomes` waits until it has these, by id and name. */
const listed = (t, context = {}) => {
  const store = createThreadStore({ fetch });
  t.after(() => store.stop());
  store.start();
  store.setContext({ runtimeUrl: url(), headers: BEARER, agentId: "planner", ...context });
  const has = () => store.getState().threads.map(({ id, name }) => [id, name]);
  const becomes = async (expected) => {
    const end = Date.now() + 20_000;
    while (JSON.stringify(has()) !== JSON.stringify(expected) && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.deepEqual(has(), expected);
    assert.equal(store.getState().error, null);
  };
  const lists = (id) => until(() => has().some(([each]) => each === id), `there is no thread ${id}`);
  return { store, becomes, lists };
};

test("threads are listed page by page, renamed, archived, taken out of the archive and deleted", async (t) => {
  for (const thread of ["one", "two/three", "four"]) await say(thread);
  const { store, becomes } = listed(t, { limit: 2 });
  await becomes([["four", "talk"], ["two/three", "talk"]]);
  store.fetchNextPage();
  await becomes([["four", "talk"], ["two/three", "talk"], ["one", "talk"]]);
  await store.renameThread("two/three", "Lunch");
  await store.archiveThread("four");
  await store.deleteThread("one");
  const again = listed(t);
  await again.becomes([["two/three", "Lunch"]]);
  await listed(t, { includeArchived: true }).becomes([["four", "talk"], ["two/three", "Lunch"]]);
  await store.unarchiveThread("four");
  again.store.refresh();
  await again.becomes([["four", "talk"], ["two/three", "Lunch"]]);
});

test("what fails is an error of the store, and changes nothing", async (t) => {
  const { store } = listed(t);
  await assert.rejects(store.renameThread("nobody's", "mine"), /404/);
});

test("without the server's token the store has no list, and `useThreads` asks for none", async (t) => {
  await say("mine");
  const { store } = listed(t, { headers: {} });
  await until(() => store.getState().error !== null, "the list is no error");
  assert.match(store.getState().error.message, /403/);
  await assert.rejects(store.deleteThread("mine"), /403/);
  await listed(t, { includeArchived: true }).lists("mine");
  const endpoints = async (headers) => (await (await fetch(`${url()}/info`, { headers })).json()).threadEndpoints;
  assert.deepEqual([(await endpoints({})).list, (await endpoints(BEARER)).list], [false, true]); // what the hook goes by
});
