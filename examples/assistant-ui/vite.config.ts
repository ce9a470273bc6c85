import { resolve } from "node:path";

import { defineConfig } from "vite";

const ours = resolve(import.meta.dirname, "../../clients/typescript/src");

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic" },
  // The package as it is in this checkout. A page of your own installs it, and needs none of this.
  resolve: {
    alias: { "langgraph-agui/react": resolve(ours, "react.ts"), "langgraph-agui": resolve(ours, "index.ts") },
    dedupe: ["react", "@ag-ui/client"],
  },
  build: { chunkSizeWarningLimit: 2000 },
});
