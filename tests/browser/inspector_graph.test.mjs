// The graph of an agent: drawn, with what runs lit at the moment of the playhead and what ran counted; and breakpoints.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { InspectorStage } from "./inspector_stage.mjs";
import { looksLike } from "./looks.mjs";

let stage;
before(async () => (stage = await InspectorStage.set("tests.browser.inspector_graph")));
after(() => stage?.strike());

const scenario = (name, play, options = {}) => test(name, (t) => stage.visit(t, options, play));

const node = (page, name) => page.locator(`.node[data-node="${name}"]`);
/** What each node says of itself, in the order in which they are read. */
const said = (page) => page.getByRole("list", { name: "Nodes" }).getByRole("button").evaluateAll((all) => all.map((each) => [".node-name", ".unseen"].map((part) => each.querySelector(part).textContent).join("")));

async function draws(inspector, page) {
  await inspector.tab("Graph");
  await page.getByRole("list", { name: "Nodes" }).waitFor();
}

scenario("the graph is drawn, the node that runs is lit, what ran is counted, and all of it follows the playhead", async (inspector, page) => {
  const loaded = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  stage.gates.hold("check");
  await inspector.begins("shop", "buy it");
  await stage.gates.reached("check");
  assert.ok(!loaded.some((path) => path.includes("graph")), "neither the graph nor the library that draws it is loaded before they are looked at");
  await draws(inspector, page);
  await page.locator('.node.running[data-node="check"]').waitFor();
  assert.deepEqual(await said(page), ["plan, ran once", "search, ran once", "find, in search, ran once", "read, in search, ran once", "check, ran once, is running", "charge, has not run"]);
  assert.equal(await page.locator(".edge").count(), 7);
  assert.equal(await page.locator(".edge.conditional").count(), 2);
  await looksLike(page, "a graph that runs, light", [page.locator(".thread-title p"), page.locator(".player output"), page.locator(".threads")]);
  stage.gates.open("check");
  await inspector.shows("charge is done");
  await inspector.is("Idle");
  assert.deepEqual(await said(page), ["plan, ran once", "search, ran 2 times", "find, in search, ran 2 times", "read, in search, ran 2 times", "check, ran 2 times", "charge, ran once"]);
  assert.deepEqual(await inspector.violations(), []);

  // By keyboard: a node, and the moment at which one of its steps ended. The graph shows that moment too.
  await node(page, "check").focus();
  await page.keyboard.press("Enter");
  const steps = page.getByRole("region", { name: "Node check" }).getByRole("listitem").getByRole("button");
  assert.equal(await steps.count(), 2);
  await steps.first().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("group", { name: "Timeline" }).waitFor();
  await page.getByText(/As it was after event/).waitFor();
  await draws(inspector, page);
  assert.deepEqual((await said(page)).slice(3), ["read, in search, ran once", "check, ran once", "charge, has not run"]);
  await page.waitForURL(/panel=graph/);
  await page.reload();
  await page.getByRole("list", { name: "Nodes" }).waitFor(); // the address has the panel
});

scenario("a node that fails is red, and a graph that its server does not show has the nodes that ran", async (inspector, page) => {
  await inspector.begins("shop", "fail");
  await inspector.is("Failed");
  await draws(inspector, page);
  await page.getByRole("button", { name: /^charge ?, ran once, failed$/ }).waitFor();
  assert.equal(await page.locator(".node.failed").count(), 1);
  await looksLike(page, "a graph that failed, dark", [page.locator(".thread-title p"), page.locator(".player output"), page.locator(".threads"), page.locator(".run-error")]);
  const lines = [
    { type: "RUN_STARTED", threadId: "t", runId: "r" },
    ...["one", "two", "three", "two", "inner", "inner/x", "inner/y"].flatMap((stepName) => [{ type: "STEP_STARTED", stepName }, { type: "STEP_FINISHED", stepName }]),
    { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "success" } },
  ].map((event, place) => JSON.stringify({ ...event, timestamp: 1_800_000_000_000 + place }));
  await page.locator("input[type=file]").setInputFiles({ name: "steps.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(lines.join("\n")) });
  await page.getByText("The graph is not in the recording").waitFor();
  assert.deepEqual(await said(page), ["one, ran once", "two, ran 2 times", "inner, ran once", "x, in inner, ran once", "three, ran once", "y, in inner, ran once"]);
  assert.deepEqual(await inspector.violations(), []);
}, { colorScheme: "dark" });

scenario("a run pauses at a node that was chosen, says before which, and continues", async (inspector, page) => {
  await inspector.begins("shut", "hello");
  const paused = (where) => page.getByText(`Paused before ${where}.`).waitFor();
  await paused("charge");
  await draws(inspector, page);
  await node(page, "charge").click();
  const before = page.getByRole("checkbox", { name: "Pause before it" });
  assert.deepEqual([await before.isChecked(), await before.isDisabled()], [true, true]);
  await node(page, "search").click();
  await page.getByRole("checkbox", { name: "Pause after it" }).check();
  await node(page, "search/find").click();
  assert.equal(await page.getByRole("checkbox").count(), 0); // LangGraph stops at nodes of the graph itself
  await inspector.press("Continue");
  await inspector.is("Idle");

  await inspector.says("and again");
  await paused("check");
  await page.getByText("Runs from here pause after search").waitFor();
  await page.getByRole("button", { name: /^search ?, .*pauses after$/ }).waitFor();
  await looksLike(page, "a run that has paused", [page.locator(".thread-title p"), page.locator(".player output"), page.locator(".threads"), page.locator(".graph-chosen")]);
  assert.deepEqual(await inspector.violations(), []);
  await inspector.press("Pause nowhere");
  await inspector.press("Continue");
  await paused("charge");
  await inspector.press("Drop the rest");
  await inspector.is("Idle");
  assert.equal(await inspector.log.getByText("charge is done").count(), 1);
});

scenario("the graph and a pause are whole in a narrow window", async (inspector, page) => {
  await page.getByRole("button", { name: "Threads" }).first().click();
  await inspector.begins("shut", "hello");
  await page.getByText("Paused before charge.").waitFor();
  await page.getByRole("navigation").getByRole("button", { name: "Inspect" }).click();
  await draws(inspector, page);
  await node(page, "check").click();
  await looksLike(page, "a graph in a narrow window", [page.locator(".player output"), page.locator(".graph-chosen ol")]);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.deepEqual(await inspector.violations(), []);
}, { viewport: { width: 390, height: 760 } });
