// What the inspector is for, in one walk: a run is watched, read again, looked back at, answered, sent and opened. In
// Chromium each of these has tests of its own; `make test-browser` takes the walk in Firefox, where all of those are long.

import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";

import { Inspector, InspectorStage } from "./inspector_stage.mjs";

const WHOLE = "One two three four five six seven eight.";

let stage;
let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "walk-"));
  stage = await InspectorStage.set();
});
after(async () => {
  await stage?.strike();
  await rm(folder, { recursive: true, force: true });
});

/** Drags a file with these events onto the page. */
const drop = (page, name, events) =>
  page.evaluate(([title, lines]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([lines], title));
    for (const type of ["dragover", "drop"]) document.body.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: transfer }));
  }, [name, events.map((event) => JSON.stringify(event)).join("\n")]);

test("a run is watched, reloaded, looked back at, answered, sent as a file, and a recording is opened", (t) =>
  stage.visit(t, {}, async (inspector, page) => {
    stage.gates.hold("talk 3");
    await inspector.begins("planner", "talk");
    await inspector.shows("One two three");
    await inspector.is("Running");
    await page.reload();
    await inspector.shows("One two three");
    stage.gates.open("talk 3");
    await inspector.shows(WHOLE);
    await inspector.is("Idle");

    await inspector.begins("planner", "plan");
    await inspector.shows("It is in the plan.");
    await inspector.is("Idle");
    const state = page.getByRole("group", { name: "State" });
    await state.getByText("Belém Tower", { exact: true }).waitFor();
    await page.getByLabel("Compare with").selectOption("run");
    await state.locator(".came, ins").first().waitFor();
    await inspector.press("The change before");
    await page.getByText(/As it was after event/).waitFor();
    assert.equal(await inspector.log.getByText("It is in the plan.").count(), 0);
    await inspector.tab("Timeline");
    await page.locator(".bar.step").first().waitFor();
    const at = await inspector.slider.inputValue();
    await inspector.slider.press("ArrowRight");
    assert.equal(Number(await inspector.slider.inputValue()), Number(at) + 1);
    await inspector.press("Back to live");
    await inspector.shows("It is in the plan.");

    await inspector.begins("approval", "go");
    await inspector.is("Waiting");
    await inspector.press("Approve");
    await inspector.press("Approve");
    await inspector.is("Idle");
    await inspector.shows("It has been decided.");

    await page.getByRole("button", { name: "Send this run" }).click();
    const dialog = page.getByRole("dialog", { name: "Send this run" });
    await dialog.getByRole("checkbox", { name: /^Tool calls/ }).check();
    const { name, path } = await stage.saved(page, () => dialog.getByRole("button", { name: "Save the file" }).click());
    await copyFile(path, join(folder, name));
    await opensOffline(join(folder, name), await inspector.events());

    const recorded = [
      { type: "RUN_STARTED", threadId: "t", runId: "r" },
      { type: "TEXT_MESSAGE_START", messageId: "m" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Dropped." },
    ];
    await drop(page, "dropped.jsonl", recorded);
    await inspector.shows("Dropped.");
    await page.reload();
    await inspector.shows("Dropped.");
    assert.deepEqual(await inspector.violations(), []);
  }));

/** Opens the file that was sent in a browser without a network; it asks for nothing and complains of nothing. */
async function opensOffline(file, count) {
  const context = await stage.browser.newContext({ viewport: { width: 1280, height: 760 }, offline: true });
  const complaints = [];
  context.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  context.on("weberror", (error) => complaints.push(`uncaught: ${error.error().stack}`));
  const address = pathToFileURL(file).href;
  context.on("request", (request) => request.url() === address || request.url().startsWith("data:") || complaints.push(`requested ${request.url()}`));
  const page = await context.newPage();
  await page.goto(address);
  const sent = new Inspector(page, stage);
  await sent.shows("It has been decided.");
  assert.equal(await sent.events(), count);
  await sent.slider.press("Home");
  await page.getByText("As it was after event 0").waitFor();
  await sent.press("Play");
  await sent.shows("It has been decided.");
  assert.deepEqual(complaints, []);
  await context.close();
}
