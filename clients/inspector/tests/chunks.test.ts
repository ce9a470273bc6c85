// A text that is read in chunks is the text that is read whole.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";

import { chunksOf } from "../src/content/chunks.ts";

const TEXTS = [
  "One.\n\nTwo.\n\n# Three\n\nfour\nfive",
  "A list:\n\n- one\n\n- two\n\n  more of two\n\nAfter it.",
  "1. one\n\n2. two\n\ntext\n\n3. three",
  "Code:\n\n```python\na = 1\n\nb = 2\n```\n\nAfter.\n\n~~~\n```\n\nnot out\n~~~\n\nOut.",
  "> quoted\n\n> more\n\ntext\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n\n---\n\nlast",
  "    indented\n\n    more\n\ntext\n\n<div>\n\nhtml\n\n</div>\n\nend",
  "unfinished\n\n```\ncode\n\nmore",
  "",
  "\n\n",
];

/** The blocks of a text, without their places. */
function blocks(text: string): unknown[] {
  const root = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
  return JSON.parse(JSON.stringify(root.children, (key, value) => (key === "position" ? undefined : value)));
}

test("the chunks of a text have its blocks, also while it grows", () => {
  for (const whole of TEXTS) {
    for (let end = 0; end <= whole.length; end += 1) {
      const text = whole.slice(0, end);
      const chunks = chunksOf(text);
      assert.equal(chunks.join(""), text);
      assert.deepEqual(chunks.flatMap(blocks), blocks(text), JSON.stringify(text));
    }
  }
  assert.equal(chunksOf(TEXTS[0]!).length, 4);
});
