import { ComposerPrimitive, MessagePrimitive, ThreadPrimitive } from "@assistant-ui/react";
import { createRoot } from "react-dom/client";

import { GraphRuntime } from "./runtime";

const asked = new URLSearchParams(location.search);
const thread = asked.get("thread") ?? crypto.randomUUID();
asked.set("thread", thread);
history.replaceState(null, "", `?${asked}`);

function Message() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts />
    </MessagePrimitive.Root>
  );
}

createRoot(document.getElementById("root")!).render(
  <GraphRuntime url={`http://localhost:8000/${asked.get("agent") ?? "planner"}`} threadId={thread}>
    <ThreadPrimitive.Root>
      <ThreadPrimitive.Viewport aria-label="conversation">
        <ThreadPrimitive.Messages components={{ Message }} />
      </ThreadPrimitive.Viewport>
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Input aria-label="message" />
        <ThreadPrimitive.If running={false}>
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ThreadPrimitive.If>
        <ThreadPrimitive.If running>
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ThreadPrimitive.If>
      </ComposerPrimitive.Root>
    </ThreadPrimitive.Root>
  </GraphRuntime>,
);
