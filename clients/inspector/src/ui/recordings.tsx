// Recordings are opened by a button, or dropped anywhere on the page.

import { signal } from "@preact/signals";

import { leave } from "../address.ts";
import { keep } from "../kept.ts";
import { failure, openRecording } from "../session.ts";
import { Icon } from "./icons.tsx";
import { pane } from "./panes.ts";

/** Whether a file is held over the page. */
const isOver = signal(false);

export function OpenRecording() {
  return (
    <label class="button open-recording">
      <Icon name="open" />
      Open a recording
      <input
        type="file"
        class="hidden-input"
        accept=".jsonl,.ndjson,.txt,application/jsonl"
        onChange={({ currentTarget }) => {
          void open(currentTarget.files?.[0]);
          currentTarget.value = "";
        }}
      />
    </label>
  );
}

export const DropHint = () => isOver.value && <div class="drop-hint">Drop the recording to open it</div>;

async function open(file: File | undefined): Promise<void> {
  if (!file) return;
  try {
    const text = await file.text();
    openRecording(file.name, text);
    leave(file.name);
    void keep(file.name, text);
  } catch (error) {
    failure.value = `${file.name}: ${(error as Error).message}`;
  }
  pane.value = "conversation";
}

/** From now on files may be dropped. */
export function takeDrops(): void {
  const hasFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
  addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    isOver.value = true;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) isOver.value = false;
  });
  addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    isOver.value = false;
    void open(event.dataTransfer?.files[0]);
  });
}
