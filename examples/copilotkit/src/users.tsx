// A page for users: every request says whose it is, by a token that is renewed, and the user's threads are listed.

import { CopilotChat, CopilotKitProvider, useAgent, useCopilotKit, useThreads } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useWatch } from "langgraph-agui/react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";

import { Connection } from "./connection";
import { AGENT, RUNTIME_URL, useThread } from "./page";

type Token = { token: string; expiresIn: number };

/** The user's token, by your own sign-in. It is renewed before it expires; `renew` gets another one now. */
function useToken() {
  const [held, hold] = useState<Token>();
  const renew = useCallback(async () => {
    const response = await fetch(`${RUNTIME_URL}/token`, { method: "POST" });
    hold(await response.json());
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => void renew(), (held?.expiresIn ?? 0) * 900);
    return () => clearTimeout(timer);
  }, [held, renew]);
  return { token: held?.token, renew };
}

function Page() {
  const { thread, open, begin } = useThread();
  const { token, renew } = useToken();
  const [refusals, setRefusals] = useState(0);
  const headers = useMemo(() => ({ Authorization: `Bearer ${token}` }), [token]);
  const signIn = async () => {
    await renew();
    setRefusals(refusals + 1); // CopilotKit asks for the agents once
  };
  if (!token) return <p role="status">Signing in</p>;
  return (
    <CopilotKitProvider
      key={`${thread} ${refusals}`}
      runtimeUrl={`${RUNTIME_URL}/users`}
      useSingleEndpoint={false}
      headers={headers}
      enableInspector={false}
      onError={({ error }) => console.error(error)}
    >
      <Chat thread={thread} signIn={signIn} />
      <Threads open={open} begin={begin} />
    </CopilotKitProvider>
  );
}

function Chat({ thread, signIn }: { thread: string; signIn: () => void }) {
  const { copilotkit } = useCopilotKit();
  const { agent, isReady } = useAgent({ agentId: AGENT });
  const hasFailed = copilotkit.runtimeConnectionStatus === "error";
  const watching = useWatch(isReady || hasFailed ? agent : null, {
    threadId: thread,
    connect: () => copilotkit.connectAgent({ agent }),
  });
  return (
    <main>
      <Connection {...watching} retry={watching.connection === "refused" ? signIn : watching.retry} />
      <CopilotChat agentId={AGENT} threadId={thread} />
    </main>
  );
}

function Threads({ open, begin }: { open: (thread: string) => void; begin: () => void }) {
  const { agent } = useAgent({ agentId: AGENT });
  const { threads, refetchThreads } = useThreads({ agentId: AGENT });
  useEffect(() => {
    if (!agent.isRunning) refetchThreads(); // a run may have begun a thread
  }, [agent.isRunning]);
  return (
    <nav aria-label="threads">
      <button onClick={begin}>New thread</button>
      {threads.map(({ id, name }) => (
        <button key={id} onClick={() => open(id)}>
          {name}
        </button>
      ))}
    </nav>
  );
}

createRoot(document.getElementById("root")!).render(<Page />);
