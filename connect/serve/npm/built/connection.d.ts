/** How far an open page is connected to its thread. */
export type ConnectionState = "connecting" | "live" | "lost" | "paused" | "refused" | "unwatched" | "closed";
/** Milliseconds before the next attempt: from half a second to half a minute, and not the same for all pages of a server. */
export declare function delayAfter(failures: number): number;
/** A stream of events that is opened again whenever it is lost, until it is closed. */
export declare class Connection {
    private readonly open;
    private readonly onEvent;
    private readonly onChange;
    state: ConnectionState;
    /** When the next attempt is, as `Date.now()` counts. */
    retryAt: number | undefined;
    /** Why the connection is lost, refused or unwatched. */
    error: Error | undefined;
    private failures;
    private request;
    private lastByte;
    private wake;
    private readonly unlisten;
    /**
     * `open`: sends the request; it may also raise an error with the `status` of the answer. `onEvent`: gets the JSON of each
     * event, and its id. `onChange`: called after each move.
     */
    constructor(open: (signal: AbortSignal) => Promise<Response>, onEvent: (event: unknown, id: string | undefined) => void, onChange: () => void);
    /** Loses the connection for so many milliseconds, or until `retry()`. */
    drop(milliseconds: number, error: Error): void;
    /** Tries again now, also after a refusal. */
    retry(): void;
    /** What needs the connection was refused itself: it waits for `retry()`. */
    refuse(error: Error): void;
    close(): void;
    private stay;
    /** Reads one stream to its end; raises when it is lost. */
    private read;
    private take;
    private endIfSilent;
    private move;
    /** Returns after this time (undefined: never by itself), or when something wakes it. */
    private woken;
}
