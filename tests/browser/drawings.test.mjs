// The drawings of the documentation, drawn by the Mermaid that the site has, with nothing from another host. A drawing
// that is wider than a page's text is displayed smaller than that.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { chromium } from "playwright-core";

const DOCS = join(import.meta.dirname, "../../docs");
const MERMAID = join(DOCS, "node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js");
const WIDTH = 950; // of the text on the site: 690

test("each drawing of the documentation is drawn, and can be read", async (t) => {
  const pages = (await readdir(DOCS, { recursive: true })).filter((name) => /^(?!node_modules).*\.md$/.test(name));
  const drawings = [];
  for (const name of pages) {
    const text = await readFile(join(DOCS, name), "utf8");
    for (const [, source] of text.matchAll(/^```mermaid\n(.*?)^```$/gms)) drawings.push([name, source]);
  }
  assert.ok(drawings.length > 0);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  t.after(() => browser.close());
  const page = await browser.newPage();
  await page.addScriptTag({ path: MERMAID });
  for (const [at, [name, source]] of drawings.entries()) {
    const svg = await page.evaluate(async ([id, text]) => {
      mermaid.initialize({ startOnLoad: false });
      return (await mermaid.render(id, text)).svg;
    }, [`drawing${at}`, source]);
    const width = Number(/viewBox="\S+ \S+ (\S+)/.exec(svg)[1]);
    assert.ok(width > 100 && width < WIDTH, `${name}: drawing ${at} is ${width} wide`);
  }
});
