// The guide's page: `examples/guide.py` in a browser, with CopilotKit's hooks and elements of our own. Begin here.
//
// A thread's agent lives in `Guide`, which is made anew for each thread: an open question of one blocks no other.
// `useWatch` makes an open page see what others start: another tab, the schedule, another user.

import { CopilotKitContext, CopilotKitCoreReact } from "@copilotkit/react-core/v2/context";
import { useAgent, useFrontendTool, useInterrupt } from "@copilotkit/react-core/v2/headless";
import { useWatch } from "langgraph-agui/react";
import { useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";

import "./base.css";
import { AGENT, RUNTIME_URL, useThread } from "../page";
import { placeOnMap } from "./calls";
import { Failure, Question } from "./cards";
import { Composer, type Mode } from "./composer";
import { CONNECTIONS, ConnectionBanner, ConnectionLine } from "./connection";
import { Conversation } from "./conversation";
import { Icon } from "./icons";
import { usePanel } from "./panel";
import { Plan } from "./plan";
import { useThreadList, type ThreadList } from "./thread_list";
import { Threads } from "./threads";
import type { RunFailure, Visit } from "./types";
import "./page.css"; // after the parts, which it places

const FIRST = ["Plan my day", "Book the tower", "Show me the tower on the map"] as const;
const BRIEF = "Run the briefing now";
const NEXT = ["Book the tower", "Show me the tower on the map", "Call the booking office"] as const;

function Page() {
  const { thread, open, begin } = useThread();
  const [isArchiveShown, showArchive] = useState(false);
  const list = useThreadList(isArchiveShown);
  return <Thread key={thread} {...{ thread, open, begin, list, isArchiveShown, showArchive }} />;
}

type ThreadProps = {
  thread: string;
  open(thread: string): void;
  begin(): void;
  list: ThreadList;
  isArchiveShown: boolean;
  showArchive(shown: boolean): void;
};

/** One thread, with a client of its own. */
function Thread(props: ThreadProps) {
  const [copilotkit] = useState(() => new CopilotKitCoreReact({ runtimeUrl: RUNTIME_URL, runtimeTransport: "rest" }));
  return (
    <CopilotKitContext.Provider value={{ copilotkit, executingToolCallIds: new Set() }}>
      <Guide copilotkit={copilotkit} {...props} />
    </CopilotKitContext.Provider>
  );
}

function Guide({
  copilotkit,
  thread,
  open,
  begin,
  list,
  ...archive
}: ThreadProps & { copilotkit: CopilotKitCoreReact }) {
  const { agent, isReady } = useAgent({ agentId: AGENT });
  const connect = useCallback(() => copilotkit.connectAgent({ agent }), [copilotkit, agent]);
  const watching = useWatch(isReady ? agent : null, { threadId: thread, connect });
  const question = useInterrupt({ agentId: AGENT, renderInChat: false, render: (asked) => <Question {...asked} /> });
  const [failure, clearFailure] = useFailure(copilotkit, agent.isRunning);
  const [chosen, choose] = useState<string>();
  const [changes, setChanges] = useState<Visit>({});
  const [panel, openPanel, closePanel] = usePanel<"threads" | "plan">();

  useFrontendTool({
    name: "show_on_map",
    description: "Shows the user a place on the map.",
    parameters: z.object({ place: z.string() }),
    handler: async ({ place }) => {
      choose(undefined); // what the agent shows, every tab reads off the call
      return { shown: place };
    },
  });

  const last = agent.messages.at(-1);
  const first = agent.messages.find((each) => each.role === "user")?.content;
  const title =
    list.threads.find((each) => each.id === thread)?.name ?? (typeof first === "string" ? first : "New conversation");
  const isChanged = Object.keys(changes).length > 0;
  const { connection } = watching;
  const status = agent.isRunning ? "running" : connection !== "live" ? connection : question ? "waiting" : "idle";
  const mode: Mode = status === "running" || status === "waiting" ? status : status === "idle" ? "write" : "offline";

  useEffect(() => void list.refresh(), [status, agent.messages.length]);

  const run = () => {
    clearFailure();
    void copilotkit.runAgent({ agent });
  };
  const send = (content: string) => {
    if (isChanged) agent.setState({ ...agent.state, ...changes });
    setChanges({});
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
    run();
  };
  const show = (place: string) => {
    choose(place);
    openPanel("plan");
  };
  const brief = () => fetch(new URL(`briefing/${encodeURIComponent(thread)}`, location.href), { method: "POST" });

  const isNew = status === "idle" && agent.messages.length === 0;
  return (
    <div className="app" data-panel={panel}>
      <nav className="side" id="threads" tabIndex={-1} aria-label="Conversations">
        <Threads
          list={list}
          current={thread}
          open={(id) => (open(id), closePanel())}
          begin={begin}
          isConnected={connection === "live"}
          {...archive}
        />
        <ConnectionLine {...watching} />
      </nav>
      <main>
        <header className="bar">
          <button className="quiet icon-only narrow" aria-label="Conversations" onClick={() => openPanel("threads")}>
            <Icon name="list" />
          </button>
          <h1>{title}</h1>
          <span className="status" role="status" aria-label="run" data-status={status}>
            {STATUSES[status]}
          </span>
          <button
            className="schedule"
            disabled={mode !== "write"}
            onClick={brief}
            aria-label={BRIEF}
            title="The server starts a run, as a cron job would"
          >
            <Icon name="clock" /> <span>{BRIEF}</span>
          </button>
          <button className="quiet icon-only narrow" aria-label="Your day" onClick={() => openPanel("plan")}>
            <Icon name="pin" />
          </button>
        </header>
        {isNew ? (
          <div className="scroll welcome">
            <h2>A day in Lisbon</h2>
            <p>The guide compares tickets, fills your plan, asks before it books, and shows places on your map.</p>
          </div>
        ) : (
          <Conversation
            messages={agent.messages}
            isRunning={agent.isRunning}
            show={show}
            retry={mode === "write" ? run : undefined}
          >
            {question}
            {failure && !(last?.role === "activity" && last.activityType === "run_error") && (
              <Failure failure={failure} retry={mode === "write" ? run : undefined} />
            )}
          </Conversation>
        )}
        <ConnectionBanner {...watching} />
        <Composer
          mode={mode}
          send={send}
          stop={() => copilotkit.stopAgent({ agent })}
          suggestions={isNew ? FIRST : last?.role === "assistant" ? NEXT : []}
        />
      </main>
      <aside className="side" id="plan" tabIndex={-1} aria-label="Your day">
        <Plan
          visit={{ ...(agent.state as Visit), ...changes }}
          shown={chosen ?? placeOnMap(agent.messages)}
          isChanged={isChanged}
          isBusy={mode !== "write"}
          change={(change) => setChanges({ ...changes, ...change })}
          discard={() => setChanges({})}
          planAgain={() => send(`Plan my day again`)}
        />
      </aside>
      {panel && <button className="backdrop" aria-label="Close" onClick={closePanel} />}
    </div>
  );
}

/** What the page says of the run. */
const STATUSES = { ...CONNECTIONS, running: "Running", waiting: "Waits for you", idle: "Ready" };

/** What went wrong with the last run, where no message says it; cleared when another run begins. */
function useFailure(copilotkit: CopilotKitCoreReact, isRunning: boolean): [RunFailure | undefined, () => void] {
  const [failure, setFailure] = useState<RunFailure>();
  const clear = useCallback(() => setFailure(undefined), []);
  useEffect(() => {
    const listening = copilotkit.subscribe({ onError: ({ error }) => setFailure({ message: error.message }) });
    return () => listening.unsubscribe();
  }, [copilotkit]);
  useEffect(() => {
    if (isRunning) clear();
  }, [isRunning, clear]);
  return [failure, clear];
}

createRoot(document.getElementById("root")!).render(<Page />);
