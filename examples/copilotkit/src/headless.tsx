// The same agent without CopilotKit's user interface: its hooks, and elements of our own. One file of 0.8 MB.

import { CopilotKitContext, CopilotKitCoreReact } from "@copilotkit/react-core/v2/context";
import { useAgent, useInterrupt } from "@copilotkit/react-core/v2/headless";
import { useWatch } from "langgraph-agui/react";
import { useEffect, useState, type FormEvent } from "react";
import { createRoot } from "react-dom/client";

import { Connection } from "./connection";
import { AGENT, RUNTIME_URL, threadOfPage } from "./page";
import { PlanView, Question, useMap } from "./plan";

const THREAD = threadOfPage();
const copilotkit = new CopilotKitCoreReact({ runtimeUrl: RUNTIME_URL, runtimeTransport: "rest" });

function DayPlanner() {
  const { agent, isReady } = useAgent({ agentId: AGENT });
  const place = useMap();
  const question = useInterrupt({ agentId: AGENT, renderInChat: false, render: (asked) => <Question {...asked} /> });
  const errors = useErrors();

  // The thread from the server, the active run, and every run to come, whoever starts it. A message that is sent before the
  // thread is there would be lost.
  const hasFailed = copilotkit.runtimeConnectionStatus === "error"; // the watch says why
  const watching = useWatch(isReady || hasFailed ? agent : null, {
    threadId: THREAD,
    connect: () => copilotkit.connectAgent({ agent }),
  });
  const { connection } = watching;
  const isLoaded = connection === "live" || connection === "unwatched";
  const status = agent.isRunning ? "running" : isLoaded ? "idle" : connection;

  const send = (content: string) => {
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
    void copilotkit.runAgent({ agent });
  };

  return (
    <main>
      <p role="status" aria-label="run">
        {status}
      </p>
      <Connection {...watching} />
      <ol aria-label="conversation">
        {agent.messages.map((message) => (
          <li key={message.id} data-role={message.role}>
            {typeof message.content === "string" && <span>{message.content}</span>}
            {message.role === "activity" && message.activityType === "run_error" && (
              <em>{String(message.content.message)}</em>
            )}
            {message.role === "assistant" &&
              message.toolCalls?.map((call) => (
                <code key={call.id}>
                  {call.function.name} {call.function.arguments}
                </code>
              ))}
          </li>
        ))}
      </ol>
      {question}
      <PlanView plan={agent.state} />
      <pre aria-label="state">{JSON.stringify(agent.state, null, 2)}</pre>
      {place && <p aria-label="map">On the map: {place}</p>}
      {errors.map((error, place) => (
        <p role="alert" key={place}>
          {error}
        </p>
      ))}
      <Composer send={send} disabled={status !== "idle" || Boolean(question)} />
      <button disabled={!agent.isRunning} onClick={() => copilotkit.stopAgent({ agent })}>
        Stop
      </button>
    </main>
  );
}

/** Where messages are written. The client sends none while a question is open: the thread waits for the answer. */
function Composer({ send, disabled }: { send: (content: string) => void; disabled: boolean }) {
  const [draft, setDraft] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (draft.trim()) send(draft);
    setDraft("");
  };
  return (
    <form onSubmit={submit}>
      <input
        aria-label="message"
        value={draft}
        disabled={disabled}
        onChange={(event) => setDraft(event.target.value)}
      />
      <button disabled={disabled}>Send</button>
    </form>
  );
}

/** What CopilotKit's own chat would display in a toast. */
function useErrors(): string[] {
  const [errors, setErrors] = useState<string[]>([]);
  useEffect(() => {
    const listening = copilotkit.subscribe({ onError: ({ error }) => setErrors((before) => [...before, error.message]) });
    return () => listening.unsubscribe();
  }, []);
  return errors;
}

createRoot(document.getElementById("root")!).render(
  <CopilotKitContext.Provider value={{ copilotkit, executingToolCallIds: new Set() }}>
    <DayPlanner />
  </CopilotKitContext.Provider>,
);
