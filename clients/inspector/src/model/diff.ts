// What differs between two JSON values, as a tree: added, removed, changed, the same. Items of lists are found again by
// what identifies them, texts are compared by words. What two values share by reference is not looked at.

import { diffArrays, diffWordsWithSpace } from "diff";

import { isObject, type Json } from "./json.ts";
import { same } from "./patch.ts";

export type Difference =
  | { readonly kind: "same"; readonly value: Json }
  | { readonly kind: "added"; readonly value: Json }
  | { readonly kind: "removed"; readonly value: Json }
  | { readonly kind: "changed"; readonly before: Json; readonly after: Json; readonly words: readonly Words[] | null }
  /** An object or a list in which something differs. */
  | { readonly kind: "inside"; readonly after: Json; readonly children: readonly Child[]; readonly count: number };

export interface Child {
  /** The key, or the place in the list after the change; of what was removed, before it. */
  readonly name: string;
  readonly of: Difference;
}

export interface Words {
  readonly text: string;
  readonly is: "same" | "added" | "removed";
}

/** Edits after which lists are compared place by place, and texts as a whole. */
const MOST_EDITS = 400;
const LONGEST_TEXT = 20_000;
/** What identifies an item of a list. */
const IDS = ["id", "key", "uuid", "toolCallId", "tool_call_id", "name", "title"];

export function differenceOf(before: Json, after: Json): Difference {
  if (before === after) return { kind: "same", value: after };
  if (Array.isArray(before) && Array.isArray(after)) return inside(after, items(before as readonly Json[], after as readonly Json[]));
  if (isObject(before) && isObject(after)) return inside(after, fields(before, after));
  if (same(before, after)) return { kind: "same", value: after };
  return { kind: "changed", before, after, words: typeof before === "string" && typeof after === "string" ? words(before, after) : null };
}

/** How many things differ. */
export function countOf(difference: Difference): number {
  return difference.kind === "same" ? 0 : difference.kind === "inside" ? difference.count : 1;
}

function inside(after: Json, children: readonly Child[]): Difference {
  const count = children.reduce((sum, { of }) => sum + countOf(of), 0);
  return count === 0 ? { kind: "same", value: after } : { kind: "inside", after, children, count };
}

function fields(before: { readonly [key: string]: Json }, after: { readonly [key: string]: Json }): Child[] {
  const children: Child[] = [];
  for (const [name, value] of Object.entries(after)) children.push({ name, of: Object.hasOwn(before, name) ? differenceOf(before[name]!, value) : { kind: "added", value } });
  for (const [name, value] of Object.entries(before)) if (!Object.hasOwn(after, name)) children.push({ name, of: { kind: "removed", value } });
  return children;
}

function items(before: readonly Json[], after: readonly Json[]): Child[] {
  const parts = diffArrays([...before], [...after], { comparator: isSameItem, maxEditLength: MOST_EDITS });
  const children: Child[] = [];
  let [from, to] = [0, 0];
  let gone: Json[] = [];
  const flush = () => {
    gone.forEach((value, place) => children.push({ name: String(from - gone.length + place), of: { kind: "removed", value } }));
    gone = [];
  };
  for (const part of parts ?? [{ removed: true, added: false, value: before, count: before.length }, { removed: false, added: true, value: after, count: after.length }]) {
    if (part.removed) {
      flush();
      gone = [...part.value] as Json[];
      from += part.value.length;
    } else if (part.added) {
      // As many as were removed here: each is taken for one that has changed, unless both have an identity.
      for (const value of part.value as readonly Json[]) {
        const other = gone[0];
        const isChange = other !== undefined && (identityOf(other) === undefined || identityOf(value) === undefined);
        if (isChange) gone.shift();
        children.push({ name: String(to), of: isChange ? differenceOf(other, value) : { kind: "added", value } });
        to += 1;
      }
      flush();
    } else {
      flush();
      for (let place = 0; place < part.value.length; place += 1) children.push({ name: String(to), of: differenceOf(before[from++]!, after[to++]!) });
    }
  }
  flush();
  return children;
}

function isSameItem(one: Json, other: Json): boolean {
  if (one === other) return true;
  const identity = identityOf(one);
  return identity === undefined ? same(one, other) : identity === identityOf(other);
}

/** What identifies an item, with the name of its field; undefined if nothing does. */
function identityOf(value: Json): string | undefined {
  if (!isObject(value)) return undefined;
  const field = IDS.find((each) => typeof value[each] === "string" || typeof value[each] === "number");
  return field && `${field} ${value[field]}`;
}

function words(before: string, after: string): readonly Words[] | null {
  if (before.length + after.length > LONGEST_TEXT) return null;
  const parts = diffWordsWithSpace(before, after, { maxEditLength: MOST_EDITS });
  if (parts === undefined || !parts.some(({ added, removed, value }) => !added && !removed && value.trim())) return null;
  return parts.map(({ value, added, removed }) => ({ text: value, is: added ? "added" : removed ? "removed" : "same" }));
}
