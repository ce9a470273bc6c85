// A page of LangChain's `useStream`, as its README has it, on the thread that the address names. It reads the LangGraph
// server itself, and knows nothing of langgraph-agui: `useStream.test.mjs` opens it next to a page that does.

import { useStream } from "@langchain/react";
import { StrictMode, type FormEvent } from "react";
import { createRoot } from "react-dom/client";

const query = new URLSearchParams(location.search);

function Chat({ apiUrl, threadId }: { apiUrl: string; threadId: string }) {
  const { messages, interrupts, isLoading, submit, respond, stop } = useStream<Record<string, unknown>, { question: string }>({
    apiUrl,
    assistantId: "planner",
    threadId,
  });

  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    void submit({ messages: [{ type: "human", content: String(new FormData(form).get("text")) }] });
    form.reset();
  };
  return (
    <main>
      <ol aria-label="conversation">
        {messages.map((message) => (
          <li key={message.id}>{message.text}</li>
        ))}
      </ol>
      {interrupts.map(({ id, value }) => (
        <p key={id} aria-label="question">
          {value?.question} <button onClick={() => respond(true, { interruptId: id! })}>Yes</button>
        </p>
      ))}
      <form onSubmit={send}>
        <input name="text" aria-label="message" disabled={isLoading || interrupts.length > 0} />
      </form>
      {isLoading && <button onClick={() => stop()}>Stop</button>}
    </main>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Chat apiUrl={query.get("server")!} threadId={query.get("thread")!} />
  </StrictMode>,
);
