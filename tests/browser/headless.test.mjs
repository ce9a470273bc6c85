// The page made of CopilotKit's hooks, in a real browser, against the real server. Its runs are held at gates.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ChatPage } from "./chat_page.mjs";
import { Stage, until } from "./harness.mjs";

const LOST = [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED_ENCODING/, /ERR_INTERNET_DISCONNECTED/, /network error/];
const WHOLE = "One two three four five six seven eight.";

let stage;
before(async () => (stage = await Stage.set()));
after(() => stage?.strike());

const scenario = (name, play, options = {}) =>
  test(name, (t) => stage.visit(t, options, (page) => play(new ChatPage(page), page)));

scenario("text is shown while it is said", async (chat) => {
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await stage.gates.reached("talk 3");
  await chat.shows("One two three");
  await chat.is("running");
  stage.gates.open("talk 3");
  await chat.reads("talk", WHOLE);
  await chat.is("idle");
});

scenario("a reload in mid-answer shows the partial answer and goes on", async (chat, page) => {
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await chat.shows("One two three");
  await page.reload();
  await chat.reads("talk", "One two three");
  await chat.is("running");
  stage.gates.open("talk 3");
  await chat.reads("talk", WHOLE);
  await chat.is("idle");
  await chat.isUsable();
});

scenario("a bare EventSource is told every run of the thread as it comes", async (chat, page) => {
  await page.evaluate(() => {
    window.said = {}; // by message, however it came: in pieces, or in a snapshot
    window.source = new EventSource(`http://localhost:8000/watch/${new URLSearchParams(location.search).get("thread")}`);
    window.source.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      for (const { id, content } of event.messages ?? []) said[id] = content;
      if (event.type === "TEXT_MESSAGE_CONTENT") said[event.messageId] = (said[event.messageId] ?? "") + event.delta;
      window.last = event.type;
    };
  });
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await stage.gates.reached("talk 3");
  await page.waitForFunction(() => Object.values(said).at(-1)?.trim() === "One two three");
  stage.gates.open("talk 3");
  await page.waitForFunction((whole) => Object.values(said).at(-1) === whole && last === "RUN_FINISHED", WHOLE);
  await page.evaluate(() => source.close());
});

scenario("an idle conversation is there after a reload, and takes messages", async (chat, page) => {
  await chat.say("talk");
  await chat.reads("talk", WHOLE);
  await chat.is("idle");
  await page.reload();
  await chat.reads("talk", WHOLE);
  await chat.isUsable();
  await chat.reads("talk", WHOLE, "talk", WHOLE);
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

scenario("a tool of the browser runs next to a question, and its result goes with the answer", async (chat, page) => {
  await chat.say("sold");
  await chat.question.getByText("Shall I pay?").waitFor();
  await chat.is("idle");
  await until(async () => (await chat.errors()).length > 0, "CopilotKit does not try to send the result at once");
  assert.match((await chat.errors())[0], /pending interrupt\(s\) not addressed by resume/);
  await chat.press("Approve");
  await chat.shows('pay: paid, show_on_map: {"shown":"Belém Tower"}');
  await chat.question.waitFor({ state: "detached" });
  await chat.isUsable();
});

scenario("an interrupt is shown and answered", async (chat) => {
  await chat.say("book");
  await chat.question.getByText("Shall I book the tower?").waitFor();
  await chat.is("idle");
  await chat.press("Approve");
  await chat.reads("book", "It is booked for you now.");
  await chat.question.waitFor({ state: "detached" });
  await chat.isUsable();
});

scenario("no message can be sent while a question is open", async (chat, page) => {
  await chat.say("book");
  await chat.question.waitFor();
  assert.ok(await page.getByLabel("message").isDisabled());
});

scenario("an interrupt is there after a reload, and can be answered", async (chat, page) => {
  await chat.say("book");
  await chat.question.waitFor();
  await page.reload();
  await chat.question.getByText("Shall I book the tower?").waitFor();
  await chat.press("Approve");
  await chat.reads("book", "It is booked for you now.");
  await chat.isUsable();
});

scenario("a cancelled interrupt leaves the chat usable", async (chat) => {
  await chat.say("book");
  await chat.question.waitFor();
  await chat.press("Cancel");
  await chat.reads("book", "It is not booked.");
  await chat.isUsable();
});

scenario("a resumed run that is stopped leaves the chat usable", async (chat) => {
  stage.gates.hold("booked 2");
  await chat.say("book");
  await chat.press("Approve");
  await chat.shows("It is");
  await stage.gates.reached("booked 2");
  await chat.press("Stop");
  await chat.isUsable();
  assert.deepEqual(await chat.errors(), []);
});

scenario("a resumed run that fails is told, and leaves the chat usable", async (chat) => {
  await chat.say("overbook");
  await chat.press("Approve");
  await chat.page.getByRole("alert").first().waitFor();
  await chat.isUsable();
});

scenario("a tool of the browser is called, and its result goes on with the run", async (chat, page) => {
  await chat.say("map");
  await page.getByText("On the map: Belém Tower").waitFor();
  await chat.shows("You can see it on the map.");
  await chat.is("idle");
  await page.reload();
  await chat.shows("You can see it on the map.");
  await chat.isUsable();
});

scenario("the state shows while the run goes on, and after a reload", async (chat, page) => {
  const stop = page.getByLabel("plan").getByText("09:30 Belém Tower, 10 €");
  stage.gates.hold("planned 0");
  await chat.say("plan");
  await stop.waitFor();
  await chat.is("running");
  stage.gates.open("planned 0");
  await chat.shows("It is in the plan.");
  await page.reload();
  await stop.waitFor();
});

scenario("stop stops the graph, and the chat is usable", async (chat) => {
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await stage.gates.reached("talk 3");
  await chat.shows("One two three");
  await chat.press("Stop");
  await chat.is("idle");
  await stage.gates.left("talk 3");
  stage.gates.open("talk 3");
  await chat.isUsable();
  assert.deepEqual(await chat.errors(), []);
});

scenario("stop after a reload stops the graph as well", async (chat, page) => {
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await chat.shows("One two three");
  await page.reload();
  await chat.is("running");
  await chat.press("Stop");
  await chat.is("idle");
  await stage.gates.left("talk 3");
  stage.gates.open("talk 3");
  await chat.isUsable();
  assert.deepEqual(await chat.errors(), []);
});

scenario("a failure is told once, and not again when the page is loaded", async (chat, page) => {
  await chat.say("fail");
  await page.getByRole("alert").first().waitFor();
  assert.equal((await chat.errors()).length, 1);
  await chat.is("idle");
  await chat.reads("fail", "I try.", "The run failed.");
  await page.reload();
  await chat.reads("fail", "The run failed.");
  await chat.is("idle");
  assert.deepEqual(await chat.errors(), []);
  await chat.isUsable();
});

scenario("the conversation is there when the server has been started again", async (chat, page) => {
  await chat.say("talk");
  await chat.reads("talk", WHOLE);
  await chat.is("idle");
  await stage.stopServer("SIGTERM");
  await stage.startServer();
  await page.reload();
  await chat.reads("talk", WHOLE);
  await chat.isUsable();
}, { expected: LOST });

scenario("one tab stops what the other one started, and both are usable", async (chat, page) => {
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await chat.shows("One two three");
  const other = await chat.inAnotherTab();
  await other.shows("One two three");
  await other.press("Stop");
  await chat.is("idle");
  await other.is("idle");
  assert.deepEqual([await chat.errors(), await other.errors()], [[], []]);
  stage.gates.open("talk 3");
  await other.isUsable();
  await chat.isUsable();
});

scenario("a question that another tab answers disappears from this one, which shows what comes of it", async (chat) => {
  await chat.say("book");
  await chat.question.waitFor();
  const other = await chat.inAnotherTab();
  await other.question.waitFor();
  stage.gates.hold("booked 2");
  await chat.press("Approve");
  await other.question.waitFor({ state: "detached" });
  await other.shows("It is");
  stage.gates.open("booked 2");
  await other.reads("book", "It is booked for you now.");
  await other.isUsable();
  await chat.shows(WHOLE);
});

scenario("an open page shows what another tab says and hears, while it is said, and each answers once", async (chat) => {
  await chat.is("idle");
  const other = await chat.inAnotherTab();
  await other.is("idle");
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await other.reads("talk", "One two three");
  await other.is("running");
  stage.gates.open("talk 3");
  await other.reads("talk", WHOLE);
  await other.say("talk");
  await chat.reads("talk", WHOLE, "talk", WHOLE);
  await other.reads("talk", WHOLE, "talk", WHOLE);
});

scenario("a page that was offline shows what it has missed when it is online again", async (chat, page) => {
  await chat.is("idle");
  const other = await chat.elsewhere(stage);
  await other.is("idle");
  await page.context().setOffline(true);
  await chat.is("lost");
  stage.gates.hold("talk 3");
  await other.say("talk");
  await other.shows("One two three");
  await page.context().setOffline(false);
  await chat.reads("talk", "One two three");
  await chat.is("running");
  stage.gates.open("talk 3");
  await chat.reads("talk", WHOLE);
  await chat.is("idle");
}, { expected: LOST });

scenario("an open page goes on when its server has been started again", async (chat) => {
  await chat.say("talk");
  await chat.reads("talk", WHOLE);
  await chat.is("idle");
  await stage.stopServer("SIGKILL");
  await chat.is("lost");
  await stage.startServer();
  await chat.is("idle");
  await chat.isUsable();
  assert.deepEqual(await chat.errors(), []);
}, { expected: LOST });

scenario("a conversation whose server was killed in mid-answer is there after a reload", async (chat, page) => {
  await chat.isUsable();
  stage.gates.hold("talk 3");
  await chat.say("talk");
  await chat.shows("One two three");
  await stage.stopServer("SIGKILL");
  await page.getByRole("alert").first().waitFor();
  await stage.startServer();
  stage.gates.open("talk 3");
  await page.reload();
  await chat.isUsable();
  assert.deepEqual((await chat.lines()).slice(0, 2), ["talk", WHOLE]);
  assert.deepEqual(await chat.errors(), []);
}, { expected: LOST });
