import { type ConnectionState } from "./connection.js";
/** How an open page is connected. Each change is a new object. */
export interface WatchState {
    /**
     * - `connecting`: the thread is being loaded for the first time, or caught up with after the page was hidden. A browser
     *   that has six streams of one server open keeps a seventh page in it.
     * - `live`: the page has what the thread has, and gets what comes.
     * - `lost`: it does not; the next attempt is at `retryAt`. Without `retryAt`, the server that the page reads has lost the
     *   LangGraph server behind it, and tries by itself.
     * - `paused`: the page is hidden, and reads nothing until somebody looks at it.
     * - `refused`: the server answered with a 4xx; nothing is tried until `retry()`.
     * - `unwatched`: the page has the thread and its own runs. The server has no watch route: runs that others start appear
     *   when the page is loaded again, or after `retry()`.
     * - `closed`: the page watches the thread no longer.
     */
    readonly connection: ConnectionState;
    /** When the next attempt is, as `Date.now()` counts; only while `lost`. */
    readonly retryAt?: number;
    /** Why the connection is lost, refused or unwatched. */
    readonly error?: Error;
    /** After a connection was lost and is live again: how many messages are new or other than before. */
    readonly caughtUp?: number;
}
/** Settings of `watch`. */
export interface WatchOptions {
    /** The thread; it is set on the agent. By default the agent's own. */
    threadId?: string;
    /** How the agent connects. By default `agent.connectAgent()`; with CopilotKit `copilotkit.connectAgent({ agent })`. */
    connect?: () => Promise<unknown>;
    /**
     * The address that is watched, with the agent's headers. By default it is made from the agent's `runtimeUrl`, or from its
     * `url`.
     */
    url?: string;
}
/** What can be watched: an agent of `@ag-ui/client` that can connect, of whatever version or copy; CopilotKit's too. */
export interface WatchableAgent {
    threadId: string;
    readonly messages: readonly {
        readonly id: string;
    }[];
    readonly isRunning: boolean;
    pendingInterrupts: {
        id: string;
    }[];
    agentId?: string | undefined;
    headers?: Record<string, string>;
    url?: string;
    runtimeUrl?: string | undefined;
    credentials?: RequestCredentials | undefined;
    abortController?: AbortController;
    fetch?(url: string, init: RequestInit): Promise<Response>;
    connectAgent(): Promise<unknown>;
    detachActiveRun(): Promise<void>;
    subscribe(subscriber: Subscriber): {
        unsubscribe: () => void;
    };
}
interface Subscriber {
    onEvent?(of: {
        event: {
            type: string;
        };
    }): void;
    onMessagesChanged?(): void;
    onRunFinalized?(): void;
}
/**
 * Keeps an agent on its thread until `close()`. Watch an agent once at a time. Throws a `TypeError` for an agent without a
 * URL, and for a thread id that can't be in one (`..`).
 */
export declare function watch(agent: WatchableAgent, options?: WatchOptions): Watch;
/** What `watch` returns: how the page is connected, and the way to end it. */
export declare class Watch {
    private readonly agent;
    private readonly options;
    /** How the page is connected. */
    state: WatchState;
    private readonly connection;
    private readonly subscription;
    private readonly listeners;
    private readonly timers;
    /** Where the thread is, as it was reported last. */
    private thread;
    /** The report after which the agent has connected. */
    private settled;
    /** Runs that the agent has seen, and how each ended. */
    private readonly seen;
    /** Where the stream is that the agent reads, or read last; undefined before its first run. */
    private stream;
    /** Whether the agent connects on our behalf. */
    private isConnecting;
    /** Whether it has connected once, or is about to get what comes. */
    private hasLoaded;
    /** Connections in a row that ended before their run. */
    private failures;
    /** Whether the delay after one of them is not over. */
    private isPaused;
    /** What is known of one of them, until the agent has again what the thread has. */
    private broken;
    /** The messages at the moment when the connection was lost. */
    private before;
    private caughtUp;
    /** See `watch`. */
    constructor(agent: WatchableAgent, options: WatchOptions);
    /** Calls `listener` after each change of `state`; returns what ends that. */
    subscribe(listener: () => void): () => void;
    /** Tries again now: in place of waiting, or after a refusal. */
    retry(): void;
    /** Ends it. A run that the agent started is read on. */
    close(): void;
    /** The browser keeps the page for its Back button, with whatever is open: what the agent reads is ended. */
    private readonly left;
    private request;
    private reported;
    private saw;
    private gotMessages;
    private moved;
    private sync;
    /** Whether the agent lacks something, as far as it can know without reports. */
    private isBehind;
    private whenIdle;
    private mayConnect;
    private connect;
    /** After a stream that ended before its run did: the page ended it, or the server is gone, which is known soon. */
    private pause;
    private lost;
    /** The agent has what the thread has, or gets it now. */
    private loaded;
    private unstick;
    /** Whether the server can be reached. */
    private isOpen;
    private changed;
    private later;
}
/** Prepares an agent to connect: without this the client refuses, or silently does nothing. */
export declare function makeReady(agent: WatchableAgent): void;
/** Ends what an agent reads, and its request; the run continues. */
export declare function detach(agent: WatchableAgent): Promise<void>;
export {};
