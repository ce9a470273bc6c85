// The headless page as a person sees it: what it shows, and what one can do with it.

import assert from "node:assert/strict";

import { until } from "./harness.mjs";

export class ChatPage {
  constructor(page) {
    this.page = page;
    this.question = page.getByLabel("question");
  }

  async say(text) {
    await this.page.getByLabel("message").fill(text);
    await this.page.getByRole("button", { name: "Send" }).click();
  }

  press(name) {
    return this.page.getByRole("button", { name }).click();
  }

  /** The conversation, one line for a message. */
  async lines() {
    return this.page.getByLabel("conversation").locator("li").allInnerTexts();
  }

  /** Returns when the last message is this text, as far as it was said. */
  async shows(text) {
    await until(async () => (await this.lines()).at(-1)?.trim() === text, async () => {
      return `expected ${JSON.stringify(text)} last, got ${JSON.stringify(await this.lines())}`;
    });
  }

  async reads(...lines) {
    await until(async () => same(await this.lines(), lines), async () => {
      return `expected ${JSON.stringify(lines)}, got ${JSON.stringify(await this.lines())}`;
    });
  }

  /** `connecting`, `running`, `idle` or `lost`. */
  async is(status) {
    const shown = this.page.getByLabel("run");
    await until(async () => (await shown.innerText()) === status, async () => {
      return `expected ${status}, got ${await shown.innerText()}`;
    });
  }

  /** What CopilotKit's own chat would show in a toast. */
  errors() {
    return this.page.getByRole("alert").allInnerTexts();
  }

  /** The same conversation once more. */
  async inAnotherTab() {
    const page = await this.page.context().newPage();
    await page.goto(this.page.url());
    return new ChatPage(page);
  }

  /** The same conversation in another browser. */
  async elsewhere(stage) {
    const context = await stage.browser.newContext();
    this.page.once("close", () => context.close());
    const page = await context.newPage();
    await page.goto(this.page.url());
    return new ChatPage(page);
  }

  /** The chat takes a message, and the agent answers it to the end. */
  async isUsable() {
    await this.is("idle");
    const before = (await this.lines()).length;
    await this.say("talk");
    await until(async () => (await this.lines()).length > before, "the message does not show");
    await this.shows("One two three four five six seven eight.");
    await this.is("idle");
    assert.equal((await this.lines()).at(-2), "talk");
  }
}

function same(lines, expected) {
  return lines.length === expected.length && lines.every((line, place) => line.trim().replace(/\s+/g, " ") === expected[place]);
}
