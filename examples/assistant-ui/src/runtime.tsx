// assistant-ui on a graph: a runtime that streams runs, and loads its thread when the page is loaded.
//
//     langgraph-agui serve chat=my_app:graph --origin http://localhost:5173

import { AssistantRuntimeProvider, ExportedMessageRepository, type ThreadHistoryAdapter } from "@assistant-ui/react";
import { fromAgUiMessages, useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { ThreadAgent } from "langgraph-agui";
import { useMemo, useState, type ReactNode } from "react";

/** What the chat's components are put into. `url`: the agent's, such as `http://127.0.0.1:8000/chat`. */
export function GraphRuntime({ url, threadId, children }: { url: string; threadId: string; children: ReactNode }) {
  const agent = useMemo(() => new ThreadAgent({ url, threadId }), [url, threadId]);
  const [isDisabled, setDisabled] = useState(true); // what is sent before the thread is loaded would be replaced by it
  const history = useMemo(() => threadOf(url, threadId, () => setDisabled(false)), [url, threadId]);
  const onCancel = () => void agent.stop(); // assistant-ui itself only ends the reading
  const runtime = useAgUiRuntime({ agent, adapters: { history }, isDisabled, onCancel, onError: console.error });
  return <AssistantRuntimeProvider runtime={runtime}>{children}</AssistantRuntimeProvider>;
}

/** The messages of the thread: what the server has. An active run is waited for. `onLoaded` is called after a failure too. */
function threadOf(url: string, threadId: string, onLoaded: () => void): ThreadHistoryAdapter {
  return {
    async load() {
      const reader = new ThreadAgent({ url, threadId });
      await reader.connectAgent().finally(onLoaded);
      return ExportedMessageRepository.fromArray(fromAgUiMessages(reader.messages));
    },
    async append() {}, // the server has kept it
  };
}
