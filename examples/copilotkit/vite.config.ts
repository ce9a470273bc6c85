import { resolve } from "node:path";

import { defineConfig } from "vite";

// Two pages: the whole chat, and one without CopilotKit's own user interface, which is built in a few seconds.
// PAGES=headless builds only that one.
const pages = (process.env.PAGES ?? "index headless").split(" ");

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic" },
  build: {
    chunkSizeWarningLimit: 5000,
    rollupOptions: { input: pages.map((page) => resolve(import.meta.dirname, `${page}.html`)) },
  },
});
