// Where the agent is served, which one it is, and which conversation this page shows.

import { useEffect, useState } from "react";

/** Where `langgraph-agui serve` serves by default, or what the build was given; relative to the page. */
export const RUNTIME_URL = new URL(
  import.meta.env.VITE_AGUI_URL ?? "http://localhost:8000",
  location.href,
).href.replace(/\/$/, "");

/** The agent's name; one that is served alone is `default`. */
export const AGENT = new URLSearchParams(location.search).get("agent") ?? "default";

/**
 * The headers of all requests: with the server's token, which lists of threads need. It comes in the fragment of the
 * page's address, which a browser sends to no server, and is kept for as long as the tab is open. A page for users needs
 * none of this: its server has `authorize`.
 */
export const HEADERS = headersOfPage();

function headersOfPage(): Record<string, string> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    sessionStorage.setItem("token", token);
    history.replaceState(history.state, "", location.pathname + location.search); // a copied address is without it
  }
  const kept = sessionStorage.getItem("token");
  return kept ? { Authorization: `Bearer ${kept}` } : {};
}

/**
 * The thread that the page's address names, so that a reload, a bookmark or a link comes back to it. Without an explicit
 * thread CopilotKit makes a new one at every load, and never asks the server for its messages.
 */
export function threadOfPage(): string {
  return new URLSearchParams(location.search).get("thread") ?? address(crypto.randomUUID(), history.replaceState);
}

/** The thread of the page, and ways to open another and to begin a new one; the browser's back button leads back. */
export function useThread(): { thread: string; open(thread: string): void; begin(): void } {
  const [thread, setThread] = useState(threadOfPage);
  useEffect(() => {
    const comeBack = () => setThread(threadOfPage());
    addEventListener("popstate", comeBack);
    return () => removeEventListener("popstate", comeBack);
  }, []);
  const open = (thread: string) => setThread(address(thread, history.pushState));
  return { thread, open, begin: () => open(crypto.randomUUID()) };
}

function address(thread: string, write: typeof history.pushState): string {
  const asked = new URLSearchParams(location.search);
  asked.set("thread", thread);
  write.call(history, null, "", `?${asked}`);
  return thread;
}
