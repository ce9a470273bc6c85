// One page for each thing that a page of CopilotKit does with a graph: `features.html?feature=shared_state`, for the agent
// of that name. `&served=compatible`: for the agent `shared_state-compatible`. `&via=agent`: the page reads the agent by
// itself, in place of a runtime's routes.

import { useLangGraphInterrupt } from "@copilotkit/react-core";
import {
  CopilotChat,
  CopilotKitProvider,
  useAgent,
  useAgentContext,
  useComponent,
  useDefaultRenderTool,
  useFrontendTool,
  useHumanInTheLoop,
  useInterrupt,
  useRenderTool,
} from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { ThreadAgent } from "langgraph-agui";
import { useEffect, useMemo, useState, type ComponentType, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";

import { ACTIVITIES } from "./activities";
import { RUNTIME_URL, useThread } from "./page";

/** A component for each feature: its hooks, and what it shows next to the chat. */
type Feature = ComponentType<{ agentId: string }>;

function AgenticChat() {
  const [color, setColor] = useState("white");
  useAgentContext({ description: "The user's name", value: "Ada" });
  useFrontendTool({
    name: "change_background",
    description: "Changes the color of the page.",
    parameters: z.object({ color: z.string() }),
    handler: async ({ color }) => {
      setColor(color);
      return `The page is ${color}`;
    },
  });
  return <p style={{ background: color }}>The page is {color}</p>;
}

const place = z.object({ city: z.string() });

function BackendToolRendering() {
  useRenderTool({
    name: "get_weather",
    parameters: place,
    render: ({ parameters, result }) => <Card title={`Weather in ${parameters.city ?? "…"}`}>{result ?? "…"}</Card>,
  });
  useDefaultRenderTool({ render: ({ name, result }) => <Card title={name}>{result ?? "…"}</Card> });
  return null;
}

function ToolBasedGenerativeUi() {
  useComponent({
    name: "show_haiku",
    description: "Shows a haiku.",
    parameters: z.object({ lines: z.array(z.string()) }),
    render: ({ lines }) => <Card title="Haiku">{lines?.join(" / ")}</Card>,
  });
  return null;
}

const steps = z.object({ steps: z.array(z.string()) });

function HumanInTheLoop() {
  useHumanInTheLoop({
    name: "confirm_steps",
    description: "Asks the user whether the steps are right.",
    parameters: steps,
    render: ({ args, respond, result }) => (
      <Card title={args.steps?.join(", ") ?? "…"}>
        {result ?? <button onClick={() => void respond?.("yes")}>Confirm</button>}
      </Card>
    ),
  });
  return null;
}

const nothing = z.object({});

/** Two tools that a person answers: both wait, next to each other, and are there after a reload. */
function PageTools() {
  useAnswered("ask");
  useAnswered("show");
  return null;
}

function useAnswered(name: string): void {
  useHumanInTheLoop({
    name,
    description: "Asks the user.",
    parameters: nothing,
    render: ({ respond, result }) => (
      <Card title={name}>{result ?? <button onClick={() => void respond?.("from the page")}>Answer {name}</button>}</Card>
    ),
  });
}

function Interrupts({ agentId }: { agentId: string }) {
  useInterrupt({
    agentId,
    render: ({ event, resolve }) => {
      const { topic, slots } = askedIn<{ topic: string; slots: string[] }>(event);
      return (
        <Card title={topic}>
          {slots.map((slot) => (
            <button key={slot} onClick={() => resolve({ slot })}>
              {slot}
            </button>
          ))}
        </Card>
      );
    },
  });
  return <StateOf agentId={agentId} />;
}

/**
 * What `interrupt()` was given in the graph: in the outcome of the run it is in the interrupt's metadata, and as the event
 * `on_interrupt` (`compatible_with`) it is text.
 */
function askedIn<Asked>({ value }: { value?: any }): Asked {
  return typeof value === "string" ? JSON.parse(value) : value.metadata.value;
}

function LangGraphInterrupt({ agentId }: { agentId: string }) {
  useLangGraphInterrupt<{ steps?: string[] }>({
    agentId,
    render: ({ event, resolve }) => (
      <Card title={`${event.value.steps?.length ?? 0} steps`}>
        <button onClick={() => resolve(`I do: ${event.value.steps?.join(", ") ?? "nothing"}.`)}>Perform</button>
      </Card>
    ),
  });
  return null;
}

/** The same for both forms: what `interrupt()` was given is in the metadata of an interrupt of AG-UI, or the value itself. */
function PortedInterrupt({ agentId }: { agentId: string }) {
  useLangGraphInterrupt({
    agentId,
    render: ({ event, resolve }) => {
      const { question } = event.value?.metadata?.value ?? event.value;
      return (
        <Card title={question}>
          <button onClick={() => resolve("yes")}>Approve</button>
          <button onClick={() => resolve("no")}>Reject</button>
        </Card>
      );
    },
  });
  return null;
}

function SharedState({ agentId }: { agentId: string }) {
  const { agent } = useAgent({ agentId });
  const title = agent.state.recipe?.title ?? "";
  return (
    <>
      <input
        aria-label="dish"
        value={title}
        onChange={(event) => agent.setState({ recipe: { ...agent.state.recipe, title: event.target.value } })}
      />
      <StateOf agentId={agentId} />
    </>
  );
}

function PredictedState({ agentId }: { agentId: string }) {
  useHumanInTheLoop({
    name: "confirm_changes",
    description: "Asks the user whether the document stays as it is.",
    parameters: z.object({}),
    render: ({ respond, result }) => (
      <Card title="Is it right?">
        {result ?? <button onClick={() => void respond?.({ accepted: true })}>Keep</button>}
      </Card>
    ),
  });
  return <StateOf agentId={agentId} />;
}

/** The graph's state as it is now, and all values that each channel has had. */
function StateOf({ agentId }: { agentId: string }) {
  const { agent } = useAgent({ agentId });
  const [past, setPast] = useState<string[]>([]);
  useEffect(
    () =>
      agent.subscribe({ onStateChanged: ({ state }) => setPast((past) => [...past, JSON.stringify(state)]) }).unsubscribe,
    [agent],
  );
  return (
    <>
      <pre aria-label="state">{JSON.stringify(agent.state, null, 1)}</pre>
      <details aria-label="past">{past.join("\n")}</details>
    </>
  );
}

function Card({ title, children }: { title: string; children: ReactNode }) {
  return (
    <figure role="group" aria-label={title}>
      <figcaption>{title}</figcaption>
      {children}
    </figure>
  );
}

const FEATURES: Record<string, Feature> = {
  agentic_chat: AgenticChat,
  backend_tool_rendering: BackendToolRendering,
  tool_based_generative_ui: ToolBasedGenerativeUi,
  human_in_the_loop: HumanInTheLoop,
  page_tools: PageTools,
  interrupts: Interrupts,
  subgraphs: Interrupts,
  langgraph_interrupt: LangGraphInterrupt,
  ported_interrupt: PortedInterrupt,
  subagents: StateOf,
  agentic_generative_ui: StateOf,
  predictive_state_updates: PredictedState,
  shared_state: SharedState,
};

function Page() {
  const { thread } = useThread();
  const asked = new URLSearchParams(location.search);
  const name = asked.get("feature") ?? "agentic_chat";
  const agentId = [name, asked.get("served")].filter(Boolean).join("-");
  const isAgent = asked.get("via") === "agent";
  const agents = useMemo(
    () => (isAgent ? { [agentId]: new ThreadAgent({ url: `${RUNTIME_URL}/${agentId}` }) } : undefined),
    [isAgent, agentId, thread],
  );
  const Feature = FEATURES[name];
  return (
    <main aria-label={agentId} style={{ display: "grid", gridTemplateColumns: "1fr 20rem", height: "100vh" }}>
      <CopilotKitProvider
        key={thread}
        {...(agents ? { selfManagedAgents: agents } : { runtimeUrl: RUNTIME_URL, useSingleEndpoint: false })}
        enableInspector={false}
        renderActivityMessages={ACTIVITIES}
        onError={({ error }) => console.error(error)}
      >
        <CopilotChat agentId={agentId} threadId={thread} attachments={{ enabled: true, accept: "image/*" }} />
        <aside>{Feature && <Feature agentId={agentId} />}</aside>
      </CopilotKitProvider>
    </main>
  );
}

createRoot(document.getElementById("root")!).render(<Page />);
