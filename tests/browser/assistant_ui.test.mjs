// A page of assistant-ui's components, in a real browser, against the real server. Its runs are held at gates.

import { after, before, test } from "node:test";
import { join } from "node:path";

import { reads, say } from "./assistant_page.mjs";
import { ARTEFACTS, Stage, until } from "./harness.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WHOLE = "One two three four five six seven eight.";

let stage;
before(async () => (stage = await Stage.set({ example: "assistant-ui" })));
after(() => stage?.strike());

const scenario = (name, play, options = {}) => test(name, (t) => stage.visit(t, { page: "index", ...options }, play));

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

scenario("assistant-ui streams a run on that is active when the page is reloaded", async (page) => {
  stage.gates.hold("talk 3");
  stage.gates.hold("talk 5");
  await say(page, "talk");
  await reads(page, "talk", "One two three");
  await page.reload();
  await reads(page, "talk", "One two three");
  stage.gates.open("talk 3");
  await reads(page, "talk", "One two three four five");
  stage.gates.open("talk 5");
  await reads(page, "talk", WHOLE);
  await say(page, "talk");
  await reads(page, "talk", WHOLE, "talk", WHOLE);
});

scenario("assistant-ui says that a run has failed, also after a reload", async (page) => {
  const failure = page.getByRole("alert").getByText("The run failed.");
  await say(page, "fail");
  await reads(page, "fail", "I try. The run failed.");
  await page.reload();
  await failure.waitFor();
  await say(page, "talk");
  await until(async () => (await page.innerText("body")).includes(WHOLE), () => page.innerText("body"));
  await page.reload();
  await reads(page, "fail", "talk", WHOLE);
}, { expected: [/The run failed/] });

scenario("assistant-ui has a question of the graph after a reload, and the run goes on with its answer", async (page) => {
  const question = page.getByRole("group", { name: "question" });
  await say(page, "talk");
  await reads(page, "talk", WHOLE);
  for (const [button, answer] of [["Approve", "It is booked for you now."], ["Reject", "It is not booked."]]) {
    await say(page, "book");
    await until(async () => (await question.count()) === 1, "there is no question");
    await page.reload();
    await until(async () => (await question.count()) === 1, "there is no question after the reload");
    if (button === "Approve") await page.screenshot({ path: join(ARTEFACTS, "assistant-ui-question.png") });
    await question.getByRole("button", { name: button }).click();
    await until(async () => (await page.innerText("body")).includes(answer), () => page.innerText("body"));
  }
  const whole = ["talk", WHOLE, "book", "It is booked for you now.", "book", "It is not booked."];
  await reads(page, ...whole);
  await page.reload();
  await reads(page, ...whole);
  if (await question.count()) throw new Error("an answered question is asked again");
});

scenario("assistant-ui has approvals of LangChain's middleware after a reload, and the tool runs if it is approved", async (page) => {
  const question = page.getByRole("group", { name: "question" });
  const results = async () => (await page.innerText("body")).match(/cancel_trip: .+/g) ?? [];
  for (const [place, button] of ["Approve", "Reject"].entries()) {
    await say(page, "cancel");
    await question.getByText("cancel_trip").waitFor();
    await page.reload();
    await question.getByText("cancel_trip").waitFor();
    await question.getByRole("button", { name: button }).click();
    await until(async () => (await results()).length > place, () => page.innerText("body"));
  }
  const [approved, rejected] = await results();
  if (approved !== "cancel_trip: It is cancelled." || rejected === approved) throw new Error(`${approved}\n${rejected}`);
});

scenario("assistant-ui lists threads, begins new ones, and shows another without stopping its run", async (page) => {
  const list = page.getByLabel("threads");
  await say(page, "plan");
  await until(async () => (await list.innerText()).includes("plan"), "the thread is not listed");
  await list.getByRole("button", { name: "New thread" }).click();
  await reads(page);
  await say(page, "talk");
  const open = list.locator("[aria-current], [data-active]");
  await until(async () => (await open.allInnerTexts()).includes("talk"), "the new thread is not listed");
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await reads(page, "talk", WHOLE, "talk", "One two three");
  await list.getByRole("button", { name: "plan" }).first().click();
  await until(async () => (await page.innerText("body")).includes("It is in the plan."), () => page.innerText("body"));
  await list.getByRole("button", { name: "talk" }).first().click();
  await reads(page, "talk", WHOLE, "talk", "One two three");
  stage.gates.open("talk 3");
  await reads(page, "talk", WHOLE, "talk", WHOLE);
});

scenario("assistant-ui shows the graph's state, and has it after a reload", async (page) => {
  const stops = page.getByLabel("stops");
  const shows = (text) => until(async () => (await stops.allInnerTexts()).join() === text, () => page.innerText("body"));
  await say(page, "plan");
  await shows("09:30 Belém Tower");
  await say(page, "more");
  await shows("09:30 Belém Tower\n12:15 Ribeira Market");
  await page.reload();
  await shows("09:30 Belém Tower\n12:15 Ribeira Market");
});

scenario("assistant-ui runs a tool of the page once, and the agent has its result", async (page) => {
  await say(page, "map");
  const whole = ["map", "Look here. Belém Tower 📍", "You can see it on the map."];
  await reads(page, ...whole);
  await page.reload();
  await reads(page, ...whole);
  await say(page, "talk");
  await reads(page, ...whole, "talk", WHOLE);
});

scenario("assistant-ui sends an image, which the thread has after a reload", async (page) => {
  const buffer = Buffer.from(PIXEL, "base64");
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Attach" }).click();
  await (await chooser).setFiles({ name: "tower.png", mimeType: "image/png", buffer });
  await say(page, "talk");
  await reads(page, "tower.png talk", WHOLE);
  await page.reload();
  await reads(page, "tower.png talk", WHOLE);
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
