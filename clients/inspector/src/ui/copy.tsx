// A button that copies a text, and says that it has.

import { useState } from "preact/hooks";

import { written } from "../model/json.ts";
import { Icon } from "./icons.tsx";

interface CopyProps {
  /** What is copied; JSON of what is no text. */
  readonly of: () => unknown;
  /** What it is, for the button's name: "the arguments". */
  readonly what: string;
}

export function Copy({ of, what }: CopyProps) {
  const [hasCopied, setHasCopied] = useState(false);
  const copy = async (event: MouseEvent) => {
    event.preventDefault(); // in a summary it would close the details
    const value = of();
    if (!(await copied(typeof value === "string" ? value : readable(value)))) return;
    setHasCopied(true);
    setTimeout(() => setHasCopied(false), 2_000);
  };
  const name = hasCopied ? "Copied" : `Copy ${what}`;
  return (
    <button type="button" class="plain copy" title={name} aria-label={name} onClick={(event) => void copy(event)}>
      <Icon name={hasCopied ? "check" : "copy"} />
    </button>
  );
}

function readable(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2);
  } catch {
    return written(value);
  }
}

/** Whether the text is in the clipboard. Without HTTPS only the old way is open. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    box.className = "unseen";
    document.body.append(box);
    box.select();
    const isCopied = document.execCommand("copy");
    box.remove();
    return isCopied;
  }
}
