// A thread's stream: its messages and state, and every run of it to come. After a lost connection it connects again from
// the last event that came. If the server still has the next events, it continues with them; else it begins with snapshots.

import { EventSourceParserStream } from "eventsource-parser/stream";

import type { WireEvent } from "../model/view.ts";
import { Refused, requested } from "./api.ts";

export type Connection =
  | { readonly status: "connecting" }
  | { readonly status: "live"; readonly caughtUp?: number }
  /** `retryAt`: when the page connects again; null while the server that it reads has lost the LangGraph server behind it. */
  | { readonly status: "lost"; readonly retryAt: number | null; readonly reason: string }
  | { readonly status: "refused"; readonly error: Refused };

export interface StreamHandlers {
  /** Events, in their order; `lostFor`: milliseconds without a connection before the first of them. */
  events(events: readonly WireEvent[], lostFor?: number): void;
  connection(connection: Connection): void;
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const DROPPED_FOR = 5_000;
/** Milliseconds without an event after which what was missed is counted as caught up. */
const SETTLED = 300;

export class ThreadStream {
  #lastId: string | null = null;
  #wait = FIRST_WAIT;
  #lostAt: number | null = null;
  #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  #isOpen = false;

  constructor(
    readonly agent: string,
    readonly threadId: string,
    readonly handlers: StreamHandlers,
  ) {
    addEventListener("online", this.retry);
    addEventListener("offline", this.#leave);
    document.addEventListener("visibilitychange", this.retry);
    void this.#read();
  }

  /** Connects now, if the connection is lost. */
  retry = (): void => {
    if (this.#isClosed || this.#isOpen || document.visibilityState === "hidden") return;
    clearTimeout(this.#timer);
    void this.#read();
  };

  /** Loses the connection, for some seconds or until `retry`: to see that nothing is lost with it. */
  drop(): void {
    if (!this.#isOpen) return;
    this.#abort.abort(new Error("You dropped the connection."));
  }

  close(): void {
    this.#isClosed = true;
    this.#abort.abort();
    clearTimeout(this.#timer);
    removeEventListener("online", this.retry);
    removeEventListener("offline", this.#leave);
    document.removeEventListener("visibilitychange", this.retry);
  }

  /** Streams of a browser that is offline end only after minutes. */
  #leave = (): void => {
    if (this.#isOpen) this.#abort.abort(new Error("The browser is offline."));
  };

  async #read(): Promise<void> {
    this.#isOpen = true;
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    if (this.#lostAt === null) this.handlers.connection({ status: "connecting" });
    try {
      const headers: HeadersInit = { Accept: "text/event-stream", ...(this.#lastId !== null && { "Last-Event-ID": this.#lastId }) };
      const path = `watch/${this.threadId.split("/").map(encodeURIComponent).join("/")}?agent=${encodeURIComponent(this.agent)}`;
      const response = await requested(path, { headers, signal, cache: "no-store" });
      await this.#follow(response.body!);
      this.#lost("The server closed the connection.", this.#wait);
    } catch (error) {
      if (this.#isClosed) return;
      const isRefused = error instanceof Refused && error.status < 500 && error.status !== 408 && error.status !== 429;
      if (isRefused) {
        this.#isOpen = false;
        this.handlers.connection({ status: "refused", error });
      } else if (signal.aborted) this.#lost((signal.reason as Error).message, DROPPED_FOR);
      else this.#lost(error instanceof Refused ? error.message : "The server cannot be reached.", this.#wait);
    }
  }

  async #follow(body: ReadableStream<Uint8Array>): Promise<void> {
    let lostFor = this.#lostAt === null ? undefined : Date.now() - this.#lostAt;
    let missed = 0;
    let isCatchingUp = lostFor !== undefined;
    const settle = () => {
      isCatchingUp = false;
      this.handlers.connection({ status: "live", caughtUp: missed });
    };
    let settled: ReturnType<typeof setTimeout> | undefined = isCatchingUp ? setTimeout(settle, SETTLED) : undefined;
    if (!isCatchingUp) this.handlers.connection({ status: "live" });
    this.#lostAt = null;
    this.#wait = FIRST_WAIT;
    const onComment = (comment: string) => this.#commented(comment.trim());
    const text = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>);
    const frames = text.pipeThrough(new EventSourceParserStream({ onComment }));
    try {
      for (const reader = frames.getReader(); ; ) {
        const { value, done } = await reader.read();
        if (done) return;
        if (value.id !== undefined) this.#lastId = value.id;
        this.handlers.events([JSON.parse(value.data) as WireEvent], lostFor);
        lostFor = undefined;
        if (isCatchingUp) {
          missed += 1;
          clearTimeout(settled);
          settled = setTimeout(settle, SETTLED);
        }
      }
    } finally {
      clearTimeout(settled);
    }
  }

  #commented(comment: string): void {
    const reason = "The connection to the LangGraph server is lost.";
    if (comment === "connection lost") this.handlers.connection({ status: "lost", retryAt: null, reason });
    if (comment === "connection back") this.handlers.connection({ status: "live" });
  }

  #lost(reason: string, wait: number): void {
    if (this.#isClosed) return;
    this.#isOpen = false;
    this.#lostAt ??= Date.now();
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    this.handlers.connection({ status: "lost", retryAt: Date.now() + wait, reason });
    this.#timer = setTimeout(() => void this.#read(), wait);
  }
}
