// Where requests go: `addressBelow` makes the addresses of an agent's routes, and `answerOf` sends to one.
//
// No request leaves the origin of the URL that the page's author gave, because it carries the user's credentials: a thread
// id is one segment of a path, whatever is in it, and a redirect is an error, since browsers show its target to nobody.
/**
 * The address of what is below an agent's URL: `addressBelow("http://host/planner", ["watch", "t 1"])` is
 * `http://host/planner/watch/t%201`. Query parameters of the URL stay, `query` is added. Throws for a URL that is neither an
 * http(s) URL nor a path of the page's own origin, and for a segment that can't be in a path.
 */
export function addressBelow(url, segments, query = {}) {
    const address = checkedUrl(url);
    address.pathname = [address.pathname.replace(/\/+$/, ""), ...segments.map(quoted)].join("/");
    for (const [name, value] of Object.entries(query))
        address.searchParams.set(name, value);
    address.hash = "";
    return address.href;
}
/** This URL as an absolute one; throws as `addressBelow`. */
export function checkedUrl(url) {
    const page = typeof location === "undefined" ? undefined : location;
    const address = parsed(url, page?.href);
    const isOfPage = address !== undefined && address.origin === page?.origin;
    const isWhole = /^https?:\/\/[^/\\?#]/i.test(url);
    if (address && /^https?:$/.test(address.protocol) && !address.username && !address.password && (isWhole || isOfPage))
        return address;
    const path = page === undefined ? "" : ", or a path of the page's own origin";
    throw new TypeError(`url: expected a URL such as http://127.0.0.1:8000/planner${path}, got ${JSON.stringify(url)}.`);
}
function parsed(url, base) {
    try {
        return url ? new URL(url, base) : undefined;
    }
    catch {
        return undefined;
    }
}
/** Sends a request with `send`, to this URL and nowhere else; rejects if the answer is a redirect. */
export async function answerOf(send, url, init) {
    const { href, origin } = checkedUrl(url);
    const response = await send(href, { ...init, redirect: "manual" });
    const { type, redirected, status } = response; // a browser hides what it did not follow
    if (redirected || type === "opaqueredirect" || (status >= 300 && status < 400))
        throw new Error(`Expected an answer of ${origin}, got a redirect: give the agent the URL that it leads to.`);
    return response;
}
/** One segment of a path: not `..`, which no quoting keeps from being the parent. */
function quoted(segment) {
    try {
        if (!/^\.{0,2}$/.test(segment))
            return encodeURIComponent(segment);
    }
    catch {
        // half a character
    }
    throw new TypeError(`threadId: expected a string that can be in the path of a URL, got ${JSON.stringify(segment)}.`);
}
