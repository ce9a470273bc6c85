// The panel beside the conversation: state, events, timeline. All show the moment of the playhead.

import { session } from "../session.ts";
import { Events } from "./events.tsx";
import { Guard } from "./guard.tsx";
import { Icon } from "./icons.tsx";
import { pane, type Panel, panel } from "./panes.ts";
import { PastNote } from "./past.tsx";
import { State } from "./state.tsx";
import { Timeline } from "./timeline.tsx";

const PANELS: readonly (readonly [Panel, string])[] = [
  ["state", "State"],
  ["events", "Events"],
  ["timeline", "Timeline"],
];

export function Inspect() {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const now = PANELS.findIndex(([each]) => each === panel.value);
    const [next] = PANELS[(now + step + PANELS.length) % PANELS.length]!;
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
          {PANELS.map(([each, label]) => (
            <button key={each} id={`tab-${each}`} type="button" role="tab" aria-selected={panel.value === each} aria-controls="panel" tabIndex={panel.value === each ? 0 : -1} onClick={() => (panel.value = each)}>
              {label}
            </button>
          ))}
        </div>
      </div>
      <div id="panel" class="panel" role="tabpanel" aria-labelledby={`tab-${panel.value}`}>
        <Guard key={panel.value} of={session.value}>
          <PastNote />
          {panel.value === "state" && <State />}
          {panel.value === "events" && <Events />}
          {panel.value === "timeline" && <Timeline />}
        </Guard>
      </div>
    </section>
  );
}
