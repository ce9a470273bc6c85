// Saves the session as a file: its events, or a page that plays them.

import { signal } from "@preact/signals";

import { length, session } from "../session.ts";
import { toJsonl } from "../model/jsonl.ts";
import { Icon } from "./icons.tsx";
import { SendDialog } from "./send.tsx";

/** Whether the dialog is open that says what is sent. */
const isSending = signal(false);

export function Exporter() {
  const current = session.value;
  const isEmpty = length.value === 0;
  const save = () => {
    const { log, name, text = toJsonl(log.entries) } = session.peek()!;
    saveFile(`${fileName(name.replace(/\.jsonl$/, ""))}.jsonl`, text, "application/jsonl");
  };
  return (
    <>
      {current?.left === undefined && (
        <button type="button" class="plain" disabled={isEmpty} title="Send this run: save it as a page that needs no server" aria-label="Send this run" aria-haspopup="dialog" onClick={() => (isSending.value = true)}>
          <Icon name="share" />
        </button>
      )}
      <button type="button" class="plain" disabled={isEmpty} title="Save the events as JSONL" aria-label="Save the events as JSONL" onClick={save}>
        <Icon name="save" />
      </button>
      {isSending.value && <SendDialog save={(name, text) => saveFile(`${fileName(name)}.html`, text, "text/html")} close={() => (isSending.value = false)} />}
    </>
  );
}

/** A name without what a file system may refuse. */
const fileName = (name: string): string => name.replace(/[^\p{L}\p{N}_.-]+/gu, "-").slice(0, 80).replace(/^[-.]+|[-.]+$/g, "") || "run";

function saveFile(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
