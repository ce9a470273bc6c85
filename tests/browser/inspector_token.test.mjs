// The token of the server in the inspector: where the page takes it from, where it keeps it, and what it says without it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { TOKEN } from "./harness.mjs";
import { InspectorStage, withToken } from "./inspector_stage.mjs";

const NO_THREADS = "No threads yet";
const ASKS = "The list of threads needs the server's token.";

let stage;
before(async () => (stage = await InspectorStage.set()));
after(() => stage?.strike());

/** The addresses that are requested, and the values that the page keeps. */
function watched(page) {
  const addresses = [];
  page.context().on("request", (request) => addresses.push(request.url()));
  const kept = async () => ({
    cookies: await page.context().cookies(),
    local: await page.evaluate(() => ({ ...localStorage })),
    session: await page.evaluate(() => ({ ...sessionStorage })),
  });
  return { addresses, kept };
}

test("the token of the address lists threads, also after a reload, and is nowhere but in the tab's session", (t) =>
  stage.visit(t, {}, async (inspector, page) => {
    const { addresses, kept } = watched(page);
    await page.getByText(NO_THREADS).waitFor();
    assert.equal(page.url(), stage.url);
    await page.reload();
    await page.getByText(NO_THREADS).waitFor();
    await inspector.begins("day", "Plan me a day.");
    await inspector.shows("custard tarts");
    await page.locator(`a[title="${inspector.thread}"]`).waitFor();
    assert.equal(new URL(page.url()).hash, "");
    await page.goBack();
    assert.equal(page.url(), stage.url);
    assert.deepEqual(await kept(), { cookies: [], local: {}, session: { authorization: `Bearer ${TOKEN}` } });
    assert.ok(addresses.some((address) => address.includes("/threads?")));
    assert.deepEqual(addresses.filter((address) => /token|Bearer/i.test(address)), []);
    assert.ok(!(await page.content()).includes(TOKEN));
  }));

test("without the token the page says so, and takes it as text, as an address, or by its own address", (t) =>
  stage.visit(t, { address: stage.url, expected: [/403/] }, async (inspector, page) => {
    const field = page.getByLabel("Token", { exact: true });
    const gives = async (text) => {
      await field.fill(text);
      await inspector.press("List the threads");
    };
    await page.getByText(ASKS).waitFor();
    assert.deepEqual(await inspector.violations(), []);
    await gives("wrong");
    const refused = () => page.waitForResponse((response) => response.url().includes("/threads?") && response.status() === 403);
    await refused();
    await page.getByText(ASKS).waitFor();
    await gives(TOKEN);
    await page.getByText(NO_THREADS).waitFor();

    const other = await page.context().newPage();
    await other.goto(stage.url);
    await other.getByText(ASKS).waitFor(); // another tab has a session of its own
    await other.goto(withToken(stage.url)); // the same document
    await other.getByText(NO_THREADS).waitFor();
    assert.equal(other.url(), stage.url);

    const third = await page.context().newPage();
    await third.goto(withToken(stage.url, "wrong"));
    await third.getByText(ASKS).waitFor();
    await third.getByLabel("Token", { exact: true }).fill(withToken(stage.url));
    await third.getByRole("button", { name: "List the threads" }).click();
    await third.getByText(NO_THREADS).waitFor();
  }));
