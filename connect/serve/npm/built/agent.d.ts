import { HttpAgent, type HttpAgentConfig, type ResumeEntry, type RunAgentInput } from "@ag-ui/client";
import { type Watch, type WatchOptions } from "./watch.js";
/**
 * An `HttpAgent` for `POST {url}`, with what the server has below it. `url`: the agent's, such as
 * `http://127.0.0.1:8000/planner`, or the server's own where it has a single agent; in a page also a path of the page's
 * origin. `threadId`: the conversation. Throws a `TypeError` for any other URL. Requests stay at the origin of
 * the URL: a redirect is an error.
 */
export declare class ThreadAgent extends HttpAgent {
    private isConnected?;
    private answers?;
    constructor(config: HttpAgentConfig);
    /** Runs the agent, as `HttpAgent` does. What it reads of a run of others is ended first. */
    runAgent(...given: Parameters<HttpAgent["runAgent"]>): ReturnType<HttpAgent["runAgent"]>;
    /** Gets the thread, and its active run to its end, which the server sends from where this agent is. */
    connectAgent(...given: Parameters<HttpAgent["connectAgent"]>): ReturnType<HttpAgent["connectAgent"]>;
    /** Sends a message of the user; resolves when it is answered, or when the run waits for an answer. */
    send(content: string): Promise<void>;
    /**
     * Answers an interrupt; resolves when the run that continues has ended. Where several are pending, nothing is sent until
     * each has an answer. `status`: `cancelled` declines to answer. Rejects if the interrupt is not pending.
     */
    answer(payload: unknown, of?: {
        interruptId?: string;
        status?: ResumeEntry["status"];
    }): Promise<void>;
    /**
     * Stops what runs on the thread, whoever started it; `false` if nothing did. `abortRun()` only ends the reading: the run
     * continues, and an agent that is watched connects to it again.
     */
    stop(): Promise<boolean>;
    /** Stays on the thread until `close()`: see `watch`. */
    watch(options?: WatchOptions): Watch;
    protected connect(input: RunAgentInput): ReturnType<HttpAgent["run"]>;
}
