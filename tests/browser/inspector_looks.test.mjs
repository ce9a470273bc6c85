// How the inspector looks in each state, light, dark and narrow: compared with pictures that somebody has looked at.

import { after, before, test } from "node:test";

import { InspectorStage } from "./inspector_stage.mjs";
import { looksLike } from "./looks.mjs";

let stage;
before(async () => (stage = await InspectorStage.set()));
after(() => stage?.strike());

/** What differs each time: ids, how long a run took, and the threads that other looks have made. */
const ID = ".thread-title p";
const TIMES = [".player output", ".timeline-head", ".facts", ".waterfall"];
const OTHERS = ".threads";

const look = (name, play, { hidden = [ID, ...TIMES, OTHERS], ...options } = {}) =>
  test(name, (t) =>
    stage.visit(t, options, async (inspector, page) => {
      await play(inspector, page);
      await looksLike(page, name, hidden.map((selector) => page.locator(selector)));
    }),
  );

/** A recording of a run with progress, a plan, media and a table; its times are fixed. */
const RECORDED = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "MESSAGES_SNAPSHOT", messages: [{ id: "u", role: "user", content: "Check the pages." }] },
  { type: "STATE_SNAPSHOT", snapshot: { pages: { checked: 1, of: 3 }, notes: [] } },
  { type: "STEP_STARTED", stepName: "agent" },
  { type: "REASONING_START", messageId: "q" },
  { type: "REASONING_MESSAGE_START", messageId: "q", role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "q", delta: "Three pages, one after the other." },
  { type: "REASONING_MESSAGE_END", messageId: "q" },
  { type: "REASONING_END", messageId: "q" },
  { type: "TEXT_MESSAGE_START", messageId: "a" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "I **check** them:\n\n| page | state |\n|---|---|\n| one | `ok` |\n\n```python\nprint('ok')\n```" },
  { type: "TEXT_MESSAGE_END", messageId: "a" },
  { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "check", parentMessageId: "a" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"pages": 3}' },
  { type: "TOOL_CALL_END", toolCallId: "c" },
  { type: "ACTIVITY_SNAPSHOT", messageId: "c-progress", activityType: "tool_progress", content: { toolCallId: "c", toolName: "check", status: "running", progress: { page: 2, of: 3 } } },
  { type: "ACTIVITY_SNAPSHOT", messageId: "plan-todos", activityType: "plan", content: { todos: [{ content: "Page one", status: "completed" }, { content: "Page two", status: "in_progress" }, { content: "Page three", status: "pending" }] } },
  { type: "STATE_DELTA", delta: [{ op: "replace", path: "/pages/checked", value: 2 }] },
];

async function opens(page, events) {
  const lines = events.map((event, place) => JSON.stringify({ ...event, timestamp: 1_800_000_000_000 + place * 40 }));
  await page.locator("input[type=file]").setInputFiles({ name: "checked.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(lines.join("\n")) });
}

look("nothing is open", (_, page) => page.getByText("No threads yet").waitFor(), { hidden: [] });

look("a new thread", async (inspector, page) => {
  await inspector.press("New thread");
  await page.getByText("Write the first message").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
});

for (const colorScheme of ["light", "dark"]) {
  look(`a run in the middle, ${colorScheme}`, async (inspector, page) => {
    await opens(page, RECORDED);
    await inspector.shows("Page three");
    await page.locator(".call", { hasText: "check" }).click();
  }, { colorScheme, hidden: [OTHERS] });

  look(`a recording in time, ${colorScheme}`, async (_, page) => {
    await opens(page, RECORDED);
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.locator(".bar").first().waitFor();
  }, { colorScheme, hidden: [OTHERS] });

  look(`events, ${colorScheme}`, async (inspector, page) => {
    await opens(page, RECORDED);
    await inspector.tab("Events");
    await page.locator(".event", { hasText: "STATE_DELTA" }).click();
  }, { colorScheme, hidden: [OTHERS] });

  look(`an approval, ${colorScheme}`, async (inspector) => {
    await inspector.begins("approval", "go");
    await inspector.is("Waiting");
  }, { colorScheme });
}

look("a form, and its thread in the list", async (inspector, page) => {
  await inspector.begins("form", "go");
  await page.getByText("Who travels?").waitFor();
  await page.locator(".threads").getByText("waiting").waitFor();
}, { hidden: [ID, ...TIMES] });

look("a failed run, and the connection lost", async (inspector, page) => {
  await inspector.begins("planner", "fail");
  await inspector.is("Failed");
  await inspector.press("Drop the connection");
  await page.getByText("Connection lost").waitFor();
});

look("subagents in time", async (inspector) => {
  await inspector.begins("team", "birds and fish?");
  await inspector.shows("The team is done.");
  await inspector.is("Idle");
  await inspector.tab("Timeline");
});

look("a message of markup", async (inspector) => {
  await inspector.begins("hostile", "hi");
  await inspector.shows("<form action");
  await inspector.is("Idle");
});

look("a narrow window", async (inspector, page) => {
  await opens(page, RECORDED);
  await inspector.shows("Page three");
}, { viewport: { width: 390, height: 760 }, hidden: [OTHERS] });

look("a narrow window, threads", async (_, page) => {
  await page.getByText("No threads yet").or(page.locator(".thread-link").first()).waitFor();
}, { viewport: { width: 390, height: 760 } });
