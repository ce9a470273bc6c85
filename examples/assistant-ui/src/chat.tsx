import {
  AttachmentPrimitive,
  AuiIf,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadListItemPrimitive,
  ThreadListPrimitive,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { createRoot } from "react-dom/client";

import { useConnection } from "./connection";
import { MapTool, Questions, Stops } from "./parts";
import { GraphRuntime } from "./runtime";
import { useThreads } from "./threads";

const SERVER = "http://localhost:8000";
const AGENT = new URLSearchParams(location.search).get("agent") ?? "planner";
const HEADERS = headersOfPage();

/** While you develop: the server's token, from the fragment of the page's address, which a browser sends to nobody. */
function headersOfPage(): Record<string, string> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? sessionStorage.getItem("token");
  if (!token) return {};
  sessionStorage.setItem("token", token);
  history.replaceState(null, "", location.pathname + location.search);
  return { Authorization: `Bearer ${token}` };
}

function Attachment() {
  return (
    <AttachmentPrimitive.Root className="attachment">
      <AttachmentPrimitive.Name />
    </AttachmentPrimitive.Root>
  );
}

function Message() {
  return (
    <MessagePrimitive.Root className="message">
      <MessagePrimitive.Attachments components={{ Attachment }} />
      <MessagePrimitive.Parts />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root role="alert">
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
    </MessagePrimitive.Root>
  );
}

function Thread() {
  return (
    <ThreadListItemPrimitive.Root>
      <ThreadListItemPrimitive.Trigger>
        <ThreadListItemPrimitive.Title />
      </ThreadListItemPrimitive.Trigger>
    </ThreadListItemPrimitive.Root>
  );
}

function Page() {
  const threads = useThreads(SERVER, AGENT, HEADERS);
  const connection = useConnection(`${SERVER}/${AGENT}`, threads.threadId);
  return (
    <GraphRuntime key={`${threads.threadId} ${connection.loads}`} url={`${SERVER}/${AGENT}`} threads={threads}>
      {connection.text && <p role="status">{connection.text}</p>}
      <MapTool />
      <ThreadListPrimitive.Root aria-label="threads">
        <ThreadListPrimitive.New>New thread</ThreadListPrimitive.New>
        <ThreadListPrimitive.Items components={{ ThreadListItem: Thread }} />
      </ThreadListPrimitive.Root>
      <ThreadPrimitive.Root>
        <Stops />
        <ThreadPrimitive.Viewport aria-label="conversation">
          <ThreadPrimitive.Messages components={{ Message }} />
        </ThreadPrimitive.Viewport>
        <Questions />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Attachments components={{ Attachment }} />
          <ComposerPrimitive.AddAttachment>Attach</ComposerPrimitive.AddAttachment>
          <ComposerPrimitive.Input aria-label="message" />
          <AuiIf condition={({ thread }) => !thread.isRunning}>
            <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          </AuiIf>
          <AuiIf condition={({ thread }) => thread.isRunning}>
            <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
          </AuiIf>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </GraphRuntime>
  );
}

createRoot(document.getElementById("root")!).render(<Page />);
