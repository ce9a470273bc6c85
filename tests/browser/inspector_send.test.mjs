// "Send this run": what the dialog says, what the file has, and that it plays from the disk, with no server, and without
// doing anything that a message in it may want.

import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";

import { InspectorStage, Inspector } from "./inspector_stage.mjs";
import { looksLike } from "./looks.mjs";

let stage;
let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "sent-"));
  stage = await InspectorStage.set();
});
after(async () => {
  await stage?.strike();
  await rm(folder, { recursive: true, force: true });
});

/** A message that wants to do something: run, ask another server, end the page. */
const hurts = (place) => `</script><script>window.hurt="${place}";alert(1)</script><img src="https://beacon.example/${place}" onerror="window.hurt='${place}'"> {{run}} $& <!-- <script>`;
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const EVENTS = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  {
    type: "MESSAGES_SNAPSHOT",
    messages: [{ id: "u", role: "user", content: [{ type: "text", text: `Question ${hurts("user")}` }, { type: "image", source: { type: "data", mimeType: "image/png", value: PICTURE } }] }],
  },
  { type: "STATE_SNAPSHOT", snapshot: { channel: `state-secret ${hurts("state")}` } },
  { type: "STEP_STARTED", stepName: hurts("step") },
  { type: "TEXT_MESSAGE_START", messageId: "a", name: hurts("speaker") },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: `Answer ${hurts("text")} ![](https://beacon.example/image) [link](javascript:window.hurt='link') <base href="https://beacon.example/">` },
  { type: "TEXT_MESSAGE_END", messageId: "a" },
  { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: hurts("tool"), parentMessageId: "a" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: JSON.stringify({ key: `args-secret ${hurts("args")}` }) },
  { type: "TOOL_CALL_END", toolCallId: "c" },
  { type: "TOOL_CALL_RESULT", toolCallId: "c", messageId: "m", content: `result-secret ${hurts("result")}` },
  { type: "ACTIVITY_SNAPSHOT", messageId: "s", activityType: hurts("activity"), content: { html: `other-secret ${hurts("activity")}` } },
  { type: "ACTIVITY_SNAPSHOT", messageId: "v", activityType: "media", content: { type: "video", source: { type: "url", mimeType: "video/mp4", value: "https://beacon.example/video" } } },
  { type: "CUSTOM", name: hurts("custom"), value: "other-secret" },
  { type: "STEP_FINISHED", stepName: hurts("step") },
  { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "interrupt", interrupts: [{ id: "i", reason: "asked-secret reason", message: `asked-secret ${hurts("question")}`, responseSchema: { type: "object", properties: { name: { type: "string", title: hurts("field") } } } }] } },
].map((event, place) => ({ ...event, timestamp: 1_800_000_000_000 + place * 40 }));

async function opens(page, events = EVENTS, name = "hostile run.jsonl") {
  const buffer = Buffer.from(events.map((event) => JSON.stringify(event)).join("\n"));
  await page.locator("input[type=file]").setInputFiles({ name, mimeType: "application/jsonl", buffer });
  await page.locator(".message").first().waitFor();
}

/** Saves the run with what has these names; returns the file. */
async function sends(page, ...kinds) {
  await page.getByRole("button", { name: "Send this run" }).click();
  const dialog = page.getByRole("dialog", { name: "Send this run" });
  for (const kind of kinds) await dialog.getByRole("checkbox", { name: new RegExp(`^${kind}`) }).check();
  const { name, path } = await stage.saved(page, () => dialog.getByRole("button", { name: "Save the file" }).click());
  await dialog.waitFor({ state: "detached" });
  const file = join(folder, name);
  await copyFile(path, file);
  return file;
}

/** Opens the file from the disk, in a browser that knows nothing of the inspector; fails on whatever the page asks for or
 *  complains of. */
async function reads(file, play, options = {}) {
  const context = await stage.browser.newContext({ viewport: { width: 1280, height: 760 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(30_000);
  const complaints = [];
  context.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  context.on("weberror", (error) => complaints.push(`uncaught: ${error.error().stack}`));
  context.on("dialog", (dialog) => (complaints.push(`dialog: ${dialog.message()}`), void dialog.dismiss()));
  const address = pathToFileURL(file).href;
  context.on("request", (request) => request.url() === address || request.url().startsWith("data:") || complaints.push(`requested ${request.url()}`));
  await context.addInitScript(() => {
    window.refusals = [];
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => window.refusals.push(`${violatedDirective} ${blockedURI}`));
  });
  const page = await context.newPage();
  try {
    await page.goto(address);
    await play(new Inspector(page, stage), page);
    assert.equal(await page.evaluate(() => window.hurt), undefined);
    assert.deepEqual(await page.evaluate(() => window.refusals), []);
    assert.deepEqual(complaints, []);
    assert.equal(page.url(), address);
  } finally {
    await context.close();
  }
}

const scenario = (name, play, options = {}) => test(name, (t) => stage.visit(t, { acceptDownloads: true, ...options }, play));

scenario("a file plays from the disk, and nothing in its messages runs or asks for anything", async (_, page) => {
  const said = EVENTS.map((event) => (event.type === "TEXT_MESSAGE_CONTENT" ? { ...event, delta: `Fish &amp; chips. ${event.delta}` } : event));
  await opens(page, said);
  await page.getByText("Fish & chips.").first().waitFor();
  const file = await sends(page, "State", "Tool calls", "Attachments", "Everything else");
  assert.match(file, /hostile-run\.html$/);
  await reads(file, async (inspector, sent) => {
    await inspector.shows("Fish & chips. Answer");
    await inspector.is("Waiting");
    assert.equal(await inspector.events(), EVENTS.length);
    assert.match(await sent.locator(".thread-title").innerText(), /^hostile run\n+.*2027$/);
    await sent.getByText("state-secret").waitFor();
    await inspector.tab("Graph");
    await sent.getByText("The graph is not in the recording").or(sent.getByText("No step has been seen")).waitFor();
    for (const name of ["Events", "Timeline"]) {
      await inspector.tab(name);
      await sent.locator(name === "Events" ? ".event" : ".bar").first().waitFor();
    }
    await sent.locator(".call summary").click();
    for (const text of ["args-secret", "result-secret"]) await sent.locator(".call-body").getByText(text).waitFor();
    for (const text of ["other-secret", "asked-secret"]) await sent.getByText(text).first().waitFor();
    assert.deepEqual(await sent.locator("img").evaluateAll((images) => images.map((image) => [image.src.slice(0, 14), image.naturalWidth])), [["data:image/png", 1]]);
    assert.equal(await sent.locator("iframe, base, video, [onerror]").count(), 0);
    assert.equal(await sent.locator("script").count(), 2); // the events, and what shows them
    await inspector.press("Play");
    await inspector.is("Waiting");
    assert.deepEqual(await inspector.violations(), []);
  });
});

scenario("what is not chosen is not in the file, and the page says so", async (_, page) => {
  await opens(page);
  const text = await readFile(await sends(page), "utf8");
  assert.match(text, /Question/);
  for (const secret of ["state-secret", "args-secret", "result-secret", "other-secret", "asked-secret", PICTURE, "beacon.example/video"]) assert.doesNotMatch(text, new RegExp(secret.replaceAll("+", "\\+")), secret);
  const file = await sends(page, "State");
  assert.match(await readFile(file, "utf8"), /state-secret/);
  await reads(await sends(page, "Attachments"), async (inspector, sent) => {
    await inspector.shows("Answer");
    await sent.getByText("without state, tool calls, the rest").waitFor();
    await sent.getByText("The state was left out of this file.").waitFor();
    await sent.getByText("What was asked was left out of this file.").waitFor();
    await sent.locator(".call summary").click();
    await sent.getByText("Its arguments and its result were left out of this file.").waitFor();
    assert.equal(await sent.locator("img").count(), 1);
    assert.deepEqual(await inspector.violations(), []);
    await looksLike(sent, "a sent run");
  });
});

scenario("the dialog says what a file will have, and Escape leaves without one", async (inspector, page) => {
  await opens(page);
  await page.getByRole("slider", { name: "Event" }).press("Home");
  for (let event = 0; event < 7; event++) await inspector.press("One event on");
  await inspector.tab("Events");
  const button = page.getByRole("button", { name: "Send this run" });
  await button.click();
  const dialog = page.getByRole("dialog", { name: "Send this run" });
  await dialog.getByText("1 run, 16 events").waitFor();
  await dialog.getByText("channel").waitFor();
  await dialog.getByText("image/png, video/mp4").waitFor();
  await dialog.getByText(/kB, opens after event 7 of 16/).waitFor();
  for (const box of await dialog.getByRole("checkbox").all()) assert.equal(await box.isChecked(), false);
  assert.deepEqual(await inspector.violations(), []);
  await looksLike(page, "what is sent");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await button.evaluate((element) => element === document.activeElement), true);
  await reads(await sends(page), async (there, sent) => {
    await there.is("Running");
    await there.shows("Answer");
    assert.equal(await there.slider.inputValue(), "7");
    assert.equal(await sent.getByRole("tab", { name: "Events" }).getAttribute("aria-selected"), "true");
    await sent.setViewportSize({ width: 320, height: 700 });
    await sent.getByRole("button", { name: "Inspect", exact: true }).click();
    await sent.locator(".event").first().waitFor();
    assert.deepEqual(await there.violations(), []);
  });
});

scenario("the run of a thread is sent under its name, and what has nothing cannot be chosen", async (inspector, page) => {
  await inspector.begins("planner", "talk");
  await inspector.shows("One two three four five six seven eight.");
  await inspector.is("Idle");
  await page.locator(".thread-title h2").getByText("talk").waitFor();
  await page.getByRole("button", { name: "Send this run" }).click();
  assert.equal(await page.getByRole("checkbox", { name: /^Attachments/ }).isDisabled(), true);
  await page.keyboard.press("Escape");
  await reads(await sends(page), async (there, sent) => {
    await there.shows("One two three four five six seven eight.");
    await there.is("Idle");
    assert.match(await sent.locator(".thread-title").innerText(), /^talk\n+planner · /);
    assert.equal(await sent.getByRole("textbox").count(), 0);
    assert.equal(await sent.title(), "talk · A run");
  });
});
