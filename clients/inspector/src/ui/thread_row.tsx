// A thread on the list: a link to it, and what can be done with it.

import { useEffect, useRef, useState } from "preact/hooks";

import { addressOf, goTo } from "../address.ts";
import type { Thread } from "../server/api.ts";
import { session } from "../session.ts";
import { abilities, agent, change, remove, threads } from "../threads.ts";
import { Icon } from "./icons.tsx";
import { pane } from "./panes.ts";

type Mode = "plain" | "open" | "rename" | "delete";

export function ThreadRow({ thread }: { thread: Thread }) {
  const [mode, setMode] = useState<Mode>("plain");
  const button = useRef<HTMLButtonElement>(null);
  const first = useRef<HTMLButtonElement>(null);
  const before = useRef<Mode>("plain");
  useEffect(() => {
    if (mode === "open" || mode === "delete") first.current?.focus();
    else if (mode === "plain" && before.current !== "plain") button.current?.focus();
    before.current = mode;
  }, [mode]);
  const name = thread.name ?? thread.id;
  const close = () => setMode("plain");
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || mode === "plain") return;
    event.stopPropagation();
    close();
  };
  /** What is done takes the row away: the focus goes to the one that takes its place, or to the search. */
  const away = async (what: () => Promise<boolean>) => {
    const place = threads.peek()?.findIndex(({ id }) => id === thread.id) ?? -1;
    if (!(await what())) return close();
    if (session.peek()?.kind === "thread" && session.peek()?.name === thread.id && !threads.peek()?.some(({ id }) => id === thread.id)) pane.value = "threads";
    const next = threads.peek()?.[place] ?? threads.peek()?.[place - 1];
    requestAnimationFrame(() => document.querySelector<HTMLElement>(next ? `.thread-link[href="${CSS.escape(addressOf(agent.peek(), next.id))}"]` : ".sidebar input[type=search]")?.focus());
  };
  const deleteIt = () =>
    away(async () => {
      const isOpen = session.peek()?.kind === "thread" && session.peek()?.name === thread.id;
      if (!(await remove(thread))) return false;
      if (isOpen) goTo(agent.peek(), null);
      return true;
    });
  if (mode === "rename") return <Rename thread={thread} close={close} />;
  return (
    <div class="thread-row" onKeyDown={onKeyDown}>
      <div class="thread-line">
        <ThreadLink thread={thread} />
        <button ref={button} type="button" class="plain thread-more" aria-expanded={mode !== "plain"} aria-label={`Actions for ${name}`} onClick={() => setMode(mode === "plain" ? "open" : "plain")}>
          <Icon name="more" />
        </button>
      </div>
      {mode === "open" && (
        <div class="thread-actions" role="group" aria-label={`Actions for ${name}`}>
          {abilities.value.changes && (
            <>
              <button ref={first} type="button" class="small" onClick={() => setMode("rename")}>
                Rename
              </button>
              <button type="button" class="small" onClick={() => void away(() => change(thread, { archived: !thread.archived }))}>
                {thread.archived ? "Take out" : "Archive"}
              </button>
            </>
          )}
          <button ref={abilities.value.changes ? undefined : first} type="button" class="small danger" disabled={thread.status === "running"} title={thread.status === "running" ? "A thread with an active run can't be deleted" : undefined} onClick={() => setMode("delete")}>
            Delete
          </button>
        </div>
      )}
      {mode === "delete" && (
        <div class="thread-actions" role="group" aria-label={`Delete ${name}?`}>
          <p>Delete it, with all that was said?</p>
          <button ref={first} type="button" class="small" onClick={close}>
            Keep
          </button>
          <button type="button" class="small danger" onClick={() => void deleteIt()}>
            Delete for good
          </button>
        </div>
      )}
    </div>
  );
}

function Rename({ thread, close }: { thread: Thread; close: () => void }) {
  const [name, setName] = useState(thread.name ?? "");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted && wanted !== thread.name && !(await change(thread, { name: wanted }))) return;
    close();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  };
  return (
    <form class="thread-row rename" onSubmit={submit} onKeyDown={onKeyDown}>
      <input ref={input} aria-label="Name of the thread" maxLength={200} value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      <div class="thread-actions">
        <button type="submit" class="small primary">
          Save
        </button>
        <button type="button" class="small" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function ThreadLink({ thread }: { thread: Thread }) {
  const isCurrent = session.value?.kind === "thread" && session.value.name === thread.id;
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    goTo(agent.value, thread.id);
    pane.value = "conversation";
  };
  return (
    <a class="thread-link" href={addressOf(agent.value, thread.id)} aria-current={isCurrent ? "page" : undefined} onClick={open} title={thread.id}>
      <i class={`dot ${thread.status}`} />
      <span class="thread-name">{thread.name ?? thread.id}</span>
      <span class="thread-facts">
        {thread.status === "idle" ? <time dateTime={thread.updatedAt}>{age(thread.updatedAt)}</time> : <span class={`word ${thread.status}`}>{thread.status}</span>}
      </span>
    </a>
  );
}

/** How long ago something was, in one unit. */
function age(at: string): string {
  const seconds = Math.max(0, (Date.now() - Date.parse(at)) / 1000);
  if (seconds < 60) return "now";
  const units: readonly (readonly [number, string])[] = [[86_400, "d"], [3_600, "h"], [60, "min"]];
  const [length, unit] = units.find(([each]) => seconds >= each)!;
  return `${Math.floor(seconds / length)} ${unit}`;
}
