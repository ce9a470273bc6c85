// A page of `useChat` for an agent that langgraph-agui serves. `?agent=` in its address names the agent, `?thread=` the
// conversation, which is there after a reload, with the answer that is being written.

import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { StrictMode, useState, type FormEvent } from "react";
import { createRoot } from "react-dom/client";

import { Message, PAGE_TOOLS } from "./parts";
import { loadThread, NEW_THREAD, stopRun, type Thread } from "./server";

const SERVER = "http://localhost:8000";
const query = new URLSearchParams(location.search);
const API = `${SERVER}/${query.get("agent") ?? "planner"}/ui`;
const named = query.get("thread");
const THREAD = named ?? crypto.randomUUID();

/** The model may call them; `run` stays in the page. */
const tools = PAGE_TOOLS.map(({ name, description, parameters }) => ({ name, description, parameters }));
const transport = new DefaultChatTransport<UIMessage>({ api: API, body: { tools } });

function Chat({ messages, state: stored }: Thread) {
  const [state, setState] = useState(stored);
  const chat = useChat({
    id: THREAD,
    messages,
    transport,
    resume: true,
    sendAutomaticallyWhen: (chat) =>
      lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat),
    // The channels of the graph's state: all of them when a run begins, later those that have changed.
    onData: ({ type, data }) => type === "data-state" && setState((before) => ({ ...before, ...(data as object) })),
  });
  // A run that has failed leaves a part, which is there after a reload too; a request that has failed is only `chat.error`.
  const isInThread = chat.messages.at(-1)?.parts.some(({ type }) => type === "data-run_error");
  const isRunning = chat.status === "submitted" || chat.status === "streaming";

  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    void chat.sendMessage({ text: String(new FormData(form).get("text")) });
    form.reset();
  };
  const stop = async () => {
    await stopRun(API, THREAD);
    await chat.stop();
  };
  return (
    <main>
      <ol aria-label="conversation">
        {chat.messages.map((message) => (
          <Message key={message.id} message={message} chat={chat} />
        ))}
      </ol>
      {chat.error && !isInThread && <p role="alert">{chat.error.message}</p>}
      <ul aria-label="stops">
        {Object.entries((state.stops ?? {}) as Record<string, { at: string }>).map(([name, { at }]) => (
          <li key={name}>
            {at} {name}
          </li>
        ))}
      </ul>
      <form onSubmit={send}>
        <input name="text" aria-label="message" autoComplete="off" />
        {isRunning ? <button type="button" onClick={stop}>Stop</button> : <button>Send</button>}
      </form>
    </main>
  );
}

query.set("thread", THREAD);
history.replaceState(null, "", `?${query}`);
const thread = named ? await loadThread(API, named) : NEW_THREAD;
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Chat {...thread} />
  </StrictMode>,
);
