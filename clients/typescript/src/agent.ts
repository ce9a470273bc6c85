// `ThreadAgent`: an agent of `@ag-ui/client` on one thread of a langgraph-agui server. It runs, connects, answers, stops,
// and stays on its thread (`watch`).

import {
  HttpAgent,
  runHttpRequest,
  transformHttpEventStream,
  type HttpAgentConfig,
  type Message,
  type ResumeEntry,
  type RunAgentInput,
} from "@ag-ui/client";

import { addressBelow, answerOf, checkedUrl } from "./address.js";
import { detach, makeReady, watch, type Watch, type WatchOptions } from "./watch.js";

/**
 * An `HttpAgent` for `POST {url}`, with what the server has below it. `url`: the agent's, such as
 * `http://127.0.0.1:8000/planner`, or the server's own where it has a single agent; in a page also a path of the page's
 * origin. `threadId`: the conversation. Throws a `TypeError` for any other URL. Requests stay at the origin of
 * the URL: a redirect is an error.
 */
export class ThreadAgent extends HttpAgent {
  // No `#private` fields: `clone()` makes an object without them.
  private isConnected?: boolean;
  private answers?: Map<string, ResumeEntry>;

  constructor(config: HttpAgentConfig) {
    super(config);
    checkedUrl(this.url);
    const { fetch } = this;
    this.fetch = async (url, init) => quiet(await answerOf(fetch, url, init));
  }

  /** Runs the agent, as `HttpAgent` does. What it reads of a run of others is ended first. */
  override async runAgent(...given: Parameters<HttpAgent["runAgent"]>): ReturnType<HttpAgent["runAgent"]> {
    if (this.isConnected) await detach(this);
    return super.runAgent(...given);
  }

  /** Gets the thread, and its active run to its end, which the server sends from where this agent is. */
  override async connectAgent(...given: Parameters<HttpAgent["connectAgent"]>): ReturnType<HttpAgent["connectAgent"]> {
    makeReady(this);
    this.isConnected = true;
    try {
      return await super.connectAgent(...given);
    } finally {
      this.isConnected = false;
    }
  }

  /** Sends a message of the user; resolves when it is answered, or when the run waits for an answer. */
  async send(content: string): Promise<void> {
    this.addMessage({ id: crypto.randomUUID(), role: "user", content } satisfies Message);
    await this.runAgent();
  }

  /**
   * Answers an interrupt; resolves when the run that continues has ended. Where several are pending, nothing is sent until
   * each has an answer. `status`: `cancelled` declines to answer. Rejects if the interrupt is not pending.
   */
  async answer(payload: unknown, of: { interruptId?: string; status?: ResumeEntry["status"] } = {}): Promise<void> {
    const { interruptId = this.pendingInterrupts[0]?.id, status = "resolved" } = of;
    const isPending = !this.isRunning && this.pendingInterrupts.some(({ id }) => id === interruptId);
    if (!isPending) throw new Error(`Expected an interrupt that is pending, got ${interruptId}: it may have been answered.`);
    this.answers ??= new Map();
    this.answers.set(interruptId!, { interruptId: interruptId!, status, ...(status === "resolved" && { payload }) });
    const resume = this.pendingInterrupts.flatMap(({ id }) => this.answers!.get(id) ?? []);
    if (resume.length < this.pendingInterrupts.length) return;
    this.answers.clear();
    await this.runAgent({ resume });
  }

  /**
   * Stops what runs on the thread, whoever started it; `false` if nothing did. `abortRun()` only ends the reading: the run
   * continues, and an agent that is watched connects to it again.
   */
  async stop(): Promise<boolean> {
    const response = await this.fetch(addressBelow(this.url, ["stop"]), {
      method: "POST",
      headers: { ...this.headers, "Content-Type": "application/json" },
      body: JSON.stringify({ threadId: this.threadId }),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { stopped: boolean }).stopped;
  }

  /** Stays on the thread until `close()`: see `watch`. */
  watch(options?: WatchOptions): Watch {
    return watch(this, options);
  }

  protected override connect(input: RunAgentInput): ReturnType<HttpAgent["run"]> {
    const request = () => this.fetch(addressBelow(this.url, ["connect"]), this.requestInit(input));
    return transformHttpEventStream(runHttpRequest(request), this.debugLogger);
  }
}

/** The response, whose reader can be cancelled after its connection was lost: the client does, and handles no rejection. */
function quiet(response: Response): Response {
  const { body } = response;
  if (body === null) return response;
  const getReader = body.getReader.bind(body) as () => ReadableStreamDefaultReader<Uint8Array>;
  body.getReader = (() => {
    const reader = getReader();
    const cancel = reader.cancel.bind(reader);
    reader.cancel = (reason) => cancel(reason).catch(() => {});
    return reader;
  }) as typeof body.getReader;
  return response;
}
