// One request that stays open: an event stream that is opened again whenever it is lost. `Connection`.
//
// The moves of its state are `MOVES`. In `lost` it tries again by itself: after a delay that doubles, at once when the
// browser is online again or the page becomes visible. It is `lost` too while the server that it reads has lost the
// LangGraph server behind it; then that server tries again, and the stream stays open. In `refused` (a 4xx that will not
// change by itself) and `unwatched` (404: the server has no such route) it waits for `retry()`. A stream on which not even
// a comment comes for `SILENCE` is lost: a laptop that slept, or a network that was changed, leaves connections that end
// only after many minutes.
//
// `paused`: the page is hidden or was left, and its stream is ended until somebody looks at the page. A browser has six
// connections to a server for all of its tabs (HTTP/1.1), and keeps a page that was left, with its streams, for the Back
// button: six of either would keep every further request waiting.
//
// Never here: what the events mean.
/** What becomes of each state; what is not in it can't happen, or changes nothing. */
const MOVES = {
    connecting: { opened: "live", failed: "lost", refused: "refused", missing: "unwatched", hidden: "paused", closed: "closed" },
    live: { serverLost: "lost", failed: "lost", hidden: "paused", closed: "closed" },
    lost: { serverBack: "live", opened: "live", failed: "lost", refused: "refused", missing: "unwatched", hidden: "paused", closed: "closed" },
    paused: { shown: "connecting", closed: "closed" },
    refused: { retried: "lost", closed: "closed" },
    unwatched: { refused: "refused", retried: "lost", closed: "closed" },
    closed: {},
};
/** Milliseconds without a byte after which a stream is lost. The server sends a comment every 15 seconds. */
const SILENCE = 45_000;
/**
 * Comments of a server that gets the thread from a LangGraph server: when that one is lost (and again in place of each
 * heartbeat), and when it is back. The server tries by itself; this stream stays open.
 */
const SERVER_LOST = ": connection lost";
const SERVER_BACK = ": connection back";
/** Statuses of the 4xx range after which the same request may be answered. */
const RETRIED = new Set([408, 425, 429]);
/** Milliseconds before the next attempt: from half a second to half a minute, and not the same for all pages of a server. */
export function delayAfter(failures) {
    return Math.min(30_000, 500 * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
}
/** An answer other than 200. `after`: milliseconds after which the server wants to be asked again. */
class HttpError extends Error {
    status;
    after;
    constructor(status, text, after) {
        super(`HTTP ${status}: ${text}`);
        this.status = status;
        this.after = after;
    }
}
/** Why the request of a page ends that is hidden or was left. */
class Hidden extends Error {
}
/** What an error means for the connection: one with a `status` is an answer, any other a loss. */
function happeningOf(error) {
    const { status } = error;
    if (typeof status !== "number" || status < 400 || status >= 500 || RETRIED.has(status))
        return "failed";
    return status === 404 ? "missing" : "refused";
}
/** A stream of events that is opened again whenever it is lost, until it is closed. */
export class Connection {
    open;
    onEvent;
    onChange;
    state = "connecting";
    /** When the next attempt is, as `Date.now()` counts. */
    retryAt;
    /** Why the connection is lost, refused or unwatched. */
    error;
    failures = 0;
    request = new AbortController();
    lastByte = 0;
    wake = () => { };
    unlisten;
    /**
     * `open`: sends the request; it may also raise an error with the `status` of the answer. `onEvent`: gets the JSON of each
     * event, and its id. `onChange`: called after each move.
     */
    constructor(open, onEvent, onChange) {
        this.open = open;
        this.onEvent = onEvent;
        this.onChange = onChange;
        if (isHidden())
            this.state = "paused";
        this.unlisten = listening({
            offline: () => this.request.abort(new Error("The browser is offline.")),
            online: () => this.wake(),
            hidden: () => {
                this.move("hidden");
                if (this.state === "paused")
                    this.request.abort(new Hidden("The page is hidden."));
            },
            visible: () => {
                this.endIfSilent();
                this.failures = 0;
                this.move("shown");
                this.wake();
            },
        });
        void this.stay();
    }
    /** Loses the connection for so many milliseconds, or until `retry()`. */
    drop(milliseconds, error) {
        if (this.state === "live")
            this.request.abort(Object.assign(error, { after: milliseconds }));
    }
    /** Tries again now, also after a refusal. */
    retry() {
        this.move("retried");
        this.wake();
    }
    /** What needs the connection was refused itself: it waits for `retry()`. */
    refuse(error) {
        this.error = error;
        this.move("refused");
    }
    close() {
        this.unlisten();
        this.move("closed");
        this.request.abort();
        this.wake();
    }
    async stay() {
        while (this.state !== "closed") {
            if (this.state === "paused") {
                await this.woken(undefined);
                continue;
            }
            const error = await this.read().then(() => new Error("The server has ended the stream."), (raised) => (raised instanceof Error ? raised : new Error(String(raised))));
            if (this.request.signal.reason instanceof Hidden)
                continue; // it may be seen again by now
            const happening = happeningOf(error);
            const delay = happening === "failed" ? Math.max(delayAfter(++this.failures), error.after ?? 0) : undefined;
            this.error = error;
            this.retryAt = delay === undefined ? undefined : Date.now() + delay;
            this.move(happening);
            await this.woken(delay);
        }
    }
    /** Reads one stream to its end; raises when it is lost. */
    async read() {
        this.request = new AbortController();
        this.lastByte = Date.now();
        const { signal } = this.request;
        const watchdog = setInterval(() => this.endIfSilent(), SILENCE / 3);
        try {
            const response = await this.open(signal);
            if (!response.ok)
                throw await httpError(response);
            this.error = this.retryAt = undefined;
            this.move("opened");
            const text = response.body.pipeThrough(new TextDecoderStream());
            let rest = "";
            for (const reader = text.getReader();;) {
                const { value, done } = await reader.read();
                if (done || this.state === "closed")
                    return;
                this.lastByte = Date.now();
                this.failures = 0;
                const frames = (rest + value).split("\n\n");
                rest = frames.pop();
                for (const frame of frames)
                    this.take(frame);
            }
        }
        finally {
            clearInterval(watchdog);
        }
    }
    take(frame) {
        if (frame === SERVER_LOST)
            this.error = new Error("The connection to the server that has the thread is lost.");
        if (frame === SERVER_BACK)
            this.error = undefined;
        if (frame === SERVER_LOST)
            this.move("serverLost");
        if (frame === SERVER_BACK)
            this.move("serverBack");
        const data = frame.split("\n").filter((line) => line.startsWith("data:"));
        const id = frame.split("\n").find((line) => line.startsWith("id:"));
        if (data.length)
            this.onEvent(JSON.parse(data.map((line) => line.slice(5)).join("\n")), id?.slice(3).trim());
    }
    endIfSilent() {
        if (Date.now() - this.lastByte > SILENCE)
            this.request.abort(new Error(`Nothing came for ${SILENCE / 1000} seconds.`));
    }
    move(happening) {
        const next = MOVES[this.state][happening];
        if (next === undefined)
            return;
        this.state = next;
        this.onChange();
    }
    /** Returns after this time (undefined: never by itself), or when something wakes it. */
    woken(milliseconds) {
        if (this.state === "closed")
            return Promise.resolve();
        return new Promise((resolve) => {
            const timer = milliseconds === undefined ? undefined : setTimeout(resolve, milliseconds);
            this.wake = () => {
                if (this.state === "refused" || this.state === "unwatched")
                    return;
                clearTimeout(timer);
                resolve();
            };
        });
    }
}
async function httpError(response) {
    const text = await response.text().catch(() => "");
    const { status, headers } = response;
    return new HttpError(status, text.slice(0, 500), 1000 * (Number(headers.get("Retry-After")) || 0));
}
/** Whether this is a page that nobody sees. */
function isHidden() {
    return typeof document !== "undefined" && document.visibilityState === "hidden";
}
/** Listens to what a browser says of itself; elsewhere to nothing. */
function listening(on) {
    if (typeof window === "undefined" || typeof document === "undefined")
        return () => { };
    const seen = () => (isHidden() ? on.hidden() : on.visible());
    const events = [
        [window, "offline", on.offline],
        [window, "online", on.online],
        [window, "pagehide", on.hidden],
        [window, "pageshow", seen],
        [document, "visibilitychange", seen],
    ];
    for (const [target, name, listener] of events)
        target.addEventListener(name, listener);
    return () => {
        for (const [target, name, listener] of events)
            target.removeEventListener(name, listener);
    };
}
