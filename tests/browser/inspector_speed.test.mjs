// How long the inspector keeps the processor busy: long runs, long lists, many tokens. Only Chromium says what a page's main
// thread has used, whatever else the machine does; Firefox has no such number.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { until } from "./harness.mjs";
import { InspectorStage } from "./inspector_stage.mjs";

let stage;
before(async () => (stage = await InspectorStage.set()));
after(() => stage?.strike());

const scenario = (name, play, options = {}) => test(name, (t) => stage.visit(t, options, play));

/** Returns a function that returns the milliseconds of the processor that tasks of these kinds have used so far. */
async function used(page, kinds = /^TaskDuration$/) {
  const profiler = await page.context().newCDPSession(page);
  await profiler.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await profiler.send("Performance.getMetrics");
    return metrics.filter(({ name }) => kinds.test(name)).reduce((sum, { value }) => sum + value * 1000, 0);
  };
}

scenario("200 steps and 20,000 events stay smooth", async (inspector, page) => {
  const steps = Array.from({ length: 200 }, (_, step) => [
    { type: "STEP_STARTED", stepName: `step ${step}` },
    { type: "TEXT_MESSAGE_START", messageId: `m${step}` },
    ...Array.from({ length: 96 }, (_, word) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: `m${step}`, delta: ` word${word}` })),
    { type: "TEXT_MESSAGE_END", messageId: `m${step}` },
    { type: "STEP_FINISHED", stepName: `step ${step}` },
  ]);
  await inspector.opens("long.jsonl", [{ type: "RUN_STARTED", threadId: "t", runId: "r" }, ...steps.flat(), { type: "RUN_FINISHED", threadId: "t", runId: "r" }]);
  await inspector.tab("Timeline");
  await page.locator(".bar.step").first().waitFor();
  assert.ok((await page.locator(".bar").count()) < 80);
  const now = await used(page);
  const before = await now();
  const moves = 20;
  for (let move = 1; move <= moves; move += 1) await inspector.slider.fill(String(move * 900));
  const each = ((await now()) - before) / moves;
  console.log(`# ${each.toFixed(1)} ms of the processor for each move of the playhead`);
  assert.ok(each < 200, `expected less than 200 ms of the processor for a move, got ${each.toFixed(0)}`);
});

scenario("200 tokens a second leave the page most of its time", async (inspector, page) => {
  const now = await used(page, /^(Script|Layout|RecalcStyle)Duration$/);
  for (const tab of ["Events", "Timeline"]) {
    const before = await now();
    await inspector.begins("long", "800");
    await inspector.tab(tab);
    await inspector.shows("word799");
    await inspector.is("Idle");
    const each = ((await now()) - before) / (await inspector.events());
    assert.ok(each < 2.5, `${tab}: expected less than 2.5 ms of the processor for an event, got ${each.toFixed(2)}`);
  }
});

scenario("a list of ten thousand threads scrolls smoothly", async (inspector, page) => {
  const all = Array.from({ length: 10_000 }, (_, number) => ({ id: `t-${number}`, name: `Thread ${number}`, agentId: "long", createdAt: "2026-01-01T00:00:00Z", updatedAt: new Date(1.8e12 - number * 60_000).toISOString(), archived: false, status: "idle" }));
  await page.route(/\/threads\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [from, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit"))];
    return route.fulfill({ json: { threads: all.slice(from, from + limit), nextCursor: from + limit < all.length ? String(from + limit) : null } });
  });
  await page.getByLabel("Agent", { exact: true }).selectOption("long");
  const list = page.getByRole("list", { name: "Threads" });
  await page.locator('a[title="t-0"]').waitFor();
  await until(async () => {
    await list.evaluate((element) => (element.scrollTop = element.scrollHeight));
    return page.locator('a[title="t-9999"]').isVisible();
  }, "the last thread is not reached", 120_000);
  assert.ok((await page.locator(".thread-link").count()) < 100);
  const now = await used(page);
  const before = await now();
  const STEPS = 40;
  await list.evaluate(async (element, steps) => {
    for (let step = 0; step < steps; step += 1) {
      element.scrollTop = (element.scrollHeight * step) / steps;
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }
  }, STEPS);
  const each = ((await now()) - before) / STEPS;
  assert.ok(each < 50, `expected less than 50 ms of the processor for a step, got ${each.toFixed(0)}`);
});
