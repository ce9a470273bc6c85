// CopilotKit's own chat as a person sees it: what is said in it, and what one can say.

import { until } from "./harness.mjs";

export class Chat {
  constructor(page) {
    this.page = page;
    this.button = page.getByTestId("copilot-send-button");
    this.question = page.getByLabel("question");
  }

  /** The same conversation once more, loaded. */
  async inAnotherTab() {
    const page = await this.page.context().newPage();
    const loaded = page.waitForResponse((response) => response.url().endsWith("/connect"));
    await page.goto(this.page.url());
    await loaded;
    return new Chat(page);
  }

  /** Says it as soon as no run goes on: until a run has ended, which is later than its last word, the button stops it. */
  async say(text) {
    await until(() => this.button.isDisabled(), "the run does not end");
    await this.page.getByTestId("copilot-chat-textarea").fill(text);
    await this.button.click();
  }

  /** Returns when these are the agent's answers so far, and no others. */
  async answers(...expected) {
    const answers = () => this.page.getByTestId("copilot-assistant-message").allInnerTexts();
    await until(async () => {
      const said = (await answers()).map((text) => text.trim()).filter(Boolean);
      return said.length === expected.length && said.every((text, place) => text === expected[place]);
    }, async () => `expected ${JSON.stringify(expected)}, got ${JSON.stringify(await answers())}`);
  }

  /** Returns when this is the agent's last answer. */
  async endsWith(text) {
    const answers = () => this.page.getByTestId("copilot-assistant-message").allInnerTexts();
    await until(async () => (await answers()).at(-1)?.trim() === text, async () => {
      return `expected ${JSON.stringify(text)} last, got ${JSON.stringify(await answers())}`;
    });
  }
}
