// Our own server is killed in the middle of an answer, and started again: what a person sees in the pages of the examples,
// moment by moment. Without a run store the run is lost; with one that outlives the server, the run is continued.

import { test } from "node:test";

import * as assistant from "./assistant_page.mjs";
import { Chat } from "./copilot_chat.mjs";
import { Stage, until } from "./harness.mjs";

const WHOLE = "One two three four five six seven eight.";
const PLANNED = ["Let me see.", "It is in the plan."];
const NO_END = "The run did not come to its end: its server stopped, or it continues in another process.";
const EXPECTED = [/ERR_CONNECTION_REFUSED/, /ERR_INCOMPLETE_CHUNKED/, /network error/i, /^error: .*fetch/i, /did not come to its end/];

/** The pages: what is said in each, what it shows of one question and of all answers, and that it has lost its server. */
const PAGES = {
  copilotkit: (page) => {
    const chat = new Chat(page);
    return {
      say: (text) => chat.say(text),
      answers: (...texts) => chat.answers(...PLANNED, ...texts),
      ended: page.getByRole("alert").getByText(NO_END),
      lost: page.getByRole("button", { name: "The connection is lost. Try again now" }),
    };
  },
  "assistant-ui": (page) => ({
    say: (text) => assistant.say(page, text),
    answers: (...texts) => until(async () => saysInTurn(await page.innerText("body"), [...PLANNED, ...texts]), () => page.innerText("body")),
    ended: page.getByRole("alert").getByText(NO_END),
    lost: page.getByRole("status").getByText("Connection to the server lost, trying again"),
  }),
};

for (const [example, shown] of Object.entries(PAGES)) {
  for (const continues of [false, true]) {
    const what = continues ? "has the whole answer of the run that is continued" : "says that the run did not end, and goes on";
    test(`a server that is killed: examples/${example} ${what}`, async (t) => {
      const stage = await Stage.set({ example, continues });
      t.after(() => stage.strike());
      await stage.visit(t, { page: "index", query: "?agent=planner", expected: EXPECTED }, async (page) => {
        const chat = shown(page);
        await chat.say("plan");
        await chat.answers();
        stage.gates.hold("talk 3");
        await chat.say("talk");
        await chat.answers("One two three");
        await stage.stopServer("SIGKILL");
        await chat.lost.waitFor();
        await chat.answers("One two three");
        await stage.startServer();
        await page.evaluate(() => dispatchEvent(new Event("online"))); // the page tries again now
        await chat.lost.waitFor({ state: "detached" });
        if (continues) {
          await stage.gates.reached("talk 3");
          await chat.answers("One two three");
        } else {
          await chat.ended.waitFor();
          await chat.answers();
          await page.reload();
          await chat.ended.waitFor();
        }
        stage.gates.open("talk 3");
        if (!continues) await chat.say("talk");
        await chat.answers(WHOLE);
        if (!continues && example === "copilotkit") await chat.ended.waitFor(); // assistant-ui shows no activities
        await page.reload();
        await chat.answers(WHOLE);
      });
    });
  }
}

/** Whether a page has these texts, in this order. */
function saysInTurn(body, texts) {
  let at = 0;
  return texts.every((text) => (at = body.indexOf(text, at) + 1) > 0);
}
