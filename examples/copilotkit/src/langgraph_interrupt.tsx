// A page that was written for `ag-ui-langgraph`: its questions are asked with CopilotKit's `useLangGraphInterrupt`. It
// works with and without `compatible_with="ag-ui-langgraph"` on the server.

import { CopilotKit, useLangGraphInterrupt } from "@copilotkit/react-core";
import { CopilotChat } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";

import { AGENT, HEADERS, RUNTIME_URL, threadOfPage } from "./page";

const THREAD = threadOfPage();

function Questions() {
  useLangGraphInterrupt({
    agentId: AGENT,
    render: ({ event, resolve }) => {
      // What `interrupt()` was given: in the metadata of an interrupt of AG-UI, or the event's value itself.
      const { question } = event.value?.metadata?.value ?? event.value;
      return (
        <section aria-label="question">
          <p>{question}</p>
          <button onClick={() => resolve("yes")}>Approve</button>
          <button onClick={() => resolve("no")}>Reject</button>
        </section>
      );
    },
  });
  return null;
}

createRoot(document.getElementById("root")!).render(
  <CopilotKit runtimeUrl={RUNTIME_URL} agent={AGENT} headers={HEADERS} useSingleEndpoint={false} enableInspector={false}>
    <Questions />
    <CopilotChat agentId={AGENT} threadId={THREAD} />
  </CopilotKit>,
);
