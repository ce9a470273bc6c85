// The page of a run that was sent: what the inspector shows of a recording, with the run in the page itself. It requests
// nothing, keeps nothing, and has no server.

import "./style.css";
import "./sent/sent.css";

import { render } from "preact";

import { EventLog } from "./model/log.ts";
import { NAMES } from "./sent/choose.ts";
import { ownRun } from "./sent/file.ts";
import { position, session } from "./session.ts";
import { Announcer } from "./ui/announcer.tsx";
import { Conversation } from "./ui/conversation.tsx";
import { Inspect } from "./ui/inspect.tsx";
import { type Panel, type Pane, pane, panel, PANEL_NAMES } from "./ui/panes.ts";
import { Player } from "./ui/player.tsx";

const PANES: readonly (readonly [Pane, string])[] = [
  ["conversation", "Conversation"],
  ["inspect", "Inspect"],
];

function SentApp() {
  return (
    <main class="app sent" data-pane={pane.value}>
      <h1 class="unseen">A run</h1>
      <Announcer />
      <Conversation />
      <Inspect />
      <Player />
      <nav class="pane-bar" aria-label="Parts of the page">
        {PANES.map(([each, label]) => (
          <button key={each} type="button" aria-pressed={pane.value === each} onClick={() => (pane.value = each)}>
            {label}
          </button>
        ))}
      </nav>
    </main>
  );
}

const { title, agent, left, at, panel: shown, events } = ownRun();
const log = new EventLog();
for (const event of events) log.append(event, Number(event.timestamp));
const day = log.entries[0] && new Date(log.entries[0].at).toLocaleDateString(undefined, { dateStyle: "medium" });
const about = [agent, day, left.length > 0 && `without ${left.map((kind) => (kind === "other" ? "the rest" : NAMES[kind].toLowerCase())).join(", ")}`].filter(Boolean).join(" · ");
document.title = `${title} · A run`;
session.value = { kind: "recording", name: title, agent, log, about, left };
position.value = at !== null && at < log.length ? at : null;
if (PANEL_NAMES.includes(shown as Panel)) panel.value = shown as Panel;
pane.value = "conversation";
render(<SentApp />, document.body);
