// A recorded run, served again: the page sees it live, from its thread's address and by a message of its own; and the
// file itself, opened without a server.

import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { InspectorStage } from "./inspector_stage.mjs";

let stage;
let folder;
let file;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "replay-"));
  file = join(folder, "day.jsonl");
  stage = await InspectorStage.set("tests.browser.inspector_replay", file);
});
after(async () => {
  await stage?.strike();
  await rm(folder, { recursive: true, force: true });
});

test("a replay is live for a page that opens its thread, and for one that sends a message", (t) =>
  stage.visit(t, {}, async (inspector, page) => {
    await page.locator(".thread-link").getByText("Plan me a day.").waitFor();
    await page.goto(`${stage.url}?agent=planner&thread=recorded`);
    await inspector.is("Running");
    await inspector.shows("custard tarts");
    await inspector.is("Idle");
    const messages = await page.locator(".message").count();
    await page.reload();
    await inspector.shows("custard tarts");
    await inspector.is("Idle");
    await inspector.begins("planner", "Something else");
    await inspector.shows("custard tarts");
    await inspector.is("Idle");
    assert.equal(await page.locator(".message").count(), messages);
    await inspector.tab("Events");
    await page.locator(".event").first().waitFor();
    assert.equal(await page.locator(".event.refused").count(), 0);
  }));

test("what the page saves of a thread is replayed, and a file that it has opened is saved as it was", async (t) => {
  const saved = join(folder, "saved.jsonl");
  const saves = async (page, to) => {
    const { path } = await stage.saved(page, () => page.getByRole("button", { name: "Save the events as JSONL" }).click());
    await copyFile(path, to);
  };
  let messages;
  await stage.visit(t, { acceptDownloads: true }, async (inspector, page) => {
    await page.goto(`${stage.url}?agent=planner&thread=recorded`);
    await inspector.shows("custard tarts");
    await inspector.is("Idle");
    messages = await page.locator(".message").count();
    await saves(page, saved);
    await page.locator("input[type=file]").setInputFiles(file);
    await page.locator(".thread-title h2").getByText("day.jsonl").waitFor();
    await saves(page, join(folder, "again.jsonl"));
    assert.deepEqual(await readFile(join(folder, "again.jsonl")), await readFile(file));
  });
  const replaying = await InspectorStage.set("tests.browser.inspector_replay", saved);
  try {
    await replaying.visit(t, {}, async (inspector, page) => {
      await page.goto(`${replaying.url}?agent=planner&thread=recorded`);
      await inspector.shows("custard tarts");
      await inspector.is("Idle");
      assert.equal(await page.locator(".message").count(), messages);
      await inspector.tab("Events");
      await page.locator(".event").first().waitFor();
      assert.equal(await page.locator(".event.refused").count(), 0);
    });
  } finally {
    await replaying.strike();
  }
});

test("the file of a recorded run shows its events, and none of its other lines", (t) =>
  stage.visit(t, {}, async (inspector, page) => {
    const content = await readFile(file);
    const opens = (name, buffer) => page.locator("input[type=file]").setInputFiles({ name, mimeType: "application/jsonl", buffer });
    await opens("no.jsonl", Buffer.from("hello\n"));
    await page.getByRole("alert").getByText("no.jsonl: Line 1: expected an AG-UI event").waitFor();
    await inspector.press("Close");
    const events = content.toString().trim().split("\n").filter((line) => "type" in JSON.parse(line));
    await opens("day.jsonl", content);
    await inspector.shows("custard tarts");
    assert.equal(await inspector.events(), events.length);

    const part = content.subarray(0, -20);
    const lines = part.toString().split("\n").length;
    await opens("part.jsonl", part);
    await page.getByRole("alert").getByText(`part.jsonl: line ${lines}, the last one, is incomplete, and left out.`).waitFor();
    await inspector.shows("custard tarts");
    assert.equal(await inspector.events(), events.length - 1);
  }));
