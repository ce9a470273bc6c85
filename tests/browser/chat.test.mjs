// CopilotKit's own chat, as `examples/copilotkit/src/chat.tsx` sets it up, in a real browser against the real server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Chat } from "./copilot_chat.mjs";
import { Stage } from "./harness.mjs";

const WHOLE = "One two three four five six seven eight.";
/** What a page says of a failed run, and of a server that is away. */
const FAILED = [/the run failed|ERR_CONNECTION|Failed to load|network error|fetch/i];

let stage;
before(async () => (stage = await Stage.set()));
after(() => stage?.strike());

const scenario = (name, play, options = {}) =>
  test(`chat: ${name}`, (t) => stage.visit(t, { page: "index", ...options }, (page) => play(new Chat(page), page)));

scenario("text is shown while it is said, and a reload goes on with it", async (chat, page) => {
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await chat.answers("One two three");
  await page.reload();
  await chat.answers("One two three");
  stage.gates.open("talk 3");
  await chat.answers(WHOLE);
  await chat.say("talk");
  await chat.answers(WHOLE, WHOLE);
});

scenario("a question is there after a reload, and is answered", async (chat, page) => {
  await chat.say("book");
  await chat.question.getByText("Shall I book the tower?").waitFor();
  await page.reload();
  await chat.question.getByRole("button", { name: "Approve" }).click();
  await chat.answers("It is booked for you now.");
});

scenario("a tool of the browser is called, and its result goes on with the run", async (chat, page) => {
  await chat.say("map");
  await page.getByText("On the map: Belém Tower").waitFor();
  await chat.answers("Look here.", "You can see it on the map.");
});

scenario("the state shows beside the chat while the run goes on, and the agent's plan in it", async (chat, page) => {
  const todos = page.getByRole("list", { name: "to do" }).getByText("Add Belém Tower: completed");
  stage.gates.hold("planned 0");
  await chat.say("plan");
  await page.getByLabel("plan").getByText("09:30 Belém Tower, 10 €").waitFor();
  await todos.waitFor();
  await chat.answers("Let me see.");
  stage.gates.open("planned 0");
  await chat.answers("Let me see.", "It is in the plan.");
  await page.reload();
  await todos.waitFor();
});

scenario("stop stops the graph", async (chat) => {
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await chat.answers("One two three");
  await chat.button.click();
  await stage.gates.left("talk 3");
  stage.gates.open("talk 3");
  await chat.say("talk");
  await chat.answers(WHOLE);
});

scenario("why a run failed is in the chat, after a reload and after the server was started again", async (chat, page) => {
  const failure = page.getByRole("alert").getByText("The run failed. (ValueError)");
  await chat.say("fail");
  await failure.waitFor();
  await page.reload();
  await failure.waitFor();
  await stage.stopServer("SIGTERM");
  await stage.startServer();
  await page.reload();
  await failure.waitFor();
  await chat.say("talk");
  await chat.answers(WHOLE);
  assert.equal(await failure.count(), 1);
}, { expected: FAILED });

scenario("a question that is open in one conversation is not asked in another", async (chat, page) => {
  await chat.say("book");
  await chat.question.waitFor();
  await page.getByRole("button", { name: "New conversation" }).click();
  await chat.question.waitFor({ state: "detached" });
  await chat.say("talk");
  await chat.answers(WHOLE);
  await page.goBack();
  await chat.question.getByRole("button", { name: "Approve" }).click();
  await chat.answers("It is booked for you now.");
});

scenario("two tabs show one run while it runs, and a question until one of them answers it", async (chat, page) => {
  const other = await chat.inAnotherTab();
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await other.answers("One two three");
  stage.gates.open("talk 3");
  await chat.answers(WHOLE);
  await other.answers(WHOLE);
  await other.say("book");
  await chat.question.waitFor();
  await other.question.getByRole("button", { name: "Approve" }).click();
  await chat.question.waitFor({ state: "detached" });
  await chat.answers(WHOLE, "It is booked for you now.");
  await other.answers(WHOLE, "It is booked for you now.");
});
