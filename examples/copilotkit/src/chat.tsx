// A LangGraph agent in CopilotKit's chat: copy this page, and put your own tools and state in place of the plan's.

import { CopilotChat, CopilotKitProvider, useAgent, useInterrupt } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";

import { AGENT, RUNTIME_URL, THREAD } from "./page";
import { PlanView, Question, useMap } from "./plan";

function DayPlanner() {
  const { agent } = useAgent({ agentId: AGENT });
  const place = useMap();
  useInterrupt({ agentId: AGENT, render: (question) => <Question {...question} /> });
  return (
    <main style={{ display: "grid", gridTemplateColumns: "1fr 20rem", height: "100vh" }}>
      <CopilotChat agentId={AGENT} threadId={THREAD} />
      <aside>
        <PlanView plan={agent.state} />
        {place && <p role="status">On the map: {place}</p>}
      </aside>
    </main>
  );
}

createRoot(document.getElementById("root")!).render(
  // `useSingleEndpoint={false}` spares a guess at every load. CopilotKit's client never retries by itself: tell errors.
  <CopilotKitProvider
    runtimeUrl={RUNTIME_URL}
    useSingleEndpoint={false}
    enableInspector={false}
    onError={({ error }) => console.error(error)}
  >
    <DayPlanner />
  </CopilotKitProvider>,
);
