// Builds the inspector: `node build.mjs [FOLDER]`, by default into the Python package that serves it. The same source
// gives the same bytes: a test compares them with what is shipped.

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
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

const built = await build({
  absWorkingDir: HERE,
  entryPoints: { inspector: "src/main.tsx" },
  entryNames: "[name]-[hash]",
  outdir: FOLDER,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [LEAVE_OUT],
  write: false,
});

const names = Object.fromEntries(built.outputFiles.map(({ path }) => [path.split(".").pop(), basename(path)]));
const page = (await readFile(join(HERE, "src/index.html"), "utf8")).replace("{{js}}", names.js).replace("{{css}}", names.css);

await rm(FOLDER, { recursive: true, force: true });
await mkdir(FOLDER, { recursive: true });
for (const { path, contents } of built.outputFiles) await writeFile(path, contents);
await writeFile(join(FOLDER, "index.html"), page);
