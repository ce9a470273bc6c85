// An agent that stays on its thread: `watch`. Runs that others start (another tab, a background run, a cron) appear in
// its messages and state while they run.
//
// An open connection to the server reports the starts and ends of the thread's runs, and nothing else. Rules:
//
// 1. When a run is reported that the agent has not seen to its end, and the agent reads nothing, it connects: the server
//    sends what the agent is missing, and the rest of the run as it comes. So nothing is missed or doubled. The agent's
//    own events show which runs it has seen, those that it started itself among them.
// 2. While the agent reads (`isRunning`), reports are kept, and are looked at when it has ended. The end of what it read
//    before it was watched is not reported to `watch`, which looks for it.
// 3. Interrupts that the agent knows are put away before it connects: the client refuses to connect with them. Those that
//    still wait come back with the end of the run; if the connection fails before it begins, they are put back.
// 4. When a stream ends before its run, the agent connects again after a delay, while the server can be reached. Until
//    then the page is `lost` too.
// 5. An agent that still reads a run `STUCK` milliseconds after its end was reported reads a dead connection: it is
//    detached, and connects.
// 6. A server without the watch route (404; CopilotKit's Node runtime is one) reports nothing: the agent connects once, and
//    again after a stream that ended before its run. If it can't connect either, the page is `refused`.
// 7. While the page is hidden it is `paused`: neither the watch nor the run of others that the agent reads has a connection.
//    A run that the agent started is read on. A page that was left (`pagehide`) has no connection at all.
import { addressBelow, answerOf } from "./address.js";
import { Connection, delayAfter } from "./connection.js";
import { endOf, next, positionAfter } from "./position.js";
/** Runs whose ends are remembered. */
const REMEMBERED = 50;
/** Milliseconds in which the report of a run's end has to come after the end itself. */
const LATE = 500;
const STUCK = 10_000;
/** States of the connection in which the agent may connect. */
const CONNECTS = new Set(["connecting", "live", "unwatched"]);
/**
 * Keeps an agent on its thread until `close()`. Watch an agent once at a time. Throws a `TypeError` for an agent without a
 * URL, and for a thread id that can't be in one (`..`).
 */
export function watch(agent, options = {}) {
    return new Watch(agent, options);
}
/** What `watch` returns: how the page is connected, and the way to end it. */
export class Watch {
    agent;
    options;
    /** How the page is connected. */
    state = { connection: "connecting" };
    connection;
    subscription;
    listeners = new Set();
    timers = new Set();
    /** Where the thread is, as it was reported last. */
    thread;
    /** The report after which the agent has connected. */
    settled;
    /** Runs that the agent has seen, and how each ended. */
    seen = new Map();
    /** Where the stream is that the agent reads, or read last; undefined before its first run. */
    stream;
    /** Whether the agent connects on our behalf. */
    isConnecting = false;
    /** Whether it has connected once, or is about to get what comes. */
    hasLoaded = false;
    /** Connections in a row that ended before their run. */
    failures = 0;
    /** Whether the delay after one of them is not over. */
    isPaused = false;
    /** What is known of one of them, until the agent has again what the thread has. */
    broken;
    /** The messages at the moment when the connection was lost. */
    before;
    caughtUp;
    /** See `watch`. */
    constructor(agent, options) {
        this.agent = agent;
        this.options = options;
        if (options.threadId !== undefined)
            agent.threadId = options.threadId;
        const url = options.url ?? addressOf(agent);
        this.subscription = agent.subscribe({
            onEvent: ({ event }) => this.saw(event),
            onMessagesChanged: () => this.gotMessages(),
            onRunFinalized: () => (this.stream && this.stream.end === undefined ? this.pause() : this.later(0, () => this.sync())),
        });
        this.connection = new Connection((signal) => this.request(url, signal), (event) => this.reported(event), () => this.moved());
        if (typeof window !== "undefined")
            window.addEventListener("pagehide", this.left);
        if (this.connection.state === "paused")
            this.changed();
        if (agent.isRunning)
            this.whenIdle(); // what the agent reads already it reports to earlier subscribers alone
        this.later(0, () => this.sync()); // by then a chat that connects by itself has begun to
    }
    /** Calls `listener` after each change of `state`; returns what ends that. */
    subscribe(listener) {
        this.listeners.add(listener);
        return () => void this.listeners.delete(listener);
    }
    /** Tries again now: in place of waiting, or after a refusal. */
    retry() {
        this.isPaused = false;
        this.connection.retry();
        this.sync();
    }
    /** Ends it. A run that the agent started is read on. */
    close() {
        this.subscription.unsubscribe();
        if (typeof window !== "undefined")
            window.removeEventListener("pagehide", this.left);
        for (const timer of this.timers)
            clearTimeout(timer);
        this.connection.close();
        this.listeners.clear();
        if (this.isConnecting)
            void detach(this.agent);
    }
    /** The browser keeps the page for its Back button, with whatever is open: what the agent reads is ended. */
    left = ({ persisted }) => {
        if (persisted && this.agent.isRunning)
            void detach(this.agent);
    };
    // --- what is reported, and what the agent sees
    request(url, signal) {
        const { headers, credentials } = this.agent;
        const init = { headers: { ...headers, Accept: "text/event-stream" }, cache: "no-store", signal };
        if (credentials !== undefined)
            init.credentials = credentials;
        // CopilotKit's own displays an error for each attempt that fails.
        const send = this.agent.runtimeUrl === undefined ? this.agent.fetch : undefined;
        return answerOf(send?.bind(this.agent) ?? fetch, url, init);
    }
    reported(event) {
        const at = positionAfter(event, this.thread);
        if (at === undefined)
            return;
        this.thread = at;
        this.isPaused = false;
        if (this.agent.isRunning && at.end !== undefined) {
            this.later(LATE, () => this.sync());
            this.later(STUCK, () => this.unstick(at));
        }
        this.sync();
    }
    saw(event) {
        if (isAbort(event))
            return; // by the client itself: the run continues
        const at = positionAfter(event, this.stream);
        if (at === undefined)
            return;
        this.stream = at;
        if (this.broken !== undefined) {
            this.broken = undefined;
            this.changed();
        }
        this.seen.delete(at.runId);
        this.seen.set(at.runId, at.end);
        for (const [oldest] of this.seen)
            if (this.seen.size > REMEMBERED)
                this.seen.delete(oldest);
    }
    gotMessages() {
        if (this.stream === undefined)
            return; // the page's own change
        if (!this.hasLoaded)
            this.loaded();
        else if (this.isConnecting && this.before !== undefined)
            this.later(LATE, () => this.loaded()); // it comes in several events
    }
    moved() {
        const { state } = this.connection;
        if (state === "lost" || state === "paused")
            this.lost();
        if (state === "paused" && this.isConnecting)
            void detach(this.agent);
        if (state === "live") {
            this.isPaused = false;
            this.later(LATE, () => this.sync()); // a thread that is unknown is not reported
        }
        if (state === "unwatched")
            this.sync();
        this.changed();
    }
    // --- what is done about it
    sync() {
        const { thread, agent } = this;
        if (!this.mayConnect())
            return;
        if (thread === undefined) {
            if (!this.hasLoaded || (this.connection.state === "unwatched" && this.isBehind()))
                void this.connect();
            return;
        }
        const step = thread === this.settled ? "nothing" : next(thread, this.seen, endOf(agent.pendingInterrupts));
        if (step === "connect")
            void this.connect();
        else if (step === "nothing")
            this.loaded();
        else
            this.later(LATE, () => this.thread === thread && this.mayConnect() && void this.connect());
    }
    /** Whether the agent lacks something, as far as it can know without reports. */
    isBehind() {
        return this.before !== undefined || (this.stream !== undefined && this.stream.end === undefined);
    }
    whenIdle() {
        this.later(LATE, () => (this.agent.isRunning ? this.whenIdle() : this.sync()));
    }
    mayConnect() {
        const isBusy = this.agent.isRunning || this.isConnecting || this.isPaused;
        return !isBusy && CONNECTS.has(this.connection.state);
    }
    async connect() {
        const { agent, thread } = this;
        const { pendingInterrupts } = agent;
        this.isConnecting = true;
        this.stream = undefined;
        makeReady(agent);
        const error = await (this.options.connect?.() ?? agent.connectAgent()).then(() => undefined, (raised) => raised);
        this.isConnecting = false;
        const stream = this.stream; // events came meanwhile
        if (stream === undefined)
            agent.pendingInterrupts = pendingInterrupts;
        const isEmpty = stream === undefined && thread === undefined && error === undefined;
        if (isEmpty || stream?.end !== undefined) {
            this.failures = 0;
            this.settled = thread;
            this.loaded();
            this.later(0, () => this.sync());
        }
        else if (this.connection.state === "paused") {
            // It was ended because nobody looks: it connects when somebody does.
        }
        else if (this.connection.state === "unwatched" && !this.hasLoaded && error instanceof Error) {
            this.connection.refuse(error);
        }
        else {
            this.pause(error instanceof Error ? error : undefined);
        }
    }
    /** After a stream that ended before its run did: the page ended it, or the server is gone, which is known soon. */
    pause(error) {
        if (this.isPaused || this.connection.state === "paused")
            return;
        const delay = delayAfter(++this.failures);
        this.isPaused = true;
        if (error !== undefined || this.failures > 1) {
            this.broken = { retryAt: Date.now() + delay, error: error ?? new Error("The thread's run can't be read.") };
            this.lost();
            this.changed();
        }
        this.later(delay, () => {
            this.isPaused = false;
            this.sync();
        });
    }
    lost() {
        if (!this.hasLoaded)
            return;
        this.before ??= new Map(this.agent.messages.map((message) => [message.id, JSON.stringify(message)]));
        this.caughtUp = undefined;
    }
    /** The agent has what the thread has, or gets it now. */
    loaded() {
        if (this.hasLoaded && this.before === undefined)
            return;
        this.hasLoaded = true;
        this.broken = undefined;
        if (this.before !== undefined && this.isOpen()) {
            const { before } = this;
            this.caughtUp = this.agent.messages.filter((each) => before.get(each.id) !== JSON.stringify(each)).length;
            this.before = undefined;
        }
        this.changed();
    }
    unstick(end) {
        const { stream } = this;
        if (this.thread === end && this.agent.isRunning && stream?.runId === end.runId && stream.end === undefined)
            void detach(this.agent);
    }
    /** Whether the server can be reached. */
    isOpen() {
        return this.connection.state === "live" || this.connection.state === "unwatched";
    }
    changed() {
        const broken = this.isOpen() ? this.broken : undefined;
        const state = broken ? "lost" : this.isOpen() && !this.hasLoaded ? "connecting" : this.connection.state;
        const { retryAt, error } = broken ?? this.connection;
        this.state = {
            connection: state,
            ...(state === "lost" && retryAt !== undefined && { retryAt }),
            ...(error !== undefined && state !== "closed" && { error }),
            ...(this.caughtUp !== undefined && { caughtUp: this.caughtUp }),
        };
        for (const listener of this.listeners)
            listener();
    }
    later(milliseconds, action) {
        const timer = setTimeout(() => {
            this.timers.delete(timer);
            action();
        }, milliseconds);
        this.timers.add(timer);
    }
}
/** Prepares an agent to connect: without this the client refuses, or silently does nothing. */
export function makeReady(agent) {
    agent.pendingInterrupts = [];
    if (agent.abortController?.signal.aborted)
        agent.abortController = new AbortController();
}
/** Ends what an agent reads, and its request; the run continues. */
export function detach(agent) {
    const left = agent.detachActiveRun();
    agent.abortController?.abort(); // else the request stays open, unread
    return left;
}
/** Whether the client made this event because its request was aborted. A server's `RUN_ERROR` has no `rawEvent`. */
function isAbort(event) {
    return event.type === "RUN_ERROR" && event.code === "abort" && event.rawEvent !== undefined;
}
/** The watch route of an agent's thread: below CopilotKit's routes, or below the agent's own. */
function addressOf({ runtimeUrl, url, agentId, threadId }) {
    const query = { ...(runtimeUrl !== undefined && { agent: agentId ?? "default" }), events: "runs" };
    return addressBelow(runtimeUrl ?? url ?? "", ["watch", threadId], query);
}
