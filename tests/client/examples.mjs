// The TypeScript of examples/connectable-http-agent as modules of either client version: `example("1.0.0")`.
//
// Node 20 runs no TypeScript: the types are taken out, and the client is put in by its address. Nothing else is changed.

import { readFileSync } from "node:fs";

import typescript from "typescript";

const FOLDER = new URL("../../examples/connectable-http-agent/", import.meta.url);
const CLIENTS = { "0.0.59": "agui-0-0-59", "1.0.0": "agui-1-0-0" };
const OPTIONS = { target: typescript.ScriptTarget.ES2022, module: typescript.ModuleKind.ESNext };

const built = (file, imports) => {
  let source = readFileSync(new URL(file, FOLDER), "utf8");
  for (const [name, address] of Object.entries(imports)) {
    if (!source.includes(`from "${name}"`)) throw new Error(`${file} does not import ${name}`);
    source = source.replace(`from "${name}"`, `from ${JSON.stringify(address)}`);
  }
  const { outputText } = typescript.transpileModule(source, { compilerOptions: OPTIONS });
  return `data:text/javascript,${encodeURIComponent(outputText)}`;
};

const kept = new Map();

export const example = async (version) => {
  if (!kept.has(version)) {
    const agent = built("connectable-http-agent.ts", { "@ag-ui/client": import.meta.resolve(CLIENTS[version]) });
    const page = built("example.ts", { "./connectable-http-agent": agent });
    kept.set(version, { ...(await import(agent)), ...(await import(page)) });
  }
  return kept.get(version);
};
