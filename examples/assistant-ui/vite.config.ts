import { resolve } from "node:path";

import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic" },
  // The package as it is in this checkout. A page of your own installs it, and needs none of this.
  resolve: {
    alias: { "langgraph-agui": resolve(import.meta.dirname, "../../clients/typescript/src/index.ts") },
    dedupe: ["@ag-ui/client"],
  },
  build: { chunkSizeWarningLimit: 2000 },
});
