// The same conversation with React.

import { ThreadAgent } from "langgraph-agui";
import { useThread } from "langgraph-agui/react";
import { useMemo, type FormEvent } from "react";

/** A conversation. `url`: the agent's, such as `http://127.0.0.1:8000/chat`. */
export function Chat({ url, threadId }: { url: string; threadId: string }) {
  const agent = useMemo(() => new ThreadAgent({ url, threadId }), [url, threadId]);
  const { messages, interrupts, isRunning, watch } = useThread(agent);

  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    void agent.send(String(new FormData(form).get("text"))).catch(console.error);
    form.reset();
  };
  return (
    <main>
      {watch.connection === "lost" && <p role="status">Connection to the server lost, trying again</p>}
      {watch.retryAt !== undefined && <button onClick={watch.retry}>Try again now</button>}
      <ol aria-label="conversation">
        {messages.map((message) => (
          <li key={message.id}>{typeof message.content === "string" && message.content}</li>
        ))}
      </ol>
      {interrupts.map(({ id, message }) => (
        <p key={id} aria-label="question">
          {message} <button onClick={() => agent.answer(true, { interruptId: id })}>Yes</button>
        </p>
      ))}
      <form onSubmit={send}>
        <input name="text" aria-label="message" disabled={isRunning || interrupts.length > 0} />
      </form>
      {isRunning && <button onClick={() => agent.stop()}>Stop</button>}
    </main>
  );
}
