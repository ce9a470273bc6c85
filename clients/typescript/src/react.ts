// Hooks: `useWatch` for an agent of whatever client (CopilotKit's too), `useThread` for a page of `@ag-ui/client` alone.

import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";

import type { ThreadAgent } from "./agent.js";
import { watch, type Watch, type WatchableAgent, type WatchOptions, type WatchState } from "./watch.js";

const CONNECTING: WatchState = { connection: "connecting" };

/**
 * Keeps an agent on its thread while the component is mounted: runs that others start appear in it. Gives how the page is
 * connected, and `retry`. `agent`: null until there is one. With CopilotKit:
 *
 *     const { copilotkit } = useCopilotKit();
 *     const { agent, isReady } = useAgent({ agentId });
 *     const { connection } = useWatch(isReady ? agent : null, {
 *       threadId,
 *       connect: () => copilotkit.connectAgent({ agent }),
 *     });
 */
export function useWatch(
  agent: WatchableAgent | null | undefined,
  options: WatchOptions = {},
): WatchState & { retry: () => void } {
  const { threadId, url } = options;
  const connect = useRef(options.connect);
  connect.current = options.connect;
  const watched = useRef<Watch | null>(null);
  const [state, setState] = useState(CONNECTING);

  useEffect(() => {
    if (!agent) return;
    const watching = watch(agent, {
      ...(threadId !== undefined && { threadId }),
      ...(url !== undefined && { url }),
      connect: () => (connect.current ? connect.current() : agent.connectAgent()),
    });
    watched.current = watching;
    setState(watching.state);
    const unsubscribe = watching.subscribe(() => setState(watching.state));
    return () => {
      unsubscribe();
      watching.close();
      watched.current = null;
    };
  }, [agent, threadId, url]);

  const retry = useCallback(() => watched.current?.retry(), []);
  return { ...state, retry };
}

/** A thread as a component shows it. */
export interface Thread {
  messages: ThreadAgent["messages"];
  state: ThreadAgent["state"];
  /** What waits for an answer: `agent.answer(...)`. None while a run is read: it may be the answer's. */
  interrupts: ThreadAgent["pendingInterrupts"];
  /** Whether a run is read, of whoever started it. */
  isRunning: boolean;
  /** How the page is connected, and `retry`. */
  watch: WatchState & { retry: () => void };
}

/** The thread of an agent, watched, and rendered again with each change. Make the agent once: `useMemo`. */
export function useThread(agent: ThreadAgent): Thread {
  const changes = useMemo(() => changesOf(agent), [agent]);
  useSyncExternalStore(changes.subscribe, changes.count, changes.count);
  const { messages, state, pendingInterrupts, isRunning } = agent;
  return { messages, state, interrupts: isRunning ? [] : pendingInterrupts, isRunning, watch: useWatch(agent) };
}

function changesOf(agent: ThreadAgent) {
  let count = 0;
  return {
    count: () => count,
    subscribe(listener: () => void) {
      const changed = () => {
        count += 1;
        listener();
      };
      const subscription = agent.subscribe({
        onMessagesChanged: changed,
        onStateChanged: changed,
        onRunInitialized: changed,
        onRunFinalized: changed,
        onRunFailed: changed,
      });
      return () => subscription.unsubscribe();
    },
  };
}
