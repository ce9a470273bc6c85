// What the page shows apart from the conversation's text: questions of the graph, its state, and a tool of the page.

import { useAssistantTool, useAuiState } from "@assistant-ui/react";
import { useAgUiInterrupts, useAgUiState, useAgUiSubmitInterruptResponses, type AgUiInterrupt } from "@assistant-ui/react-ag-ui";
import { useState } from "react";

/** Each `interrupt()` and approval that waits. They are there after a reload too. The run goes on when all are answered. */
export function Questions() {
  const interrupts = useAgUiInterrupts();
  const submit = useAgUiSubmitInterruptResponses();
  const [answers, setAnswers] = useState<Record<string, boolean>>({});
  const isRunning = useAuiState(({ thread }) => thread.isRunning);
  if (isRunning) return null;
  const answer = (id: string, payload: boolean) => {
    const given = { ...answers, [id]: payload };
    setAnswers(given);
    if (!interrupts.every((interrupt) => interrupt.id in given)) return;
    void submit(interrupts.map(({ id }) => ({ interruptId: id, status: "resolved", payload: given[id] })));
  };
  return interrupts
    .filter(({ id }) => !(id in answers))
    .map((interrupt) => (
      <div role="group" aria-label="question" className="question" key={interrupt.id}>
        <p>{textOf(interrupt)}</p>
        <button onClick={() => answer(interrupt.id, true)}>Approve</button>
        <button onClick={() => answer(interrupt.id, false)}>Reject</button>
      </div>
    ));
}

function textOf({ message, metadata }: AgUiInterrupt): string {
  return message ?? (metadata?.value as { question?: string } | undefined)?.question ?? JSON.stringify(metadata?.value);
}

/** A channel of the graph's state. */
export function Stops() {
  const state = useAgUiState<{ stops?: Record<string, { at: string }> }>();
  const stops = Object.entries(state?.stops ?? {});
  if (!stops.length) return null;
  return (
    <ul aria-label="stops">
      {stops.map(([name, { at }]) => (
        <li key={name}>
          {at} {name}
        </li>
      ))}
    </ul>
  );
}

const map = {
  toolName: "show_on_map",
  type: "frontend",
  description: "Shows a place on the page's map.",
  parameters: { type: "object", properties: { place: { type: "string" } } },
  execute: async ({ place }: { place: string }) => `${place} is on the map.`,
  render: ({ args, result }: { args: { place?: string }; result?: unknown }) => (
    <figure>
      {args.place} {result ? "📍" : "…"}
    </figure>
  ),
} as const;

/** A tool of the page. A graph calls it as it calls its own. */
export function MapTool() {
  useAssistantTool<{ place: string }, string>(map);
  return null;
}
