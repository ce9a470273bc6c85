// The events of a thread in the order in which they came, and the view after any of them.

import { EMPTY, next, type View, type WireEvent } from "./view.ts";

export interface Entry {
  readonly index: number;
  readonly event: WireEvent;
  /** When it came, or what it says itself: milliseconds since 1970. */
  readonly at: number;
  /** Why @ag-ui/client refuses it. */
  readonly refused?: string;
  /** How long nothing was read before it. */
  readonly gap?: Gap;
}

/** Milliseconds in which nothing was read: the connection was lost, or nobody saw the page. */
export interface Gap {
  readonly for: number;
  readonly isHidden: boolean;
}

const EVERY = 64;

export class EventLog {
  readonly entries: Entry[] = [];
  /** Views after 0, 64, 128... events. They share all that has not changed between them. */
  readonly #kept: View[] = [EMPTY];
  #last: View = EMPTY;

  get length(): number {
    return this.entries.length;
  }

  /** The view after all events. */
  get view(): View {
    return this.#last;
  }

  append(event: WireEvent, at: number, more: Pick<Entry, "refused" | "gap"> = {}): void {
    this.entries.push({ index: this.entries.length, event, at, ...more });
    this.#last = next(this.#last, event);
    if (this.entries.length % EVERY === 0) this.#kept.push(this.#last);
  }

  /** The view after so many events. */
  viewAt(count: number): View {
    if (count >= this.entries.length) return this.#last;
    const kept = Math.floor(count / EVERY);
    let view = this.#kept[kept] ?? EMPTY;
    for (let place = kept * EVERY; place < count; place += 1) view = next(view, this.entries[place]!.event);
    return view;
  }
}
