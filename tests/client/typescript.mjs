// clients/typescript as modules, on either version of the client: `typescript("1.0.0")`; one of its modules: `module("watch")`.
//
// Node 20 runs no TypeScript. So Node's loader is given these modules with their types taken out, and with `@ag-ui/client`
// by its address; the version is in the query of a module's URL, so that each version has modules of its own. Nothing
// else is changed.

import { register } from "node:module";

const SOURCES = new URL("../../clients/typescript/src/", import.meta.url);

register("./typescript_hooks.mjs", import.meta.url);

export const module = (name, version = "1.0.0") => import(`${SOURCES}${name}.ts?client=agui-${version.replaceAll(".", "-")}`);
export const typescript = (version) => module("index", version);
