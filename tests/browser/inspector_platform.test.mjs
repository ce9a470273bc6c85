// The inspector on the threads of a real LangGraph server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { InspectorStage } from "./inspector_stage.mjs";

let stage;
before(async () => (stage = await InspectorStage.set("tests.browser.inspector_platform")));
after(() => stage?.strike());

test("a platform's run is shown live, approved, and there again after a lost connection and a reload", (t) =>
  stage.visit(t, {}, async (inspector, page) => {
    await inspector.begins("review_approved", "go");
    await inspector.is("Waiting");
    await inspector.press("Approve");
    await inspector.press("Approve");
    await inspector.shows("It has been decided.");
    await inspector.is("Idle");
    assert.equal(await page.locator(".call.done").count(), 3);
    await inspector.press("Drop the connection");
    await page.getByRole("button", { name: /Reconnect/ }).click();
    await page.getByText(/Live again/).waitFor();
    await inspector.shows("It has been decided.");
    await page.reload();
    await inspector.shows("It has been decided.");
    // A LangGraph server keeps no events of a run that has ended, only its checkpoints.
    await page.getByText("The events of this run are not kept.").waitFor();
    await inspector.tab("Timeline");
    await page.locator(".water-rows .bar.step").first().waitFor();
    await page.getByRole("button", { name: /^Show the run before/ }).click();
    await page.getByText(/As it was after event/).waitFor();
    await inspector.is("Waiting");
    await inspector.press("Back to live");
    await inspector.tab("Events");
    await page.locator(".event").first().waitFor();
    assert.equal(await page.locator(".event.refused").count(), 0);
  }));

test("an assistant that a user has created is chosen by its name, and runs", (t) =>
  stage.visit(t, {}, async (inspector, page) => {
    await page.getByLabel("Agent", { exact: true }).selectOption({ label: "Calm: Takes its time." });
    await inspector.press("New thread");
    await inspector.says("go");
    await inspector.is("Idle");
    await page.locator(".call.done").first().waitFor();
    assert.match(new URL(page.url()).searchParams.get("agent"), /^[\da-f-]{36}$/);
  }));
