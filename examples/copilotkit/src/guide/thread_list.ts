// The list of threads: `GET /threads`, and the requests that rename, archive and delete one.

import { useCallback, useEffect, useState } from "react";

import { AGENT, HEADERS, RUNTIME_URL } from "../page";

export type Thread = {
  id: string;
  name: string | null;
  updatedAt: string;
  archived: boolean;
  status: "idle" | "running" | "waiting" | "failed" | "unreadable";
};

export type ThreadList = {
  threads: Thread[];
  /** Whether the list has come at least once. */
  isKnown: boolean;
  /** Why the list is not up to date. */
  problem?: string;
  refresh(): Promise<void>;
  rename(id: string, name: string): Promise<void>;
  archive(id: string, archived: boolean): Promise<void>;
  remove(id: string): Promise<void>;
};

const EVERY = 5_000;

/** The threads of the agent, the newest first; read again while the page is visible, and after each change. */
export function useThreadList(archived: boolean): ThreadList {
  const [list, setList] = useState<Pick<ThreadList, "threads" | "isKnown" | "problem">>({
    threads: [],
    isKnown: false,
  });

  const refresh = useCallback(async () => {
    try {
      const { threads } = await request("GET", "", { limit: "100", includeArchived: String(archived) });
      setList({ threads, isKnown: true });
    } catch (error) {
      setList((before) => ({ ...before, problem: String(error instanceof Error ? error.message : error) }));
    }
  }, [archived]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isReading = false;
    let isOpen = true;
    const refreshVisible = async () => {
      if (isReading || document.visibilityState !== "visible") return;
      clearTimeout(timer);
      isReading = true;
      await refresh();
      isReading = false;
      if (isOpen) timer = setTimeout(refreshVisible, EVERY); // after the answer, however long that takes
    };
    void refreshVisible();
    document.addEventListener("visibilitychange", refreshVisible);
    return () => {
      isOpen = false;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", refreshVisible);
    };
  }, [refresh]);

  const change = async (method: string, id: string, body?: object) => {
    try {
      await request(method, `/${encodeURIComponent(id)}`, {}, body);
    } catch (error) {
      setList((before) => ({ ...before, problem: String(error instanceof Error ? error.message : error) }));
      return;
    }
    await refresh();
  };

  return {
    ...list,
    refresh,
    rename: (id, name) => change("PATCH", id, { name }),
    archive: (id, archived) => change("PATCH", id, { archived }),
    remove: (id) => change("DELETE", id),
  };
}

async function request(method: string, path: string, query: Record<string, string>, body?: object) {
  const asked = new URLSearchParams({ agent: AGENT, ...query });
  const headers = { ...HEADERS, ...(body && { "Content-Type": "application/json" }) };
  const response = await fetch(`${RUNTIME_URL}/threads${path}?${asked}`, {
    method,
    headers,
    body: body && JSON.stringify(body),
  });
  if (response.status === 204) return undefined;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.message ?? `The server answered ${response.status}.`);
  return answer;
}
