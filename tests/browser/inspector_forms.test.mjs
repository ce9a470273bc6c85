// Agents that take no messages, and values that go with a message: forms from the schemas of the agent.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { InspectorStage } from "./inspector_stage.mjs";

let stage;
before(async () => (stage = await InspectorStage.set()));
after(() => stage?.strike());

/** One page for one test. `more`: options of the page, such as what it may complain of. */
function scenario(name, play, more = {}) {
  test(name, (t) => stage.visit(t, more, play));
}

const NARROW = { viewport: { width: 320, height: 640 } };
/** What Chromium says of a request that is refused. */
const REFUSED = [/422/];

async function opens(page, agent) {
  await page.getByLabel("Agent", { exact: true }).selectOption(agent);
  await page.getByRole("button", { name: "New thread" }).click();
  await page.getByRole("form", { name: "Input" }).waitFor();
}

const field = (page, label) => page.getByRole("form", { name: "Input" }).getByLabel(label, { exact: false });

scenario("a graph without messages is run from a form, by keyboard, and shows its state; what was entered stays", async (inspector, page) => {
  await opens(page, "joke");
  assert.equal(await page.evaluate(() => document.activeElement.labels[0].textContent), "Topic (optional)");
  await page.keyboard.type("cats");
  await page.reload();
  await page.getByRole("form", { name: "Input" }).waitFor();
  assert.equal(await field(page, "Topic").inputValue(), "cats");
  await field(page, "Tone").selectOption("dry");
  await field(page, "Topic").focus();
  await page.keyboard.press("Enter");
  const state = page.getByRole("region", { name: "State" });
  await state.getByText("A dry joke about cats. Boom.").waitFor();
  await inspector.is("Idle");
  await field(page, "Topic").fill("dogs");
  await inspector.press("Run");
  await state.getByText("A dry joke about dogs. Boom.").waitFor();
  await inspector.is("Idle");
  await inspector.press("Run"); // the same input is run again
  await page.getByText(/^\d+ \/ \d+$/).waitFor();
  await inspector.is("Idle");
  assert.deepEqual(await inspector.violations(), []);
});

/** Fills in the whole form of the trip by keyboard alone. */
scenario("groups, lists and alternatives are filled in by keyboard; what is wrong has the focus and is named", async (inspector, page) => {
  await opens(page, "trip");
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  /** Goes on to what has this name. */
  const goTo = async (name, key = "Tab") => {
    for (let left = 40; left > 0; left -= 1) {
      const now = await page.evaluate(() => (document.activeElement.labels?.[0] ?? document.activeElement).textContent);
      if (now.startsWith(name)) return;
      await page.keyboard.press(key);
    }
    throw new Error(`nothing is called ${name}`);
  };
  await press("Enter"); // nothing is filled in
  const town = field(page, "Town");
  await page.waitForFunction(() => document.activeElement.getAttribute("aria-invalid") === "true");
  assert.equal(await town.getAttribute("aria-required"), "true");
  const named = (await town.getAttribute("aria-describedby")).split(" ");
  assert.deepEqual(await page.evaluate((ids) => ids.map((id) => document.getElementById(id).textContent), named), ["Where the trip goes.", "This is needed."]);
  await page.keyboard.type("Oslo");
  await goTo("Name");
  await page.keyboard.type("Ada");
  await goTo("Age");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("130");
  await page.getByText("The most is 120.").waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("36");
  await goTo("Add to Others");
  await press("Enter");
  await page.waitForFunction(() => document.activeElement.matches("textarea"));
  await page.keyboard.type("Bo");
  await goTo("Add to Tags");
  await press("Enter");
  await page.waitForFunction(() => document.activeElement.matches("textarea"));
  await page.keyboard.type("sea");
  await goTo("Add Night");
  await press("Enter");
  await page.waitForFunction(() => document.activeElement.matches("select"));
  await page.keyboard.type("Tent");
  await goTo("Place");
  await page.keyboard.type("the river");
  await goTo("Options");
  await page.keyboard.type('{"breakfast": 2}');
  await goTo("Run");
  await press("Enter");
  const state = page.getByRole("region", { name: "State" });
  await state.getByText("Ada, Bo to Oslo, Tent, None, ['sea'], {'breakfast': 2}").waitFor();
  assert.deepEqual(await inspector.violations(), []);
});

scenario(
  "what the server refuses stands at its field, until that is changed",
  async (inspector, page) => {
    await opens(page, "trip");
    await field(page, "Town").fill("Atlantis");
    await field(page, "Name").fill("Ada");
    await field(page, "Day").fill("2026-05-17");
    await inspector.press("Run");
    const wrong = page.getByText("The server expected another value.");
    await wrong.waitFor();
    await page.waitForFunction(() => document.activeElement.value === "Atlantis");
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.deepEqual(await inspector.violations(), []);
    await field(page, "Town").fill("Oslo");
    await wrong.waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "State" }).getByText(/Ada to Oslo, Hotel, 2026-05-17/).waitFor();
  },
  { expected: REFUSED },
);

scenario("context goes with a message; drafts of messages stay after a reload", async (inspector, page) => {
  await page.getByLabel("Agent", { exact: true }).selectOption("toned");
  await page.getByRole("button", { name: "New thread" }).click();
  await page.locator("summary", { hasText: "Context" }).click();
  await page.getByLabel("Tone").selectOption("dry");
  await page.getByLabel("Words").fill("many");
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("Say it.");
  await message.press("Enter");
  await page.waitForFunction(() => document.activeElement.value === "many");
  await page.getByLabel("Words").fill("5");
  await page.reload();
  await page.locator("summary", { hasText: "Context" }).waitFor();
  assert.equal(await message.inputValue(), "Say it.");
  await message.press("Enter");
  await inspector.shows("dry, in 5 words");
  assert.equal(await message.inputValue(), "");
});

scenario(
  "a form fits into a narrow window",
  async (inspector, page) => {
    await opens(page, "trip");
    await page.getByRole("button", { name: "Add to Others" }).click();
    await page.getByRole("button", { name: "Add Night" }).click();
    const wide = await page.evaluate(() => [...document.querySelectorAll(".input-form *")].filter((each) => each.getBoundingClientRect().right > innerWidth).length);
    assert.equal(wide, 0);
    await page.getByRole("button", { name: "Run", exact: true }).click({ trial: true }); // it stays in sight
    assert.deepEqual(await inspector.violations(), []);
  },
  NARROW,
);
