// Drives the real AG-UI clients against a running server: one JSON order per line in, one JSON answer per line out,
// in the order in which they are done. Orders run at once: one may wait while others go on.
//
// An order: { id, do, ... }; an answer: { id, ...what came of it }, or { id, failed } if the order itself is wrong.
// `do` is one of the functions of ORDERS. Agents and watches have names, which the orders give them.
// What is on the console, and rejections that nobody handles, are kept until `complaints` are asked for.
//
// It knows nothing of what is tested.

import { createInterface } from "node:readline";

import { EventSource } from "eventsource";

import { typescript } from "./typescript.mjs";

const agents = new Map();
const watches = new Map();
let complaints = [];

// What the client says of a run that was rejected; the rejection itself is answered.
const REJECTED = "Agent execution failed:";
const complain = (...said) => {
  const words = said.map((each) => (each instanceof Error ? (each.stack ?? each.message) : String(each))).join(" ");
  if (!words.startsWith(REJECTED)) complaints.push(words);
};
Object.assign(console, { warn: complain, error: complain, log: complain, debug: complain, info: complain });
process.on("warning", complain);
process.on("unhandledRejection", (error) => complain("unhandled rejection:", error));
process.on("uncaughtException", (error) => complain("uncaught exception:", error));

const held = ({ agent }) => ({
  messages: agent.messages,
  state: agent.state,
  interrupts: agent.pendingInterrupts,
  running: agent.isRunning,
});

// What came of a run or a connection, and what the agent holds after it.
const settled = async (known, begin) => {
  const events = [];
  const listening = known.agent.subscribe({ onEvent: ({ event }) => void events.push(structuredClone(event)) });
  let came = { error: null, status: null };
  try {
    const { result, newMessages } = await begin();
    came = { ...came, result: result ?? null, added: newMessages.map(({ id }) => id) };
  } catch (error) {
    came = { error: String(error?.message ?? error), status: error?.status ?? null, result: null, added: [] };
  } finally {
    listening.unsubscribe();
  }
  return { ...came, events, ...held(known) };
};

const agentOf = ({ agent }) => {
  if (!agents.has(agent)) throw new Error(`there is no agent ${agent}`);
  return agents.get(agent);
};

// Whether somebody says this, as far as it has come.
const says = (messages, text) => messages.some(({ content }) => typeof content === "string" && content.includes(text));

// An agent as a page shows it.
const looks = ({ agent, stay }) => ({
  connection: stay?.state.connection,
  caughtUp: stay?.state.caughtUp,
  texts: agent.messages.map(({ content }) => content).filter(Boolean),
  running: agent.isRunning,
  interrupts: agent.pendingInterrupts.length,
});

const ORDERS = {
  async open({ agent, version, url, threadId, messages, state, headers }) {
    const { ThreadAgent } = await typescript(version);
    const config = { url, threadId, initialMessages: messages, initialState: state, headers };
    const known = { agent: new ThreadAgent(config), waiting: [], states: [], starts: [] };
    // A run tells those who subscribed before it.
    const look = () => known.waiting.forEach((each) => each());
    known.agent.subscribe({ onMessagesChanged: look, onStateChanged: look, onRunFinalized: look });
    known.agent.subscribe({ onRunInitialized: ({ input }) => void known.starts.push(input.runId) });
    agents.set(agent, known);
    return {};
  },
  run: (order) => {
    const known = agentOf(order);
    for (const message of order.messages) known.agent.addMessage(message);
    return settled(known, () => known.agent.runAgent(order.parameters));
  },
  connect: (order) => {
    const known = agentOf(order);
    return settled(known, () => known.agent.connectAgent(order.parameters));
  },
  // Calls what the agent has of this name.
  call: (order) => {
    const known = agentOf(order);
    return settled(known, async () => {
      const result = await known.agent[order.call](...order.given);
      return { result, newMessages: [] };
    });
  },
  // The agent stays on its thread; all states of that are kept.
  async stay(order) {
    const known = agentOf(order);
    known.stay = known.agent.watch();
    const note = () => known.states.push({ ...known.stay.state, error: known.stay.state.error?.message });
    note();
    known.stay.subscribe(() => {
      note();
      known.waiting.forEach((each) => each());
    });
  },
  async leave(order) {
    agentOf(order).stay.close();
  },
  async retry(order) {
    agentOf(order).stay.retry();
  },
  // When the agent holds what is expected, all of it: how it stays connected, texts, whether it reads, how many interrupts.
  until: (order) =>
    new Promise((resolve) => {
      const known = agentOf(order);
      const look = () => {
        const now = looks(known);
        if (Object.entries(order.expected).some(([name, value]) => JSON.stringify(now[name]) !== JSON.stringify(value))) return;
        known.waiting = known.waiting.filter((each) => each !== look);
        resolve({ ...now, states: known.states, starts: known.starts, messages: known.agent.messages });
      };
      known.waiting.push(look);
      look();
    }),
  abort: async (order) => void agentOf(order).agent.abortRun(),
  held: async (order) => held(agentOf(order)),
  // When somebody is seen to say this.
  shows: (order) =>
    new Promise((resolve) => {
      const known = agentOf(order);
      const look = () => {
        if (!says(known.agent.messages, order.text)) return;
        known.waiting = known.waiting.filter((each) => each !== look);
        resolve({});
      };
      known.waiting.push(look);
      look();
    }),
  watch: ({ watch, url }) =>
    new Promise((resolve) => {
      const source = new EventSource(url);
      const known = { source, events: [], waiting: [], lost: 0 };
      watches.set(watch, known);
      source.onopen = () => resolve({});
      source.onerror = () => void (known.lost += 1);
      source.onmessage = ({ data }) => {
        known.events.push(JSON.parse(data));
        for (const look of known.waiting) look();
      };
    }),
  // When a watch has been told so many events of a kind: all it was told.
  seen: ({ watch, kind, times }) =>
    new Promise((resolve) => {
      const known = watches.get(watch);
      const look = () => {
        if (known.events.filter(({ type }) => type === kind).length < times) return;
        known.waiting = known.waiting.filter((each) => each !== look);
        resolve({ events: known.events, lost: known.lost });
      };
      known.waiting.push(look);
      look();
    }),
  // The end of a test: everybody leaves. What was complained of is told, and forgotten.
  async complaints() {
    for (const { agent, stay } of agents.values()) {
      stay?.close();
      if (agent.isRunning) agent.abortRun();
    }
    for (const { source } of watches.values()) source.close();
    agents.clear();
    watches.clear();
    await new Promise((resolve) => setImmediate(resolve)); // rejections nobody handles are told after the microtasks
    const said = complaints;
    complaints = [];
    return { said };
  },
};

const answer = async (order) => {
  try {
    return await ORDERS[order.do](order);
  } catch (error) {
    return { failed: String(error?.stack ?? error) };
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  void answer(order).then((came) => process.stdout.write(`${JSON.stringify({ id: order.id, ...came })}\n`));
}
process.exit(0); // whatever was left open
