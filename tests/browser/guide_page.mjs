// The guide's page as a person sees it: what it shows, and what one can do with it.

import assert from "node:assert/strict";
import { join } from "node:path";

import { ARTEFACTS, FRAGMENT, until } from "./harness.mjs";

export class GuidePage {
  constructor(page) {
    this.page = page;
    this.question = page.getByLabel("question");
    this.plan = page.getByRole("list", { name: "plan" });
    this.threads = page.getByRole("list", { name: "threads" });
    this.messages = page.getByLabel("conversation", { exact: true });
  }

  /** Says it as soon as the page sends messages. */
  async say(text) {
    await this.is("idle");
    await this.page.getByLabel("message").fill(text);
    await this.page.keyboard.press("Enter");
  }

  press(name) {
    return this.page.getByRole("button", { name, exact: true }).click();
  }

  /** Returns when the conversation has this text. */
  shows(text) {
    return this.messages.getByText(text).first().waitFor();
  }

  /** Returns when the end of the conversation can be seen. */
  isAtItsEnd() {
    const below = (all) => all.scrollHeight - all.scrollTop - all.clientHeight;
    return until(
      async () => (await this.page.locator(".scroll").evaluate(below)) < 2,
      "the end of the conversation is not in the window",
    );
  }

  /** `connecting`, `running`, `waiting` or `idle`. */
  is(status) {
    return this.page.locator(`[aria-label="run"][data-status="${status}"]`).waitFor();
  }

  /** `connecting`, `live`, `lost` or `refused`. */
  connectionIs(connection) {
    return this.page
      .locator(`[aria-label="connection"][data-connection="${connection}"]`)
      .waitFor({ state: "attached" });
  }

  /** Returns when the plan has these lines. */
  async plans(...expected) {
    const lines = async () =>
      (await this.plan.getByRole("listitem").allInnerTexts()).map((each) => each.replace(/\s+/g, " ").trim());
    await until(
      async () => JSON.stringify(await lines()) === JSON.stringify(expected),
      async () => {
        return `expected ${JSON.stringify(expected)}, got ${JSON.stringify(await lines())}`;
      },
    );
  }

  /** Returns when the card of what is to do has these lines: each begins with its status. */
  async hasTodos(...expected) {
    const lines = () =>
      this.page.locator(".todo").evaluateAll((all) => all.map((each) => `${each.dataset.status} ${each.innerText}`));
    await until(
      async () => JSON.stringify(await lines()) === JSON.stringify(expected),
      async () => `expected ${JSON.stringify(expected)}, got ${JSON.stringify(await lines())}`,
    );
  }

  /** The same conversation once more. */
  async inAnotherTab() {
    const page = await this.page.context().newPage();
    await page.goto(`${this.page.url()}${FRAGMENT}`);
    const other = new GuidePage(page);
    await other.connectionIs("live");
    return other;
  }

  /** Keeps what the page looks like now, as `docs/images` have it: `make pictures`. Nothing reaches over the window. */
  async picture(name) {
    const overflow = await this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than its window`);
    await this.page.screenshot({ path: join(ARTEFACTS, `guide-${name}.png`), animations: "disabled", caret: "hide" });
  }
}
