// The raw events, with filter and search. The chosen one is shown whole, and the conversation can be shown as it was then.

import { computed, signal } from "@preact/signals";

import { written } from "../model/json.ts";
import type { Entry } from "../model/log.ts";
import type { WireEvent } from "../model/view.ts";
import { position, session, tick } from "../session.ts";
import { Copy } from "./copy.tsx";
import { FAMILIES, type Family, familyOf, summaryOf } from "./event_text.ts";
import { Icon } from "./icons.tsx";
import { JsonTree } from "./json_view.tsx";
import { memo } from "./memo.tsx";
import { chosenEvent } from "./panes.ts";
import { VirtualList } from "./virtual.tsx";

const hidden = signal<ReadonlySet<Family>>(new Set());
const words = signal("");
const shown = computed<readonly Entry[]>(() => {
  void tick.value;
  const entries = session.value?.log.entries ?? [];
  const wanted = words.value.trim().toLowerCase();
  if (!wanted && !hidden.value.size) return entries;
  return entries.filter(({ event }) => !hidden.value.has(familyOf(event)) && (!wanted || textOf(event).includes(wanted)));
});

const texts = new WeakMap<object, string>();
function textOf(event: object): string {
  let text = texts.get(event);
  if (text === undefined) texts.set(event, (text = written(event).toLowerCase()));
  return text;
}

export function Events() {
  void tick.value;
  const all = session.value?.log.entries ?? [];
  const entries = shown.value;
  const chosen = chosenEvent.value === null ? undefined : all[chosenEvent.value];
  const target = chosen ? entries.findIndex(({ index }) => index === chosen.index) : -1;
  const choose = (place: number) => (chosenEvent.value = entries[Math.max(0, Math.min(place, entries.length - 1))]?.index ?? null);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: { readonly [key: string]: number } = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 };
    const step = steps[event.key];
    if (step === undefined && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    choose(event.key === "Home" ? 0 : event.key === "End" ? entries.length - 1 : target < 0 ? (step! < 0 ? entries.length - 1 : 0) : target + step!);
  };
  const toggle = (family: Family) => {
    const next = new Set(hidden.value);
    if (!next.delete(family)) next.add(family);
    hidden.value = next;
  };
  return (
    <div class="events">
      <div class="events-head">
        <input type="search" placeholder="Search events" aria-label="Search events" value={words.value} onInput={({ currentTarget }) => (words.value = currentTarget.value)} />
        <div class="chips" role="group" aria-label="Show">
          {FAMILIES.map((family) => (
            <button key={family} type="button" aria-pressed={!hidden.value.has(family)} onClick={() => toggle(family)}>
              <i class={`dot ${family}`} />
              {family}
            </button>
          ))}
          <span class="quiet count">{entries.length === all.length ? all.length : `${entries.length} of ${all.length}`}</span>
        </div>
      </div>
      {entries.length === 0 ? (
        <p class="empty quiet">{all.length ? "No event matches." : "No events yet."}</p>
      ) : (
        <VirtualList
          of={session.value}
          count={entries.length}
          keyOf={(place) => entries[place]!.index}
          estimate={26}
          target={target >= 0 ? target : null}
          attributes={{ role: "listbox", "aria-label": "Events", "aria-activedescendant": chosen ? `event-${chosen.index}` : undefined, class: "event-list", onKeyDown }}
          rowAttributes={(place) => ({
            role: "option",
            id: `event-${entries[place]!.index}`,
            "aria-selected": entries[place]!.index === chosen?.index,
            onClick: () => choose(place),
          })}
          row={(place) => <EventRow entry={entries[place]!} before={all[entries[place]!.index - 1]} />}
        />
      )}
      {chosen && (
        <section class="event-detail" aria-label="Event">
          <header>
            <strong>{`${chosen.index + 1}. ${chosen.event.type}`}</strong>
            <button type="button" class="small" onClick={() => (position.value = chosen.index + 1)}>
              Show this moment
            </button>
            <Copy of={() => chosen.event} what="the event" />
            <button type="button" class="plain" aria-label="Close" onClick={() => (chosenEvent.value = null)}>
              <Icon name="close" />
            </button>
          </header>
          <div class="scrolls" tabIndex={0} role="group" aria-label="JSON of the event">
            {chosen.refused && <p class="wrong">{`@ag-ui/client refuses it: ${chosen.refused}`}</p>}
            <JsonTree key={chosen.index} value={chosen.event} levels={3} />
          </div>
        </section>
      )}
    </div>
  );
}

interface EventRowProps {
  readonly entry: Entry;
  readonly before: Entry | undefined;
}

const EventRow = memo<EventRowProps>(DrawnEvent, (one, other) => one.entry === other.entry && one.before === other.before);

function DrawnEvent({ entry, before }: EventRowProps) {
  const wait = before === undefined ? 0 : Math.max(0, entry.at - before.at);
  return (
    <div class={entry.refused || hasFailed(entry.event) ? "event wrong-event" : "event"}>
      {entry.gap && <span class={entry.gap.isHidden ? "gap-mark" : "gap-mark lost"}>{`${entry.gap.isHidden ? "the page was hidden for" : "connection lost for"} ${duration(entry.gap.for)}`}</span>}
      <span class="number">{entry.index + 1}</span>
      <span class="wait">{wait >= 1 ? `+${duration(wait)}` : ""}</span>
      <i class={`dot ${familyOf(entry.event)}`} />
      <span class="type">{entry.event.type}</span>
      <span class="summary">{summaryOf(entry.event)}</span>
    </div>
  );
}

const hasFailed = ({ type, metadata, error }: WireEvent): boolean => type === "RUN_ERROR" || type === "SUBAGENT_ERROR" || (type === "TOOL_CALL_RESULT" && (metadata?.status === "error" || error !== undefined));

/** Milliseconds in one unit. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}
