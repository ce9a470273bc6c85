// Where the agent is served, which one it is, and which conversation this page shows.

import { useEffect, useState } from "react";

/** Where `langgraph-agui serve` serves by default. */
export const RUNTIME_URL: string = import.meta.env.VITE_AGUI_URL ?? "http://localhost:8000";

/** The agent's name; one that is served alone is `default`. */
export const AGENT = new URLSearchParams(location.search).get("agent") ?? "default";

/**
 * The thread that the page's address names, so that a reload, a bookmark or a link comes back to it. Without an explicit
 * thread CopilotKit makes a new one at every load, and never asks the server for its messages.
 */
export function threadOfPage(): string {
  return new URLSearchParams(location.search).get("thread") ?? address(crypto.randomUUID(), history.replaceState);
}

/** The thread of the page, and a way to begin another; the browser's back button leads back. */
export function useThread(): [string, () => void] {
  const [thread, setThread] = useState(threadOfPage);
  useEffect(() => {
    const comeBack = () => setThread(threadOfPage());
    addEventListener("popstate", comeBack);
    return () => removeEventListener("popstate", comeBack);
  }, []);
  return [thread, () => setThread(address(crypto.randomUUID(), history.pushState))];
}

function address(thread: string, write: typeof history.pushState): string {
  const asked = new URLSearchParams(location.search);
  asked.set("thread", thread);
  write.call(history, null, "", `?${asked}`);
  return thread;
}
