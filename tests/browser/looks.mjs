// Whether a page looks as its baseline does, on any machine: both pictures are made an eighth as large, so that fonts and
// edges do not matter, and layout, colours and what is missing do. No test is here.
//
// The pictures are Chromium's: another browser draws controls of its own, and Firefox's looks are not compared.
//
// UPDATE_LOOKS=1 writes the baselines anew: look at them before they are kept.

import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { IN_FIREFOX } from "./browsers.mjs";

const BASELINES = join(import.meta.dirname, "looks");
const SMALLER = 8;
/** How far a colour may be off in a cell, of 255; and how many of 1,000 cells may be off. */
const FAR = 24;
const MANY = 15;

/** Compares the page with its baseline; throws if it looks different. `mask`: what differs each time. */
export async function looksLike(page, name, mask = []) {
  if (IN_FIREFOX) return;
  await page.mouse.move(1, 1);
  const picture = await page.screenshot({ mask, maskColor: "#888888", animations: "disabled", caret: "hide", scale: "css" });
  const path = join(BASELINES, `${name.replace(/\W+/g, "-")}.png`);
  if (process.env.UPDATE_LOOKS) {
    await mkdir(BASELINES, { recursive: true });
    await writeFile(path, picture);
    return;
  }
  await access(path);
  const off = await cellsOff(page.context(), picture, await readFile(path));
  if (off > MANY) throw new Error(`${name} does not look as in ${path}: ${off.toFixed(0)} of 1,000 cells are off`);
}

async function cellsOff(context, ...pictures) {
  const blank = await context.newPage();
  try {
    const urls = pictures.map((picture) => `data:image/png;base64,${picture.toString("base64")}`);
    return await blank.evaluate(async ([one, other, smaller, far]) => {
      const cells = async (url) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = new OffscreenCanvas(Math.floor(image.width / smaller), Math.floor(image.height / smaller));
        const context = canvas.getContext("2d");
        context.imageSmoothingQuality = "high";
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        return context.getImageData(0, 0, canvas.width, canvas.height).data;
      };
      const [first, second] = [await cells(one), await cells(other)];
      if (first.length !== second.length) return 1000;
      let off = 0;
      for (let at = 0; at < first.length; at += 4) {
        if ([0, 1, 2].some((channel) => Math.abs(first[at + channel] - second[at + channel]) > far)) off += 1;
      }
      return (off / (first.length / 4)) * 1000;
    }, [...urls, SMALLER, FAR]);
  } finally {
    await blank.close();
  }
}
