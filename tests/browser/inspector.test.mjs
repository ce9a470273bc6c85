// The inspector in a real browser, on the runs of real graphs. Runs of the planner are held at gates.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { until } from "./harness.mjs";
import { InspectorStage } from "./inspector_stage.mjs";

const WHOLE = "One two three four five six seven eight.";

let stage;
before(async () => (stage = await InspectorStage.set()));
after(() => stage?.strike());

const scenario = (name, play, options = {}) => test(name, (t) => stage.visit(t, options, play));

scenario("a run is shown while it streams, and stopped; the list of threads follows", async (inspector, page) => {
  stage.gates.hold("talk 3");
  await inspector.begins("planner", "talk");
  await stage.gates.reached("talk 3");
  await inspector.shows("One two three");
  await inspector.is("Running");
  const listed = page.locator(".thread-link[aria-current]");
  await listed.getByText("running").waitFor();
  assert.equal(await inspector.log.getByText(WHOLE).count(), 0);
  await inspector.press("Stop");
  await inspector.is("Stopped");
  stage.gates.open("talk 3");
  await inspector.says("talk");
  await inspector.shows(WHOLE);
  await inspector.is("Idle");
  await listed.getByText("now").waitFor();
});

scenario("a thread that another client runs is shown live, and a reload shows it again", async (inspector, page) => {
  await page.getByLabel("Agent", { exact: true }).selectOption("planner");
  const thread = `other-${Date.now()}`;
  stage.gates.hold("talk 3");
  const input = { threadId: thread, runId: `run-${thread}`, messages: [{ id: `m-${thread}`, role: "user", content: "talk" }] };
  const ran = fetch(`${stage.url}planner`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(input) }).then((response) => response.text());
  await page.locator(`a[title="${thread}"]`).click();
  await inspector.shows("One two three");
  stage.gates.open("talk 3");
  await inspector.shows(WHOLE);
  await ran;
  await page.reload();
  await inspector.shows(WHOLE);
  await inspector.is("Idle");
});

scenario("a message that is sent while a run goes on has its turn, or is refused with its text kept", async (inspector, page) => {
  stage.gates.hold("talk 3");
  await inspector.begins("queued", "talk");
  await inspector.is("Running");
  await inspector.says("plan");
  await page.getByPlaceholder("Your message has its turn when this run has ended").waitFor();
  assert.deepEqual(await inspector.violations(), []);
  stage.gates.open("talk 3");
  await inspector.shows("It is in the plan.");
  await inspector.is("Idle");
  await inspector.shows(WHOLE);
  stage.gates.hold("talk 3");
  await inspector.begins("planner", "talk");
  await inspector.is("Running");
  await inspector.says("plan");
  await page.getByText("Another run is active on the thread").waitFor();
  assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "plan");
  await inspector.press("Stop");
  await inspector.is("Stopped");
}, { expected: [/409/] });

scenario("a dropped connection loses nothing, and says how much was caught up", async (inspector, page) => {
  stage.gates.hold("talk 3");
  await inspector.begins("planner", "talk");
  await stage.gates.reached("talk 3");
  await inspector.shows("One two three");
  await inspector.press("Drop the connection");
  await page.getByText("Connection lost").waitFor();
  stage.gates.open("talk 3");
  await until(async () => (await (await fetch(`${stage.url}threads/${inspector.thread}?agent=planner`)).json()).status === "idle", "the run goes on");
  assert.equal(await inspector.log.getByText(WHOLE).count(), 0);
  await page.getByRole("button", { name: /Reconnect/ }).click();
  await inspector.shows(WHOLE);
  await inspector.is("Idle");
  await page.getByText(/Live again, \d+ events? caught up/).waitFor();
  await inspector.tab("Events");
  await page.getByText(/connection lost for/).waitFor();
  assert.equal(await page.locator(".event.refused").count(), 0);
});

scenario("calls are approved as edited and rejected, and the run goes on", async (inspector, page) => {
  await inspector.begins("approval", "go");
  await inspector.is("Waiting");
  await inspector.press("Edit");
  const draft = page.getByLabel("Arguments", { exact: true });
  await draft.fill("{");
  assert.ok(await page.getByRole("button", { name: "Approve as edited" }).isDisabled());
  await draft.fill('{"a": 40, "b": 2}');
  await inspector.press("Approve as edited");
  await inspector.press("Reject");
  await page.keyboard.type("not now");
  await inspector.press("Reject");
  await inspector.is("Idle");
  await page.locator(".call", { hasText: "add" }).first().click();
  await page.locator(".call", { hasText: "add" }).first().getByText("42").waitFor();
});

scenario("a form is made from a question's schema, and its answer has the schema's types", async (inspector, page) => {
  await inspector.begins("form", "go");
  await page.getByText("Who travels?").waitFor();
  await inspector.press("Answer");
  await page.getByText("This is needed.").waitFor();
  await page.waitForFunction(() => document.activeElement.labels?.[0]?.textContent === "Your name");
  await page.getByLabel("Your name").fill("Ada");
  await page.getByLabel("seats").fill("two");
  await page.getByText("This is not a number.").waitFor();
  await page.getByLabel("seats").fill("3");
  await page.getByLabel("class").selectOption("first");
  await page.getByLabel("At the window").check();
  await inspector.press("Answer");
  await inspector.shows("Booked for {'name': 'Ada', 'seats': 3, 'class': 'first', 'window': True}.");
});

scenario("a new thread takes its first message at once, and a failed run says so", async (inspector, page) => {
  await page.getByLabel("Agent", { exact: true }).selectOption("planner");
  await inspector.press("New thread");
  await page.locator("textarea:focus").waitFor();
  await page.keyboard.type("fail\n");
  await inspector.is("Failed");
  await inspector.shows("The run failed in speak");
  await inspector.shows("Started with --debug");
  await page.getByRole("status", { name: "Run" }).getByText("The run failed in speak").waitFor();
  await inspector.tab("Events");
  const red = await page.evaluate(() => getComputedStyle(document.querySelector(".badge.failed")).color);
  assert.equal(await page.locator(".event .type").getByText("RUN_ERROR", { exact: true }).evaluate((type) => getComputedStyle(type).color), red);
  await inspector.tab("Timeline");
  await page.locator(".bar.step.failed").waitFor();
  const before = await inspector.events();
  await inspector.press("Try again");
  await until(async () => (await inspector.events()) > before, "the turn runs again");
  await inspector.is("Failed");
  assert.equal(await inspector.log.getByText("The run failed in speak").count(), 1);
});

scenario("an approval shows all of its arguments, and the focus goes on to the next, and to the message", async (inspector, page) => {
  const code = "word ".repeat(2000) + "end";
  const calls = ["one", "two"].map((name) => ({ name, args: { code, deep: { er: { still: Array.from({ length: 60 }, (_, place) => ({ place })) } } } }));
  const events = [
    { type: "RUN_STARTED", threadId: "t", runId: "r" },
    { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "interrupt", interrupts: [{ id: "q", reason: "ask", metadata: { value: { action_requests: calls } } }] } },
  ];
  await inspector.opens("approval.jsonl", events);
  const shown = await page.locator(".approval").first().innerText();
  assert.ok(shown.includes("end") && shown.includes("59"), "nothing is cut");
  assert.equal(await page.locator(".approval").first().getByRole("button", { name: /more|all/ }).count(), 0);
  await inspector.begins("approval", "go");
  await inspector.is("Waiting");
  await page.locator(".approval").first().getByLabel("Copy the arguments").click();
  await page.getByLabel("Copied").waitFor();
  assert.deepEqual(Object.keys(JSON.parse(await stage.copied(page))), ["a", "b"]);
  await inspector.press("Approve");
  await page.locator(".approval button.primary:focus").waitFor();
  await inspector.press("Approve");
  await inspector.is("Idle");
  await page.locator(".composer textarea:focus").waitFor();
});

scenario("a message is edited, and the thread forks there", async (inspector, page) => {
  await inspector.begins("planner", "talk");
  await inspector.shows(WHOLE);
  await inspector.is("Idle");
  await inspector.log.getByText("talk", { exact: true }).hover();
  await inspector.press("Edit, and fork from here");
  await page.getByLabel("Edit the message").fill("plan");
  await inspector.press("Fork here");
  await inspector.shows("It is in the plan.");
  assert.equal(await inspector.log.getByText(WHOLE).count(), 0);
});

scenario("the state lights up where it changed, and the slider shows each moment as it was", async (inspector, page) => {
  await inspector.begins("planner", "plan");
  await inspector.shows("It is in the plan.");
  await inspector.is("Idle");
  const state = page.getByRole("group", { name: "State" });
  await state.getByText("Belém Tower", { exact: true }).waitFor();
  const count = await inspector.events();
  await inspector.slider.focus();
  await page.keyboard.press("Home");
  await page.getByText("As it was after event 0").waitFor();
  assert.equal(await inspector.log.count(), 0);
  for (let place = 0; place < count && !(await state.locator(".changed, .lit").count()); place += 1) await page.keyboard.press("ArrowRight");
  await state.locator(".changed, .lit").first().waitFor();
  assert.ok(Number(await inspector.slider.inputValue()) < count);
  await inspector.press("Back to live");
  await inspector.shows("It is in the plan.");
});

scenario("all panels show the moment of the playhead, which the address names", async (inspector, page) => {
  await inspector.begins("planner", "plan");
  await inspector.shows("It is in the plan.");
  await inspector.is("Idle");
  await inspector.tab("Timeline");
  await page.getByRole("button", { name: /Step: add_stop/ }).click();
  await page.getByText(/As it was after event/).waitFor();
  const at = Number(await inspector.slider.inputValue());
  assert.ok(at > 0 && at < (await inspector.events()));
  assert.equal(await inspector.log.getByText("It is in the plan.").count(), 0);
  assert.match(await page.locator(".player output").innerText(), /\d\d:\d\d:\d\d\.\d+, \+\d/);
  assert.ok(!(await page.locator(".waterfall").evaluate((element) => element.style.getPropertyValue("--playhead"))).startsWith("-"));
  await inspector.tab("Events");
  await page.locator(`#event-${at - 1}[aria-selected=true]`).waitFor();
  await until(() => new URL(page.url()).searchParams.get("panel") === "events", "the address names the panel");
  const query = new URL(page.url()).searchParams;
  assert.ok(query.get("run") && Number(query.get("at")) === at);
  await inspector.slider.press("Shift+ArrowLeft");
  assert.equal(await inspector.slider.inputValue(), "1");
  await page.locator(".mark.run").waitFor();
  await page.reload(); // the thread is there without its past: the moment is the end of what is left of the run
  await page.locator(".event").first().waitFor();
  assert.equal(await page.getByRole("tab", { name: "Events" }).getAttribute("aria-selected"), "true");
});

scenario("the state shows what came, went and changed, since any moment", async (inspector, page) => {
  const events = [
    { type: "RUN_STARTED", threadId: "t", runId: "r" },
    { type: "STATE_SNAPSHOT", snapshot: { plan: "Go to the tower at nine.", stops: [{ id: "a", at: 9 }, { id: "b", at: 10 }], note: "gone", same: 1 } },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/plan", value: "Go to the market at nine." }] },
    { type: "STATE_DELTA", delta: [{ op: "remove", path: "/note" }, { op: "add", path: "/stops/0", value: { id: "c", at: 8 } }] },
    { type: "RUN_FINISHED", threadId: "t", runId: "r" },
  ];
  await inspector.opens("state.jsonl", events);
  const state = page.getByRole("group", { name: "State" });
  await state.locator("del").getByText("gone").waitFor();
  assert.deepEqual([await state.locator("ins").count(), await state.locator("del").count()], [1, 1]);
  await page.getByText("2 changes").waitFor();
  await page.getByLabel("Compare with").selectOption("run");
  await page.getByText("3 changes").waitFor();
  await state.locator("ins").getByText("market", { exact: true }).waitFor();
  await state.locator("del").getByText("tower", { exact: true }).waitFor();
  await page.getByLabel("Changes only").check();
  assert.equal(await state.getByText("same").count(), 0);
  await page.getByLabel("Compare with").selectOption("before");
  await inspector.press("The change before");
  await page.getByText("As it was after event 4").waitFor();
  await inspector.press("The change before");
  await page.getByText("1 change", { exact: true }).waitFor();
  assert.deepEqual(await inspector.violations(), []);
  await page.reload(); // a recording is kept in the browser
  await page.getByRole("heading", { name: "state.jsonl" }).waitFor();
  await page.getByText("As it was after event 3").waitFor();
});

scenario("a recording is dropped on the page", async (inspector, page) => {
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    const event = { type: "TEXT_MESSAGE_START", messageId: "m" };
    const lines = [{ type: "RUN_STARTED", threadId: "t", runId: "r" }, event, { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Dropped." }];
    transfer.items.add(new File([lines.map((line) => JSON.stringify(line)).join("\n")], "dropped.jsonl"));
    document.body.dispatchEvent(new DragEvent("dragover", { bubbles: true, cancelable: true, dataTransfer: transfer }));
    document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: transfer }));
  });
  await inspector.shows("Dropped.");
});

scenario("events are filtered and searched, and one of them is a moment", async (inspector, page) => {
  await inspector.begins("day", "Plan me a day.");
  await inspector.shows("custard tarts");
  await inspector.is("Idle");
  await inspector.tab("Events");
  const list = page.getByRole("listbox", { name: "Events" });
  for (const family of ["text", "run", "state", "custom"]) await page.getByRole("group", { name: "Show" }).getByText(family).click();
  await page.getByLabel("Search events").fill("tile museum");
  const found = list.getByRole("option");
  await until(async () => (await found.count()) > 0 && (await found.count()) < 5, "few events are left");
  await list.focus();
  await page.keyboard.press("ArrowDown");
  const detail = page.getByRole("region", { name: "Event" });
  await detail.getByText(/TOOL_CALL/).first().waitFor();
  await page.getByText(/As it was after event/).waitFor();
});

scenario("a run in time: each subagent is below its call", async (inspector, page) => {
  await inspector.begins("team", "birds and fish?");
  await inspector.shows("The team is done.");
  await inspector.is("Idle");
  await inspector.tab("Timeline");
  const bars = page.locator(".bar.subagent");
  await bars.nth(1).waitFor();
  const rows = await page.locator(".water-rows .water-name").evaluateAll((all) => all.map((name) => `${/depth-(\d)/.exec(name.className)[1]} ${name.title}`));
  const [call, team] = [rows.findIndex((row) => row.endsWith(" task")), rows.findIndex((row) => row.endsWith(" researcher"))];
  assert.ok(call >= 0 && team === call + 1 && Number(rows[team][0]) === Number(rows[call][0]) + 1, rows.join(", "));
  await page.getByRole("table").getByText("60").waitFor();
  await inspector.log.getByText("researcher 2").first().waitFor();
});

scenario("nothing that a message contains is run, loaded or followed", async (inspector, page) => {
  await inspector.begins("hostile", "hi");
  await inspector.shows("<form action");
  await inspector.is("Idle");
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  const hrefs = await inspector.log.locator("a").evaluateAll((links) => links.map((link) => [link.protocol, link.rel]));
  assert.deepEqual(hrefs, [["https:", "noreferrer noopener nofollow"], ["https:", "noreferrer noopener nofollow"]]);
  assert.equal(await inspector.log.locator("img, svg:not(.icon), iframe, form, script, style, base").count(), 0);
  const blocked = await page.evaluate(() => {
    try {
      document.body.insertAdjacentHTML("beforeend", "<p>");
      return false;
    } catch {
      return true;
    }
  });
  assert.ok(blocked);
}, { expected: [/TrustedHTML/] });

scenario("events that are not what AG-UI says do not take the page with them", async (inspector, page) => {
  const begun = { type: "RUN_STARTED", threadId: "t", runId: "r" };
  const deep = (levels) => (levels ? { d: deep(levels - 1) } : "x");
  const messages = [null, 1, {}, { id: 1, role: "user" }, { id: "a", role: "assistant", toolCalls: [null] }, { id: "b", role: "user", content: [null, { type: {} }, { type: "image", source: { type: "data", value: {} } }] }];
  const activities = [{ todos: [null, { status: "constructor", content: {} }] }, 3].map((content, place) => ({ id: `p${place}`, role: "activity", activityType: "plan", content }));
  const schema = { type: "object", properties: { x: null, y: { type: 5, enum: 3 } }, required: 5 };
  const events = [
    begun,
    ...["__proto__", "constructor", "toString", "hasOwnProperty"].map((type) => ({ type })),
    '{"type":"STATE_SNAPSHOT","snapshot":{"__proto__":{"hurt":1},"constructor":{"prototype":{"hurt":2}},"a":{}}}',
    ...["/__proto__/hurt", "/constructor/prototype/hurt", "/a/__proto__"].map((path) => ({ type: "STATE_DELTA", delta: [{ op: "add", path, value: { hurt: 3 } }] })),
    { type: "MESSAGES_SNAPSHOT", messages: [...messages, ...activities] },
    { type: "MESSAGES_SNAPSHOT", messages: 5 },
    { type: "STATE_DELTA", delta: [null] },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "deep" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: JSON.stringify(deep(1500)) },
    { type: "TOOL_CALL_RESULT", toolCallId: "c", messageId: "cr", content: { a: 1 } },
    { type: "SUBAGENT_STARTED", subagentRunId: "__proto__", name: { a: 1 } },
    { type: "STATE_DELTA", delta: [{ op: "add", path: "/deep", value: deep(1500) }] },
    { type: "TEXT_MESSAGE_START", messageId: "long" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "long", delta: `${">".repeat(2000)}a\n\n${"- ".repeat(1000)}b\n\n${"[".repeat(3000)}\n\n${"word ".repeat(100_000)}` },
    { type: "TEXT_MESSAGE_START", messageId: "last" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "last", delta: "The page is there." },
    { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [null, {}, { id: {} }, { id: "q", responseSchema: 5 }, { id: "s", message: { a: 1 }, responseSchema: schema }] }, usage: 5 },
  ];
  await inspector.opens("wrong.jsonl", events);
  await inspector.shows("The page is there.");
  for (const [tab, label] of [["Events", "Events"], ["Timeline", "Timeline"], ["State", "State"]]) {
    await inspector.tab(tab);
    await page.getByLabel(label, { exact: true }).last().waitFor();
  }
  for (let place = events.length; place >= 0; place -= 1) await inspector.slider.fill(String(place));
  await page.getByText("As it was after event 0").waitFor();
  await inspector.press("To the end");
  await inspector.shows("The page is there.");
  assert.equal(await page.evaluate(() => ({}).hurt), undefined);
  await inspector.tab("Events");
  await page.getByLabel("Search events").fill("word");
  await page.locator(".event").first().waitFor();
}, { expected: [/enforce/] }); // what the real client says of them

scenario("media in messages are shown, and those of another place are links", async (inspector, page) => {
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==";
  const wav = Buffer.from([..."RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x02\0\0\0\x80\x80"].map((letter) => letter.charCodeAt(0))).toString("base64");
  const data = (type, mimeType, value) => ({ type, source: { type: "data", mimeType, value } });
  const content = [
    { type: "text", text: "What is this?" },
    data("image", "image/png", png),
    data("audio", "audio/wav", wav),
    data("document", "application/pdf", "QUJD"),
    data("image", "image/svg+xml", Buffer.from("<svg onload='window.hurt = 1'/>").toString("base64")),
    { type: "image", source: { type: "url", value: "https://beacon.example/one.png" } },
    { type: "audio", source: { type: "url", value: "javascript:window.hurt=2" } },
  ];
  const events = [
    { type: "RUN_STARTED", threadId: "t", runId: "r" },
    { type: "MESSAGES_SNAPSHOT", messages: [{ id: "u", role: "user", content }] },
    { type: "ACTIVITY_SNAPSHOT", messageId: "a", activityType: "media", content: data("image", "image/png", png) },
    { type: "RUN_FINISHED", threadId: "t", runId: "r" },
  ];
  await inspector.opens("media.jsonl", events);
  await inspector.shows("What is this?");
  await until(() => inspector.log.locator("img").evaluateAll((all) => all.length === 2 && all.every((image) => image.complete && image.naturalWidth === 1)), "both images are shown");
  await until(() => inspector.log.locator("audio").evaluate((audio) => audio.readyState > 0), "the audio is read");
  await inspector.shows("document, application/pdf, 3 bytes");
  assert.deepEqual(await inspector.log.locator("a").evaluateAll((links) => links.map(({ href }) => href)), ["https://beacon.example/one.png"]);
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  assert.deepEqual(await inspector.violations(), []);
});

scenario("a saved recording is opened without a server, and played", async (inspector, page) => {
  await inspector.begins("planner", "plan");
  await inspector.shows("It is in the plan.");
  await inspector.is("Idle");
  const count = await inspector.events();
  const { path } = await stage.saved(page, () => inspector.press("Save the events as JSONL"));
  assert.equal((await readFile(path, "utf8")).trim().split("\n").length, count);
  await page.locator("input[type=file]").setInputFiles({ name: "fault.jsonl", mimeType: "application/jsonl", buffer: await readFile(path) });
  await page.getByRole("heading", { name: "fault.jsonl" }).waitFor();
  assert.equal(await inspector.events(), count);
  assert.equal(await page.getByRole("textbox", { name: "Message" }).count(), 0);
  await page.getByLabel("Speed").selectOption("0.5");
  await inspector.press("Play");
  await page.getByText(/As it was after event/).waitFor();
  await page.getByLabel("Speed").selectOption("20");
  await page.getByText(/As it was after event/).waitFor({ state: "detached" });
  await inspector.shows("It is in the plan.");
  await page.locator("input[type=file]").setInputFiles({ name: "wrong.jsonl", mimeType: "text/plain", buffer: Buffer.from("hello") });
  await page.getByText("Line 1: expected an AG-UI event").waitFor();
});

for (const colorScheme of ["light", "dark"]) {
  scenario(`axe finds nothing wrong, ${colorScheme}`, async (inspector, page) => {
    assert.deepEqual(await inspector.violations(), []);
    await inspector.begins("day", "Plan me a day.");
    await inspector.shows("custard tarts");
    await inspector.is("Idle");
    await page.locator(".call").first().click();
    for (const name of ["State", "Events", "Timeline"]) {
      await inspector.tab(name);
      if (name === "Events") await page.locator(".event").first().click();
      assert.deepEqual(await inspector.violations(), [], name);
    }
    await inspector.begins("approval", "go");
    await inspector.is("Waiting");
    assert.deepEqual(await inspector.violations(), []);
    await inspector.begins("planner", "fail");
    await inspector.is("Failed");
    await inspector.press("Drop the connection");
    await page.getByText("Connection lost").waitFor();
    assert.deepEqual(await inspector.violations(), []);
  }, { colorScheme });
}

scenario("in a narrow window one part is shown at a time, and nothing overflows", async (inspector, page) => {
  await inspector.begins("day", "Plan me a day.");
  await inspector.shows("custard tarts");
  await inspector.is("Idle");
  const bar = page.getByRole("navigation", { name: "Parts of the page" });
  for (const part of ["Conversation", "Inspect", "Threads"]) {
    await bar.getByRole("button", { name: part }).click();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, part);
    assert.deepEqual(await inspector.violations(), [], part);
  }
}, { viewport: { width: 360, height: 700 } });

scenario("of 10,000 events and 2,000 messages the rows in sight alone are elements", async (inspector, page) => {
  const messages = Array.from({ length: 2000 }, (_, place) => ({ id: `m${place}`, role: place % 2 ? "assistant" : "user", content: `Message **${place}**` }));
  const words = Array.from({ length: 10_000 }, (_, place) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m1999", delta: place % 50 ? ` word${place}` : "\n\nAnd " }));
  const events = [
    { type: "RUN_STARTED", threadId: "t", runId: "r" },
    { type: "MESSAGES_SNAPSHOT", messages },
    { type: "TEXT_MESSAGE_START", messageId: "m1999" },
    ...words,
    { type: "TEXT_MESSAGE_END", messageId: "m1999" },
    { type: "RUN_FINISHED", threadId: "t", runId: "r" },
  ];
  await inspector.opens("big.jsonl", events);
  await inspector.shows("word9999");
  await inspector.tab("Events");
  await page.locator(".event").last().waitFor();
  assert.ok((await page.locator(".event").count()) < 100);
  assert.ok((await page.locator(".message").count()) < 60);
  const list = page.getByRole("listbox", { name: "Events" });
  await list.focus();
  await page.keyboard.press("Home");
  await list.getByText("MESSAGES_SNAPSHOT").waitFor();
  await page.getByText("As it was after event 1").waitFor();
  await inspector.press("To the end");
  await inspector.log.evaluate((element) => (element.scrollTop = 0));
  await inspector.log.getByText("Message 0", { exact: true }).waitFor();
  await inspector.slider.fill("5000");
  await page.getByText("As it was after event 5000").waitFor();
  assert.ok((await page.locator(".message").count()) < 60);
});
