// The inspector of a server that wants to know its users, and has no token.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { InspectorStage } from "./inspector_stage.mjs";

let stage;
before(async () => (stage = await InspectorStage.set("tests.browser.inspector_server", "secret")));
after(() => stage?.strike());

test("without credentials the page asks for them, with others it asks again, and with the right ones it works", (t) =>
  stage.visit(t, { address: stage.url, expected: [/401/, /403/] }, async (inspector, page) => {
    const field = page.getByLabel("Authorization header");
    await field.fill("Bearer wrong");
    await inspector.press("Sign in");
    await page.getByText("The server does not know you.").waitFor();
    assert.deepEqual(await inspector.violations(), []);
    await field.fill("Bearer secret");
    await inspector.press("Sign in");
    await page.getByText("this app has none").waitFor();
    assert.deepEqual(await inspector.violations(), []);
    await inspector.begins("day", "Plan me a day.");
    await inspector.shows("custard tarts");
    await page.reload();
    await inspector.shows("custard tarts");
  }));
