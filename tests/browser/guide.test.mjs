// The guide's page in a real browser, on its own server: each state that it can be in, and a picture of each.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { GuidePage } from "./guide_page.mjs";
import { Stage } from "./harness.mjs";

const PLANNED = ["09:30 Belém Tower 10 €", "13:00 Tram 28 4 €", "16:00 Tile Museum 12 €"];
const VIEW = { page: "", viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" };

let stage;
before(async () => (stage = await Stage.set({ guide: true })));
after(() => stage?.strike());

const scenario = (name, play, options = {}) =>
  test(`guide: ${name}`, (t) =>
    stage.visit(t, { ...VIEW, ...options }, async (page) => {
      const guide = new GuidePage(page);
      await guide.connectionIs("live");
      await play(guide, page);
      await stage.deleteThreads();
    }));

scenario("a tool reports its progress while it works, in every tab, and after a reload", async (guide, page) => {
  await guide.is("idle");
  await guide.picture("new");
  stage.gates.hold("compare_tickets 2");
  await guide.press("Plan my day");
  await guide.shows("2 of 4");
  await guide.shows("Asking for Tram 28");
  await guide.is("running");
  await guide.picture("progress");
  const other = await guide.inAnotherTab();
  await other.shows("2 of 4");
  await page.reload();
  await guide.shows("2 of 4");
  stage.gates.hold("plan 2 5");
  stage.gates.open("compare_tickets 2");
  for (const each of [guide, other]) await each.shows("Tickets compared");
  for (const each of [guide, other]) await each.shows("The morning is clear and");
  stage.gates.open("plan 2 5");
  for (const each of [guide, other]) await each.is("idle");
  for (const each of [guide, other]) await each.plans(...PLANNED);
});

scenario("what the guide has to do is a card that follows its todos, in every tab, and after a reload", async (guide, page) => {
  const other = await guide.inAnotherTab();
  const todos = (...expected) => Promise.all([guide, other].map((each) => each.hasTodos(...expected)));
  stage.gates.hold("compare_tickets 2");
  stage.gates.hold("plan 3 0");
  await guide.say("Plan my day");
  await todos("in_progress Compare the tickets", "pending Fill the day with what the budget allows");
  await guide.shows("0 of 2 done");
  stage.gates.open("compare_tickets 2");
  await todos("completed Compare the tickets", "in_progress Fill the day with what the budget allows");
  await page.reload();
  await todos("completed Compare the tickets", "in_progress Fill the day with what the budget allows");
  await guide.plans(...PLANNED);
  await guide.picture("todos");
  stage.gates.open("plan 3 0");
  await todos("completed Compare the tickets", "completed Fill the day with what the budget allows");
  await guide.is("idle");
  await page.reload();
  await guide.shows("2 of 2 done");
});

scenario("a booking is approved with changes, and the plan has it", async (guide) => {
  for (const question of ["Call the booking office", "Where is the castle?"]) await stage.ask(question);
  await guide.say("Plan my day");
  await guide.plans(...PLANNED);
  await guide.is("idle");
  await guide.say("Book the tower");
  await guide.question.getByText("Book Belém Tower?").waitFor();
  await guide.is("waiting");
  assert.ok(await guide.page.getByLabel("message").isDisabled());
  await guide.threads.getByText("Waits for you").waitFor();
  await guide.picture("approval");
  await guide.page.getByLabel("People").fill("3");
  await guide.press("Approve with changes");
  await guide.shows("Belém Tower booked for 3 at 09:30");
  await guide.shows("changed by you");
  await guide.plans("09:30 Belém Tower booked 30 €", ...PLANNED.slice(1));
  await guide.is("idle");
});

scenario(
  "a question is there after a reload, and answered in another tab it goes away in this one",
  async (guide, page) => {
    await guide.say("Book the tower");
    await guide.question.waitFor();
    await page.reload();
    await guide.question.waitFor();
    const other = await guide.inAnotherTab();
    await other.press("Reject");
    for (const each of [guide, other]) {
      await each.shows("Belém Tower is not booked");
      await each.question.waitFor({ state: "detached" });
      await each.is("idle");
    }
  },
);

scenario("the agent moves the map of the page", async (guide, page) => {
  await guide.say("Show me the tower on the map");
  await guide.shows("You see Belém Tower on the map now.");
  await guide.is("idle");
  await page.getByRole("img", { name: "Shown: Belém Tower" }).waitFor();
  await guide.say("Where is the castle?");
  await page.getByRole("img", { name: "Shown: Castle" }).waitFor();
  await guide.is("idle");
  await guide.picture("map");
  await guide.press("Belém Tower on the map");
  await page.getByRole("img", { name: "Shown: Belém Tower" }).waitFor();
  const other = await guide.inAnotherTab();
  await other.page.getByRole("img", { name: "Shown: Castle" }).waitFor();
});

scenario("what the user changes in the plan the graph knows in its next run", async (guide, page) => {
  await guide.say("Plan my day");
  await guide.plans(...PLANNED);
  await guide.is("idle");
  await guide.press("Remove Tile Museum");
  await page.getByLabel("Budget").fill("14");
  await guide.plans(...PLANNED.slice(0, 2));
  await page.getByText("Your changes go with your next message.").waitFor();
  await guide.picture("changed");
  await guide.press("Plan again");
  await guide.shows("A day in Lisbon for 14 euros.");
  await guide.is("idle");
  await page.reload();
  await guide.plans(...PLANNED.slice(0, 2));
  assert.equal(await page.getByLabel("Budget").inputValue(), "14");
});

scenario("a run that nobody's page has started appears in every open page", async (guide) => {
  const other = await guide.inAnotherTab();
  stage.gates.hold("compare_tickets 1");
  await guide.press("Run the briefing now");
  for (const each of [guide, other]) {
    await each.shows("Started by the schedule");
    await each.shows("1 of 2");
    await each.is("running");
  }
  await other.picture("background");
  stage.gates.open("compare_tickets 1");
  for (const each of [guide, other]) {
    await each.shows("Nothing in your plan has to change.");
    await each.is("idle");
  }
});

scenario("a failed run leaves a mark, also after a reload, and can be tried again", async (guide, page) => {
  await guide.say("Call the booking office");
  const mark = page.getByRole("alert").filter({ hasText: "The run failed" });
  await mark.getByText("ConnectionError").waitFor();
  await guide.shows("I call the booking office. It rings");
  await guide.threads.getByText("Failed").waitFor();
  await guide.picture("failed");
  await page.reload();
  await mark.waitFor();
  stage.gates.hold("fail 0 0");
  await guide.press("Try again");
  await guide.is("running");
  stage.gates.open("fail 0 0");
  await mark.nth(1).waitFor(); // each run that failed has its own
  await guide.is("idle");
});

scenario("stop stops the run, in every tab", async (guide) => {
  stage.gates.hold("plan 0 24");
  await guide.say("Plan my day");
  await guide.shows("A day in Lisbon");
  const other = await guide.inAnotherTab();
  await other.is("running");
  await other.press("Stop");
  await stage.gates.left("plan 0 24");
  for (const each of [guide, other]) await each.is("idle");
});

scenario("a tool that was stopped stays so, whatever comes next", async (guide) => {
  stage.gates.hold("compare_tickets 2");
  await guide.say("Plan my day");
  await guide.shows("2 of 4");
  await guide.press("Stop");
  await guide.shows("Comparison stopped");
  await guide.is("idle");
  stage.gates.open("compare_tickets 2");
  await guide.say("Where is the castle?");
  await guide.shows("You see Castle on the map now.");
  await guide.is("idle");
  await guide.shows("Comparison stopped");
  await guide.picture("stopped");
});

scenario("conversations are listed, named, archived, restored and deleted", async (guide, page) => {
  const items = guide.threads.getByRole("listitem");
  const listed = (...names) =>
    guide.page.waitForFunction((names) => {
      const titles = [...document.querySelectorAll(".thread .title")].map((each) => each.textContent);
      return names.every((name) => titles.includes(name));
    }, names);
  await guide.say("Where is the castle?");
  await guide.shows("You see Castle on the map now.");
  await listed("Where is the castle?");
  await guide.press("New conversation");
  await page.getByText("A day in Lisbon").waitFor();
  await guide.connectionIs("live");
  stage.gates.hold("plan 0 24");
  await guide.say("Plan my day with a museum");
  await guide.is("running");
  await listed("Plan my day with a museum");
  await guide.press("Change “Where is the castle?”");
  await guide.press("Rename");
  await page.getByLabel("Name of the conversation").fill("The castle");
  await page.keyboard.press("Enter");
  await listed("The castle", "Plan my day with a museum");
  await guide.press("Change “The castle”");
  await guide.picture("threads");
  await guide.press("Archive");
  await items.filter({ hasText: "The castle" }).waitFor({ state: "detached" });
  await page.getByLabel("Show archived").check();
  await items.filter({ hasText: "Archived" }).waitFor();
  await guide.press("Change “The castle”");
  await guide.press("Restore");
  await items.filter({ hasText: "Archived" }).waitFor({ state: "detached" });
  await guide.press("Change “The castle”");
  await guide.press("Delete");
  await guide.press("Delete");
  await items.filter({ hasText: "The castle" }).waitFor({ state: "detached" });
  stage.gates.open("plan 0 24");
  await guide.is("idle");
});

scenario(
  "a lost connection is said, and the page comes back by itself",
  async (guide) => {
    await guide.say("Show me the tower on the map");
    await guide.shows("You see Belém Tower on the map now.");
    await guide.is("idle");
    await stage.stopServer("SIGKILL");
    await guide.connectionIs("lost");
    await guide.page.getByText("Connection lost. Runs go on").waitFor();
    await guide.picture("lost");
    await stage.startServer();
    await guide.connectionIs("live");
    await guide.say("Where is the castle?");
    await guide.shows("You see Castle on the map now.");
  },
  { expected: [/ERR_/, /Failed to load/, /network error/i, /fetch/i] },
);

scenario(
  "in the dark",
  async (guide) => {
    await guide.say("Plan my day");
    await guide.plans(...PLANNED);
    await guide.is("idle");
    await guide.say("Book the tower");
    await guide.question.waitFor();
    await guide.picture("dark");
  },
  { colorScheme: "dark" },
);

scenario(
  "a narrow window has the list and the plan behind buttons, for the keyboard too",
  async (guide, page) => {
    await guide.say("Plan my day");
    await guide.shows("Your day is planned");
    await guide.is("idle");
    await guide.isAtItsEnd();
    await guide.picture("narrow");
    await page.getByRole("button", { name: "Your day" }).press("Enter");
    await guide.plan.getByText("Belém Tower").waitFor();
    await guide.picture("narrow-plan");
    await page.keyboard.press("Escape");
    await guide.plan.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Conversations" }).press("Enter");
    await guide.threads.getByText("Plan my day").waitFor();
    await guide.picture("narrow-threads");
    await page.keyboard.press("Escape");
    await guide.threads.waitFor({ state: "hidden" });
    await guide.say("Where is the castle?");
    await guide.is("idle");
    await guide.press("Castle on the map");
    await page.getByRole("img", { name: "Shown: Castle" }).waitFor();
  },
  { viewport: { width: 400, height: 780 } },
);
