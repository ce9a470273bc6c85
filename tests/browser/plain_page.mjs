// A page of messages, a question and a field, in the words of the tests: that of clients/typescript, and that of `useStream`.

import { until } from "./harness.mjs";

/** Sends a message as soon as the page takes one. */
export async function say(page, text) {
  await page.getByLabel("message").fill(text);
  await page.getByLabel("message").press("Enter");
}

/** Returns when the page shows these messages, and no other. */
export async function reads(page, ...messages) {
  const lines = async () => (await page.getByLabel("conversation").locator("li").allInnerTexts()).map(onOneLine);
  await until(async () => JSON.stringify(await lines()) === JSON.stringify(messages.map(onOneLine)), async () => {
    return `expected ${JSON.stringify(messages)}, got ${JSON.stringify(await lines())}`;
  });
}

const onOneLine = (text) => text.replace(/\s+/g, " ").trim();
