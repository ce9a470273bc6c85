// A page of assistant-ui's components, in a real browser, against the real server. Its runs are held at gates.

import { after, before, test } from "node:test";

import { Stage, until } from "./harness.mjs";

const WHOLE = "One two three four five six seven eight.";

let stage;
before(async () => (stage = await Stage.set({ example: "assistant-ui" })));
after(() => stage?.strike());

const scenario = (name, play) => test(name, (t) => stage.visit(t, { page: "index" }, play));

async function say(page, text) {
  await page.getByLabel("message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Returns when the page shows these messages, and no other. */
async function reads(page, ...messages) {
  const lines = async () => (await page.locator("[data-message-id]").allInnerTexts()).map((line) => line.replace("●", "").trim());
  await until(async () => JSON.stringify(await lines()) === JSON.stringify(messages), async () => {
    return `expected ${JSON.stringify(messages)}, got ${JSON.stringify(await lines())}`;
  });
}

scenario("assistant-ui shows a run as it streams, and has the conversation after a reload", async (page) => {
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await stage.gates.reached("talk 3");
  await reads(page, "talk", "One two three");
  stage.gates.open("talk 3");
  await reads(page, "talk", WHOLE);
  await page.reload();
  await reads(page, "talk", WHOLE);
  await say(page, "talk");
  await reads(page, "talk", WHOLE, "talk", WHOLE);
});

scenario("assistant-ui has the answer of a run in whose middle the page was reloaded", async (page) => {
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await reads(page, "talk", "One two three");
  await page.reload();
  stage.gates.open("talk 3");
  await reads(page, "talk", WHOLE);
});

scenario("assistant-ui takes a message only when the thread is loaded, which would replace it", async (page) => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/connect", async (route) => (await held, route.continue()));
  await page.reload();
  await until(() => page.getByLabel("message").isDisabled(), "a message can be typed before the thread is loaded");
  release();
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await reads(page, "talk", "One two three");
});

scenario("assistant-ui's stop button stops the run on the server", async (page) => {
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await reads(page, "talk", "One two three");
  await page.getByRole("button", { name: "Stop" }).click();
  const thread = `http://127.0.0.1:${stage.port}/threads/${new URL(page.url()).searchParams.get("thread")}?agent=planner`;
  const status = async () => (await (await fetch(thread)).json()).status;
  await until(async () => (await status()) === "idle", async () => `the thread is ${await status()}`);
  await say(page, "plan");
  await until(async () => (await page.innerText("body")).includes("It is in the plan."), () => page.innerText("body"));
});
