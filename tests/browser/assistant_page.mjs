// A page of assistant-ui's components, in the words of the tests.

import { until } from "./harness.mjs";

export async function say(page, text) {
  await page.getByLabel("message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Returns when the page shows these messages, and no other. */
export async function reads(page, ...messages) {
  const texts = () => page.locator("[data-message-id]").allInnerTexts();
  const lines = async () => (await texts()).map((line) => line.replace("●", "").replace(/\s+/g, " ").trim()).filter(Boolean);
  await until(async () => JSON.stringify(await lines()) === JSON.stringify(messages), async () => {
    return `expected ${JSON.stringify(messages)}, got ${JSON.stringify(await lines())}`;
  });
}
