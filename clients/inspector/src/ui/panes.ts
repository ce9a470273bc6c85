// Which part of the page a narrow window shows, and which panel is beside the conversation.

import { signal } from "@preact/signals";

export type Pane = "threads" | "conversation" | "inspect";
export type Panel = "state" | "events" | "timeline";

export const pane = signal<Pane>(new URLSearchParams(location.search).has("thread") ? "conversation" : "threads");
export const panel = signal<Panel>("state");
/** The event whose JSON is shown. */
export const chosenEvent = signal<number | null>(null);
/** Whether the thread that is opened is a new one: the box for its first message gets the focus. */
export const isNew = signal(false);
