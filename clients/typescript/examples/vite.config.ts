import { resolve } from "node:path";

import { defineConfig } from "vite";

const source = (name: string) => resolve(import.meta.dirname, `../src/${name}.ts`);

// The package as it is in this checkout. A page of your own installs it, and needs none of this.
export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic" },
  resolve: { alias: { "langgraph-agui/react": source("react"), "langgraph-agui": source("index") } },
});
