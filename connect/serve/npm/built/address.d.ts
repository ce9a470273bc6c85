/**
 * The address of what is below an agent's URL: `addressBelow("http://host/planner", ["watch", "t 1"])` is
 * `http://host/planner/watch/t%201`. Query parameters of the URL stay, `query` is added. Throws for a URL that is neither an
 * http(s) URL nor a path of the page's own origin, and for a segment that can't be in a path.
 */
export declare function addressBelow(url: string, segments: readonly string[], query?: Readonly<Record<string, string>>): string;
/** This URL as an absolute one; throws as `addressBelow`. */
export declare function checkedUrl(url: string): URL;
/** Sends a request with `send`, to this URL and nowhere else; rejects if the answer is a redirect. */
export declare function answerOf(send: Send, url: string, init: RequestInit): Promise<Response>;
type Send = (url: string, init: RequestInit) => Promise<Response>;
export {};
