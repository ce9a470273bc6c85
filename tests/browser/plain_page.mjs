// A page of messages, a question and a field, in the words of the tests: that of clients/typescript, and that of `useStream`.

import { join } from "node:path";

import { ARTEFACTS, until } from "./harness.mjs";

/** The pages have no style of their own: for pictures. */
const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: #f6f7f9; color: #1c2430; }
  main { padding: 20px; }
  ol { list-style: none; margin: 0 0 16px; padding: 0; display: grid; gap: 8px; }
  li, p { background: #fff; border: 1px solid #dde2ea; border-radius: 10px; padding: 8px 12px; margin: 0; }
  input { font: inherit; width: 100%; box-sizing: border-box; padding: 8px 12px; border: 1px solid #c6cedb; border-radius: 10px; margin-bottom: 12px; }
  button { font: inherit; padding: 4px 12px; }
  figure { margin: 0; } figcaption { padding: 12px 20px; font-weight: 600; } img { display: block; border: 1px solid #dde2ea; }
  .pages { display: flex; gap: 16px; padding: 0 16px 16px; background: #fff; }`;

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

/** A picture of pages next to each other, as `docs/images` have it: `make pictures`. `pages`: each under its caption. */
export async function sideBySide(name, pages) {
  const figures = [];
  for (const [caption, page] of Object.entries(pages)) {
    const before = page.viewportSize();
    await page.setViewportSize({ width: 480, height: 450 });
    const style = await page.addStyleTag({ content: STYLE });
    const image = await page.screenshot({ animations: "disabled", caret: "hide" });
    await style.evaluate((tag) => tag.remove());
    await page.setViewportSize(before);
    figures.push(`<figure><figcaption>${caption}</figcaption><img src="data:image/png;base64,${image.toString("base64")}"></figure>`);
  }
  const frame = await Object.values(pages)[0].context().newPage();
  await frame.setContent(`<style>${STYLE}</style><div class="pages" style="width: fit-content">${figures.join("")}</div>`);
  await frame.locator(".pages").screenshot({ path: join(ARTEFACTS, `${name}.png`) });
  await frame.close();
}
