// Whether the real client would take the events: its own checks, in its own order. What it refuses ends a real page's
// stream, so it is shown with the event.

import { type BaseEvent, enforceEvents, transformChunks, verifyEvents } from "@ag-ui/client";
import { Subject } from "rxjs";

import type { WireEvent } from "./view.ts";

export class Verifier {
  #events: Subject<BaseEvent> | null = null;
  #isInRun = false;
  #refused: string | undefined;

  /** Why the client refuses this event; undefined if it takes it. After a refusal all is passed over until a run begins. */
  refusal(event: WireEvent): string | undefined {
    this.#refused = undefined;
    if (this.#events === null || (event.type === "RUN_STARTED" && this.#isInRun)) {
      if (event.type !== "RUN_STARTED" && event.type !== "RUN_ERROR") return undefined;
      this.#begin();
    }
    try {
      this.#events?.next(structuredClone(event) as unknown as BaseEvent);
    } catch (error) {
      this.#refused = (error as Error).message; // a value that is too deep
    }
    if (event.type === "RUN_STARTED") this.#isInRun = true;
    if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") this.#isInRun = false;
    return this.#refused;
  }

  #begin(): void {
    this.#isInRun = false;
    const events = new Subject<BaseEvent>();
    this.#events = events;
    const error = (reason: unknown) => {
      this.#refused = reason instanceof Error ? reason.message : String(reason);
      this.#events = null;
    };
    events.pipe(enforceEvents(), transformChunks(), verifyEvents()).subscribe({ error });
  }
}
