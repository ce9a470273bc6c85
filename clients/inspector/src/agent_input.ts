// What the agent of the open thread takes: messages, state that pages may write, context that they may set.

import { computed, effect, signal } from "@preact/signals";

import { type AgentInput, readInput } from "./server/api.ts";
import { session } from "./session.ts";

const MESSAGES: AgentInput = { input: null, context: null, messages: true };

const inputs = signal<ReadonlyMap<string, AgentInput>>(new Map());
const asked = new Set<string>();

/** Null while it is not known, and for a recording. */
export const agentInput = computed<AgentInput | null>(() => (session.value?.kind === "thread" ? (inputs.value.get(session.value.agent) ?? null) : null));

/** From now on the input of each agent is asked for when a thread of it is opened. A server that does not say takes messages. */
export function keepInputs(): void {
  effect(() => {
    const agent = session.value?.kind === "thread" ? session.value.agent : null;
    if (agent === null || asked.has(agent)) return;
    asked.add(agent);
    readInput(agent)
      .catch((error: { readonly status?: number }) => {
        if (error.status !== 404) asked.delete(agent); // asked again with the next thread
        return MESSAGES;
      })
      .then((input) => (inputs.value = new Map(inputs.peek()).set(agent, input)));
  });
}
