// A page of messages, a question and a field, in the words of the tests: that of clients/typescript, and that of `useStream`.

import { until } from "./harness.mjs";

/** Sends a message as soon as the page takes one. */
export async function say(page, text) {
  await page.getByLabel("message").fill(text);
  await page.getByLabel("message").press("Enter");
}

/** Returns when the page shows these messages, and no other. */
export async function reads(page, ...messages) {
  const lines = async () => (await page.getByLabel("conversation").locator("li").allInnerTexts()).map((line) => line.trim());
  await until(async () => JSON.stringify(await lines()) === JSON.stringify(messages.map((each) => each.trim())), async () => {
    return `expected ${JSON.stringify(messages)}, got ${JSON.stringify(await lines())}`;
  });
}
