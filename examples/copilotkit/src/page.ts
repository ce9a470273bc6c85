// Where the agent is served, which one it is, and which conversation this page shows.

const asked = new URLSearchParams(location.search);

/** What `langgraph-agui serve` prints. */
export const RUNTIME_URL: string = import.meta.env.VITE_AGUI_URL ?? "http://localhost:8000";

/** The agent's name; a server with only one agent answers to `default` as well. */
export const AGENT = asked.get("agent") ?? "default";

/**
 * The thread is named in the address of the page, so that a reload, a bookmark or a link comes back to it. Without an
 * explicit thread CopilotKit makes one up at every load, and never asks the server what it holds.
 */
export const THREAD = asked.get("thread") ?? crypto.randomUUID();

if (!asked.has("thread")) {
  asked.set("thread", THREAD);
  history.replaceState(null, "", `?${asked}`);
}
