// Builds the inspector: `node build.mjs [FOLDER]`, by default into the Python package that serves it. The same source
// gives the same bytes: a test compares them with what is shipped.

import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

import { build } from "esbuild";

const HERE = import.meta.dirname;
const FOLDER = resolve(process.argv[2] ?? join(HERE, "../../connect/serve/inspector/built"));

/** What the client has and this page never uses: messages of validation in 50 languages, and the binary transport. */
const LEAVE_OUT = {
  name: "leave-out",
  setup(build) {
    build.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: 'export { default as en } from "./en.js";', resolveDir: join(HERE, "node_modules/zod/v4/locales") }));
    build.onResolve({ filter: /^@ag-ui\/proto$/ }, () => ({ path: "proto", namespace: "left-out" }));
    build.onLoad({ filter: /.*/, namespace: "left-out" }, () => ({ contents: 'export const AGUI_MEDIA_TYPE = "application/vnd.ag-ui.event+proto"; export const decode = null, encode = null;' }));
  },
};

/** What decodes `&amp;` without `innerHTML`, which the pages' policy forbids, by a short table of names. */
const ENTITIES = {
  "decode-named-character-reference": join(HERE, "node_modules/decode-named-character-reference/index.js"),
  "character-entities": join(HERE, "src/content/entities.ts"),
};

const HOW = {
  absWorkingDir: HERE,
  outdir: FOLDER,
  bundle: true,
  minify: true,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  alias: ENTITIES,
  plugins: [LEAVE_OUT],
  write: false,
};

// What is loaded when it is looked at is a build of its own: with esbuild's splitting, both would import a third file.
const later = await build({ ...HOW, entryPoints: { graph_layout: "src/graph_layout.ts" }, entryNames: "[name]-[hash]", format: "esm" });
const LATER = {
  name: "later",
  setup(build) {
    build.onResolve({ filter: /\/graph_layout\.ts$/ }, () => ({ path: `./${basename(later.outputFiles[0].path)}`, external: true }));
  },
};
const built = await build({ ...HOW, plugins: [LEAVE_OUT, LATER], entryPoints: { inspector: "src/main.tsx" }, entryNames: "[name]-[hash]", format: "esm" });

const names = Object.fromEntries(built.outputFiles.map(({ path }) => [path.split(".").pop(), basename(path)]));
const page = (await readFile(join(HERE, "src/index.html"), "utf8")).replace("{{js}}", names.js).replace("{{css}}", names.css);

/** The page of a run that is sent: script and style are in it, and its policy names them by their hashes. */
async function sentPage() {
  const { outputFiles } = await build({ ...HOW, entryPoints: { sent: "src/sent.tsx" }, format: "iife" });
  const texts = Object.fromEntries(outputFiles.map(({ path, text }) => [path.split(".").pop(), text]));
  for (const text of Object.values(texts)) if (/<!--|<\/?(script|style)|\r/i.test(text)) throw new Error("HTML would end the script or the style at a text in it");
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const values = { "script hash": hash(texts.js), "style hash": hash(texts.css), script: texts.js, style: texts.css };
  return (await readFile(join(HERE, "src/sent.html"), "utf8")).replace(/\{\{([a-z ]+)\}\}/g, (place, name) => values[name] ?? place);
}

await rm(FOLDER, { recursive: true, force: true });
await mkdir(FOLDER, { recursive: true });
for (const { path, contents } of [...built.outputFiles, ...later.outputFiles]) await writeFile(path, contents);
await writeFile(join(FOLDER, "index.html"), page);
await writeFile(join(FOLDER, "run.html"), await sentPage());
await copyFile(join(HERE, "src/sent/fields.json"), join(FOLDER, "fields.json"));
