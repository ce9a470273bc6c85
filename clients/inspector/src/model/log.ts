// The events of a thread in the order in which they were emitted, and the view after any of them.

import { EMPTY, next, type View, type WireEvent } from "./view.ts";

export interface Entry {
  /** How many events come before it; changes when earlier ones are read later (`EventLog.splice`). */
  index: number;
  readonly event: WireEvent;
  /** When it came, or what it says itself: milliseconds since 1970. */
  readonly at: number;
  /** Why @ag-ui/client refuses it. */
  readonly refused?: string | undefined;
  /** How long nothing was read before it. */
  readonly gap?: Gap;
}

/** Milliseconds in which nothing was read: the connection was lost, or nobody saw the page. */
export interface Gap {
  readonly for: number;
  readonly isHidden: boolean;
}

const EVERY = 64;
/** Milliseconds of work after which `splice` lets the page draw. */
const SLICE = 10;

export class EventLog {
  #entries: Entry[] = [];
  /** Views after 0, 64, 128... events. They share all that has not changed between them. */
  #kept: View[] = [EMPTY];
  #last: View = EMPTY;

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  get length(): number {
    return this.#entries.length;
  }

  /** The view after all events. */
  get view(): View {
    return this.#last;
  }

  append(event: WireEvent, at: number, more: Pick<Entry, "refused" | "gap"> = {}): void {
    this.#entries.push({ index: this.#entries.length, event, at, ...more });
    this.#last = next(this.#last, event);
    if (this.#entries.length % EVERY === 0) this.#kept.push(this.#last);
  }

  /**
   * Puts events in the place of so many others, and makes the views after them again, some at a time, so that the page
   * stays smooth. Until it is done the log is as it was; events may be appended meanwhile.
   */
  async splice(place: number, removed: number, more: readonly Omit<Entry, "index">[]): Promise<void> {
    const entries: Entry[] = [...this.#entries.slice(0, place), ...more.map((entry) => ({ ...entry, index: 0 }))];
    const kept = this.#kept.slice(0, Math.floor(place / EVERY) + 1);
    let view = kept.at(-1)!;
    let since = performance.now();
    for (let done = (kept.length - 1) * EVERY; ; done += 1) {
      if (done === entries.length) {
        const later = this.#entries[place + removed + done - place - more.length];
        if (later === undefined) break;
        entries.push(later);
      }
      view = next(view, entries[done]!.event);
      if ((done + 1) % EVERY > 0) continue;
      kept.push(view);
      if (performance.now() - since < SLICE) continue;
      await new Promise((resolve) => setTimeout(resolve));
      since = performance.now();
    }
    entries.forEach((entry, index) => (entry.index = index));
    [this.#entries, this.#kept, this.#last] = [entries, kept, view];
  }

  /** The view after so many events. */
  viewAt(count: number): View {
    if (count >= this.#entries.length) return this.#last;
    const kept = Math.floor(count / EVERY);
    let view = this.#kept[kept] ?? EMPTY;
    for (let place = kept * EVERY; place < count; place += 1) view = next(view, this.#entries[place]!.event);
    return view;
  }
}
