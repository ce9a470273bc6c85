// The agents and their threads.

import { useState } from "preact/hooks";

import { addressOf, goTo } from "../address.ts";
import { credentials, type Thread, type ThreadStatus } from "../server/api.ts";
import { newId, session } from "../session.ts";
import { agent, agents, choose, filterBy, hasMore, more, problem, refresh, status, threads } from "../threads.ts";
import { Icon } from "./icons.tsx";
import { isNew, pane } from "./panes.ts";
import { OpenRecording } from "./recordings.tsx";

const STATUSES: readonly (readonly [ThreadStatus | null, string])[] = [
  [null, "All"],
  ["running", "Running"],
  ["waiting", "Waiting"],
  ["failed", "Failed"],
];

export function Sidebar() {
  const [words, setWords] = useState("");
  const wanted = words.trim().toLowerCase();
  const shown = (threads.value ?? []).filter(({ id, name }) => `${name ?? ""} ${id}`.toLowerCase().includes(wanted));
  const names = agents.value ?? [];
  return (
    <nav class="sidebar" aria-label="Threads">
      <div class="sidebar-head">
        {names.length > 1 ? (
          <select aria-label="Agent" value={agent.value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
            {names.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        ) : (
          <strong class="agent-name">{agent.value || "Agents"}</strong>
        )}
        <button type="button" class="primary" disabled={!agent.value} onClick={() => (goTo(agent.value, newId()), (pane.value = "conversation"), (isNew.value = true))}>
          <Icon name="add" />
          New thread
        </button>
      </div>
      <input type="search" placeholder="Filter threads" aria-label="Filter threads" value={words} onInput={({ currentTarget }) => setWords(currentTarget.value)} />
      <div class="chips" role="group" aria-label="Status">
        {STATUSES.map(([each, label]) => (
          <button key={label} type="button" aria-pressed={status.value === each} onClick={() => filterBy(each)}>
            {label}
          </button>
        ))}
      </div>
      <div class="threads">
        {problem.value ? (
          problem.value.missing ? (
            <SignIn key={problem.value.missing} {...ASKED[problem.value.missing]} />
          ) : (
            <div class="empty" role="alert">
              <p>{problem.value.message}</p>
              <button type="button" onClick={() => void refresh()}>
                Try again
              </button>
            </div>
          )
        ) : threads.value === null ? (
          <p class="empty quiet">Loading…</p>
        ) : shown.length === 0 ? (
          <p class="empty quiet">{threads.value.length ? "No thread matches." : status.value ? `No thread is ${status.value}.` : "No threads yet. Start one, or let a page or a client start one: it appears here."}</p>
        ) : (
          <ul>
            {shown.map((thread) => (
              <li key={thread.id}>
                <ThreadLink thread={thread} />
              </li>
            ))}
          </ul>
        )}
        {hasMore.value && wanted && <p class="quiet only-loaded">{`Only the newest ${threads.value?.length} threads are searched.`}</p>}
        {hasMore.value && (
          <button type="button" class="wide" onClick={more}>
            Older threads
          </button>
        )}
      </div>
      <OpenRecording />
    </nav>
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

interface Asked {
  readonly why: string;
  readonly label: string;
  readonly placeholder: string;
  readonly button: string;
  readonly set: (value: string) => void;
}

const ASKED: { readonly [missing in "user" | "token"]: Asked } = {
  user: { why: "The server does not know you.", label: "Authorization header", placeholder: "Bearer …", button: "Sign in", set: credentials.set },
  token: {
    why: "The list of threads needs the server's token. The server was given it as --token or AGUI_TOKEN, or has printed it with the address of this page.",
    label: "Token",
    placeholder: "The token, or the address with it",
    button: "List the threads",
    set: credentials.setToken,
  },
};

function SignIn({ why, label, placeholder, button, set }: Asked) {
  const [value, setValue] = useState("");
  const use = (event: Event) => {
    event.preventDefault();
    if (!value.trim()) return;
    set(value.trim());
    void refresh();
    session.peek()?.stream?.retry();
  };
  return (
    <form class="empty sign-in" onSubmit={use}>
      <p>{why}</p>
      <label>
        {label}
        <input type="password" autocomplete="off" required pattern="[ -~]+" placeholder={placeholder} value={value} onInput={({ currentTarget }) => setValue(currentTarget.value)} />
      </label>
      <p class="quiet">It is kept until this tab is closed.</p>
      <button type="submit">{button}</button>
    </form>
  );
}
