// How Node finds and reads the modules of clients/typescript: see typescript.mjs.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import typescript from "typescript";

const OPTIONS = { target: typescript.ScriptTarget.ES2022, module: typescript.ModuleKind.ESNext };

const clientOf = (url) => (url === undefined ? null : new URL(url).searchParams.get("client"));

export const resolve = async (specifier, context, next) => {
  const client = clientOf(context.parentURL);
  if (client === null) return next(specifier, context);
  if (specifier.startsWith("node:")) return next(specifier, context);
  if (specifier === "@ag-ui/client") return next(client, { ...context, parentURL: import.meta.url });
  const url = new URL(specifier.replace(/\.js$/, ".ts"), context.parentURL);
  url.searchParams.set("client", client);
  return { url: url.href, format: "module", shortCircuit: true };
};

export const load = async (url, context, next) => {
  if (!url.startsWith("file:") || clientOf(url) === null) return next(url, context);
  const source = await readFile(fileURLToPath(url), "utf8");
  return { format: "module", source: typescript.transpileModule(source, { compilerOptions: OPTIONS }).outputText, shortCircuit: true };
};
