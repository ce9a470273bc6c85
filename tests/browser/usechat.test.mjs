// The page of `useChat`, of the Vercel AI SDK, in a real browser, against the real server. Its runs are held at gates.

import { after, before, test } from "node:test";
import { join } from "node:path";

import { ARTEFACTS, Stage, until } from "./harness.mjs";
import { reads, say } from "./plain_page.mjs";

const WHOLE = "One two three four five six seven eight.";
const PLAN = "Let me see. add_stop: Belém Tower is in the plan. It is in the plan.";
const MAP = "Look here. Belém Tower 📍 You can see it on the map.";

let stage;
before(async () => (stage = await Stage.set({ example: "usechat" })));
after(() => stage?.strike());

const scenario = (name, play, options = {}) => test(`useChat ${name}`, (t) => stage.visit(t, { page: "index", ...options }, play));

const threadOf = (page) => new URL(page.url()).searchParams.get("thread");

/** The state of the page's only call. */
const isIn = (page, state) => page.locator(`.tool[data-state="${state}"]`).waitFor();

/** Returns the bodies of the messages that the page sends from now on. */
function sentBy(page) {
  const sent = [];
  page.on("request", (request) => request.url().endsWith("/ui") && request.method() === "POST" && sent.push(request.postDataJSON()));
  return sent;
}

scenario("shows an answer as it streams, and has the conversation after a reload", async (page) => {
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await reads(page, "talk", "One two three");
  stage.gates.open("talk 3");
  await reads(page, "talk", WHOLE);
  await page.reload();
  await reads(page, "talk", WHOLE);
  await say(page, "talk");
  await reads(page, "talk", WHOLE, "talk", WHOLE);
});

scenario("resumes an answer that is being written when the page is reloaded", async (page) => {
  stage.gates.hold("talk 3");
  stage.gates.hold("talk 5");
  await say(page, "talk");
  await reads(page, "talk", "One two three");
  await page.reload();
  await reads(page, "talk", "One two three");
  stage.gates.open("talk 3");
  await reads(page, "talk", "One two three four five");
  await page.reload();
  await reads(page, "talk", "One two three four five");
  stage.gates.open("talk 5");
  await reads(page, "talk", WHOLE);
  await say(page, "talk");
  await reads(page, "talk", WHOLE, "talk", WHOLE);
});

scenario("shows a call of a tool while its arguments stream, with its result, and the graph's state", async (page) => {
  const stops = page.getByLabel("stops");
  stage.gates.hold("plan 5");
  await say(page, "plan");
  await isIn(page, "input-streaming");
  stage.gates.open("plan 5");
  await reads(page, "plan", PLAN);
  await isIn(page, "output-available");
  await until(async () => (await stops.innerText()) === "09:30 Belém Tower", () => stops.innerText());
  await page.reload();
  await reads(page, "plan", PLAN);
  await isIn(page, "output-available");
  await until(async () => (await stops.innerText()) === "09:30 Belém Tower", () => stops.innerText());
});

for (const [button, state, end] of [
  ["Approve", "output-available", "cancel_trip: It is cancelled."],
  ["Reject", "output-error", "cancel_trip: User rejected"],
])
  scenario(`asks for an approval after a reload too, and sends the answer: ${button}`, async (page) => {
    await say(page, "cancel");
    await isIn(page, "approval-requested");
    await page.reload();
    await isIn(page, "approval-requested");
    if (button === "Approve") await page.screenshot({ path: join(ARTEFACTS, "usechat-approval.png") });
    const sent = sentBy(page);
    await page.getByRole("button", { name: button }).click();
    await isIn(page, state);
    const text = () => page.getByLabel("conversation").innerText();
    await until(async () => (await text()).split("cancel_trip: ").length === 3 && (await text()).includes(end), text);
    await page.reload();
    await isIn(page, state);
    if (sent.length !== 1) throw new Error(`the answer was sent ${sent.length} times`);
  });

scenario("asks the graph's question after a reload too, and the run goes on with its answer", async (page) => {
  const question = page.getByRole("group", { name: "question" });
  for (const [button, answer] of [["Yes", "It is booked for you now."], ["No", "It is not booked."]]) {
    await say(page, "book");
    await question.getByText("Shall I book the tower?").waitFor();
    await page.reload();
    await question.getByRole("button", { name: button }).click();
    await until(async () => (await page.innerText("body")).includes(answer), () => page.innerText("body"));
    await question.waitFor({ state: "detached" });
  }
  const whole = ["book", "It is booked for you now.", "book", "It is not booked."];
  await reads(page, ...whole);
  await page.reload();
  await reads(page, ...whole);
});

scenario("runs a tool of the page once, and the agent has its result", async (page) => {
  const sent = sentBy(page);
  await say(page, "map");
  await reads(page, "map", MAP);
  await page.reload();
  await reads(page, "map", MAP);
  await say(page, "talk");
  await reads(page, "map", MAP, "talk", WHOLE);
  if (sent.length !== 3) throw new Error(`the page has sent ${sent.length} requests`);
});

scenario("runs a tool of the page after a reload, if its answer was lost", async (page) => {
  let count = 0;
  await page.route("**/ui", (route) => (++count === 2 ? route.abort() : route.continue()));
  await say(page, "map");
  await page.getByRole("alert").waitFor();
  await page.reload();
  await reads(page, "map", MAP);
}, { expected: [/ERR_FAILED/] });

scenario("runs a tool of the page next to one of the server, for an agent that is a node", async (page) => {
  await say(page, "tour");
  const whole = "I look. price: 10 € Belém Tower 📍 price: 10 €, show_on_map: Belém Tower is on the map.";
  await reads(page, "tour", whole);
  await page.reload();
  await reads(page, "tour", whole);
});

scenario("stops the run on the server, and the next message starts another", async (page) => {
  stage.gates.hold("talk 3");
  await say(page, "talk");
  await reads(page, "talk", "One two three");
  await page.getByRole("button", { name: "Stop" }).click();
  await stage.gates.left("talk 3");
  const thread = `http://127.0.0.1:${stage.port}/planner/ui/${threadOf(page)}`;
  const status = async () => (await (await fetch(thread)).json()).status;
  await until(async () => (await status()) === "idle", async () => `the thread is ${await status()}`);
  await say(page, "plan");
  await until(async () => (await page.innerText("body")).includes("It is in the plan."), () => page.innerText("body"));
});

scenario("says that a run has failed, also after a reload, and the next message starts another", async (page) => {
  const failure = page.getByRole("alert");
  await say(page, "fail");
  await failure.waitFor();
  const said = await failure.innerText();
  await page.reload();
  await until(async () => (await failure.innerText()) === said, () => page.innerText("body"));
  await say(page, "talk");
  await until(async () => (await page.innerText("body")).includes(WHOLE), () => page.innerText("body"));
});

scenario("says that the server does not answer, and takes the message again when it does", async (page) => {
  await say(page, "talk");
  await reads(page, "talk", WHOLE);
  await page.route("**/ui", (route) => route.abort());
  await say(page, "plan");
  await page.getByRole("alert").waitFor();
  await page.unroute("**/ui");
  await say(page, "talk");
  await until(async () => (await page.innerText("body")).split(WHOLE).length === 3, () => page.innerText("body"));
}, { expected: [/ERR_FAILED/] });
