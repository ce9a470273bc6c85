// A thread's stream: its messages and state, and every run of it to come. After a lost connection it connects again from
// the last event that came. If the server still has the next events, it continues with them; else it begins with snapshots.
// When it connects, and for how long, decides the `Connection` of clients/typescript, as for every page.

import { Connection as Reconnecting } from "../../../typescript/src/connection.ts";
import type { Gap } from "../model/log.ts";
import type { WireEvent } from "../model/view.ts";
import { Refused, requested } from "./api.ts";

export type Connection =
  | { readonly status: "connecting" }
  | { readonly status: "live"; readonly caughtUp?: number }
  | { readonly status: "paused" }
  /** `retryAt`: when the page connects again; null while the server that it reads has lost the LangGraph server behind it. */
  | { readonly status: "lost"; readonly retryAt: number | null; readonly reason: string }
  | { readonly status: "refused"; readonly error: Refused };

export interface StreamHandlers {
  /** Events, in their order; `gap`: how long nothing was read before the first of them. */
  events(events: readonly WireEvent[], gap?: Gap): void;
  connection(connection: Connection): void;
}

const DROPPED_FOR = 5_000;
/** Milliseconds without an event after which what was missed is counted as caught up. */
const SETTLED = 300;

export class ThreadStream {
  readonly #connection: Reconnecting;
  #lastId: string | undefined;
  #since: { readonly at: number; readonly isHidden: boolean } | null = null;
  #gap: Gap | undefined;
  #missed: number | null = null;
  #settled: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly agent: string,
    readonly threadId: string,
    readonly handlers: StreamHandlers,
  ) {
    this.#connection = new Reconnecting(
      (signal) => this.#open(signal),
      (event, id) => this.#came(event as WireEvent, id),
      () => this.#moved(),
    );
    this.#moved();
  }

  /** Connects now, if the connection is lost. */
  retry = (): void => this.#connection.retry();

  /** Loses the connection, for some seconds or until `retry`: to see that nothing is lost with it. */
  drop = (): void => this.#connection.drop(DROPPED_FOR, new Error("You dropped the connection."));

  close(): void {
    this.#connection.close();
    clearTimeout(this.#settled);
  }

  async #open(signal: AbortSignal): Promise<Response> {
    const headers: HeadersInit = { Accept: "text/event-stream", ...(this.#lastId !== undefined && { "Last-Event-ID": this.#lastId }) };
    const path = `watch/${this.threadId.split("/").map(encodeURIComponent).join("/")}?agent=${encodeURIComponent(this.agent)}`;
    return requested(path, { headers, signal, cache: "no-store" });
  }

  #came(event: WireEvent, id: string | undefined): void {
    if (id !== undefined) this.#lastId = id;
    this.handlers.events([event], this.#gap);
    this.#gap = undefined;
    if (this.#missed === null) return;
    this.#missed += 1;
    this.#settle();
  }

  /** After a gap, what comes is counted until a moment passes in which nothing came. */
  #settle(): void {
    clearTimeout(this.#settled);
    this.#settled = setTimeout(() => {
      const caughtUp = this.#missed ?? 0;
      this.#missed = null;
      if (this.#connection.state === "live") this.handlers.connection({ status: "live", caughtUp });
    }, SETTLED);
  }

  #moved(): void {
    const { state, error, retryAt } = this.#connection;
    if (state === "lost" || state === "paused") {
      this.#since ??= { at: Date.now(), isHidden: state === "paused" };
      clearTimeout(this.#settled);
    }
    switch (state) {
      case "connecting":
      case "paused":
        return this.handlers.connection({ status: state });
      case "live":
        if (this.#since === null) return this.handlers.connection({ status: "live" });
        this.#gap = { for: Date.now() - this.#since.at, isHidden: this.#since.isHidden };
        this.#since = null;
        this.#missed = 0;
        return this.#settle();
      case "lost": {
        const reason = error instanceof Refused ? error.message : error instanceof TypeError || error === undefined ? "The server cannot be reached." : error.message;
        return this.handlers.connection({ status: "lost", retryAt: retryAt ?? null, reason });
      }
      case "closed":
        return;
      case "refused":
      case "unwatched":
        return this.handlers.connection({ status: "refused", error: error instanceof Refused ? error : new Refused(404, "not_found", "The server has no such thread.") });
    }
  }
}
