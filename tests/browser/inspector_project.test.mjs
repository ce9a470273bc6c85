// Who has a project with a `langgraph.json` starts one command, and opens the page that it prints.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { until } from "./harness.mjs";
import { InspectorStage } from "./inspector_stage.mjs";

const SEARCH = "I look for a table by the window, and not too near to the kitchen. ".repeat(8).trim();

let stage;
before(async () => {
  stage = await InspectorStage.set("tests.browser.inspector_project");
  const printed = () => stage.printed().match(/Open (\S+#token=[\w-]{20,}) in a browser/)?.[1];
  await until(printed, () => `the command has printed no page with a token:\n${stage.printed()}`);
  stage.page = printed();
});
after(() => stage?.strike());

test("an agent is talked to, its approval answered, its past shown, and a lost connection costs no word", (t) =>
  stage.visit(t, {}, async (inspector, page) => {
    const asks = async (text) => {
      await page.keyboard.type(`${text}\n`);
      await inspector.shows("I look for a table");
    };
    await page.getByText("No threads yet").waitFor();
    await page.locator(".agent-name").getByText("waiter", { exact: true }).waitFor();
    await inspector.press("New thread");
    await page.locator("textarea:focus").waitFor();
    await asks("A table, please.");
    await inspector.press("Drop the connection");
    await page.getByText("Connection lost").waitFor();
    await page.getByText(/Live again, \d+ events? caught up/).waitFor();
    await inspector.is("Waiting");
    assert.equal((await page.locator(".message.assistant").innerText()).trim(), SEARCH);
    await page.getByText("Shall I book it?").waitFor();
    await inspector.press("Yes");
    await inspector.shows("It is booked.");
    await inspector.is("Idle");
    await page.getByRole("group", { name: "State" }).getByText("a table for two").waitFor();

    const { x, y, width, height } = await inspector.slider.boundingBox();
    await page.mouse.move(x + width - 8, y + height / 2);
    await page.mouse.down();
    for (let part = 9; part >= 3; part -= 1) await page.mouse.move(x + (width * part) / 10, y + height / 2);
    await page.mouse.up();
    await page.getByText(/As it was after event/).waitFor();
    assert.equal(await inspector.log.getByText("It is booked.").count(), 0);
    await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
    await page.reload();
    await page.getByText(/As it was after event/).waitFor();
    assert.equal(await inspector.log.getByText("It is booked.").count(), 0);
    await inspector.press("Back to live");
    await inspector.shows("It is booked.");
    await page.waitForFunction(() => !new URLSearchParams(location.search).has("at"));

    const other = await page.context().newPage();
    await other.goto(`${page.url()}${new URL(stage.page).hash}`);
    await other.getByText("It is booked.", { exact: true }).waitFor();
    await other.getByRole("textbox", { name: "Message" }).fill("Another one.");
    await other.keyboard.press("Enter");
    await inspector.shows("Another one.");
    await inspector.is("Waiting");
    await inspector.press("No");
    await other.getByText("I do not book it.", { exact: true }).waitFor();
  }));
