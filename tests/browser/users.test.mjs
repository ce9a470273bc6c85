// CopilotKit's page for users: what it says when its token is refused, tokens that are renewed, and the user's threads.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Chat } from "./copilot_chat.mjs";
import { Stage, until } from "./harness.mjs";

const TOKENS = "http://localhost:8000/token";
/** What the browser and CopilotKit say of a refused request. */
const REFUSED = [/401/, /Runtime/, /not found/];

let stage;
before(async () => (stage = await Stage.set({ features: true })));
after(() => stage?.strike());

/** `first`: what the page's token is, in place of a valid one, for as long as `TOKENS` has this route. */
const scenario = (name, first, play) =>
  test(`users: ${name}`, (t) =>
    stage.visit(t, { page: "users", expected: REFUSED }, async (page) => {
      if (first) {
        await page.route(TOKENS, (route) => route.fulfill({ json: first, headers: { "access-control-allow-origin": "*" } }));
        await page.reload();
      }
      await play(new Chat(page), page);
    }));

scenario("a page whose token is refused says so, and is let in with another one", { token: "ada-0", expiresIn: 3600 }, async (chat, page) => {
  await page.getByText("The server does not let this page in.").waitFor();
  await page.unroute(TOKENS);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("The server does not let this page in.").waitFor({ state: "detached" });
  await chat.say("think");
  await chat.endsWith("Plant an oak.");
});

scenario("a token is renewed before it expires, and what is sent later has the new one", undefined, async (chat, page) => {
  const given = [];
  await page.route(TOKENS, async (route) => {
    const response = await route.fetch({ url: TOKENS.replace("localhost:8000", `127.0.0.1:${stage.port}`) });
    const { token } = await response.json();
    await route.fulfill({ response, json: { token, expiresIn: given.length ? 3600 : 0.1 } });
    given.push(token);
  });
  await page.reload();
  await until(() => given.length > 1, "the token is not renewed");
  const sent = page.waitForRequest((request) => request.url().endsWith("/run"));
  await chat.say("think");
  await chat.endsWith("Plant an oak.");
  assert.equal((await sent).headers().authorization, `Bearer ${given.at(-1)}`);
  assert.notEqual(given[0], given.at(-1));
});

scenario("the user's threads are listed, and opened", undefined, async (chat, page) => {
  const threads = page.getByRole("navigation", { name: "threads" });
  await chat.say("think of a tree");
  await chat.endsWith("Plant an oak.");
  await threads.getByRole("button", { name: "think of a tree" }).waitFor();
  await threads.getByRole("button", { name: "New thread" }).click();
  await chat.answers();
  await chat.say("and another");
  await chat.endsWith("Plant an oak.");
  await threads.getByRole("button", { name: "and another" }).waitFor();
  await threads.getByRole("button", { name: "think of a tree" }).click();
  await page.getByTestId("copilot-user-message").getByText("think of a tree").waitFor();
  await chat.endsWith("Plant an oak.");
});
