// What both pages share: the plan (the agent's state), a question of the agent (an interrupt), a tool of the browser.

import { useFrontendTool, type InterruptRenderProps } from "@copilotkit/react-core/v2/headless";
import { useState } from "react";
import { z } from "zod";

type Plan = { stops?: Record<string, { at: string; cost: number }> };

/** The state of the graph as it is now, while a run writes to it. */
export function PlanView({ plan }: { plan: Plan }) {
  const stops = Object.entries(plan.stops ?? {});
  return (
    <section aria-label="plan">
      <h2>The plan</h2>
      <ul>
        {stops.map(([name, { at, cost }]) => (
          <li key={name}>
            {at} {name}, {cost} €
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A tool that the agent calls and the browser runs: the place that it wants to be shown. */
export function useMap(): string | undefined {
  const [place, setPlace] = useState<string>();
  useFrontendTool({
    name: "show_on_map",
    description: "Shows the user a place on the map.",
    parameters: z.object({ place: z.string() }),
    handler: async ({ place }) => {
      setPlace(place);
      return { shown: place };
    },
  });
  return place;
}

/** A question that the run waits for: `interrupt({"question": ...})` in the graph. What is answered, it returns. */
export function Question({ interrupt, resolve, cancel }: InterruptRenderProps<unknown, unknown>) {
  return (
    <section aria-label="question">
      <p>{interrupt?.message}</p>
      <button onClick={() => resolve(true)}>Approve</button>
      <button onClick={() => cancel()}>Cancel</button>
    </section>
  );
}
