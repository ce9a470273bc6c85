// The raw events, with filter and search. The one that is chosen is the playhead: it is shown whole, and all else as it
// was after it.

import { computed, signal } from "@preact/signals";

import { written } from "../model/json.ts";
import type { Entry } from "../model/log.ts";
import type { WireEvent } from "../model/view.ts";
import { position, session, tick } from "../session.ts";
import { Copy } from "./copy.tsx";
import { clock, duration } from "./times.ts";
import { FAMILIES, type Family, familyOf, summaryOf } from "./event_text.ts";
import { Icon } from "./icons.tsx";
import { JsonTree } from "./json_view.tsx";
import { memo } from "./memo.tsx";
import { VirtualList } from "./virtual.tsx";

const hidden = signal<ReadonlySet<Family>>(new Set());
const words = signal("");
/** Whether the chosen event is shown whole. */
const isShown = signal(true);
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
  const chosen = position.value === null ? undefined : all[position.value - 1];
  const near = chosen ? entries.findLastIndex(({ index }) => index <= chosen.index) : -1;
  const target = near >= 0 ? near : null;
  const choose = (place: number) => {
    const entry = entries[Math.max(0, Math.min(place, entries.length - 1))];
    if (entry) position.value = entry.index + 1;
    isShown.value = true;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: { readonly [key: string]: number } = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 };
    const step = steps[event.key];
    if (step === undefined && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    choose(event.key === "Home" ? 0 : event.key === "End" ? entries.length - 1 : target === null ? (step! < 0 ? entries.length - 1 : 0) : target + step!);
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
          target={target}
          attributes={{ role: "listbox", "aria-label": "Events", "aria-activedescendant": chosen ? `event-${chosen.index}` : undefined, class: "event-list", onKeyDown }}
          rowAttributes={(place) => ({
            role: "option",
            id: `event-${entries[place]!.index}`,
            "aria-selected": entries[place]!.index === chosen?.index,
            class: chosen && entries[place]!.index > chosen.index ? "virtual-row later" : "virtual-row",
            onClick: () => choose(place),
          })}
          row={(place) => <EventRow entry={entries[place]!} before={all[entries[place]!.index - 1]} />}
        />
      )}
      {chosen && isShown.value && (
        <section class="event-detail" aria-label="Event">
          <header>
            <strong>{`${chosen.index + 1}. ${chosen.event.type}`}</strong>
            <time class="quiet" dateTime={new Date(chosen.at).toISOString()}>
              {clock(chosen.at)}
            </time>
            <Copy of={() => chosen.event} what="the event" />
            <button type="button" class="plain" aria-label="Close" onClick={() => (isShown.value = false)}>
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
