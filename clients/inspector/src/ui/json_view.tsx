// A JSON value as a tree: what is long is closed, and what has changed since another value lights up.

import { useState } from "preact/hooks";

import { inLine, type Json } from "../model/json.ts";
import { memo } from "./memo.tsx";

interface JsonTreeProps {
  readonly value: Json;
  /** The value before. What it has in common with the value is found by reference. */
  readonly before?: Json;
  /** How many levels are open at first. */
  readonly levels?: number;
  /** Whether all of it is shown: nothing is closed or cut. */
  readonly isWhole?: boolean;
}

const SOME = 50;
const LONG = 300;
/** Levels of a value that is shown whole; below them a branch has to be opened. */
const DEEPEST = 100;

export function JsonTree({ value, before = value, levels = 2, isWhole = false }: JsonTreeProps) {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) return <Leaf value={value} isLit={value !== before} isWhole={isWhole} />;
  return <Children value={value} before={before} levels={isWhole ? DEEPEST : levels} isWhole={isWhole} />;
}

function Children({ value, before, levels, isWhole }: Required<JsonTreeProps>) {
  const [shown, setShown] = useState(isWhole ? Infinity : SOME);
  const entries = Object.entries(value as object) as [string, Json][];
  return (
    <ul class="tree">
      {entries.slice(0, shown).map(([key, each]) => (
        <Node key={key} name={key} value={each} before={childOf(before, key)} levels={levels - 1} isWhole={isWhole} />
      ))}
      {entries.length > shown && (
        <li>
          <button type="button" class="link" onClick={() => setShown(shown + 10 * SOME)}>
            {`${entries.length - shown} more`}
          </button>
        </li>
      )}
    </ul>
  );
}

interface NodeProps {
  readonly name: string;
  readonly value: Json;
  readonly before: Json | undefined;
  readonly levels: number;
  readonly isWhole: boolean;
}

const Node = memo<NodeProps>(DrawnNode, (one, other) => one.name === other.name && one.value === other.value && one.before === other.before);

function DrawnNode({ name, value, before, levels, isWhole }: NodeProps) {
  const size = typeof value === "object" && value !== null ? Object.keys(value).length : 0;
  const isLit = value !== before;
  const [isOpen, setIsOpen] = useState(levels > 0);
  if (size === 0) {
    return (
      <li class="tree-leaf">
        <span class="key">{name}</span>
        <Leaf value={value} isLit={isLit} isWhole={isWhole} />
      </li>
    );
  }
  return (
    <li>
      <button type="button" class={isLit ? "branch changed" : "branch"} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <span class="key">{name}</span>
        <span class="quiet">{isOpen ? (Array.isArray(value) ? (size === 1 ? "1 item" : `${size} items`) : "") : inLine(value, 80)}</span>
      </button>
      {isOpen && <Children value={value} before={before ?? null} levels={levels} isWhole={isWhole} />}
    </li>
  );
}

function Leaf({ value, isLit, isWhole: isWholeAtFirst }: { value: Json; isLit: boolean; isWhole: boolean }) {
  const [isWhole, setIsWhole] = useState(isWholeAtFirst);
  const kind = value === null ? "null" : typeof value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const isLong = text.length > LONG && !isWhole;
  return (
    <span class={`value ${kind}${isLit ? " lit" : ""}`} key={isLit ? text : ""}>
      {isLong ? `${text.slice(0, LONG)}…` : text === "" ? '""' : text}
      {isLong && (
        <button type="button" class="link" onClick={() => setIsWhole(true)}>
          {`all ${text.length} characters`}
        </button>
      )}
    </span>
  );
}

function childOf(value: Json | undefined, key: string): Json | undefined {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as { [key: string]: Json })[key] : undefined;
}
