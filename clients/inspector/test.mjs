// Runs the tests: each is bundled, for Node does not read TypeScript everywhere, and given to Node's own runner.

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { build } from "esbuild";

const HERE = import.meta.dirname;
const outdir = await mkdtemp(join(HERE, "node_modules/.tests-"));
try {
  const names = (await readdir(join(HERE, "tests"))).filter((name) => name.endsWith(".test.ts"));
  const entryPoints = names.map((name) => join(HERE, "tests", name));
  await build({ entryPoints, outdir, bundle: true, format: "esm", platform: "node", outExtension: { ".js": ".mjs" }, packages: "external", logLevel: "error" });
  const ran = spawn(process.execPath, ["--test", ...names.map((name) => join(outdir, name.replace(/ts$/, "mjs")))], { stdio: "inherit", cwd: HERE });
  const [code] = await once(ran, "exit");
  process.exitCode = code ?? 1;
} finally {
  await rm(outdir, { recursive: true });
}
