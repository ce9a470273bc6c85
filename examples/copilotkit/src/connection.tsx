// What both pages say of their connection while they are not live.

import type { useWatch } from "langgraph-agui/react";

type Watching = ReturnType<typeof useWatch>;

export function Connection({ connection, retryAt, retry }: Watching) {
  if (connection === "refused") {
    return (
      <p role="status">
        The server does not let this page in. <button onClick={retry}>Try again</button>
      </p>
    );
  }
  if (connection !== "lost") return null;
  // Without a time, the server itself has lost the LangGraph server behind it, and tries.
  if (retryAt === undefined) return <p role="status">Connection to the server lost, trying again</p>;
  return <button onClick={retry}>The connection is lost. Try again now</button>;
}
