// The page: threads, conversation, and what is behind it; in a narrow window one of them at a time.

import { session } from "../session.ts";
import { Announcer } from "./announcer.tsx";
import { Conversation } from "./conversation.tsx";
import { Inspect } from "./inspect.tsx";
import { type Pane, pane } from "./panes.ts";
import { DropHint } from "./recordings.tsx";
import { Player } from "./player.tsx";
import { Sidebar } from "./sidebar.tsx";

const PANES: readonly (readonly [Pane, string])[] = [
  ["threads", "Threads"],
  ["conversation", "Conversation"],
  ["inspect", "Inspect"],
];

export function App() {
  const hasSession = session.value !== null;
  return (
    <main class={hasSession ? "app" : "app no-session"} data-pane={pane.value}>
      <h1 class="unseen">Inspector</h1>
      <Announcer />
      <Sidebar />
      <Conversation />
      {hasSession && <Inspect />}
      <Player />
      <DropHint />
      <nav class="pane-bar" aria-label="Parts of the page">
        {PANES.map(([each, label]) => (
          <button key={each} type="button" aria-pressed={pane.value === each} disabled={each === "inspect" && !hasSession} onClick={() => (pane.value = each)}>
            {label}
          </button>
        ))}
      </nav>
    </main>
  );
}
