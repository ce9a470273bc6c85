// The agents and their threads.

import { useEffect, useState } from "preact/hooks";

import { goTo } from "../address.ts";
import { credentials, type Thread, type ThreadStatus, type Wanted } from "../server/api.ts";
import { newId, session } from "../session.ts";
import { abilities, agent, agents, choose, filterBy, hasMore, isSearching, more, problem, refresh, refusal, searchFor, threads, wanted } from "../threads.ts";
import { Icon } from "./icons.tsx";
import { isNew, pane } from "./panes.ts";
import { OpenRecording } from "./recordings.tsx";
import { ThreadRow } from "./thread_row.tsx";
import { VirtualList } from "./virtual.tsx";

const FILTERS: readonly (readonly [string, ThreadStatus | null, boolean])[] = [
  ["All", null, false],
  ["Running", "running", false],
  ["Waiting", "waiting", false],
  ["Failed", "failed", false],
  ["Idle", "idle", false],
  ["Archived", null, true],
];

/** The name of an agent that is an assistant of a LangGraph server; its description begins with its own name. */
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

export function Sidebar() {
  const [words, setWords] = useState("");
  const { status, archived } = wanted.value;
  const names = agents.value ?? [];
  return (
    <nav class="sidebar" aria-label="Threads">
      <div class="sidebar-head">
        {names.length > 1 ? (
          <select aria-label="Agent" value={agent.value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
            {names.map(({ name, description }) => (
              <option key={name} value={name}>
                {(ID.test(name) && description) || name}
              </option>
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
      <input
        type="search"
        placeholder="Search threads"
        aria-label="Search threads"
        maxLength={200}
        value={words}
        onInput={({ currentTarget: { value } }) => {
          setWords(value);
          searchFor(value);
        }}
      />
      <div class="chips" role="group" aria-label="Status">
        {FILTERS.filter(([, , isArchive]) => !isArchive || abilities.value.changes).map(([label, of, isArchive]) => (
          <button key={label} type="button" aria-pressed={status === of && archived === isArchive} onClick={() => filterBy(of, isArchive)}>
            {label}
          </button>
        ))}
      </div>
      {refusal.value !== null && (
        <div class="notice error" role="alert">
          <span>{refusal.value}</span>
          <button type="button" class="plain" aria-label="Close" onClick={() => (refusal.value = null)}>
            <Icon name="close" />
          </button>
        </div>
      )}
      <div class="threads" aria-busy={isSearching.value}>
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
        ) : threads.value.length === 0 && !hasMore.value ? (
          <p class="empty quiet">{isSearching.value ? "Searching…" : nothing(wanted.value)}</p>
        ) : (
          <ThreadList threads={threads.value} />
        )}
      </div>
      <OpenRecording />
    </nav>
  );
}

function ThreadList({ threads: all }: { threads: readonly Thread[] }) {
  const count = all.length + (hasMore.value ? 1 : 0);
  return (
    <VirtualList
      of={agent.value}
      count={count}
      keyOf={(place) => all[place]?.id ?? "more"}
      estimate={36}
      follows={false}
      attributes={{ role: "list", "aria-label": "Threads", class: "thread-list" }}
      rowAttributes={() => ({ role: "listitem" })}
      row={(place) => (all[place] ? <ThreadRow key={all[place].id} thread={all[place]} /> : <More />)}
    />
  );
}

/** The end of what was read: reads on when it comes into sight. */
function More() {
  useEffect(() => void more(), [threads.value]);
  return <p class="quiet more-threads">{wanted.value.text ? "Searching older threads…" : "Loading older threads…"}</p>;
}

/** Why the list is empty. */
function nothing({ status, text, archived }: Wanted): string {
  if (text) return "No thread matches.";
  if (archived) return "No thread is archived.";
  return status ? `No thread is ${status}.` : "No threads yet. Start one, or let a page or a client start one: it appears here.";
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
