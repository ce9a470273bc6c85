// The headless page behind CopilotKit's Node runtime: page, runtime, `POST /planner`. The runtime folds the events of each
// run when the run ends, and answers reloads from what it folded; a run that it can't fold never ends for the page. It has
// no watch route: the browser logs its 404 at each load.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ChatPage } from "./chat_page.mjs";
import { Stage } from "./harness.mjs";

const WHOLE = "One two three four five six seven eight.";

let stage;
before(async () => (stage = await Stage.set({ runtime: true })));
after(() => stage?.strike());

const scenario = (name, play, options = {}) =>
  test(`runtime: ${name}`, (t) =>
    stage.visit(t, { ...options, expected: [/\b404\b/] }, async (page) => {
      const chat = new ChatPage(page);
      await chat.is("idle");
      await play(chat, page);
      assert.deepEqual(await chat.errors(), []);
      assert.deepEqual(stage.runtimeOutput, []);
    }));

const stops = (page) => page.getByLabel("plan").locator("li");

scenario("text is shown while it is said, and a reload goes on with it", async (chat, page) => {
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await chat.shows("One two three");
  await chat.is("running");
  await page.reload();
  await chat.reads("talk", "One two three");
  stage.gates.open("talk 3");
  await chat.reads("talk", WHOLE);
  await chat.is("idle");
  await chat.isUsable();
  await page.reload();
  await chat.reads("talk", WHOLE, "talk", WHOLE);
});

scenario("a state that existed before the run changes in it, and is whole after a reload", async (chat, page) => {
  await chat.say("plan");
  await chat.shows("It is in the plan.");
  await chat.is("idle");
  stage.gates.hold("planned 0");
  await chat.say("more");
  await stops(page).getByText("12:15 Ribeira Market, 25 €").waitFor();
  await chat.is("running");
  stage.gates.open("planned 0");
  await chat.is("idle");
  await chat.isUsable();
  await page.reload();
  await chat.is("idle");
  await stops(page).getByText("12:15 Ribeira Market, 25 €").waitFor();
  assert.deepEqual(await stops(page).allInnerTexts(), ["09:30 Belém Tower, 10 €", "12:15 Ribeira Market, 25 €"]);
});

scenario("a tool of the browser is called, and its result goes on with the run", async (chat, page) => {
  await chat.say("map");
  await page.getByText("On the map: Belém Tower").waitFor();
  await chat.shows("You can see it on the map.");
  await chat.isUsable();
});

scenario("tools of the browser run next to the server's, each once, also for an agent that a tool has called", async (chat, page) => {
  await chat.say("tour");
  await page.getByText("On the map: Belém Tower").waitFor();
  await chat.shows('price: 10 €, show_on_map: {"shown":"Belém Tower"}');
  await chat.is("idle");
  await page.reload();
  await chat.shows('price: 10 €, show_on_map: {"shown":"Belém Tower"}');
  await chat.is("idle");
  await chat.say("guided");
  await page.getByText("On the map: Belém Tower").waitFor();
  await chat.shows('ask_guide: show_on_map: {"shown":"Belém Tower"}');
  await chat.isUsable();
});

scenario("an interrupt is there after a reload, and its answers change the state again and again", async (chat, page) => {
  await chat.say("plan");
  await chat.shows("It is in the plan.");
  for (const [answer, said] of [["Approve", "It is booked for you now."], ["Cancel", "It is not booked."]]) {
    await chat.is("idle");
    await chat.say("book");
    await chat.question.getByText("Shall I book the tower?").waitFor();
    await chat.is("idle");
    await page.reload();
    await chat.question.waitFor();
    await chat.press(answer);
    await chat.shows(said);
    await chat.question.waitFor({ state: "detached" });
  }
  await chat.isUsable();
  assert.equal(await stops(page).count(), 1);
});
