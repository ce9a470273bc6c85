// How the page is connected: a line that is always there, and a banner when nothing arrives.

import type { useWatch } from "langgraph-agui/react";

type Watching = ReturnType<typeof useWatch>;

/** What the page says of its connection. */
export const CONNECTIONS: Record<Watching["connection"], string> = {
  connecting: "Connecting",
  live: "Live",
  lost: "Connection lost",
  paused: "Paused while the page is hidden",
  refused: "Not connected",
  unwatched: "Connected, without live updates",
  closed: "Not connected",
};

/** Whether this page sees what others do. */
export function ConnectionLine({ connection, caughtUp }: Watching) {
  return (
    <p className="connection" role="status" aria-label="connection" data-connection={connection}>
      {CONNECTIONS[connection]}
      {connection === "live" && caughtUp !== undefined && caughtUp > 0 && (
        <span className="hint">caught up, {caughtUp === 1 ? "1 message" : `${caughtUp} messages`}</span>
      )}
    </p>
  );
}

/** What to do about a lost connection. */
export function ConnectionBanner({ connection, retryAt, retry }: Watching) {
  if (connection !== "lost" && connection !== "refused") return null;
  const isBehind = connection === "lost" && retryAt === undefined; // the server itself tries
  return (
    <div className="banner" role="alert">
      <p>
        {isBehind
          ? "Connection to the LangGraph server lost, trying again. The page catches up by itself."
          : connection === "lost"
            ? "Connection lost. Runs go on at the server, and the page catches up by itself."
            : "The server does not let this page in."}
      </p>
      {!isBehind && <button onClick={retry}>Try now</button>}
    </div>
  );
}
