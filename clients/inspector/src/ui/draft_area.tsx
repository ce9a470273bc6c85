// A box for text that a button has opened: it has the focus when it appears.

import { useEffect, useRef } from "preact/hooks";

interface DraftAreaProps {
  readonly label?: string;
  readonly class?: string;
  readonly rows: number;
  readonly draft: string;
  readonly isInvalid?: boolean;
  readonly write: (draft: string) => void;
}

export function DraftArea({ label, class: name = "", rows, draft, isInvalid = false, write }: DraftAreaProps) {
  const element = useRef<HTMLTextAreaElement>(null);
  useEffect(() => element.current?.focus(), []);
  return <textarea ref={element} class={name} aria-label={label} rows={rows} value={draft} aria-invalid={isInvalid} onInput={({ currentTarget }) => write(currentTarget.value)} />;
}
