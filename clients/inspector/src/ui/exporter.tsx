// Saves the events of the session as a file.

import { length, session } from "../session.ts";
import { toJsonl } from "../model/jsonl.ts";
import { Icon } from "./icons.tsx";

export function Exporter() {
  const save = () => {
    const { log, name } = session.peek()!;
    const url = URL.createObjectURL(new Blob([toJsonl(log.entries)], { type: "application/jsonl" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `${name.replace(/\.jsonl$/, "").replace(/[^\w.-]+/g, "-")}.jsonl`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return (
    <button type="button" class="plain" disabled={length.value === 0} title="Save the events as JSONL" aria-label="Save the events as JSONL" onClick={save}>
      <Icon name="save" />
    </button>
  );
}
