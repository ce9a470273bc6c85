// The panel beside the conversation: state, events, timeline, graph, checkpoints. All show the moment of the playhead.

import { session } from "../session.ts";
import { Checkpoints } from "./checkpoints.tsx";
import { Events } from "./events.tsx";
import { Guard } from "./guard.tsx";
import { GraphPanel } from "./graph.tsx";
import { Icon } from "./icons.tsx";
import { pane, type Panel, panel } from "./panes.ts";
import { PastNote } from "./past.tsx";
import { State } from "./state.tsx";
import { Timeline } from "./timeline.tsx";

const PANELS: readonly (readonly [Panel, string])[] = [
  ["state", "State"],
  ["events", "Events"],
  ["timeline", "Timeline"],
  ["graph", "Graph"],
  ["checkpoints", "Checkpoints"],
];

export function Inspect() {
  const panels = session.value?.kind === "thread" ? PANELS : PANELS.filter(([each]) => each !== "checkpoints");
  const shown = panels.some(([each]) => each === panel.value) ? panel.value : "state";
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const now = panels.findIndex(([each]) => each === shown);
    const [next] = panels[(now + step + panels.length) % panels.length]!;
    panel.value = next;
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <section class="inspect" aria-label="Inspect">
      <div class="inspect-head">
        <button type="button" class="plain only-narrow" aria-label="Conversation" onClick={() => (pane.value = "conversation")}>
          <Icon name="back" />
        </button>
        <div class="tabs" role="tablist" aria-label="Inspect" onKeyDown={onKeyDown}>
          {panels.map(([each, label]) => (
            <button key={each} id={`tab-${each}`} type="button" role="tab" aria-selected={shown === each} aria-controls="panel" tabIndex={shown === each ? 0 : -1} onClick={() => (panel.value = each)}>
              {label}
            </button>
          ))}
        </div>
      </div>
      <div id="panel" class="panel" role="tabpanel" aria-labelledby={`tab-${shown}`}>
        <Guard key={shown} of={session.value}>
          <PastNote />
          {shown === "state" && <State />}
          {shown === "events" && <Events />}
          {shown === "timeline" && <Timeline />}
          {shown === "graph" && <GraphPanel />}
          {shown === "checkpoints" && <Checkpoints />}
        </Guard>
      </div>
    </section>
  );
}
