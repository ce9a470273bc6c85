// Where messages are written. While a run is active its button stops the run; while a question waits none is sent.

import { useRef, useState, type FormEvent, type KeyboardEvent } from "react";

import { Icon } from "./icons";

export type Mode = "write" | "running" | "waiting" | "offline";

const PLACEHOLDERS: Record<Mode, string> = {
  write: "Ask about a day in Lisbon",
  running: "The guide is answering",
  waiting: "Answer the question above first",
  offline: "Not connected",
};

type Props = { mode: Mode; send(text: string): void; stop(): void; suggestions: readonly string[] };

export function Composer({ mode, send, stop, suggestions }: Props) {
  const [draft, setDraft] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (mode !== "write" || !draft.trim()) return;
    send(draft.trim());
    setDraft("");
  };
  const submitOnEnter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    form.current?.requestSubmit();
  };
  return (
    <div className="foot">
      {mode === "write" && suggestions.length > 0 && (
        <div className="suggestions" role="group" aria-label="suggestions">
          {suggestions.map((each) => (
            <button key={each} onClick={() => send(each)}>
              {each}
            </button>
          ))}
        </div>
      )}
      <form ref={form} className="composer" data-mode={mode} onSubmit={submit}>
        <textarea
          aria-label="message"
          rows={1}
          value={draft}
          placeholder={PLACEHOLDERS[mode]}
          disabled={mode === "waiting"}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={submitOnEnter}
        />
        {mode === "running" ? (
          <button type="button" className="round" aria-label="Stop" title="Stop the run" onClick={stop}>
            <Icon name="stop" />
          </button>
        ) : (
          <button className="round" aria-label="Send" title="Send" disabled={mode !== "write" || !draft.trim()}>
            <Icon name="send" />
          </button>
        )}
      </form>
    </div>
  );
}
