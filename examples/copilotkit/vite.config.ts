import { resolve } from "node:path";

import { defineConfig } from "vite";

// Three pages with the whole chat, and two without CopilotKit's own user interface, which are built in a few seconds.
// PAGES=headless builds only that one.
const pages = (process.env.PAGES ?? "index headless features users").split(" ");
const ours = resolve(import.meta.dirname, "../../clients/typescript/src");

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic" },
  // The package as it is in this checkout. A page of your own installs it, and needs none of this.
  resolve: {
    alias: { "langgraph-agui/react": resolve(ours, "react.ts"), "langgraph-agui": resolve(ours, "index.ts") },
    dedupe: ["react", "@ag-ui/client"],
  },
  build: {
    chunkSizeWarningLimit: 5000,
    rollupOptions: { input: pages.map((page) => resolve(import.meta.dirname, `${page}.html`)) },
  },
});
