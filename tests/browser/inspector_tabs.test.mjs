// The connections of a browser with many tabs of the inspector: tabs that are behind others, and pages that were left. The
// browser allows six connections to a server; nothing here would load without them.
//
// Playwright keeps every tab in the foreground, so the tests say which one is seen. The cache for the Back button is real. In
// Chromium it has pages that end their streams when they are left. Firefox drops every page that has a request when it is
// left, and loads it again.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { IN_FIREFOX } from "./browsers.mjs";
import { Inspector, InspectorStage, withToken } from "./inspector_stage.mjs";

const WHOLE = "One two three four five six seven eight.";

let stage;
before(async () => (stage = await InspectorStage.set("tests.browser.inspector_server", { ignoreDefaultArgs: ["--disable-back-forward-cache"] })));
after(() => stage?.strike());

const isKept = (page) => page.evaluate(() => window.isKept === true);

const scenario = (name, play, options = {}) => test(name, (t) => stage.visit(t, options, play));

/** Brings a tab to the front, or behind another one. */
const isSeen = (page, seen) =>
  page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
  }, seen ? "visible" : "hidden");

/** Goes back to a page that the browser has kept, which is not loaded again. */
const back = (page) => page.evaluate(() => history.back()).catch(() => {}); // the document may be gone before it answers

scenario("seven tabs on six threads: the one that is looked at is live, and a hidden one catches up", async (inspector, page) => {
  const tabs = [inspector];
  stage.gates.hold("talk 3");
  await inspector.begins("planner", "talk");
  await inspector.shows("One two three");
  while (tabs.length < 7) {
    await isSeen(tabs.at(-1).page, false);
    const next = await page.context().newPage();
    const tab = new Inspector(next, stage);
    await next.goto(tabs.length < 6 ? stage.page : withToken(page.url()));
    if (tabs.length < 6) await tab.begins("planner", "talk");
    await tab.shows("One two three");
    await next.getByText("Live", { exact: true }).waitFor();
    tabs.push(tab);
  }
  stage.gates.open("talk 3");
  await tabs.at(-1).shows(WHOLE);
  for (const tab of tabs.slice(0, -1)) {
    assert.equal(await tab.log.getByText(WHOLE).count(), 0);
    await isSeen(tab.page, true);
    await tab.shows(WHOLE);
    await tab.page.getByText(/Live again, \d+ events? caught up/).waitFor();
    await tab.is("Idle");
    await isSeen(tab.page, false);
  }
  await isSeen(page, true);
  await inspector.tab("Events");
  await page.getByText(/the page was hidden for/).first().waitFor();
});

scenario("a page that was left has no stream, and catches up when the Back button shows it again", async (inspector, page) => {
  stage.gates.hold("talk 3");
  await inspector.begins("planner", "talk");
  await inspector.shows("One two three");
  await page.evaluate(() => (window.isKept = true));
  for (let left = 0; left < 7; left += 1) {
    await page.goto(`${stage.url}health?${left}`); // each entry of the history keeps its page
    await back(page);
    await inspector.shows("One two three");
    await page.getByText(/^Live/).first().waitFor();
  }
  assert.equal(await isKept(page), !IN_FIREFOX);
  await page.goto(`${stage.url}health`);
  stage.gates.open("talk 3");
  await back(page);
  await inspector.shows(WHOLE);
  await inspector.is("Idle");
  assert.equal(await isKept(page), !IN_FIREFOX);
}, { expected: [/405/] }); // the icon of a page that has none

scenario("a request that has to wait says so", async (inspector, page) => {
  const held = page.context().newPage();
  const other = await held;
  await other.goto(`${stage.url}health`);
  await inspector.begins("planner", "talk");
  await inspector.shows(WHOLE);
  const watched = `${stage.url}watch/${inspector.thread}?agent=planner`;
  await isSeen(page, false);
  await other.evaluate((url) => (window.streams = Array.from({ length: 6 }, () => fetch(url))), watched);
  await other.evaluate(() => Promise.all(window.streams).then(() => undefined));
  await isSeen(page, true);
  await page.getByText("Still connecting").waitFor();
  await inspector.says("talk");
  // Firefox has more connections for what a person has just done.
  if (!IN_FIREFOX) await page.getByText(/six connections to a server/).waitFor();
  await other.close();
  await page.getByText(/^Live/).first().waitFor();
  await inspector.is("Idle");
}, { expected: [/405/] });
