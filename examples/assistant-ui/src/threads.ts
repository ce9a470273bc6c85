// The list of threads, as the server has it. It is read again when the page shows another thread, and when a run has ended.

import { useCallback, useEffect, useState } from "react";

export interface ThreadList {
  threadId: string;
  threads: { id: string; title: string; status: "regular" }[];
  onSwitchToNewThread: () => void;
  onSwitchToThread: (id: string) => Promise<{ messages: [] }>;
  refresh: () => void;
}

/** `server`: its URL. Lists need a user whom `authorize` lets in, or the server's token, `headers`. */
export function useThreads(server: string, agent: string, headers: Record<string, string>): ThreadList {
  const [threadId, setThread] = useState(() => new URLSearchParams(location.search).get("thread") ?? crypto.randomUUID());
  const [threads, setThreads] = useState<ThreadList["threads"]>([]);
  const read = useCallback(async () => {
    if (!headers.Authorization) return;
    const response = await fetch(`${server}/threads?agent=${encodeURIComponent(agent)}`, { headers });
    const { threads } = (await response.json()) as { threads: { id: string; name: string | null }[] };
    setThreads(threads.map(({ id, name }) => ({ id, title: name ?? "New thread", status: "regular" })));
  }, [server, agent, headers]);
  const refresh = useCallback(() => void read().catch(() => {}), [read]); // without the server the list stays as it is
  useEffect(() => {
    const address = new URL(location.href);
    address.searchParams.set("thread", threadId);
    history.replaceState(null, "", address);
    refresh();
  }, [threadId, refresh]);
  return {
    threadId,
    threads,
    onSwitchToNewThread: () => setThread(crypto.randomUUID()),
    onSwitchToThread: async (id) => (setThread(id), { messages: [] }), // the runtime of that thread loads them
    refresh,
  };
}
