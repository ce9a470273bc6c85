// assistant-ui on a graph: a runtime that streams runs, loads its thread, and lists the others.
//
//     langgraph-agui serve chat=my_app:graph --origin http://localhost:5173

import {
  AssistantRuntimeProvider,
  SimpleImageAttachmentAdapter,
  type PendingAttachment,
  type ThreadHistoryAdapter,
} from "@assistant-ui/react";
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { PageAgent } from "./agent";
import type { ThreadList } from "./threads";

/** Images with the names of their files, which assistant-ui's own adapter does not send. */
class NamedImages extends SimpleImageAttachmentAdapter {
  override async send(attachment: PendingAttachment) {
    const sent = await super.send(attachment);
    return { ...sent, content: sent.content.map((part) => ({ ...part, filename: attachment.name })) };
  }
}

const attachments = new NamedImages();

/**
 * What the chat's components are put into. `url`: the agent's, such as `http://127.0.0.1:8000/chat`. `threads`: the list,
 * which says which thread is open; give this component the thread's id as its `key`.
 */
export function GraphRuntime({ url, threads, children }: { url: string; threads: ThreadList; children: ReactNode }) {
  const { threadId, refresh } = threads;
  const [isDisabled, setDisabled] = useState(true); // what is sent before the thread is loaded would be replaced by it
  const agent = useMemo(() => new PageAgent({ url, threadId }), [url, threadId]);
  const history = useMemo(() => historyOf(agent, () => setDisabled(false)), [agent]);
  useEffect(() => agent.subscribe({ onRunFinalized: refresh }).unsubscribe, [agent, refresh]);
  const isLeaving = useRef(false); // a page that shows another thread stops nothing
  useEffect(() => () => void (isLeaving.current = true), []);
  const onCancel = () => void (isLeaving.current || agent.stop()); // assistant-ui itself only ends the reading
  const adapters = { history, attachments, threadList: threads };
  const runtime = useAgUiRuntime({ agent, adapters, isDisabled, onCancel, onError: console.error });
  return <AssistantRuntimeProvider runtime={runtime}>{children}</AssistantRuntimeProvider>;
}

/** The thread, as the server has it. `unstable_resume`: a run of the agent shows it. */
function historyOf(agent: PageAgent, onShown: () => void): ThreadHistoryAdapter {
  return {
    async load() {
      const exists = await agent.load(onShown).catch((error) => (onShown(), Promise.reject(error)));
      if (!exists) onShown();
      return { messages: [], unstable_resume: exists };
    },
    async append() {}, // the server has kept it
  };
}
