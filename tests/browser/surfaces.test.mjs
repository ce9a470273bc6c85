// A2UI: what a person sees behind CopilotKit's Node runtime of a surface that a model inside a tool writes. Then what the
// middleware of A2UI that the runtime has makes of it, without a page: the client runs here.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { A2UIMiddleware } from "@ag-ui/a2ui-middleware";
import { HttpAgent } from "@ag-ui/client";

import { Chat } from "./copilot_chat.mjs";
import { Stage, until } from "./harness.mjs";

let stage;
before(async () => (stage = await Stage.set()));
after(() => stage?.strike());

/** What the surface's operations are, and how many stops its data has. */
const drawn = (agent) => {
  const operations = agent.messages.find(({ activityType }) => activityType === "a2ui-surface")?.content.a2ui_operations ?? [];
  const names = operations.map((operation) => Object.keys(operation).find((key) => key !== "version"));
  return { names, stops: operations.find(({ updateDataModel }) => updateDataModel)?.updateDataModel.value.items.length };
};

test("a surface builds up while a model inside a tool writes it, and stays", async () => {
  const initialMessages = [{ id: "asked", role: "user", content: "surface" }];
  const agent = new HttpAgent({ url: `http://127.0.0.1:${stage.port}/planner`, threadId: crypto.randomUUID(), initialMessages });
  agent.use(new A2UIMiddleware());
  stage.gates.hold("surface 7");
  const run = agent.runAgent();
  await stage.gates.reached("surface 7");
  const whole = ["createSurface", "updateComponents", "updateDataModel"];
  await until(() => drawn(agent).stops, () => `the surface is not there: ${JSON.stringify(agent.messages)}`);
  const { names, stops } = drawn(agent);
  assert.deepEqual(names, whole);
  assert.ok(stops < 8, `${stops} stops`);
  stage.gates.open("surface 7");
  await run;
  assert.deepEqual(drawn(agent), { names: whole, stops: 8 });
  assert.deepEqual(
    agent.messages.map(({ role, toolCalls }) => [role, ...(toolCalls ?? []).map((call) => call.function.name)]),
    [["user"], ["assistant", "generate_a2ui"], ["tool"], ["activity"], ["assistant"]],
  );
});

test("a surface builds up in a page behind the runtime, is there after a reload, and its button runs the agent", async (t) => {
  const features = await Stage.set({ features: true });
  t.after(() => features.strike());
  const runtime = await features.startRuntime({ surfaces: "surfaces" });
  await features.visit(t, { page: "features", query: "?feature=surfaces", expected: [/\b404\b/] }, async (page) => {
    await page.route("http://localhost:8000/**", (route) =>
      route.continue({ url: route.request().url().replace("localhost:8000", `127.0.0.1:${runtime}`) }),
    );
    await page.reload();
    const chat = new Chat(page);
    const trees = page.getByText(/Tree number \d of the wood/);
    features.gates.hold("drawn");
    await chat.say("show the wood");
    await trees.first().waitFor();
    const partly = await trees.count();
    assert.ok(partly < 8, `${partly} trees`);
    features.gates.open("drawn");
    await chat.endsWith("There they are.");
    await until(async () => (await trees.count()) === 8, async () => `${await trees.count()} trees`);
    await page.reload();
    await until(async () => (await trees.count()) === 8, async () => `${await trees.count()} trees after a reload`);
    await page.getByRole("button", { name: "Plant them" }).click();
    await chat.endsWith("I plant them.");
  });
});
