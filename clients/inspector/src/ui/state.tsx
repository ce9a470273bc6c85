// The state at the playhead, and what differs from another moment: the change before, the beginning, or one that was kept.

import { computed, signal } from "@preact/signals";
import { useState } from "preact/hooks";

import { countOf, type Difference, differenceOf, type Words } from "../model/diff.ts";
import { inLine, isObject, type Json } from "../model/json.ts";
import type { Entry } from "../model/log.ts";
import { EMPTY } from "../model/view.ts";
import { isLeftOut, length, position, session, tick, view } from "../session.ts";
import { Copy } from "./copy.tsx";
import { Icon } from "./icons.tsx";
import { JsonTree } from "./json_view.tsx";

/** What the state is compared with: the change before, the beginning of the run, the first event, or the state after an event. */
type Base = "before" | "run" | "first" | Entry;

const base = signal<Base>("before");
const isOnlyChanges = signal(false);

const compared = computed<Json>(() => {
  const { state, stateBefore } = view.value;
  const log = session.value?.log;
  if (log === undefined || base.value === "before") return log === undefined ? state : stateBefore;
  if (typeof base.value === "object") return log.viewAt(base.value.index + 1).state;
  if (base.value === "first") return EMPTY.state;
  const now = position.value ?? log.length;
  const begun = log.entries.slice(0, now).findLastIndex(({ event }) => event.type === "RUN_STARTED");
  const first = log.entries.slice(begun + 1, now).find(({ event }) => event.type === "STATE_SNAPSHOT");
  return first === undefined ? EMPTY.state : log.viewAt(first.index + 1).state;
});
const difference = computed(() => differenceOf(compared.value, view.value.state));

/** The number of events after which the state changes next, or changed last; null if it does not. */
function change(direction: 1 | -1): number | null {
  const entries = session.value?.log.entries ?? [];
  const now = position.value ?? entries.length;
  const changes = (place: number) => entries[place]?.event.type.startsWith("STATE_");
  for (let place = direction === 1 ? now : now - 2; place >= 0 && place < entries.length; place += direction) if (changes(place)) return place + 1;
  return null;
}

export function State() {
  if (isLeftOut("state")) return <p class="empty quiet">The state was left out of this file.</p>;
  void tick.value;
  const { state } = view.value;
  const found = difference.value;
  const count = countOf(found);
  const isEmpty = isObject(state) && Object.keys(state).length === 0 && count === 0;
  const now = position.value ?? length.value;
  const [before, next] = [change(-1), change(1)];
  const entries = session.value?.log.entries ?? [];
  const kept = typeof base.value === "object" && entries[base.value.index] === base.value ? base.value : null;
  const last = entries[now - 1];
  return (
    <div class="state">
      <div class="state-head">
        <select
          aria-label="Compare with"
          value={kept === null ? String(base.value) : "kept"}
          onChange={({ currentTarget: { value } }) => (base.value = value === "now" ? last! : value === "kept" ? kept! : (value as Base))}
        >
          <option value="before">since the change before</option>
          <option value="run">since the run began</option>
          <option value="first">since the first event</option>
          {kept !== null && <option value="kept">{`since event ${kept.index + 1}`}</option>}
          {last !== undefined && last !== kept && <option value="now">{`from now on, since event ${now}`}</option>}
        </select>
        <span class="steps" role="group" aria-label="Changes">
          <button type="button" class="plain" aria-label="The change before" title="The change before" disabled={before === null} onClick={() => (position.value = before)}>
            <Icon name="back" />
          </button>
          <button type="button" class="plain" aria-label="The next change" title="The next change" disabled={next === null} onClick={() => (position.value = next)}>
            <Icon name="next" />
          </button>
        </span>
        <label class="check">
          <input type="checkbox" checked={isOnlyChanges.value} onChange={({ currentTarget }) => (isOnlyChanges.value = currentTarget.checked)} />
          Changes only
        </label>
        <span class="quiet count" role="status">
          {count === 0 ? "no change" : count === 1 ? "1 change" : `${count} changes`}
        </span>
        <Copy of={() => view.peek().state} what="the state" />
      </div>
      <div class="scrolls padded" tabIndex={0} role="group" aria-label="State">
        {isEmpty ? <p class="empty quiet">The state is empty.</p> : isOnlyChanges.value && count === 0 ? <p class="empty quiet">Nothing differs.</p> : <Shown of={found} />}
      </div>
    </div>
  );
}

function Shown({ of }: { of: Difference }) {
  if (of.kind === "inside") return <Children of={of} />;
  return of.kind === "same" ? <JsonTree value={of.value} /> : <Leaf of={of} />;
}

function Children({ of }: { of: Difference & { kind: "inside" } }) {
  const isFew = isOnlyChanges.value || (Array.isArray(of.after) && of.children.length > 50);
  const shown = isFew ? of.children.filter((child) => child.of.kind !== "same") : of.children;
  const left = of.children.length - shown.length;
  return (
    <ul class="tree">
      {shown.map((child) => (
        <Node key={`${child.of.kind === "removed" ? "-" : ""}${child.name}`} name={child.name} of={child.of} />
      ))}
      {left > 0 && !isOnlyChanges.value && <li class="quiet unchanged">{`${left} unchanged`}</li>}
    </ul>
  );
}

function Node({ name, of }: { name: string; of: Difference }) {
  const [isOpen, setIsOpen] = useState(true);
  if (of.kind === "same") {
    return (
      <li class="unchanged-node">
        <JsonTree value={{ [name]: of.value }} levels={1} />
      </li>
    );
  }
  if (of.kind === "inside") {
    return (
      <li>
        <button type="button" class="branch changed" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          <span class="key">{name}</span>
          <span class="quiet">{isOpen ? "" : of.count === 1 ? "1 change" : `${of.count} changes`}</span>
        </button>
        {isOpen && <Children of={of} />}
      </li>
    );
  }
  return (
    <li class={`tree-leaf differs ${of.kind}`}>
      <span class="sign" aria-hidden="true">
        {of.kind === "added" ? "+" : of.kind === "removed" ? "−" : "~"}
      </span>
      <span class="key">{name}</span>
      <Leaf of={of} />
    </li>
  );
}

function Leaf({ of }: { of: Difference }) {
  if (of.kind === "added") return <Whole as="ins" value={of.value} />;
  if (of.kind === "removed") return <Whole as="del" value={of.value} />;
  if (of.kind !== "changed") return null;
  if (of.words) return <Text words={of.words} />;
  return (
    <span class="both">
      <Whole as="del" value={of.before} />
      <Whole as="ins" value={of.after} />
    </span>
  );
}

const SHORT = 160;

/** A value that came or went: what is long is opened by a button. */
function Whole({ as: As, value }: { as: "ins" | "del"; value: Json }) {
  const [isOpen, setIsOpen] = useState(false);
  const line = typeof value === "string" ? value || '""' : inLine(value, Number.MAX_SAFE_INTEGER);
  const isBranch = typeof value === "object" && value !== null && line.length > SHORT / 2;
  return (
    <As class={`value lit ${value === null ? "null" : typeof value}`}>
      {isOpen && isBranch ? <JsonTree value={value} levels={2} /> : isOpen || line.length <= SHORT ? line : `${line.slice(0, SHORT)}…`}
      {!isOpen && (isBranch || line.length > SHORT) && (
        <button type="button" class="link" onClick={() => setIsOpen(true)}>
          all of it
        </button>
      )}
    </As>
  );
}

/** A text with the words that came and went; what stays is cut where it is long. */
function Text({ words }: { words: readonly Words[] }) {
  return (
    <span class="value string">
      {words.map(({ text, is }, place) =>
        is === "same" ? (
          <span key={place}>{text.length > SHORT ? `${text.slice(0, SHORT / 2)} … ${text.slice(-SHORT / 2)}` : text}</span>
        ) : is === "added" ? (
          <ins key={place} class="lit">
            {text}
          </ins>
        ) : (
          <del key={place} class="lit">
            {text}
          </del>
        ),
      )}
    </span>
  );
}
