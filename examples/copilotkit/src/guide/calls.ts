// What is read off tool calls.

import type { Call, Message } from "./types";

/** The arguments of a call, once they have come whole; before that none. */
export function argumentsOf(call: Call): Record<string, unknown> {
  try {
    return JSON.parse(call.function.arguments);
  } catch {
    return {};
  }
}

/** The place that the agent has put on the map last, in whichever tab its tool ran. */
export function placeOnMap(messages: Message[]): string | undefined {
  const calls = messages.flatMap((each) => (each.role === "assistant" ? (each.toolCalls ?? []) : []));
  const places = calls.filter((call) => call.function.name === "show_on_map").map((call) => argumentsOf(call).place);
  return places.findLast((place) => typeof place === "string");
}
