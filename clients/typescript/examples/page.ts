// A conversation without React: it survives a reload, and shows what other tabs, background runs and crons do on it.
//
//     langgraph-agui serve chat=my_app:graph --origin http://localhost:5173
//
// serves the graph at http://127.0.0.1:8000/chat, to pages of that origin. The thread's id is the conversation: keep it in
// the page's address.

import { ThreadAgent, type WatchState } from "langgraph-agui";

/** A conversation; `show` is called with every change. Call what it returns when the page leaves the conversation. */
export function conversation(
  url: string,
  threadId: string,
  show: (agent: ThreadAgent, state: WatchState) => void,
): { agent: ThreadAgent; leave: () => void } {
  const agent = new ThreadAgent({ url, threadId });
  const watch = agent.watch();
  const changed = () => show(agent, watch.state);
  agent.subscribe({ onMessagesChanged: changed, onStateChanged: changed, onRunFinalized: changed });
  watch.subscribe(changed);
  return { agent, leave: () => watch.close() };
}
