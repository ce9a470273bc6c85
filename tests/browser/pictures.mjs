// Pictures of several pages, or of one in several states, as `docs/images` have them: `make pictures`.

import { join } from "node:path";

import { ARTEFACTS } from "./harness.mjs";

/** For pages that have none of their own. */
const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: #f6f7f9; color: #1c2430; }
  main { padding: 20px; }
  ol { list-style: none; margin: 0 0 16px; padding: 0; display: grid; gap: 8px; }
  li, p { background: #fff; border: 1px solid #dde2ea; border-radius: 10px; padding: 8px 12px; margin: 0; }
  input { font: inherit; width: 100%; box-sizing: border-box; padding: 8px 12px; border: 1px solid #c6cedb; border-radius: 10px; margin-bottom: 12px; }
  button { font: inherit; padding: 4px 12px; }
`;
const FRAME = `
  .frame { font: 15px/1.5 system-ui, sans-serif; color: #1c2430; width: fit-content; display: flex; gap: 0 16px; padding: 0 16px 16px; background: #fff; }
  figure { margin: 0; } figcaption { padding: 10px 0; font-weight: 600; } img { display: block; border: 1px solid #dde2ea; }`;

/** A picture of a page for `compose`. `size`: of the window; `clip`: the part of it; `plain`: whether the page needs a style. */
export async function shot(page, { size, clip, plain = false } = {}) {
  const before = page.viewportSize();
  if (size) await page.setViewportSize(size);
  const style = plain && (await page.addStyleTag({ content: STYLE }));
  const image = await page.screenshot({ animations: "disabled", caret: "hide", ...(clip && { clip }) });
  if (style) await style.evaluate((tag) => tag.remove());
  if (size) await page.setViewportSize(before);
  return image;
}

/** Keeps pictures as one, each under its caption: next to each other, or `below` each other. */
export async function compose(context, name, images, { below = false } = {}) {
  const figures = Object.entries(images).map(
    ([caption, image]) => `<figure><figcaption>${caption}</figcaption><img src="data:image/png;base64,${image.toString("base64")}"></figure>`,
  );
  const frame = await context.newPage();
  await frame.setContent(`<style>${FRAME}</style><div class="frame" style="flex-direction: ${below ? "column" : "row"}">${figures.join("")}</div>`);
  await frame.locator(".frame").screenshot({ path: join(ARTEFACTS, `${name}.png`) });
  await frame.close();
}
