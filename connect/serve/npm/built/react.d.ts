import type { ThreadAgent } from "./agent.js";
import { type WatchableAgent, type WatchOptions, type WatchState } from "./watch.js";
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
export declare function useWatch(agent: WatchableAgent | null | undefined, options?: WatchOptions): WatchState & {
    retry: () => void;
};
/** A thread as a component shows it. */
export interface Thread {
    messages: ThreadAgent["messages"];
    state: ThreadAgent["state"];
    /** What waits for an answer: `agent.answer(...)`. None while a run is read: it may be the answer's. */
    interrupts: ThreadAgent["pendingInterrupts"];
    /** Whether a run is read, of whoever started it. */
    isRunning: boolean;
    /** How the page is connected, and `retry`. */
    watch: WatchState & {
        retry: () => void;
    };
}
/** The thread of an agent, watched, and rendered again with each change. Make the agent once: `useMemo`. */
export declare function useThread(agent: ThreadAgent): Thread;
