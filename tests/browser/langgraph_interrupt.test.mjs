// CopilotKit's `useLangGraphInterrupt` in a real browser: with the outcome, and with the event of `ag-ui-langgraph`.

import { test } from "node:test";

import { Stage, until } from "./harness.mjs";

for (const [compatibleWith, how] of [[undefined, "by default"], ["ag-ui-langgraph", "with compatible_with"]]) {
  test(`useLangGraphInterrupt has what interrupt() was given ${how}, also after a reload`, async (t) => {
    const stage = await Stage.set({ compatibleWith });
    t.after(() => stage.strike());
    await stage.visit(t, { page: "langgraph_interrupt" }, async (page) => {
      const button = page.getByTestId("copilot-send-button");
      const question = page.getByLabel("question");
      for (const [name, answer] of [["Approve", "It is booked for you now."], ["Reject", "It is not booked."]]) {
        await until(() => button.isDisabled(), "the run does not end");
        await page.getByTestId("copilot-chat-textarea").fill("book");
        await button.click();
        await question.getByText("Shall I book the tower?").waitFor();
        await page.reload();
        await question.getByText("Shall I book the tower?").waitFor();
        await question.getByRole("button", { name }).click();
        await page.getByText(answer).waitFor();
        await question.waitFor({ state: "detached" });
      }
    });
  });
}
