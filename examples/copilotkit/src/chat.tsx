// A LangGraph agent in CopilotKit's chat: copy this page, and put your own tools and state in place of the plan's.

import { CopilotChat, CopilotKitProvider, useAgent, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";

import { AGENT, RUNTIME_URL, useThread } from "./page";
import { PlanView, Question, useMap } from "./plan";

function DayPlanner({ thread }: { thread: string }) {
  const { agent } = useAgent({ agentId: AGENT });
  const place = useMap();
  useInterrupt({ agentId: AGENT, render: (question) => <Question {...question} /> });
  return (
    <>
      <CopilotChat agentId={AGENT} threadId={thread} />
      <aside>
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
        enableInspector={false}
        onError={({ error }) => console.error(error)}
      >
        <DayPlanner thread={thread} />
      </CopilotKitProvider>
    </main>
  );
}

createRoot(document.getElementById("root")!).render(<Page />);
