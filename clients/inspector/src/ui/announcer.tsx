// What a screen reader says while a run goes on: that it began, waits, failed or ended, with the beginning of its answer.

import { computed } from "@preact/signals";

import { inLine } from "../model/json.ts";
import { textOf, type View } from "../model/view.ts";
import { isLive, latest } from "../session.ts";
import { UNSAID } from "./message.tsx";

const said = computed(() => (isLive.value ? sentence(latest.value) : ""));

export const Announcer = () => (
  <p class="unseen" role="status" aria-label="Run">
    {said.value}
  </p>
);

function sentence({ status, error, interrupts, messages }: View): string {
  switch (status) {
    case "running":
      return "The run goes on.";
    case "waiting":
      return interrupts.length === 1 ? "The run waits for your answer." : `The run waits for ${interrupts.length} answers.`;
    case "failed":
      return `The run failed${error?.step ? ` in ${error.step}` : ""}. ${error?.message === UNSAID ? "" : inLine(error?.message ?? "", 200)}`;
    case "cancelled":
      return "The run was stopped.";
    case "idle": {
      const last = messages.findLast(({ role }) => role === "assistant");
      return last === undefined ? "" : `Answered: ${inLine(textOf(last.content), 300)}`;
    }
  }
}
