// The LangGraph server behind ours is killed, and started again: what each page says, and that it is exact afterwards. The
// guide's page also loses its own server, and its right to read, for a picture of each state of the connection.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import * as assistant from "./assistant_page.mjs";
import { ChatPage } from "./chat_page.mjs";
import { Chat } from "./copilot_chat.mjs";
import { GuidePage } from "./guide_page.mjs";
import { FRAGMENT, Stage } from "./harness.mjs";
import { Inspector } from "./inspector_stage.mjs";
import { compose, shot } from "./pictures.mjs";
import { reads, say } from "./plain_page.mjs";

const WHOLE = "One two three four five six seven eight.";
const LOST = "Connection to the server lost, trying again";
const NETWORK = [/ERR_INTERNET_DISCONNECTED/, /ERR_INCOMPLETE_CHUNKED/, /40[013]|503/, /network error/i, /fetch/i];
const REACT = "clients/typescript/examples/dist/index";
const VIEW = { viewport: { width: 1100, height: 620 }, reducedMotion: "reduce" };

let stage;
before(async () => (stage = await Stage.set({ platform: true })));
after(() => stage?.strike());

const scenario = (name, options, play) => test(`a server that is lost: ${name}`, (t) => stage.visit(t, { expected: NETWORK, ...options }, play));

scenario("a React page says so in the middle of a run, and has the whole run when the server is back", { page: REACT }, async (page) => {
  const other = await page.context().newPage();
  await other.goto(page.url());
  stage.gates.hold("talk 3");
  await say(page, "talk");
  for (const each of [page, other]) await reads(each, "talk", "One two three");
  await stage.platformIs("kill");
  for (const each of [page, other]) {
    await each.getByRole("status").getByText(LOST).waitFor();
    await reads(each, "talk", "One two three");
  }
  await stage.platformIs("start");
  stage.gates.open("talk 3");
  for (const each of [page, other]) {
    await each.getByRole("status").waitFor({ state: "detached" });
    await reads(each, "talk", WHOLE);
  }
  await say(other, "plan");
  for (const each of [page, other]) await reads(each, "talk", WHOLE, "plan", "Let me see.", "Belém Tower is in the plan.", "It is in the plan.");
});

/** The pages of the examples: what is said in each, and what it shows of one question and its answer. */
const EXAMPLES = {
  "copilotkit/dist/index": (page) => ({ say: (text) => new Chat(page).say(text), answers: (text) => new Chat(page).answers(text) }),
  "copilotkit/dist/headless": (page) => ({ say: (text) => new ChatPage(page).say(text), answers: (text) => new ChatPage(page).reads("talk", text) }),
  "assistant-ui/dist/index": (page) => ({ say: (text) => assistant.say(page, text), answers: (text) => assistant.reads(page, "talk", text) }),
};

for (const [name, shown] of Object.entries(EXAMPLES)) {
  scenario(`examples/${name} says so, keeps what it has, and has the whole answer when the server is back`, { page: `examples/${name}`, query: "?agent=planner" }, async (page) => {
    const chat = shown(page);
    const lost = page.getByRole("status").getByText(LOST);
    stage.gates.hold("talk 3");
    await chat.say("talk");
    await chat.answers("One two three");
    await stage.platformIs("kill");
    await lost.waitFor();
    await chat.answers("One two three");
    await stage.platformIs("start");
    stage.gates.open("talk 3");
    await lost.waitFor({ state: "detached" });
    await chat.answers(WHOLE);
    await page.reload();
    await chat.answers(WHOLE);
  });
}

scenario("the inspector says so, and shows what it has missed", { page: REACT, ...VIEW }, async (page) => {
  await say(page, "talk");
  await reads(page, "talk", WHOLE);
  const inspected = await page.context().newPage();
  const thread = new URL(page.url()).searchParams.get("thread");
  await inspected.goto(`http://127.0.0.1:${stage.port}/?agent=planner&thread=${thread}`);
  const inspector = new Inspector(inspected, stage);
  await inspector.shows(WHOLE);
  const pill = inspected.locator(".connection");
  const states = {};
  const is = async (caption, text) => {
    await pill.getByText(text).waitFor();
    const [status, line] = [await inspector.badge.boundingBox(), await pill.boundingBox()];
    const clip = { x: status.x - 10, y: line.y + line.height / 2 - 22, width: line.x + line.width - status.x + 20, height: 44 };
    states[caption] = await shot(inspected, { clip });
  };
  await is("live", "Live");
  await stage.platformIs("kill");
  await is("the LangGraph server is lost", LOST);
  await stage.platformIs("start");
  await is("it is back", "Live");
  await say(page, "plan");
  await inspector.shows("It is in the plan.");
  await page.context().setOffline(true);
  await is("the browser is offline", "Connection lost");
  await page.context().setOffline(false);
  await is("online again", /Live again, \d+ events? caught up/);
  await page.context().setExtraHTTPHeaders({ "x-stranger": "1" });
  await inspector.press("Drop the connection");
  await inspected.getByRole("button", { name: /Reconnect/ }).click();
  await is("refused", "Refused");
  await compose(page.context(), "connection-inspector", states, { below: true });
});

test("a server that is lost: the guide's page has a state for each of its connections", async (t) => {
  const origin = stage.origin;
  stage.origin = `http://127.0.0.1:${stage.port}/guide`;
  try {
    await stage.visit(t, { page: "guide", query: `?agent=planner${FRAGMENT}`, expected: NETWORK, ...VIEW }, async (page) => {
      const guide = new GuidePage(page);
      const states = {};
      const is = async (caption, state, text) => {
        await guide.connectionIs(state);
        await page.getByText(text).first().waitFor();
        states[caption] = await shot(page, { clip: { x: 0, y: VIEW.viewport.height - 180, width: 770, height: 180 } });
      };
      await guide.say("talk");
      await guide.shows(WHOLE);
      await guide.is("idle");
      await is("live", "live", "Live");
      await stage.platformIs("kill");
      await is("the LangGraph server is lost", "lost", "Connection to the LangGraph server lost, trying again");
      assert.equal(await page.getByRole("button", { name: "Try now" }).count(), 0);
      await stage.platformIs("start");
      await guide.connectionIs("live");
      await page.context().setOffline(true);
      await is("the browser is offline", "lost", "Connection lost. Runs go on");
      await stage.ask("plan", `http://127.0.0.1:${stage.port}/planner`, new URL(page.url()).searchParams.get("thread"));
      await page.context().setOffline(false);
      await is("it is back, after a run that it has missed", "live", /caught up, \d messages/);
      await page.context().setOffline(true);
      await guide.connectionIs("lost");
      await page.context().setExtraHTTPHeaders({ "x-stranger": "1" });
      await page.context().setOffline(false);
      await is("refused", "refused", "The server does not let this page in");
      await page.context().setExtraHTTPHeaders({});
      await guide.press("Try now");
      await guide.connectionIs("live");
      await compose(page.context(), "connection-page", states, { below: true });
    });
  } finally {
    stage.origin = origin;
  }
});
