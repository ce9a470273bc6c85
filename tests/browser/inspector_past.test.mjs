// What the inspector shows of runs that have ended: after a reload, in another browser, and when the server has been
// started again; and what is left of a run whose events are not kept.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { InspectorStage, withToken } from "./inspector_stage.mjs";

const MODULE = "tests.browser.inspector_past";
const EARLIER = /^Show the run before/;

let folder;
before(async () => (folder = await mkdtemp(join(tmpdir(), "inspector-past-"))));
after(() => rm(folder, { recursive: true, force: true }));

/** Plays on a stage of its own, with a browser and a server of its own. */
async function onStage(options, play) {
  const stage = await InspectorStage.set(MODULE, folder, ...options);
  try {
    await play(stage);
  } finally {
    await stage.strike();
  }
}

/** What the page shows of the moment that it is at. */
async function shown(inspector, page) {
  await inspector.tab("Timeline");
  await page.locator(".water-rows .water-row").first().waitFor();
  const spans = await page.locator(".water-rows .water-row").allInnerTexts();
  const facts = await page.locator(".facts").innerText();
  await inspector.tab("State");
  const state = await page.getByRole("group", { name: "State" }).innerText();
  return { events: await inspector.events(), spans, began: facts.match(/began\s+(\S+)/)[1], took: facts.match(/took\s+(\S+ \S+)/)[1], state, said: await inspector.log.innerText() };
}

const WHOLE_TEXT = "Go to Porto for 3 days.";
let thread;

test("a finished run is all there after a reload, in another browser, and from a server that was started again", async (t) => {
  let first;
  await onStage([], async (stage) => {
    await stage.visit(t, {}, async (inspector, page) => {
      await inspector.begins("trip", "Where to?");
      await inspector.shows("Go to Porto for 1 days.");
      await inspector.says("And then?");
      await inspector.shows(WHOLE_TEXT);
      await inspector.is("Idle");
      thread = inspector.thread;
      const live = await inspector.events();
      await page.reload();
      await inspector.shows(WHOLE_TEXT);
      await page.getByRole("button", { name: EARLIER }).and(page.locator(":enabled")).waitFor();
      first = await shown(inspector, page);
      assert.deepEqual(first.spans.map((row) => row.split("\n")[0]), ["choose", "look", "write", "text"]);
      assert.ok(first.events < live, `only the last run: ${first.events} of ${live} events`);
      await stage.picture(page, "inspector-the-past");

      // The run before comes when it is asked for, and is the one that is looked at.
      await page.getByRole("button", { name: EARLIER }).click();
      await page.getByText(/As it was after event/).waitFor();
      assert.ok((await inspector.events()) > first.events);
      await inspector.shows("Go to Porto for 1 days.");
      assert.equal(await inspector.log.getByText(WHOLE_TEXT).count(), 0);
      await inspector.tab("Timeline");
      assert.match(await page.getByRole("combobox", { name: "Run" }).locator("option:checked").innerText(), /^Run 1 of 2, success/);
      assert.ok(await page.getByRole("button", { name: "All earlier runs are shown" }).isDisabled());

      // The track goes from run to run, and the address names the moment, also of a run that is not read by itself.
      await page.keyboard.press("Home");
      await inspector.slider.focus();
      for (let count = 0; count < 5; count += 1) await page.keyboard.press("ArrowLeft");
      const moment = await page.locator(".player output").innerText();
      await page.waitForFunction((at) => new URLSearchParams(location.search).get("at") === at, await inspector.slider.inputValue());
      await page.reload();
      await page.getByText(/As it was after event/).waitFor();
      assert.equal(await page.locator(".player output").innerText(), moment);
      assert.deepEqual(await inspector.violations(), []);
    });
    await stage.visit(t, { address: withToken(`${stage.url}?agent=trip&thread=${thread}`) }, async (inspector, page) => {
      await inspector.shows(WHOLE_TEXT);
      await page.getByRole("button", { name: EARLIER }).and(page.locator(":enabled")).waitFor();
      assert.deepEqual(await shown(inspector, page), first);
      // From the timeline too a run is read that is not there yet.
      await inspector.tab("Timeline");
      await page.getByRole("combobox", { name: "Run" }).selectOption({ index: 0 });
      await page.getByText(/As it was after event/).waitFor();
      await inspector.shows("Go to Porto for 1 days.");
    });
  });
  await onStage(["--keep-runs", "1"], (stage) =>
    stage.visit(t, { address: withToken(`${stage.url}?agent=trip&thread=${thread}`) }, async (inspector, page) => {
      await inspector.shows(WHOLE_TEXT);
      await page.getByRole("button", { name: EARLIER }).and(page.locator(":enabled")).waitFor();
      assert.deepEqual(await shown(inspector, page), first);
      await inspector.says("Once more.");
      await inspector.shows("Go to Porto for 5 days.");
      await inspector.is("Idle");
      assert.equal(await page.locator(".past-note").count(), 0);
    }),
  );
});

test("of a run whose events are not kept the page shows the steps and the state of its checkpoints, and says so", async (t) => {
  await onStage(["--keep-runs", "0"], (stage) =>
    stage.visit(t, {}, async (inspector, page) => {
      await inspector.begins("trip", "Where to?");
      await inspector.shows("Go to Porto for 1 days.");
      await inspector.is("Idle");
      await page.reload();
      await page.getByText("The events of this run are not kept.").waitFor();
      const last = await shown(inspector, page);
      assert.deepEqual(last.spans.map((row) => row.split("\n")[0]).filter((name) => name !== "text"), ["choose", "look", "write"]);
      assert.match(last.state, /written/);
      await inspector.press("The change before");
      await inspector.press("The change before");
      await page.getByText(/As it was after event/).waitFor();
      const state = await page.getByRole("group", { name: "State" }).innerText();
      assert.match(state, /chosen/);
      assert.doesNotMatch(state, /written/);
      assert.deepEqual(await inspector.violations(), []);
    }),
  );
});

test("a thread runs again from a checkpoint, with another state, and what it left stays another branch", async (t) => {
  await onStage(["--state", "city"], (stage) =>
    stage.visit(t, {}, async (inspector, page) => {
      const rows = page.locator(".checkpoint");
      await inspector.begins("trip", "Where to?");
      await inspector.shows("Go to Porto for 1 days.");
      await inspector.is("Idle");
      await inspector.tab("Checkpoints");
      await rows.nth(4).waitFor();
      assert.deepEqual(await page.locator(".checkpoint-next").allInnerTexts(), ["end of the run", "before write", "before look", "before choose", "input, before the first step"]);
      assert.equal(await page.locator(".mark.checkpoint").count(), 5);

      await rows.nth(0).click();
      await page.getByText("The run ended here, so nothing can run from here.").waitFor();
      assert.equal(await page.getByRole("button", { name: "Run from here" }).count(), 0);
      await rows.nth(2).click();
      assert.doesNotMatch(await page.locator(".checkpoint-open").innerText(), /looked at/);
      await inspector.press("Show this moment");
      await page.getByText(/As it was after event/).waitFor();
      assert.equal(await inspector.log.getByText("Go to Porto").count(), 0);
      await inspector.press("Edit the state");
      const draft = page.getByLabel("State to run with");
      await page.locator("textarea:focus").waitFor();
      await draft.fill('{"city": "Faro", "days": 7}');
      await page.getByText("Clients may not write days.").waitFor();
      await draft.fill('{"city": ');
      await page.getByText("This is not a JSON object.").waitFor();
      assert.deepEqual(await inspector.violations(), []);
      await draft.fill('{"city": "Faro"}');
      await inspector.press("Run with this state");
      await inspector.shows("Go to Faro for 1 days.");
      await inspector.is("Idle");
      await page.locator(".aside").first().waitFor();
      assert.equal(await page.locator(".aside").count(), 3);
      assert.equal(await inspector.log.getByText("Go to Porto").count(), 0);
      await stage.picture(page, "inspector-checkpoints");

      // Back to the branch that was left; after a reload the thread is on the newest one.
      await page.locator(".aside .checkpoint", { hasText: "before write" }).click();
      await inspector.press("Run from here");
      await inspector.shows("Go to Porto for 1 days.");
      await inspector.is("Idle");
      await page.reload();
      await inspector.shows("Go to Porto for 1 days.");
      await rows.first().waitFor();
      await page.setViewportSize({ width: 320, height: 640 });
      await inspector.press("Inspect");
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
      assert.ok((await page.getByLabel("Speed").boundingBox()).x + (await page.getByLabel("Speed").boundingBox()).width <= 320);
      await stage.picture(page, "inspector-checkpoints-narrow");
    }),
  );
});

test("why a run failed is found in the page the next day, sent to somebody, and the thread is run right from before", async (t) => {
  await onStage([], (stage) =>
    stage.visit(t, {}, async (inspector, page) => {
      await inspector.begins("trip", "Which city in the sea?");
      await page.getByText("The reason is in the server’s log.").waitFor();
      thread = inspector.thread;
    }),
  );
  await onStage(["--debug", "--state", "city"], (stage) =>
    stage.visit(t, {}, async (inspector, page) => {
      await page.getByRole("link", { name: /Which city in the sea/ }).click();
      await page.getByText("The run failed in look", { exact: true }).waitFor();
      await inspector.tab("Checkpoints");
      await page.locator(".checkpoint", { hasText: "failed" }).click();
      await page.locator(".checkpoint-open").getByText("no way leads to Atlantis").waitFor();
      await page.screenshot({ path: join(import.meta.dirname, "../../test-artefacts/inspector-why-it-failed.png") });
      assert.deepEqual(await inspector.violations(), []);

      await page.getByRole("button", { name: "Send this run" }).click();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save the file" }).click()]);
      const sent = await readFile(await download.path(), "utf8");
      assert.match(sent, /LookupError/);
      assert.doesNotMatch(sent, /Atlantis/); // a part of the state, which was not chosen

      await inspector.press("Edit the state");
      await page.getByLabel("State to run with").fill('{"city": "Faro"}');
      await inspector.press("Run with this state");
      await inspector.shows("Go to Faro for 1 days.");
      await inspector.is("Idle");
    }),
  );
});
