// A LangGraph agent in CopilotKit's chat: copy this page, and put your own tools and state in place of the plan's.

import { CopilotChat, CopilotKitProvider, useAgent, useCopilotKit, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useWatch } from "langgraph-agui/react";
import { createRoot } from "react-dom/client";

import { ACTIVITIES } from "./activities";
import { Connection } from "./connection";
import { AGENT, HEADERS, RUNTIME_URL, useThread } from "./page";
import { PlanView, Question, useMap } from "./plan";

function DayPlanner({ thread }: { thread: string }) {
  const { copilotkit } = useCopilotKit();
  const { agent, isReady } = useAgent({ agentId: AGENT });
  const hasFailed = copilotkit.runtimeConnectionStatus === "error"; // the watch says why
  // The chat connects when it is mounted; this shows the runs that others start later, too.
  const watching = useWatch(isReady || hasFailed ? agent : null, {
    threadId: thread,
    connect: () => copilotkit.connectAgent({ agent }),
  });
  const place = useMap();
  useInterrupt({ agentId: AGENT, render: (question) => <Question {...question} /> });
  return (
    <>
      <CopilotChat agentId={AGENT} threadId={thread} />
      <aside>
        <Connection {...watching} />
        <PlanView plan={agent.state} />
        {place && <p role="status">On the map: {place}</p>}
      </aside>
    </>
  );
}

function Page() {
  const { thread, begin } = useThread();
  return (
    <main style={{ display: "grid", gridTemplate: "auto 1fr / 1fr 20rem", height: "100vh" }}>
      <button style={{ gridColumn: "1 / -1" }} onClick={begin}>
        New conversation
      </button>
      {/* Keyed by the thread: else an open question of one would appear, and block the chat, in every other.
          `useSingleEndpoint={false}` saves a guess at every load; errors are reported here and nowhere else. */}
      <CopilotKitProvider
        key={thread}
        runtimeUrl={RUNTIME_URL}
        useSingleEndpoint={false}
        headers={HEADERS}
        enableInspector={false}
        renderActivityMessages={ACTIVITIES}
        onError={({ error }) => console.error(error)}
      >
        <DayPlanner thread={thread} />
      </CopilotKitProvider>
    </main>
  );
}

createRoot(document.getElementById("root")!).render(<Page />);
