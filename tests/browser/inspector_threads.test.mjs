// The list of threads in the inspector: searched by the server, renamed, archived and deleted, as long as it may be.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { BEARER, until } from "./harness.mjs";
import { InspectorStage } from "./inspector_stage.mjs";

let stage;
before(async () => (stage = await InspectorStage.set()));
after(() => stage?.strike());

/** One page for one test. `more`: options of the page. */
function scenario(name, play, more = {}) {
  test(name, (t) => stage.visit(t, more, play));
}

/** Makes a thread. */
async function run(thread, message = "1") {
  const input = { threadId: thread, runId: `run-${thread}`, messages: [{ id: `m-${thread}`, role: "user", content: message }] };
  const ran = await fetch(`${stage.url}long`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(input) });
  await ran.text();
}

const chooses = (page) => page.getByLabel("Agent", { exact: true }).selectOption("long");
const link = (page, thread) => page.locator(`a[title="${thread}"]`);
const exists = async (thread) => (await fetch(`${stage.url}threads/${thread}?agent=long`, { headers: BEARER })).status === 200;

scenario("threads are renamed, archived, taken out and deleted, by keyboard", async (inspector, page) => {
  for (const thread of ["one", "two", "three"]) await run(thread);
  await chooses(page);
  await link(page, "two").focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.textContent === "Rename");
  assert.deepEqual(await inspector.violations(), []);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.matches("input"));
  await page.keyboard.type("Lunch in Lisbon\n");
  await link(page, "two").getByText("Lunch in Lisbon").waitFor();
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-label") === "Actions for Lunch in Lisbon");

  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Archive", exact: true }).press("Enter");
  await link(page, "two").waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement.matches(".thread-link"));
  await inspector.press("Archived");
  await link(page, "two").waitFor();
  assert.equal(await page.locator(".thread-link").count(), 1);
  await page.getByRole("button", { name: "Actions for Lunch in Lisbon" }).press("Enter");
  await page.getByRole("button", { name: "Take out" }).press("Enter");
  await page.getByText("No thread is archived.").waitFor();
  await inspector.press("All");

  await link(page, "two").click();
  await inspector.is("Idle");
  await page.getByRole("button", { name: "Actions for Lunch in Lisbon" }).press("Enter");
  await page.getByRole("button", { name: "Delete", exact: true }).press("Enter");
  await page.waitForFunction(() => document.activeElement.textContent === "Keep");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-label") === "Actions for Lunch in Lisbon");
  assert.ok(await exists("two"));
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Delete", exact: true }).press("Enter");
  await page.getByRole("button", { name: "Delete for good" }).press("Enter");
  await link(page, "two").waitFor({ state: "detached" });
  await page.getByText("Choose a thread to see it live").waitFor(); // it was open
  assert.ok(!(await exists("two")));
});

scenario("the server searches all threads, and the list keeps what it has until the answer comes", async (inspector, page) => {
  for (let number = 0; number <= 60; number += 1) await run(`found-${number}`);
  await chooses(page);
  await link(page, "found-60").waitFor();
  const said = [];
  await page.exposeFunction("says", (text) => said.push(text));
  await page.evaluate(() => new MutationObserver(() => window.says(document.querySelector(".threads").innerText)).observe(document.querySelector(".threads"), { childList: true, subtree: true, characterData: true }));
  await page.getByLabel("Search threads").fill("FOUND-0");
  await link(page, "found-0").waitFor();
  assert.equal(await page.locator(".thread-link").count(), 1);
  await page.getByLabel("Search threads").fill("nowhere");
  await page.getByText("No thread matches.").waitFor();
  assert.ok(!said.some((text) => /No threads yet|Loading…/.test(text)), said.join("\n"));
  await page.getByLabel("Search threads").fill("");
  await link(page, "found-60").waitFor();
  await page.getByRole("list", { name: "Threads" }).evaluate((list) => (list.scrollTop = list.scrollHeight));
  await until(async () => {
    await page.getByRole("list", { name: "Threads" }).evaluate((list) => (list.scrollTop = list.scrollHeight));
    return link(page, "found-0").isVisible();
  }, "the oldest thread is not reached");
  assert.ok((await page.locator(".thread-link").count()) < 61); // only those in sight are elements
});

scenario(
  "what can be done with a thread fits into a narrow window, and a refusal is said there",
  async (inspector, page) => {
    await run("narrow");
    await chooses(page);
    await page.getByRole("button", { name: /^Actions for 1$/ }).or(page.getByRole("button", { name: "Actions for 1" })).first().click();
    assert.deepEqual(await inspector.violations(), []);
    assert.equal(await page.evaluate(() => document.querySelector(".thread-actions").scrollWidth > innerWidth), false);
    await page.route(/\/threads\/narrow/, (route) => route.fulfill({ status: 409, json: { error: "conflict", message: "Another run is active on the thread." } }));
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "Delete for good" }).click();
    await page.getByRole("alert").getByText("Another run is active on the thread.").waitFor();
    await link(page, "narrow").waitFor();
  },
  { viewport: { width: 320, height: 640 }, expected: [/409/] },
);
