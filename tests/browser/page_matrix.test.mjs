// The tools of a page in a real browser, for those combinations of `tests/connect/serve/test_page_matrix.py` in which a page
// is loaded again between a call and its result: which tools are called, and where; what gives them to the model; and what
// the page talks to. Every pair of these three occurs. In each of them every tool runs once, the model sees the true
// results, and the user goes on.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Chat } from "./copilot_chat.mjs";
import { Stage } from "./harness.mjs";

const BOTH = { said: "weather ask", pending: ["ask"], answer: "weather: sunny | ask: from the page", ran: 1 };
const CALLS = {
  page: { said: "ask", pending: ["ask"], answer: "ask: from the page", ran: 0 },
  both: BOTH,
  parallel: {
    said: "weather ask show",
    pending: ["ask", "show"],
    answer: "weather: sunny | ask: from the page | show: from the page",
    ran: 1,
  },
  "in a subgraph": { ...BOTH, shape: "node" },
};
const MIDDLEWARE = ["PageTools", "CopilotKitMiddleware"];
const FRONTS = ["CopilotKit's routes", "the Node runtime"];

let stage, runtime;
before(async () => {
  stage = await Stage.set({ features: true });
  const shapes = ["agent", "node"];
  const names = MIDDLEWARE.flatMap((middleware) => shapes.map((shape) => `page_tools-${middleware}-${shape}`));
  runtime = await stage.startRuntime(Object.fromEntries(names.map((name) => [name, name])));
});
after(() => stage?.strike());

for (const [place, [calls, { said, pending, answer, ran, shape = "agent" }]] of Object.entries(CALLS).entries()) {
  for (const [other, middleware] of MIDDLEWARE.entries()) {
    const front = FRONTS[(place + other) % 2];
    const query = `?feature=page_tools&served=${middleware}-${shape}`;
    test(`tools of the page: ${calls}, by ${middleware}, over ${front}`, (t) =>
      stage.visit(t, { page: "features", query, expected: [/\b404\b/] }, async (page) => {
        if (front === "the Node runtime") {
          await page.route("http://localhost:8000/**", (route) =>
            route.continue({ url: route.request().url().replace("localhost:8000", `127.0.0.1:${runtime}`) }),
          );
          await page.reload();
        }
        const chat = new Chat(page);
        const before = await timesRun();
        await chat.say(said);
        for (const loads of [1, 0]) {
          for (const name of pending) await page.getByRole("button", { name: `Answer ${name}` }).waitFor();
          if (loads) await page.reload();
        }
        for (const name of pending) await page.getByRole("button", { name: `Answer ${name}` }).click();
        await chat.endsWith(answer);
        await page.reload();
        await chat.endsWith(answer);
        assert.equal(await page.getByRole("button", { name: /Answer/ }).count(), 0);
        await chat.say("thanks");
        await chat.endsWith("You said thanks");
        assert.equal((await timesRun()) - before, ran);
      }));
  }
}

/** How often the server's tool has run. */
async function timesRun() {
  return (await (await fetch(`http://127.0.0.1:${stage.port}/ran`)).json()).length;
}
