// The React page of clients/typescript, on `@ag-ui/client` alone, in StrictMode, in a real browser, against the real server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Stage } from "./harness.mjs";
import { reads, say } from "./plain_page.mjs";

const WHOLE = "One two three four five six seven eight.";
const LOST = [/ERR_INTERNET_DISCONNECTED/, /ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/];

let stage;
before(async () => (stage = await Stage.set({ example: "../clients/typescript/examples" })));
after(() => stage?.strike());

const scenario = (name, play, options = {}) => test(name, (t) => stage.visit(t, { page: "index", ...options }, play));

async function inAnotherTab(page) {
  const other = await page.context().newPage();
  await other.goto(page.url());
  return other;
}

scenario("React: two tabs show one run while it runs, a reload too", async (page) => {
  const other = await inAnotherTab(page);
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await reads(other, "talk", "One two three");
  await other.reload();
  await reads(other, "talk", "One two three");
  stage.gates.open("talk 3");
  await Promise.all([reads(page, "talk", WHOLE), reads(other, "talk", WHOLE)]);
  await say(other, "talk");
  await Promise.all([page, other].map((each) => reads(each, "talk", WHOLE, "talk", WHOLE)));
});

scenario("React: a question that one tab answers disappears from the other", async (page) => {
  const other = await inAnotherTab(page);
  await say(page, "book");
  await other.getByLabel("question").waitFor();
  await page.getByRole("button", { name: "Yes" }).click();
  await other.getByLabel("question").waitFor({ state: "detached" });
  await reads(other, "book", "It is booked for you now.");
  await reads(page, "book", "It is booked for you now.");
});

scenario("React: a run of another tab can be stopped", async (page) => {
  const other = await inAnotherTab(page);
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await reads(other, "talk", "One two three");
  await other.getByRole("button", { name: "Stop" }).click();
  await stage.gates.left("talk 3");
  for (const each of [page, other]) await each.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
});

scenario("React: the page says that it is offline, and has what it missed when the server is there again", async (page) => {
  await say(page, "talk");
  await reads(page, "talk", WHOLE);
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  await stage.stopServer("SIGKILL");
  await page.getByRole("button", { name: "Try again now" }).waitFor();
  await stage.startServer();
  await page.getByRole("button", { name: "Try again now" }).waitFor({ state: "detached" });
  await say(page, "talk");
  await reads(page, "talk", WHOLE, "talk", WHOLE);
  assert.equal(await page.getByLabel("question").count(), 0);
}, { expected: LOST });
