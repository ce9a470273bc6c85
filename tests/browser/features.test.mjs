// What pages of CopilotKit do with a graph: every feature of `features.py`, as a person sees it. Each is tried by default,
// with what the table says that it needs, and as it is served for pages of `ag-ui-langgraph`; by the page itself through
// CopilotKit's routes, with an agent of its own, and behind CopilotKit's Node runtime. Where something is missing, the test
// expects what a person sees in its place: so the table has a line wherever one is needed, and nowhere else.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { join } from "node:path";

import { Chat } from "./copilot_chat.mjs";
import { ARTEFACTS, Stage, until } from "./harness.mjs";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const EXPECTED = [/The run failed/, /busy|409/, /selfManagedAgents/, /\b404\b/];

let stage, features, runtime;
before(async () => {
  stage = await Stage.set({ features: true });
  features = await (await fetch(`http://127.0.0.1:${stage.port}/features`)).json();
  const names = features.flatMap(({ name, needs }) => [name, `${name}-compatible`, ...(needs ? [`${name}-configured`] : [])]);
  runtime = await stage.startRuntime(Object.fromEntries(names.map((name) => [name, name])));
});
after(() => stage?.strike());

/** What is done on each feature's page, and seen. `works`: whether it is configured. */
const PLAYS = {
  async agentic_chat({ chat, aside }) {
    await chat.say("hello");
    await aside.getByText("The page is teal").waitFor();
    await chat.answers("One moment.", "The page is teal, Ada.");
  },
  async backend_tool_rendering({ chat, card }) {
    await chat.say("weather");
    await card("Weather in Porto").getByText("21 °C in Porto").waitFor();
    await card("get_wind").getByText("northerly in Porto").waitFor();
    await chat.endsWith("A fine day.");
  },
  async tool_based_generative_ui({ chat, card }) {
    await chat.say("haiku");
    await card("Haiku").getByText("An old silent pond / A frog jumps into the pond").waitFor();
    await chat.endsWith("There it is.");
  },
  async human_in_the_loop({ chat, page, card }) {
    await chat.say("plan");
    await card("Dig a hole, Plant the tree").waitFor();
    await page.reload();
    await card("Dig a hole, Plant the tree").getByRole("button", { name: "Confirm" }).click();
    await chat.endsWith("You have said yes.");
  },
  async interrupts({ chat, page, card }) {
    await chat.say("schedule");
    await card("Planting").waitFor();
    await page.reload();
    await card("Planting").getByRole("button", { name: "14:00" }).click();
    await chat.answers("One moment.", "Planting at 14:00");
    await card("Planting").waitFor({ state: "detached" });
  },
  async subgraphs({ chat, card, state }) {
    await chat.say("travel");
    await card("Which flight?").getByRole("button", { name: "KLM" }).click();
    await chat.answers("KLM it is.");
    await card("Which hotel?").getByRole("button", { name: "Zoe" }).click();
    await chat.answers("KLM it is.", "Zoe it is.");
    await state.has({ itinerary: { flight: "KLM", hotel: "Zoe" } });
  },
  async subagents({ chat, state }) {
    await chat.say("research");
    await chat.answers("One moment.", "It is researched.");
    await state.has({ delegations: ["trees: Trees need water."] });
  },
  async predictive_state_updates({ chat, card, state }) {
    stage.gates.hold("written");
    await chat.say("write");
    await state.says("Once upon a t");
    stage.gates.open("written");
    await state.has({ document: "Once upon a time there was a tree." });
    await card("Is it right?").getByRole("button", { name: "Keep" }).click();
    await chat.endsWith("It stays.");
  },
  async agentic_chat_reasoning({ chat, page }) {
    await chat.say("think");
    await page.getByText(/Thought for/).waitFor();
    await chat.answers("Plant an oak.");
  },
  async agentic_chat_multimodal({ chat, page }) {
    const picture = { name: "tree.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") };
    await page.locator("input[type=file]").setInputFiles(picture);
    await chat.say("look");
    await chat.answers("I see: text, image.");
    await page.reload();
    await page.locator("img[src^='data:image/png']").waitFor();
    await chat.answers("I see: text, image.");
  },
  async error_flow({ chat, page }) {
    await chat.say("try");
    await page.getByRole("alert").getByText("The run failed. (ValueError)").waitFor();
    await page.reload();
    await page.getByRole("alert").getByText("The run failed. (ValueError)").waitFor();
  },
  async langgraph_interrupt({ chat, card, works }) {
    await chat.say("plan");
    const asked = card(works ? "2 steps" : "0 steps");
    await asked.getByRole("button", { name: "Perform" }).click();
    await chat.answers(works ? "I do: Dig a hole, Plant the tree." : "I do: nothing.");
  },
  async ported_interrupt({ chat, page, card }) {
    const asked = card("Shall I plant it?");
    for (const [name, answer] of [["Approve", "You say yes."], ["Reject", "You say no."]]) {
      await chat.say("plant");
      await asked.waitFor();
      await page.reload();
      await asked.getByRole("button", { name }).click();
      await chat.endsWith(answer);
      await asked.waitFor({ state: "detached" });
    }
  },
  async agentic_generative_ui({ chat, state, works }) {
    if (works) stage.gates.hold("one done");
    await chat.say("plant");
    if (works) await state.has({ done: 1 });
    stage.gates.open("one done");
    await chat.answers("The tree is planted.");
    await state.has({ done: 2 });
    assert.equal((await state.past()).some(({ done }) => done === 1), works);
  },
  async shared_state({ chat, page, state, works }) {
    await page.getByLabel("dish").fill("Soup");
    await chat.say("cook");
    await chat.answers(`I cook ${works ? "Soup" : "nothing"}.`);
    await state.has({ recipe: { ...(works && { title: "Soup" }), time: "20 min" } });
  },
  async stop({ chat, page, works }) {
    stage.gates.hold("counted");
    await chat.say("count");
    await chat.answers("One tree,");
    await chat.button.click();
    if (works) await stage.gates.left("counted");
    const refused = works ? undefined : page.waitForEvent("console", (said) => /busy|409/.test(said.text()));
    await chat.say("again");
    if (works) await chat.endsWith("I begin again.");
    else await refused;
    stage.gates.open("counted");
  },
};

const FRONTS = ["CopilotKit's routes", "an agent of the page", "the Node runtime"];

for (const front of FRONTS) {
  for (const served of ["", "configured", "compatible"]) {
    test(`features: ${front}, ${served || "default"}`, (t) =>
      stage.visit(t, { page: "features", expected: EXPECTED }, async (page) => {
        if (front === "the Node runtime") {
          await page.route("http://localhost:8000/**", (route) =>
            route.continue({ url: route.request().url().replace("localhost:8000", `127.0.0.1:${runtime}`) }),
          );
        }
        for (const feature of features.filter(({ needs }) => served !== "configured" || needs)) {
          await t.test(feature.name, () => play(page, front, served, feature));
        }
      }));
  }
}

async function play(page, front, served, { name, needs, isRequest }) {
  const query = new URLSearchParams({ feature: name, ...(served && { served }), ...(front.startsWith("an") && { via: "agent" }) });
  await page.evaluate((query) => (history.pushState(null, "", query), dispatchEvent(new PopStateEvent("popstate"))), `?${query}`);
  await page.getByRole("main", { name: served ? `${name}-${served}` : name, exact: true }).waitFor();
  const ofNothing = !needs || (isRequest && front === "CopilotKit's routes");
  const works = ofNothing || served === "configured" || (served === "compatible" && !(isRequest && front.startsWith("an")));
  try {
    const card = (title) => page.getByRole("group", { name: title, exact: true });
    await PLAYS[name]({ page, chat: new Chat(page), aside: page.getByRole("complementary"), card, state: stateOf(page), works });
  } catch (error) {
    error.message += `\n${await page.innerText("body")}`;
    throw error;
  } finally {
    stage.gates.openAll();
    if (!served) await page.screenshot({ path: join(ARTEFACTS, `feature-${name}-${FRONTS.indexOf(front)}.png`) });
  }
}

function stateOf(page) {
  const text = () => page.getByLabel("state", { exact: true }).innerText();
  return {
    /** Returns when the page has exactly this state. */
    has: (expected) =>
      until(async () => isSame(JSON.parse(await text()), expected), async () => `expected ${JSON.stringify(expected)}, got ${await text()}`),
    says: (part) => until(async () => (await text()).includes(part), async () => `expected ${part}, got ${await text()}`),
    past: async () => (await page.getByLabel("past").textContent()).split("\n").map((line) => JSON.parse(line)),
  };
}

function isSame(one, other) {
  try {
    return assert.deepEqual(one, other), true;
  } catch {
    return false;
  }
}
