// Which part of the page a narrow window shows, and which panel is beside the conversation.

import { signal } from "@preact/signals";

export type Pane = "threads" | "conversation" | "inspect";
export const PANEL_NAMES = ["state", "events", "timeline", "graph", "checkpoints"] as const;
export type Panel = (typeof PANEL_NAMES)[number];

export const pane = signal<Pane>(/[?&](thread|recording)=/.test(location.search) ? "conversation" : "threads");
export const panel = signal<Panel>("state");
/** Whether the thread that is opened is a new one: the box for its first message gets the focus. */
export const isNew = signal(false);
