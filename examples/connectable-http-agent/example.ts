// A conversation that survives a reload, with `@ag-ui/client` alone.
//
//     langgraph-agui serve chat=my_app:graph --origin http://localhost:5173
//
// serves the graph at http://127.0.0.1:8000/chat, to pages of that origin. The thread's id is the conversation: keep it
// in the page's address.

import { ConnectableHttpAgent } from "./connectable-http-agent";

/** A conversation; `show` is called with every change. */
export function conversation(url: string, threadId: string, show: (agent: ConnectableHttpAgent) => void) {
  const agent = new ConnectableHttpAgent({ url, threadId });
  const changed = () => show(agent);
  agent.subscribe({ onMessagesChanged: changed, onStateChanged: changed });
  return agent;
}

/**
 * What a page does when it is loaded: it gets the messages of the thread, and the active run to its end. A new thread has
 * none. To connect once more make the conversation anew: the client does not connect while an interrupt is pending.
 */
export async function load(agent: ConnectableHttpAgent) {
  await agent.connectAgent();
}

/** Sends a message of the user; returns when it is answered. */
export async function say(agent: ConnectableHttpAgent, text: string) {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
  await agent.runAgent();
}

/** Answers the interrupts of the graph. `agent.pendingInterrupts` has them, also after a reload. */
export async function answer(agent: ConnectableHttpAgent, payload: unknown) {
  const resume = agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: "resolved" as const, payload }));
  await agent.runAgent({ resume });
}

/** Stops the run on the server. `agent.abortRun()` only stops reading: the run continues, and can be connected to. */
export async function stop(agent: ConnectableHttpAgent) {
  const headers = { ...agent.headers, "Content-Type": "application/json" };
  const body = JSON.stringify({ threadId: agent.threadId });
  await agent.fetch(`${agent.url}/stop`, { method: "POST", headers, body });
}
