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
      {watch.connection === "lost" && <button onClick={watch.retry}>Offline. Try again now</button>}
      {messages.map((message) => (
        <p key={message.id}>{typeof message.content === "string" && message.content}</p>
      ))}
      {interrupts.map(({ id, message }) => (
        <p key={id}>
          {message} <button onClick={() => agent.answer("yes", { interruptId: id })}>Yes</button>
        </p>
      ))}
      <form onSubmit={send}>
        <input name="text" disabled={isRunning || interrupts.length > 0} />
      </form>
      {isRunning && <button onClick={() => agent.stop()}>Stop</button>}
    </main>
  );
}
