// Whether the page is connected to its thread. assistant-ui knows of its own runs only, so another agent watches.

import { ThreadAgent } from "langgraph-agui";
import { useWatch } from "langgraph-agui/react";
import { useEffect, useMemo, useState } from "react";

const TEXTS: Partial<Record<ReturnType<typeof useWatch>["connection"], string>> = {
  lost: "Connection to the server lost, trying again",
  refused: "The server does not let this page in",
};

/** `text`: what to say of the connection. `loads` grows when the thread has to be loaded again, because it was lost. */
export function useConnection(url: string, threadId: string): { text?: string; loads: number } {
  const agent = useMemo(() => new ThreadAgent({ url, threadId }), [url, threadId]);
  const { connection, caughtUp } = useWatch(agent);
  const [loads, setLoads] = useState(0);
  useEffect(() => {
    if (caughtUp) setLoads((before) => before + 1);
  }, [caughtUp]);
  return { text: TEXTS[connection], loads };
}
