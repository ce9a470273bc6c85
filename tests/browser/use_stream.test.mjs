// One thread of a real LangGraph server in two pages: LangChain's `useStream`, which reads that server, and ours, which
// reads our server in front of it. Both show the same conversation, whoever started a run or answered a question.
//
// What `useStream` can show of others' runs is LangChain's decision:
//
// 1. A page follows its thread's runs while one of them was active when the page was loaded, or since it has sent a
//    message itself. Of an idle thread it opens no stream: what others run there it shows when it is loaded again.
// 2. A run that was not started with the protocol of `useStream` has no tokens for it, but the state after each step.
//    The agent `planner_v3` starts its runs with the mark of that protocol.
// 3. It takes a question away when it has answered it itself. One that was answered elsewhere may stay until it is loaded
//    again, even when it has sent an answer too, which the server refuses.
// 4. It stops only runs that it has started itself.

import { after, before, test } from "node:test";

import { Stage } from "./harness.mjs";
import { compose, shot } from "./pictures.mjs";
import { reads, say } from "./plain_page.mjs";

const WHOLE = "One two three four five six seven eight.";
const ASKED = "Shall I book the tower?";
const BOOKED = "It is booked for you now.";
const PLAN = ["plan", "Let me see.", "Belém Tower is in the plan.", "It is in the plan."];
/** What `useStream` says of the state of a thread that does not exist yet, and of a question that was answered elsewhere. */
const EXPECTED = [/404/, /already-consumed interrupt/];

let stage;
before(async () => (stage = await Stage.set({ platform: true })));
after(() => stage?.strike());

/** `play` gets our page and that of `useStream`, both on a new thread. */
const scenario = (name, play, agent = "planner_v3") =>
  test(`useStream: ${name}`, (t) =>
    stage.visit(t, { page: "clients/typescript/examples/dist/index", query: `?agent=${agent}`, expected: EXPECTED }, async (ours) => {
      const theirs = await ours.context().newPage();
      const thread = new URL(ours.url()).searchParams.get("thread");
      await theirs.goto(`${stage.origin}/tests/browser/use_stream/dist/index.html?server=${stage.platform}&thread=${thread}`);
      await play(ours, theirs);
    }));

const both = (pages, ...messages) => Promise.all(pages.map((page) => reads(page, ...messages)));

async function asked(...pages) {
  for (const page of pages) await page.getByLabel("question").getByText(ASKED).waitFor();
}

async function isNotAsked(...pages) {
  for (const page of pages) await page.getByLabel("question").waitFor({ state: "detached" });
}

const answer = (page) => page.getByRole("button", { name: "Yes" }).click();

scenario("its run is shown here token by token, and to pages that are loaded in mid-sentence", async (ours, theirs) => {
  stage.gates.hold("talk 3");
  await say(theirs, "talk");
  await both([ours, theirs], "talk", "One two three");
  await ours.reload();
  await both([ours, theirs], "talk", "One two three");
  await theirs.reload();
  await both([ours, theirs], "talk", "One two three");
  stage.gates.open("talk 3");
  await both([ours, theirs], "talk", WHOLE);
  await say(theirs, "plan");
  await both([ours, theirs], "talk", WHOLE, ...PLAN);
});

scenario("a run of ours with its protocol is shown there token by token, and to pages that are loaded in mid-sentence", async (ours, theirs) => {
  await say(theirs, "plan");
  await both([ours, theirs], ...PLAN);
  stage.gates.hold("talk 3");
  await say(ours, "talk");
  await both([ours, theirs], ...PLAN, "talk", "One two three");
  const plain = { size: { width: 480, height: 450 }, plain: true };
  const shots = { "useStream (@langchain/react)": await shot(theirs, plain), "ThreadAgent (langgraph-agui)": await shot(ours, plain) };
  await compose(ours.context(), "use-stream", shots);
  await theirs.reload();
  await both([ours, theirs], ...PLAN, "talk", "One two three");
  await ours.reload();
  await both([ours, theirs], ...PLAN, "talk", "One two three");
  stage.gates.open("talk 3");
  await both([ours, theirs], ...PLAN, "talk", WHOLE);
});

scenario("a run of ours in the usual protocol is shown there after each step", async (ours, theirs) => {
  await say(theirs, "talk");
  await both([ours, theirs], "talk", WHOLE);
  stage.gates.hold("planned 2");
  await say(ours, "plan");
  await reads(ours, "talk", WHOLE, ...PLAN.slice(0, 3), "It is");
  await reads(theirs, "talk", WHOLE, ...PLAN.slice(0, 3));
  await theirs.reload();
  await reads(theirs, "talk", WHOLE, ...PLAN.slice(0, 3));
  stage.gates.open("planned 2");
  await both([ours, theirs], "talk", WHOLE, ...PLAN);
}, "planner");

for (const agent of ["planner", "planner_v3"])
  scenario(`a question of either page's run is answered in the other (${agent})`, async (ours, theirs) => {
    await say(theirs, "book");
    await asked(ours, theirs);
    await answer(ours);
    await isNotAsked(ours);
    await both([ours, theirs], "book", BOOKED);
    const refused = theirs.waitForResponse((response) => response.url().endsWith("/commands"));
    await answer(theirs); // a second time
    await refused;
    await both([ours, theirs], "book", BOOKED);
    await say(ours, "book");
    await asked(ours);
    await Promise.all([ours.reload(), theirs.reload()]);
    await asked(ours, theirs);
    await answer(theirs);
    await isNotAsked(ours, theirs);
    await both([ours, theirs], "book", BOOKED, "book", BOOKED);
  }, agent);

scenario("its run is stopped here", async (ours, theirs) => {
  stage.gates.hold("talk 3");
  await say(theirs, "talk");
  await both([ours, theirs], "talk", "One two three");
  await ours.getByRole("button", { name: "Stop" }).click();
  await stage.gates.left("talk 3");
  for (const each of [ours, theirs]) await each.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
});
