// The inspector of a process on a thread that another process runs: they share their runs in Redis.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { until } from "./harness.mjs";
import { freePort, InspectorStage } from "./inspector_stage.mjs";

const WHOLE = "One two three four five six seven eight.";

let stage;
let other;
before(async () => {
  const port = await freePort();
  other = `http://127.0.0.1:${port}/`;
  stage = await InspectorStage.set("tests.browser.inspector_processes", String(port));
  await until(async () => (await fetch(`${other}health`).catch(() => ({}))).ok, "the other process does not answer");
});
after(() => stage?.strike());

test("a run of another process is shown live, nothing of it is lost with the connection, and it is stopped from here", (t) =>
  stage.visit(t, {}, async (inspector, page) => {
    const threadId = "elsewhere";
    const run = (runId, messages) => fetch(`${other}planner`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ threadId, runId, messages }) }).then((response) => response.text());
    const asked = [{ id: "m-1", role: "user", content: "talk" }];
    stage.gates.hold("talk 3");
    const first = run("run-1", asked);
    await stage.gates.reached("talk 3");
    await page.locator(`a[title="${threadId}"]`).click();
    await inspector.shows("One two three");
    await inspector.is("Running");
    await inspector.press("Drop the connection");
    await page.getByText("Connection lost").waitFor();
    stage.gates.open("talk 3");
    assert.match(await first, /RUN_FINISHED/);
    assert.equal(await inspector.log.getByText(WHOLE).count(), 0);
    await page.getByRole("button", { name: /Reconnect/ }).click();
    await inspector.shows(WHOLE);
    await inspector.is("Idle");
    stage.gates.hold("talk 3");
    const second = run("run-2", [...asked, { id: "m-2", role: "user", content: "talk" }]);
    await stage.gates.reached("talk 3");
    await inspector.is("Running");
    await inspector.press("Stop");
    await inspector.is("Stopped");
    stage.gates.open("talk 3");
    assert.match(await second, /cancelled/);
    await inspector.tab("Events");
    await page.locator(".event").first().waitFor();
    assert.equal(await page.locator(".event.refused").count(), 0);
  }));
